"""The rounds of one plan: the refill repeated until it changes nothing, and the difference of it all."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from fairgate_scheduler.core.causes import Reason, reasons_of_evictions
from fairgate_scheduler.core.contenders import Choice, Contender, Field
from fairgate_scheduler.core.laws import check_laws
from fairgate_scheduler.core.ledger import Claims, held_by
from fairgate_scheduler.core.refill import Target, refill
from fairgate_scheduler.core.snapshot import Admit, Plan, Preempt

MAX_ROUNDS: Final = 50
"""Two or three rounds are usual: what was evicted may start on another option, or make others possible."""


class Foresight(Protocol):
    """What a plan knows of the time to come."""

    def claims(self, pending: Sequence[Contender]) -> Claims | None:
        """The claims of those that have waited too long; ``None``: there are none."""

    def choose(self, running: Sequence[Contender], pending: Sequence[Contender]) -> Sequence[Contender]:
        """The same pending jobs; those with ``fallback: soonest`` that have not chosen yet in this plan have now."""


@dataclass(slots=True)
class Rounds:
    """What runs and what waits after each round."""

    world: Field
    before: tuple[Contender, ...]
    running: list[Contender]
    pending: list[Contender]
    foresight: Foresight | None = None
    reasons: dict[str, Reason] = field(default_factory=dict)

    def repeat(self) -> None:
        """Refill until nothing changes."""
        for _ in range(MAX_ROUNDS):
            if self.foresight is not None:
                self.pending = list(self.foresight.choose(self.running, self.pending))
            if not self._apply(self._refill(self.running)):
                return
        raise AssertionError(f"the refill does not come to rest: after {MAX_ROUNDS} rounds it still changes something")

    def difference(self) -> Plan:
        """The plan: what is different from what ran before."""
        held = {each.job.id: held_by(each).option for each in self.before}
        kept = {each.job.id for each in self.running if held.get(each.job.id) == held_by(each).option}
        evicted = [each for each in self.before if each.job.id not in kept]
        admitted = [(each, held_by(each)) for each in self.running if each.job.id not in kept]
        check_laws(self.world, self.before, evicted, admitted)
        self._check_idempotence(kept, admitted)
        started = {each.job.id for each, _ in admitted}
        return Plan(
            tuple(self._preempt(each, started) for each in evicted),
            tuple(Admit(each.job.id, choice.option) for each, choice in admitted),
        )

    def _refill(self, running: Sequence[Contender]) -> Target:
        claims = None if self.foresight is None else self.foresight.claims(self.pending)
        return refill(self.world, running, self.pending, claims)

    def _apply(self, target: Target) -> bool:
        """Make the target what runs. Returns whether that is a change."""
        evicted = [each for each in self.running if each not in target.placed]
        admitted = [(each, target.placed[each]) for each in target.causes]
        if not evicted and not admitted:
            return False
        for name, reason in reasons_of_evictions(self.world, evicted, target).items():
            self.reasons.setdefault(name, reason)
        last = max((each.admission for each in self.running), default=0)
        self.running = [each for each in self.running if each in target.placed] + [
            self.world.admitted(each, choice, last + place) for place, (each, choice) in enumerate(admitted, 1)
        ]
        self.pending = [each for each in self.pending if each not in target.placed] + [
            self.world.evicted(each) for each in evicted
        ]
        return True

    def _check_idempotence(self, kept: set[str], admitted: Sequence[tuple[Contender, Choice]]) -> None:
        """The last round has found nothing to change; it has to be asked again only where it saw another order.

        A job that was evicted and came back to what it held is never touched, so it keeps its place by admission.
        """
        first = {each.job.id: each for each in self.before if each.job.id in kept}
        if all(first.get(each.job.id, each) is each for each in self.running):
            return
        last = max((each.admission for each in self.before), default=0)
        running = [each for each in self.before if each.job.id in kept] + [
            self.world.admitted(each, choice, last + place) for place, (each, choice) in enumerate(admitted, 1)
        ]
        target = self._refill(running)
        changes = [each.job.id for each in (*running, *target.causes) if each.held is None or each not in target.placed]
        assert not changes, f"not idempotent: planned again, {changes} would go or come"

    def _preempt(self, evicted: Contender, started: set[str]) -> Preempt:
        reason = self.reasons[evicted.job.id]
        for_jobs = tuple(each for each in reason.for_jobs if each in started and each != evicted.job.id)
        return Preempt(evicted.job.id, reason.text, for_jobs)
