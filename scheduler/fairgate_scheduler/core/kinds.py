"""What pending jobs have in common: jobs of one kind differ in nothing but their rank, so no rule tells them apart."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

from fairgate_scheduler.core.contenders import Choice, Contender, Field, rank_of
from fairgate_scheduler.core.jobs import Fallback, Job, Option

_KNOWN_MAX: Final = 100_000
"""So many kinds are remembered. Beyond that equal jobs may get different kinds: that costs time and changes nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """A leaf, a priority, and the options that may be taken now."""

    leaf: int
    priority: int
    choices: tuple[Choice, ...]

    def contender(self, job: Job) -> Contender:
        """A pending job of this kind."""
        return Contender(job, self.leaf, rank_of(job), self, self.choices, since_ms=job.pending_since_ms)


class Kinds:
    """Tells the kind of a pending job, and has the same one for all jobs that are equal but for their rank."""

    def __init__(self, field: Field) -> None:
        self._field = field
        self._known: dict[Hashable, Kind] = {}

    def contender(self, job: Job) -> Contender:
        """A pending job at the instant of the field, with its kind as its group if it is of one."""
        field = self._field
        if not field.has_kinds or job.fallback is Fallback.SOONEST or job.id in field.only:
            return field.pending(job, job.pending_since_ms)
        return self.of(job).contender(job)

    def of(self, job: Job) -> Kind:
        """The kind that a pending job is of at the instant of the field."""
        now_ms = self._field.now_ms
        waited, blocked = now_ms - job.pending_since_ms >= job.fallback_after_ms, frozenset[int]()
        if job.backoff:
            blocked = frozenset(index for index, until_ms in job.backoff.items() if until_ms > now_ms)
        key = (job.tenant, job.priority, waited, blocked, *map(_looks, job.options))
        known = self._known.get(key)
        if known is None:
            made = self._field.pending(job, job.pending_since_ms)
            if len(self._known) >= _KNOWN_MAX:
                self._known.clear()
            known = self._known[key] = Kind(made.leaf, job.priority, made.choices)
        return known


def _looks(option: Option) -> Hashable:
    flavors = tuple([group.flavor for group in option.groups])
    return option.flavor, option.speed.numerator > 0, flavors, tuple(option.demand.items())
