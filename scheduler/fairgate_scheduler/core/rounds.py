"""The rounds of one plan: the refill repeated until it changes nothing, and the difference of it all."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from fairgate_scheduler.core.causes import Reason, reasons_of_evictions
from fairgate_scheduler.core.contenders import Contender, held_by
from fairgate_scheduler.core.jobs import Fallback
from fairgate_scheduler.core.laws import check_laws
from fairgate_scheduler.core.ledger import Claims
from fairgate_scheduler.core.refill import Target, refill
from fairgate_scheduler.core.register import Register
from fairgate_scheduler.core.snapshot import Admit, Plan, Preempt

Act = Callable[[Contender], None]

MAX_ROUNDS: Final = 50
"""Two or three rounds are usual: what was evicted may start on another option, or make others possible."""


class Foresight(Protocol):
    """What a plan knows of the time to come."""

    def claims(self, register: Register) -> Claims | None:
        """The claims of those that have waited too long; ``None``: there are none."""

    def choose(self, register: Register) -> Sequence[tuple[Contender, Contender]]:
        """Those with ``fallback: soonest`` that had not chosen yet in this plan: as they are there, and as they are now
        that they have.
        """


@dataclass(slots=True)
class Rounds:
    """What has gone and what is new after each round. In the end ``take_back``: the register stays as it was.

    ``evicted``: who was evicted and is pending. ``waited``: who was pending before it was admitted.
    """

    register: Register
    foresight: Foresight | None = None
    gone: dict[str, Contender] = field(default_factory=dict)
    new: dict[str, Contender] = field(default_factory=dict)
    evicted: dict[str, Contender] = field(default_factory=dict)
    waited: dict[str, Contender] = field(default_factory=dict)
    reasons: dict[str, Reason] = field(default_factory=dict)
    undo: list[tuple[Act, Contender]] = field(default_factory=list)

    def repeat(self) -> None:
        """Refill until nothing changes."""
        for _ in range(MAX_ROUNDS):
            if not self._round():
                return
        raise AssertionError(f"the refill does not come to rest: after {MAX_ROUNDS} rounds it still changes something")

    def changes(self) -> tuple[list[Contender], list[Contender]]:
        """Who goes and who comes, all in all, each in the order of admission. A job that came back does neither."""
        kept = self._kept()
        gone = [each for name, each in self.gone.items() if name not in kept]
        new = [each for name, each in self.new.items() if name not in kept]
        return sorted(gone, key=lambda each: each.admission), new

    def difference(self) -> Plan:
        """The plan: what is different from what ran before."""
        evicted, new = self.changes()
        admitted = [(each, held_by(each)) for each in new]
        self._check_idempotence()
        self.take_back()
        check_laws(self.register, evicted, admitted)
        started = {each.job.id for each, _ in admitted}
        return Plan(
            tuple(self._preempt(each, started) for each in evicted),
            tuple(Admit(each.job.id, choice.option) for each, choice in admitted),
        )

    def take_back(self) -> None:
        """Undo all that these rounds have done to the register."""
        while self.undo:
            undo, contender = self.undo.pop()
            undo(contender)

    def _kept(self) -> set[str]:
        """The jobs that were evicted and came back to what they held."""
        return {name for name, each in self.gone.items() if name in self.new and _is_same(each, self.new[name])}

    def _round(self) -> bool:
        """Refill once, and make that what runs. Returns whether another round might change something."""
        register = self.register
        self._choose()
        target = self._refill()
        last = register.last_admission()
        for name, reason in reasons_of_evictions(register.field, target.evicted, target).items():
            self.reasons.setdefault(name, reason)
        admitted = [
            (each, register.field.admitted(each, target.placed[each], last + place))
            for place, each in enumerate(target.causes, 1)
        ]
        # With rebalance who becomes protected is placed before its turn in the next round: that can change the order.
        moves = register.field.policy.rebalance and any(each.is_protected for _, each in admitted)
        if not target.evicted and not self.gone and not register.field.counts_time and not moves:
            # Where nobody gives way, being admitted only moves a job forward: the next round would find the same.
            self.new.update((each.job.id, each) for _, each in admitted)
            return False
        for each in target.evicted:
            if self.new.pop(each.job.id, None) is None:
                self.gone[each.job.id] = each
            waiting = self.evicted[each.job.id] = register.field.evicted(each)
            self._do(register.stop, register.start, each)
            self._do(register.put, register.drop, waiting)
        for pending, running in admitted:
            self.new[running.job.id] = running
            if self.evicted.pop(running.job.id, None) is None:
                self.waited[running.job.id] = pending
            self._do(register.drop, register.put, pending)
            self._do(register.start, register.stop, running)
        return bool(target.evicted or admitted)

    def _choose(self) -> None:
        """Have those choose that can and have not done so yet."""
        register = self.register
        if self.foresight is None or not register.has_singles(lambda each: each.job.fallback is Fallback.SOONEST):
            return
        for before, after in self.foresight.choose(register):
            self._do(register.drop, register.put, before)
            self._do(register.put, register.drop, after)

    def _refill(self) -> Target:
        has_claims = self.foresight is not None and self.register.field.policy.backfill_after_ms is not None
        claims = self.foresight.claims(self.register) if self.foresight and has_claims else None
        return refill(self.register, claims)

    def _check_idempotence(self) -> None:
        """The last round has found nothing to change; it has to be asked again only where it saw another order.

        A job that was evicted and came back to what it held is never touched, so it keeps its place by admission; and
        one that was admitted and went again has been pending all the time. Planned again some may come and go once
        more: what counts is that the difference of it all is nothing.
        """
        register, kept = self.register, self._kept()
        lapsed = [name for name in self.evicted if name not in self.gone]
        if not kept and not lapsed:
            return
        for each in self.new.values():
            self._do(register.stop, register.start, each)
        for name in kept:
            self._do(register.start, register.stop, self.gone[name])
        for name in lapsed:
            self._do(register.drop, register.put, self.evicted[name])
            self._do(register.put, register.drop, self.waited[name])
        last = max([register.last_admission(), *(each.admission for each in self.gone.values())])
        for place, each in enumerate((each for name, each in self.new.items() if name not in kept), 1):
            self._do(register.start, register.stop, replace(each, admission=last + place))
        again = Rounds(register, self.foresight)
        again.repeat()
        changes = [each.job.id for many in again.changes() for each in many]
        again.take_back()
        assert not changes, f"not idempotent: planned again, {changes} would go or come"

    def _do(self, do: Act, undo: Act, contender: Contender) -> None:
        do(contender)
        self.undo.append((undo, contender))

    def _preempt(self, evicted: Contender, started: set[str]) -> Preempt:
        reason = self.reasons[evicted.job.id]
        for_jobs = tuple(each for each in reason.for_jobs if each in started and each != evicted.job.id)
        return Preempt(evicted.job.id, reason.text, for_jobs)


def _is_same(one: Contender, other: Contender) -> bool:
    return held_by(one).option == held_by(other).option
