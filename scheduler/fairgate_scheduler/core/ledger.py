"""The books of one refill: who is placed, what that uses, and what of the running jobs still stands beside it."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple, Protocol

from fairgate_scheduler.core.contenders import Choice, Contender, Field, charge_of, held_by
from fairgate_scheduler.core.lines import Line
from fairgate_scheduler.core.register import Register
from fairgate_scheduler.core.tenancy import QuotaCut
from fairgate_scheduler.core.usage import Charge, Usage
from fairgate_scheduler.core.walk import Change
from fairgate_scheduler.core.watch import Needs, Shift


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


class Way(NamedTuple):
    """A way to place a job: on which option, whether running jobs must give way, and what of its leaf changes with it.

    ``needs``: as long as there is room for these and nothing is taken out it stays the way; empty: nobody knows.
    """

    choice: Choice
    is_forced: bool = False
    needs: Needs = ()
    change: Change | None = None
    displaced: tuple[Contender, ...] = ()


class Claims(Protocol):
    """The claims of jobs that have waited too long; false: there are none. ``refused``: how often they forbade."""

    refused: int

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
    """What a refill has decided so far. It opens with what the register says, and does not write into it.

    ``target`` is the use of all that is placed; ``present`` that of all that runs and does not give way to its own
    leaf, and of the new jobs; ``nominal`` that of what is counted within nominal quota. ``order`` counts jobs for the
    shares when their turn comes, ``counted`` has them. ``loose`` are the running jobs, by leaf, that may have to go:
    all others are placed. ``shifts`` tells what was added to ``target`` and ``present``, and taken from them.
    ``version`` grows with each change of what is placed. ``is_calm``: nothing is used above a bound. ``walks``: of each
    leaf that owns something. ``is_cautious``: something else than room, limits and quotas may keep a job, and may
    change any time.
    """

    def __init__(self, register: Register, claims: Claims | None = None) -> None:
        field = self.field = register.field
        self.register = register
        self.claims = claims or None
        self.placed = register.placed.copy()
        self.counted: dict[Contender, object] = dict(register.selected)
        self.loose: dict[int, dict[Contender, None]] = {
            leaf: dict.fromkeys(rest) for leaf, rest in register.rest.items()
        }
        self.protected = set(register.protected)
        self.fresh: dict[Contender, Cause] = {}
        self.displaced: dict[Contender, None] = {}
        self.order = register.order.copy()
        self.target, self.present = register.target.copy(), register.present.copy()
        self.nominal = register.nominal.copy()
        self.limits = register.limits.copy()
        self.budgets = register.budgets()
        self.shifts: list[Shift] = []
        self.version = 0
        self.walks = dict(register.walks)
        self.waiting = {leaf: Line(queue) for leaf, queue in register.queues.items()}
        self.is_calm = not register.over and not (field.policy.rebalance and self.is_limit_exceeded())
        may_be_full = field.policy.rebalance and (bool(self.budgets) or not self.is_calm)
        self.is_cautious = self.claims is not None or may_be_full
        self._counts_placed = False
        self._placings = 0
        self._placed_at: dict[Contender, int] = {}
        self._floor = None if self.is_calm else _Floor(field, self.present)

    def running_of(self, leaf: int) -> Sequence[Contender]:
        """The running jobs of a leaf, in the order of admission."""
        return self.register.running.get(leaf, ())

    def uncounted(self, leaves: Iterable[int] | None = None) -> list[Contender]:
        """The running jobs whose turn has not come yet, but for those that give way to their own leaf."""
        counted, displaced = self.counted, self.displaced
        return [
            each
            for leaf in (self.loose if leaves is None else leaves)
            for each in self.loose.get(leaf, ())
            if each not in counted and each not in displaced
        ]

    def evicted(self) -> list[Contender]:
        """The running jobs that are not placed, in the order of admission."""
        placed = self.placed
        out = [each for loose in self.loose.values() for each in loose if each not in placed]
        return sorted(out, key=lambda each: each.admission)

    def wait(self, contender: Contender) -> None:
        """Put a job into its leaf's line."""
        self.waiting.setdefault(contender.leaf, Line()).push(contender)

    def affordable(self, contender: Contender) -> Sequence[Choice]:
        """The options that the budgets let a pending job take."""
        if not self.budgets:
            return contender.choices
        return [each for each in contender.choices if self.budgets.allows(contender.leaf, each.cost)]

    def may_pass(
        self, contender: Contender, choice: Choice, nominal: Usage | None = None, gone: Sequence[Contender] = ()
    ) -> bool:
        """Whether no claim forbids to place a pending job now."""
        return self.claims is None or self.claims.allow(self, contender, choice, nominal, gone)

    def can_stay(self, contender: Contender) -> bool:
        """Whether a running job is placed or has room. What a cut left may stay where nothing new comes."""
        return contender in self.placed or self.fits_target(charge_of(contender))

    def is_limit_exceeded(self) -> bool:
        """Whether more runs somewhere than a limit or a budget allows: it was lowered."""
        return self.limits.is_exceeded() or self.budgets.is_overdrawn()

    def count_placed(self) -> None:
        """From now on limits and budgets count what is placed, not what runs; of other running jobs what they used."""
        self._counts_placed = True
        for each in (each for loose in self.loose.values() for each in loose):
            if each not in self.placed and each not in self.displaced:
                self.limits.remove(each.leaf)
                self.budgets.let_go(each.leaf, held_by(each).cost, self.field.use_of(each))

    def forget_history(self) -> None:
        """From now on the fair order goes by what is counted alone."""
        self.order = self.order.copy()
        self.order.recall({})

    def has_place(self, contender: Contender) -> bool:
        """Whether limits, counting what is placed, let a running job stay: above them only where nothing new comes."""
        if contender in self.placed:
            return True
        paths, full = self.field.tree.paths, self.limits.full_above(contender.leaf)
        if full and (self.is_calm or not all(full.isdisjoint(paths[each.leaf]) for each in self.fresh)):
            return False
        lacking = self.budgets.lacking_for(contender.leaf, held_by(contender).cost, self.field.use_of(contender))
        new = self.fresh if lacking else ()
        return all(lacking.isdisjoint(paths[each.leaf]) or not self.placed[each].cost for each in new)

    def fits_target(self, charge: Charge) -> bool:
        """Whether a running job fits beside what is placed; see ``can_stay``."""
        return self.target.fits(charge, None if self._floor is None else self._floor.usage)

    def place(self, contender: Contender, choice: Choice, cause: Cause | None = None) -> None:
        """Place a job (again: nothing happens) and count it for the shares. ``cause``: of a pending one."""
        if contender not in self.counted:
            self.counted[contender] = None
            self.order.count(choice.charge)
        if contender not in self.placed:
            self._put(contender, choice, cause)

    def keep_all(self, running: Collection[Contender]) -> None:
        """Place and count all running jobs that are not counted yet, which are these: nobody but those that give way to
        their own leaf has to go."""
        self.order.count_all(charge_of(each) for each in running)
        self.counted.update(dict.fromkeys(running))
        self.placed.update((each, held_by(each)) for each in running)
        self.target = self.present.copy()
        self.version += 1

    def protect(self, contender: Contender) -> None:
        """A running job stays whatever the order is; it is counted for the shares when its turn comes."""
        self.protected.add(contender)
        if contender not in self.placed:
            self._put(contender, held_by(contender), None)

    def take(self, contender: Contender) -> None:
        """Take a placed job out again. A pending one goes back to its line."""
        self.uncount(contender)
        choice = self.placed.pop(contender)
        self.version += 1
        self.target.remove(choice.charge)
        self.shifts.append(Shift(self.target, choice.charge, is_more=False))
        if contender.held is not None:
            self.loose.setdefault(contender.leaf, {})[contender] = None
        elif self.fresh.pop(contender, None) is not None:
            self._uncount(contender, choice)
            self.wait(contender)

    def uncount(self, contender: Contender) -> None:
        """Count a job no longer for the shares."""
        if contender in self.counted:
            del self.counted[contender]
            self.order.uncount(self.placed[contender].charge)
            if contender.held is not None:
                self.loose.setdefault(contender.leaf, {})[contender] = None
                self.shifts.append(Shift(self.target, self.placed[contender].charge, is_more=False))

    def displace(self, contender: Contender) -> None:
        """A running job gives way to its own leaf."""
        if contender not in self.displaced:
            self.displaced[contender] = None
            self._uncount(contender, held_by(contender))
            use = self.field.use_of(contender)
            if use is not None:
                self.budgets.spend(contender.leaf, use)

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
        self.version += 1
        self._placed_at[contender] = self._placings
        self.placed[contender] = choice
        self.target.add(choice.charge)
        self.shifts.append(Shift(self.target, choice.charge, is_more=True))
        if contender.held is None:
            assert cause is not None, contender
            self.fresh[contender] = cause
            self._count(contender, choice)
        elif self._counts_placed:
            self.limits.add(contender.leaf)
            self.budgets.keep(contender.leaf, choice.cost, self.field.use_of(contender))

    def _count(self, contender: Contender, choice: Choice) -> None:
        self.present.add(choice.charge)
        if self._floor is not None:
            self._floor.follow(self.present, choice.charge, is_running=contender.held is not None, sign=1)
        self.shifts.append(Shift(self.present, choice.charge, is_more=True))
        self.limits.add(contender.leaf)
        self.budgets.reserve(contender.leaf, choice.cost)

    def _uncount(self, contender: Contender, choice: Choice) -> None:
        self.present.remove(choice.charge)
        if self._floor is not None:
            self._floor.follow(self.present, choice.charge, is_running=contender.held is not None, sign=-1)
        self.shifts.append(Shift(self.present, choice.charge, is_more=False))
        self.limits.remove(contender.leaf)
        self.budgets.release(contender.leaf, choice.cost)


Room = tuple[Contender, ...] | None
"""Who must go; ``None``: that would not help."""


class _Floor:
    """How far running jobs may stand above the bounds after a cut: at what runs now, but not where new ones use more.

    A new job that its tenant serves from what it keeps for itself uses nothing of the tenants above it: there what the
    cut left is not in its way, and it is in nobody's.
    """

    def __init__(self, field: Field, now: Usage) -> None:
        self.usage, self._running = now.copy(), now.copy()
        if field.policy.quota_cut is QuotaCut.RECLAIM:
            self.usage.used = [[0] * len(row) for row in now.used]
        self._full = self.usage.copy()

    def follow(self, present: Usage, charge: Charge, *, is_running: bool, sign: int) -> None:
        """A job was added to (sign 1) or taken out of (-1) what is present: a new one, or a running one."""
        if is_running:
            (self._running.add if sign > 0 else self._running.remove)(charge)
        for row, node in charge.cells:
            if node < 0:
                is_open = present.physical[row] <= self._running.physical[row]
                self.usage.physical[row] = self._full.physical[row] if is_open else 0
            else:
                is_open = present.used[row][node] <= self._running.used[row][node]
                self.usage.used[row][node] = self._full.used[row][node] if is_open else 0
