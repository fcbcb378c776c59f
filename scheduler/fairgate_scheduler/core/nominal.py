"""Steps 1 and 2 of the refill: what is within the nominal quota of leaves, and then of the tenants above them."""

from typing import NamedTuple

from fairgate_scheduler.core.contenders import Choice, Contender
from fairgate_scheduler.core.ledger import Cause, Ledger, Step, charge_of, held_by
from fairgate_scheduler.core.turns import Turns
from fairgate_scheduler.core.usage import Charge, Usage
from fairgate_scheduler.core.walk import Change, Walk


class Entitled(NamedTuple):
    """How a pending job is placed within its leaf's nominal quota."""

    choice: Choice
    change: Change
    displaced: tuple[Contender, ...]
    is_forced: bool


class Nominal:
    """What counts as nominal after step 1 or 2: its use, and who."""

    def __init__(self, usage: Usage) -> None:
        self.usage = usage
        self.members: set[Contender] = set()

    def add(self, contender: Contender, charge: Charge) -> None:
        """Count a job as nominal."""
        self.usage.add(charge)
        self.members.add(contender)


class LeafNominal:
    """Step 1. Each leaf's running jobs that stay within its own nominal quota, then in fair order pending ones."""

    def __init__(self, ledger: Ledger, walks: dict[int, Walk]) -> None:
        self._ledger = ledger
        self._walks = walks
        self._policy = ledger.field.policy
        self._nothing = Usage(ledger.field.bounds)

    def run(self) -> Nominal:
        """Place what is within the nominal quota of the leaves."""
        for walk in self._walks.values():
            for contender, choice in walk.selected.items():
                self._ledger.place(contender, choice)
        lines = {leaf: line for leaf, line in self._ledger.waiting.items() if leaf in self._walks}
        Turns(self._ledger, lines, self).run()
        nominal = Nominal(Usage(self._ledger.field.bounds))
        for walk in self._walks.values():
            for contender, choice in walk.selected.items():
                nominal.add(contender, choice.charge)
        return nominal

    def look(self, contender: Contender) -> Entitled | None:
        """The first option that fits beside all that runs, else the first that fits beside what is placed."""
        if not self._ledger.limits.allows(contender.leaf):
            return None
        walk, trials = self._walks[contender.leaf], list[tuple[Choice, Change]]()
        for choice in contender.choices:
            change = walk.trial(contender, choice) if self._ledger.may_start(contender, choice) else None
            if change is None:
                continue
            trials.append((choice, change))
            if not change.gone and self._ledger.present.fits(choice.charge) and self._may_pass(contender, choice):
                return Entitled(choice, change, (), is_forced=False)
        for choice, change in trials:
            displaced = self._displaced(contender, choice, change)
            if displaced is None or not self._has_room(choice.charge, change):
                continue
            if self._may_pass(contender, choice, change.gone):
                return Entitled(choice, change, displaced, is_forced=True)
        return None

    def place(self, contender: Contender, way: Entitled) -> None:
        """Place the job, and with it all that is selected now."""
        for each in way.displaced:
            self._ledger.displace(each)
        for each in way.change.gone:
            if each in self._ledger.protected:
                self._ledger.uncount(each)
            else:
                self._ledger.take(each)
        self._walks[contender.leaf].accept(way.change, way.displaced)
        cause = Cause(Step.NOMINAL, contender.leaf, way.is_forced)
        for each, choice in way.change.selected.items():
            self._ledger.place(each, choice, cause if each is contender else None)

    def _may_pass(self, contender: Contender, choice: Choice, gone: tuple[Contender, ...] = ()) -> bool:
        return self._ledger.may_pass(contender, choice, self._nothing, gone)

    def _displaced(self, contender: Contender, choice: Choice, change: Change) -> tuple[Contender, ...] | None:
        """Which running jobs of the leaf give way at once. With ``reclaim`` the later steps find them."""
        if self._policy.reclaim:
            return ()
        if not self._policy.priority_preemption:
            return None
        victims = (
            each
            for each in self._ledger.running
            if each.leaf == contender.leaf and each not in change.selected and each not in self._ledger.displaced
        )
        return self._ledger.make_room(self._ledger.present, contender, choice.charge, victims)

    def _has_room(self, charge: Charge, change: Change) -> bool:
        """Whether the job fits beside what is placed but for what falls out, and what comes in beside it too."""
        ledger = self._ledger
        assert charge.common is not None, charge
        if not ledger.present.fits(charge.common):
            return False
        target = ledger.target
        removed = [ledger.placed[each].charge for each in change.gone if each not in ledger.protected]
        added: list[Charge] = []
        for charge_out in removed:
            target.remove(charge_out)
        fits = target.fits(charge)
        if fits:
            target.add(charge)
            added.append(charge)
            for each, choice in change.came:
                if each in ledger.protected:
                    continue
                fits = fits and ledger.fits_target(choice.charge)
                target.add(choice.charge)
                added.append(choice.charge)
        for charge_out in added:
            target.remove(charge_out)
        for charge_out in removed:
            target.add(charge_out)
        return fits


class InnerNominal:
    """Step 2, of one inner tenant: of what its leaves have left, what stays within its own nominal quota."""

    def __init__(self, ledger: Ledger, node: int, nominal: Nominal) -> None:
        self._ledger = ledger
        self._node = node
        self._nominal = nominal
        self._reclaim = ledger.field.policy.reclaim

    def run(self) -> None:
        """Place the running jobs of the subtree, then in fair order pending ones."""
        paths = self._ledger.field.tree.paths
        self._place_running([each for each in self._ledger.running if self._node in paths[each.leaf]])
        lines = {leaf: line for leaf, line in self._ledger.waiting.items() if self._node in paths[leaf]}
        Turns(self._ledger, lines, self).run()

    def look(self, contender: Contender) -> tuple[Choice, bool] | None:
        """The first option that fits beside all that runs, else the first that fits beside what is placed."""
        if not self._ledger.limits.allows(contender.leaf):
            return None
        entitled = [
            each
            for each in contender.choices
            if self._ledger.may_start(contender, each) and self._is_within(each.charge)
        ]
        for choice in entitled:
            if self._ledger.present.fits(choice.charge) and self._may_pass(contender, choice):
                return choice, False
        for choice in entitled if self._reclaim else ():
            common = choice.charge.common
            assert common is not None, choice
            if not self._ledger.target.fits(choice.charge) or not self._ledger.present.fits(common):
                continue
            if self._may_pass(contender, choice):
                return choice, True
        return None

    def place(self, contender: Contender, way: tuple[Choice, bool]) -> None:
        """Place the job."""
        choice, is_forced = way
        self._ledger.place(contender, choice, Cause(Step.NOMINAL, self._node, is_forced))
        self._nominal.add(contender, choice.charge)

    def _may_pass(self, contender: Contender, choice: Choice) -> bool:
        return self._ledger.may_pass(contender, choice, self._nominal.usage)

    def _is_within(self, charge: Charge) -> bool:
        return self._nominal.usage.is_within(self._node, charge) and self._ledger.present.is_within(self._node, charge)

    def _place_running(self, running: list[Contender]) -> None:
        """By admission; one that does not stay within still counts against all younger ones."""
        before = self._nominal.usage.copy()
        for each in running:
            if each in self._nominal.members or each in self._ledger.displaced:
                continue
            charge = charge_of(each)
            inside = before.is_within(self._node, charge)
            before.add(charge)
            if inside and self._ledger.can_stay(each):
                self._ledger.place(each, held_by(each))
                self._nominal.add(each, charge)
