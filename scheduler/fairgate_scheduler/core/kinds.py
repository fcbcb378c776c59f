"""What pending jobs have in common: jobs of one kind differ in nothing but their rank, so no rule tells them apart."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Final

from fairgate_scheduler.core.contenders import Choice, Contender, Field, rank_of
from fairgate_scheduler.core.jobs import Fallback, Job, Option

_KNOWN_MAX: Final = 100_000
"""So many kinds are remembered. Beyond that equal jobs may get different kinds: that costs time and changes nothing."""

_SEEN_MAX: Final = 10_000
"""So many tuples of options are known by what they are, not by what they say; they live as long as that."""


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """A leaf, a priority, the options that may be taken now, and whether there is a claim.

    Where time limits count, it is the same work that is left, too.
    """

    leaf: int
    priority: int
    choices: tuple[Choice, ...]
    is_claimant: bool = False

    def contender(self, job: Job) -> Contender:
        """A pending job of this kind."""
        return Contender(
            job,
            self.leaf,
            rank_of(job),
            self,
            self.choices,
            since_ms=job.pending_since_ms,
            is_claimant=self.is_claimant,
        )


class Kinds:
    """Tells the kind of a pending job, and has the same one for all jobs that are equal but for their rank."""

    def __init__(self, field: Field) -> None:
        self._field = field
        self._known: dict[Hashable, Kind] = {}
        self._numbers: dict[Hashable, int] = {}
        self._next_number = count()
        self._seen: dict[int, tuple[tuple[Option, ...], int]] = {}

    def contender(self, job: Job) -> Contender:
        """A pending job at the instant of the field, with its kind as its group if it is of one."""
        field = self._field
        kind = self.of(job)
        return field.pending(job, job.pending_since_ms) if kind is None else kind.contender(job)

    def of(self, job: Job) -> Kind | None:
        """The kind that a pending job is of at the instant of the field; ``None``: it is of none, it chooses."""
        if job.fallback is Fallback.SOONEST or job.id in self._field.only:
            return None
        now_ms = self._field.now_ms
        waited, blocked = now_ms - job.pending_since_ms >= job.fallback_after_ms, frozenset[int]()
        if job.backoff:
            blocked = frozenset(index for index, until_ms in job.backoff.items() if until_ms > now_ms)
        key: Hashable = (job.tenant, job.priority, waited, blocked, self._number(job.options))
        if self._field.counts_time:
            key = (key, *self._times(job, waited=waited))
        known = self._known.get(key)
        if known is None:
            made = self._field.pending(job, job.pending_since_ms)
            if len(self._known) >= _KNOWN_MAX:
                self._known.clear()
            known = self._known[key] = Kind(made.leaf, job.priority, made.choices, made.is_claimant)
        return known

    def _number(self, options: tuple[Option, ...]) -> int:
        """Options that look the same have the same number. Equal jobs mostly share theirs, so few are looked at."""
        seen = self._seen.get(id(options))
        if seen is None:
            looks = tuple(map(_looks, options))
            if looks not in self._numbers:
                if len(self._numbers) >= _KNOWN_MAX:
                    self._numbers.clear()
                self._numbers[looks] = next(self._next_number)
            if len(self._seen) >= _SEEN_MAX:
                self._seen.clear()
            seen = self._seen[id(options)] = options, self._numbers[looks]
        return seen[1]

    def _times(self, job: Job, *, waited: bool) -> Iterator[Hashable]:
        """What of its times tells a job apart: what is left of its work and how fast it runs, and of a claimant when
        its other options open.
        """
        yield job.time_limit_ms - job.done_ms
        yield from (each.speed.as_integer_ratio() for each in job.options)
        after_ms = self._field.policy.backfill_after_ms
        if after_ms is not None:
            yield job.preemptible
            if self._field.now_ms - job.pending_since_ms >= after_ms:
                yield tuple(sorted(job.backoff.items()))
                yield None if waited else job.pending_since_ms + job.fallback_after_ms


def _looks(option: Option) -> Hashable:
    flavors = tuple([group.flavor for group in option.groups])
    return option.flavor, option.speed.numerator > 0, flavors, tuple(option.demand.items())
