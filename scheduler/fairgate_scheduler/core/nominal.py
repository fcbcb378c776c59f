"""Steps 1 and 2 of the refill: what is within the nominal quota of leaves, and then of the tenants above them."""

from collections import Counter

from fairgate_scheduler.core.contenders import Choice, Contender, charge_of, held_by
from fairgate_scheduler.core.ledger import Cause, Ledger, Step, Way
from fairgate_scheduler.core.turns import Turns
from fairgate_scheduler.core.usage import Charge, Usage
from fairgate_scheduler.core.walk import Change, Walk
from fairgate_scheduler.core.watch import Need, Needs, Why


class LeafNominal:
    """Step 1. Each leaf's running jobs that stay within its own nominal quota, then in fair order pending ones.

    The running ones are placed from the start.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._walks = ledger.walks
        self._touched: set[int] = set()
        self._policy = ledger.field.policy
        self._nothing = Usage(ledger.field.bounds)

    def run(self) -> None:
        """Place what is within the nominal quota of the leaves."""
        lines = {
            leaf: line
            for leaf, line in self._ledger.waiting.items()
            if leaf in self._walks and not all(self._walks[leaf].excludes(entry[2]) for entry in line.entries)
        }
        Turns(self._ledger, lines, self).run()

    def look(self, contender: Contender, why: Why) -> Way | None:
        """The first option that fits beside all that runs, else the first that fits beside what is placed."""
        ledger = self._ledger
        if not ledger.limits.allows(contender.leaf):
            why.is_unsure = True
            return None
        walk, trials = self._walks[contender.leaf], list[tuple[Choice, Change]]()
        affordable = ledger.affordable(contender)
        why.is_unsure = len(affordable) < len(contender.choices)
        for choice in affordable:
            change = walk.trial(contender, choice)
            if change is None:
                continue
            trials.append((choice, change))
            if not change.gone and why.fits(ledger.present, choice.charge) and self._may_pass(contender, choice):
                return Way(choice, needs=(Need(ledger.present, choice.charge),), change=change)
        for choice, change in trials:
            displaced = self._displaced(contender, choice, change)
            why.is_unsure = why.is_unsure or displaced is None
            if displaced is None or not self._has_room(choice.charge, change, why):
                continue
            if self._may_pass(contender, choice, change.gone):
                needs = self._needs(choice.charge, change)
                return Way(choice, is_forced=True, needs=needs, change=change, displaced=displaced)
        return None

    def place(self, contender: Contender, way: Way) -> None:
        """Place the job, and with it what is selected besides now."""
        change = way.change
        assert change is not None, way
        for each in way.displaced:
            self._ledger.displace(each)
        for each in change.gone:
            self._ledger.nominal.remove(self._ledger.charge_in(each))
            if each in self._ledger.protected:
                self._ledger.uncount(each)
            else:
                self._ledger.take(each)
        self._mine(contender.leaf).accept(change, way.displaced)
        cause = Cause(Step.NOMINAL, contender.leaf, way.is_forced)
        for each, choice in (change.entry, *change.came):
            self._ledger.place(each, choice, cause if each is contender else None)
            self._ledger.nominal.add(choice.charge)

    def _mine(self, leaf: int) -> Walk:
        """The walk of a leaf, which the register no longer shares."""
        if leaf not in self._touched:
            self._touched.add(leaf)
            self._walks[leaf] = self._walks[leaf].copy()
        return self._walks[leaf]

    def _may_pass(self, contender: Contender, choice: Choice, gone: tuple[Contender, ...] = ()) -> bool:
        return self._ledger.may_pass(contender, choice, self._nothing, gone)

    def _needs(self, charge: Charge, change: Change) -> Needs:
        """What a job needs room beside while running jobs give way to it. Who gives way at once may change any time."""
        ledger = self._ledger
        if not self._policy.reclaim:
            return ()
        assert charge.common is not None, charge
        spared, came = Counter[int](), [choice.charge for _, choice in change.came]
        for each in change.gone:
            if each not in ledger.protected:
                spared.update(self._spares(ledger.placed[each].charge))
        for other in came:
            spared.subtract(dict(other.rows))
        return Need(ledger.present, charge.common), *(Need(ledger.target, each, spared) for each in (charge, *came))

    def _spares(self, charge: Charge) -> dict[int, int]:
        """What is free above its leaf, by row, when a job falls out: all of it, if no tenant keeps any of it back."""
        tables = self._ledger.field.tree.tables
        return {row: amount for row, amount in charge.quota if not any(tables[row].kept[node] for node in charge.path)}

    def _displaced(self, contender: Contender, choice: Choice, change: Change) -> tuple[Contender, ...] | None:
        """Which running jobs of the leaf give way at once. With ``reclaim`` the later steps find them."""
        if self._policy.reclaim:
            return ()
        if not self._policy.priority_preemption:
            return None
        victims = (
            each
            for each in self._ledger.running_of(contender.leaf)
            if not self._walks[contender.leaf].is_selected(each, change) and each not in self._ledger.displaced
        )
        return self._ledger.make_room(self._ledger.present, contender, choice.charge, victims)

    def _has_room(self, charge: Charge, change: Change, why: Why) -> bool:
        """Whether the job fits beside what is placed but for what falls out, and what comes in beside it too."""
        ledger, target = self._ledger, self._ledger.target
        assert charge.common is not None, charge
        if not why.fits(ledger.present, charge.common):
            return False
        removed = [ledger.placed[each].charge for each in change.gone if each not in ledger.protected]
        came = [choice.charge for each, choice in change.came if each not in ledger.protected]
        out = Counter[int]()
        for each in removed:
            target.remove(each)
            out.update(dict(each.rows))
        fits, added = why.fits(target, charge, out), list[Charge]()
        for before, each in zip((charge, *came), came, strict=False):
            target.add(before)
            added.append(before)
            out.subtract(dict(before.rows))
            fits = fits and (why.fits(target, each, out) if ledger.is_calm else ledger.fits_target(each))
        for each in added:
            target.remove(each)
        for each in removed:
            target.add(each)
        why.displaces = why.displaces or not fits
        why.is_unsure = why.is_unsure or not (fits or ledger.is_calm)
        return fits


class InnerNominal:
    """Step 2, of one inner tenant: of what its leaves have left, what stays within its own nominal quota."""

    def __init__(self, ledger: Ledger, node: int) -> None:
        self._ledger = ledger
        self._node = node
        self._reclaim = ledger.field.policy.reclaim

    def run(self) -> None:
        """Place the running jobs of the subtree, then in fair order pending ones."""
        waiting, leaves = self._ledger.waiting, self._ledger.register.leaves_below[self._node]
        running = self._ledger.uncounted(leaves)
        if running:
            self._place_running(running)
        lines = {leaf: waiting[leaf] for leaf in leaves if leaf in waiting}
        Turns(self._ledger, lines, self, Usage.nominal_room).run()

    def look(self, contender: Contender, why: Why) -> Way | None:
        """The first option that fits beside all that runs, else the first that fits beside what is placed.

        Nothing is taken out in this step, so nobody asks why.
        """
        ledger = self._ledger
        if not ledger.limits.allows(contender.leaf):
            return None
        entitled = [each for each in ledger.affordable(contender) if self._is_within(each.charge)]
        for choice in entitled:
            if ledger.present.fits(choice.charge) and self._may_pass(contender, choice):
                return Way(choice, needs=(Need(ledger.present, choice.charge),))
        for choice in entitled if self._reclaim else ():
            common = choice.charge.common
            assert common is not None, choice
            if not ledger.target.fits(choice.charge) or not ledger.present.fits(common):
                continue
            if self._may_pass(contender, choice):
                return Way(choice, is_forced=True)
        return None

    def place(self, contender: Contender, way: Way) -> None:
        """Place the job."""
        self._ledger.place(contender, way.choice, Cause(Step.NOMINAL, self._node, way.is_forced))
        self._ledger.nominal.add(way.choice.charge)

    def _may_pass(self, contender: Contender, choice: Choice) -> bool:
        return self._ledger.may_pass(contender, choice, self._ledger.nominal)

    def _is_within(self, charge: Charge) -> bool:
        return self._ledger.nominal.is_within(self._node, charge) and self._ledger.present.is_within(self._node, charge)

    def _place_running(self, running: list[Contender]) -> None:
        """By admission; one that does not stay within still counts against all younger ones."""
        before = self._ledger.nominal.copy()
        for each in sorted(running, key=lambda contender: contender.admission):
            charge = charge_of(each)
            inside = before.is_within(self._node, charge)
            before.add(charge)
            if inside and self._ledger.can_stay(each):
                self._ledger.place(each, held_by(each))
                self._ledger.nominal.add(charge)
