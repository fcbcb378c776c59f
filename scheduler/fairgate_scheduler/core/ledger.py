"""The books of one refill: who is placed, what that uses, and what of the running jobs still stands beside it."""

import heapq
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

from fairgate_scheduler.core.contenders import Choice, Contender, Field
from fairgate_scheduler.core.limits import RunningCounts
from fairgate_scheduler.core.shares import FairOrder
from fairgate_scheduler.core.tenancy import QuotaCut
from fairgate_scheduler.core.usage import Charge, Usage

Key = tuple[int | str, ...]


class Step(Enum):
    """The step of the refill that placed a pending job."""

    NOMINAL = auto()
    """Within the nominal quota of its leaf, or of a tenant above it."""
    PRIORITY = auto()
    """In the place of lower priorities of its own leaf."""
    BORROWING = auto()


@dataclass(frozen=True, slots=True)
class Cause:
    """How a pending job was placed: the step, within whose quota, and whether running jobs must give way to it."""

    step: Step
    node: int
    is_forced: bool


class Line:
    """The jobs of one leaf that may be placed in a step, best first. Of jobs with equal groups only the best shows."""

    __slots__ = ("_groups", "_heads")

    def __init__(self) -> None:
        self._groups: dict[Hashable, list[tuple[Key, str, Contender]]] = {}
        self._heads: list[Contender] | None = None

    def push(self, key: Key, contender: Contender) -> None:
        """Add a job; ``key`` is its place."""
        heapq.heappush(self._groups.setdefault(contender.group, []), (key, contender.job.id, contender))
        self._heads = None

    def pop(self, contender: Contender) -> None:
        """Take out a job that shows."""
        group = self._groups[contender.group]
        assert group[0][2] is contender, f"{contender.job.id} is not the first of its equals"
        heapq.heappop(group)
        if not group:
            del self._groups[contender.group]
        self._heads = None

    def drain(self) -> list[Contender]:
        """Take all jobs out, in no particular order."""
        out = [contender for group in self._groups.values() for _, _, contender in group]
        self._groups, self._heads = {}, None
        return out

    def heads(self) -> Sequence[Contender]:
        """The best job of each group, best first."""
        if self._heads is None:
            best = sorted((group[0] for group in self._groups.values()), key=lambda entry: entry[:2])
            self._heads = [contender for _, _, contender in best]
        return self._heads


class Claims(Protocol):
    """The claims of jobs that have waited too long; false: there are none."""

    def __bool__(self) -> bool: ...

    def allow(
        self,
        ledger: "Ledger",
        contender: Contender,
        choice: Choice,
        nominal: Usage | None = None,
        gone: Sequence[Contender] = (),
    ) -> bool:
        """Whether placing a job now delays nobody who has a claim and comes before it; see ``core.claims``."""


class Ledger:
    """What a refill has decided so far.

    ``target`` is the use of all that is placed; ``present`` that of all that runs and does not give way to its own
    leaf, and of the new jobs. ``order`` counts jobs for the shares when their turn comes. ``removals`` grows with each
    job that is taken out again: until then, what could not be placed still can not.
    """

    def __init__(
        self,
        field: Field,
        running: Sequence[Contender],
        pending: Iterable[Contender],
        claims: Claims | None = None,
    ) -> None:
        self.field = field
        self.claims = claims or None
        self.running = running
        self.placed: dict[Contender, Choice] = {}
        self.fresh: dict[Contender, Cause] = {}
        self.displaced: dict[Contender, None] = {}
        self.protected: set[Contender] = {each for each in running if each.is_protected}
        self.order = FairOrder(field.tree, field.history)
        self.counted: set[Contender] = set()
        self.target = Usage(field.bounds)
        self.limits = RunningCounts(field.tree)
        self.budgets = field.budget_books()
        self.removals = 0
        self.waiting: dict[int, Line] = {}
        self._placings = 0
        self._placed_at: dict[Contender, int] = {}
        self.present = Usage(field.bounds)
        for each in running:
            self._count(each, held_by(each))
            self._count_past(each)
        self._floor = _Floor(field, self.present.copy())
        for each in pending:
            self._count_past(each)
            if each.choices:
                self.wait(each)

    def wait(self, contender: Contender) -> None:
        """Put a job into its leaf's line."""
        self.waiting.setdefault(contender.leaf, Line()).push(contender.rank, contender)

    def may_start(self, contender: Contender, choice: Choice) -> bool:
        """Whether limits and budgets, which count all that runs and all that is new, let a pending job start."""
        return self.limits.allows(contender.leaf) and self.budgets.allows(contender.leaf, choice.cost)

    def may_pass(
        self, contender: Contender, choice: Choice, nominal: Usage | None = None, gone: Sequence[Contender] = ()
    ) -> bool:
        """Whether no claim forbids to place a pending job now."""
        return self.claims is None or self.claims.allow(self, contender, choice, nominal, gone)

    def can_stay(self, contender: Contender) -> bool:
        """Whether a running job is placed or has room. What a cut left may stay where nothing new comes."""
        return contender in self.placed or self.target.fits(charge_of(contender), self._floor.usage)

    def fits_target(self, charge: Charge) -> bool:
        """Whether a running job fits beside what is placed; see ``can_stay``."""
        return self.target.fits(charge, self._floor.usage)

    def place(self, contender: Contender, choice: Choice, cause: Cause | None = None) -> None:
        """Place a job (again: nothing happens) and count it for the shares. ``cause``: of a pending one."""
        if contender not in self.counted:
            self.counted.add(contender)
            self.order.count(choice.charge)
        if contender not in self.placed:
            self._put(contender, choice, cause)

    def place_before_its_turn(self, contender: Contender) -> None:
        """Place a running job that stays whatever the order is; it is counted for the shares later."""
        assert contender.held is not None, contender
        self._put(contender, contender.held, None)

    def take(self, contender: Contender) -> None:
        """Take a placed job out again. A pending one goes back to its line."""
        self.uncount(contender)
        choice = self.placed.pop(contender)
        self.target.remove(choice.charge)
        self.removals += 1
        if self.fresh.pop(contender, None) is not None:
            self._uncount(contender, choice)
            self._floor.reopen(choice.charge)
            self.wait(contender)

    def uncount(self, contender: Contender) -> None:
        """Count a job no longer for the shares."""
        if contender in self.counted:
            self.counted.remove(contender)
            self.order.uncount(self.placed[contender].charge)
            self.removals += 1

    def displace(self, contender: Contender) -> None:
        """A running job gives way to its own leaf."""
        if contender not in self.displaced:
            self.displaced[contender] = None
            self._uncount(contender, held_by(contender))
            use = self.field.use_of(contender)
            if use is not None:
                self.budgets.spend(contender.leaf, use)
            self.removals += 1

    def restore(self, contender: Contender) -> None:
        """A displaced job that found a place again runs on."""
        del self.displaced[contender]
        self._count(contender, held_by(contender))
        use = self.field.use_of(contender)
        if use is not None:
            self.budgets.unspend(contender.leaf, use)

    def make_room(self, usage: Usage, contender: Contender, charge: Charge, victims: Iterable[Contender]) -> "Room":
        """Who of the victims must go so that a job fits; only lower priorities that are not protected do.

        The lowest priority goes first, then the youngest; of these, those that do not help stay. ``None``: it does not
        fit even if all go.
        """
        candidates = sorted(
            (each for each in victims if each.priority < contender.priority and each not in self.protected),
            key=self._weakness,
        )
        gone: list[Contender] = []
        for victim in candidates:
            if usage.fits(charge):
                break
            usage.remove(self.charge_in(victim))
            gone.append(victim)
        fits = usage.fits(charge)
        needed = list(gone)
        for victim in gone if fits else ():
            usage.add(self.charge_in(victim))
            if usage.fits(charge):
                needed.remove(victim)
            else:
                usage.remove(self.charge_in(victim))
        for victim in needed:
            usage.add(self.charge_in(victim))
        return tuple(needed) if fits else None

    def charge_in(self, contender: Contender) -> Charge:
        """What a job takes where it is placed, or else where it runs."""
        choice = self.placed.get(contender)
        return charge_of(contender) if choice is None else choice.charge

    def _weakness(self, contender: Contender) -> tuple[int, int, int]:
        if contender.held is None:
            return contender.priority, 0, -self._placed_at[contender]
        return contender.priority, 1, -contender.admission

    def _put(self, contender: Contender, choice: Choice, cause: Cause | None) -> None:
        self._placings += 1
        self._placed_at[contender] = self._placings
        self.placed[contender] = choice
        self.target.add(choice.charge)
        if contender.held is None:
            assert cause is not None, contender
            self.fresh[contender] = cause
            self._count(contender, choice)
            self._floor.close(choice.charge)

    def _count(self, contender: Contender, choice: Choice) -> None:
        self.present.add(choice.charge)
        self.limits.add(contender.leaf)
        self.budgets.reserve(contender.leaf, choice.cost)

    def _uncount(self, contender: Contender, choice: Choice) -> None:
        self.present.remove(choice.charge)
        self.limits.remove(contender.leaf)
        self.budgets.release(contender.leaf, choice.cost)

    def _count_past(self, contender: Contender) -> None:
        if contender.past is not None:
            self.budgets.spend(contender.leaf, contender.past)


Room = tuple[Contender, ...] | None
"""Who must go; ``None``: that would not help."""


class _Floor:
    """How far running jobs may stand above the bounds after a cut: at what runs now, but not where a new one comes."""

    def __init__(self, field: Field, now: Usage) -> None:
        self.usage = now
        if field.policy.quota_cut is QuotaCut.RECLAIM:
            now.used = [[0] * len(row) for row in now.used]
        self._full = now.copy()
        self._new_used = [[0] * len(row) for row in now.used]
        self._new_physical = [0] * len(now.physical)

    def close(self, charge: Charge) -> None:
        """A new job is placed."""
        self._change(charge, 1)

    def reopen(self, charge: Charge) -> None:
        """A new job is taken out again."""
        self._change(charge, -1)

    def _change(self, charge: Charge, sign: int) -> None:
        for row, _ in charge.physical:
            self._new_physical[row] += sign
            self.usage.physical[row] = 0 if self._new_physical[row] else self._full.physical[row]
        for row, _ in charge.quota:
            for node in charge.path:
                self._new_used[row][node] += sign
                self.usage.used[row][node] = 0 if self._new_used[row][node] else self._full.used[row][node]


def charge_of(running: Contender) -> Charge:
    """What a running job holds."""
    return held_by(running).charge


def held_by(running: Contender) -> Choice:
    """The option that a running job holds."""
    assert running.held is not None, running.job.id
    return running.held
