"""Steps 3 and 4 of the refill: running jobs beyond nominal quota are kept, and new ones come, in fair order."""

from fairgate_scheduler.core.contenders import Contender, charge_of, held_by
from fairgate_scheduler.core.ledger import Cause, Ledger, Step, Way
from fairgate_scheduler.core.lines import Key, Line
from fairgate_scheduler.core.turns import Turns
from fairgate_scheduler.core.watch import Need, Why


class Keeping:
    """Step 3. Running jobs stay where there is room: in fair order, inside a tenant by priority, then admission."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def run(self) -> list[Contender]:
        """Place the rest of the running jobs, as far as there is room. Returns those that were placed here."""
        rest = self._ledger.uncounted()
        if self._all_fit(rest):
            self._ledger.keep_all(rest)
            return rest
        lines: dict[int, Line] = {}
        for each in rest:
            lines.setdefault(each.leaf, Line(key=_by_admission)).push(each)
        Turns(self._ledger, lines, self).run()
        return [each for each in rest if each in self._ledger.placed]

    def look(self, contender: Contender, why: Why) -> Way | None:
        """What the job holds, if it can stay."""
        held = held_by(contender)
        return Way(held, needs=(Need(self._ledger.target, held.charge),)) if self._ledger.can_stay(contender) else None

    def place(self, contender: Contender, way: Way) -> None:
        """Keep the job."""
        self._ledger.place(contender, way.choice)

    def _all_fit(self, rest: list[Contender]) -> bool:
        """Whether all of them fit together, so that their order does not matter.

        If nothing was above a bound before, only the new jobs can have brought something above it.
        """
        ledger, added, fits = self._ledger, list[Contender](), True
        if ledger.is_calm:
            return not any(True for each in ledger.fresh for _ in ledger.present.over(ledger.placed[each].charge))
        for each in rest:
            if each in ledger.placed:
                continue
            if not ledger.fits_target(charge_of(each)):
                fits = False
                break
            ledger.target.add(charge_of(each))
            added.append(each)
        for each in added:
            ledger.target.remove(charge_of(each))
        return fits


class NewBorrowers:
    """Step 4. Pending jobs in fair order; one may take the place of lower priorities placed after the nominal steps."""

    def __init__(self, ledger: Ledger, kept: list[Contender]) -> None:
        self._ledger = ledger
        self._late: dict[int, dict[Contender, None]] = {}
        for each in kept:
            if each not in ledger.protected:
                self._late.setdefault(each.leaf, {})[each] = None

    def run(self) -> None:
        """Place pending jobs until none can be placed. Jobs that gave way may be placed again, on what they hold."""
        for each in self._ledger.displaced:
            if each not in self._ledger.placed:
                self._ledger.wait(each)
        Turns(self._ledger, self._lines(), self).run()

    def _lines(self) -> dict[int, Line]:
        """The lines of the leaves that have a job for which there is room; if anybody may give way here, all lines."""
        waiting, target = self._ledger.waiting, self._ledger.target
        if self._ledger.displaced or any(self._may_give_way(leaf, line) for leaf, line in waiting.items()):
            return waiting
        return {
            leaf: line
            for leaf, line in waiting.items()
            if any(target.fits(choice.charge) for entry in line.entries for choice in entry[2].choices)
        }

    def _may_give_way(self, leaf: int, line: Line) -> bool:
        """Whether a job of the leaf waits, or was placed late, of a lower priority than another one that waits."""
        if not self._ledger.field.policy.priority_preemption or not line.entries:
            return False
        highest, lowest = (line.entries[place][2].job.priority for place in (0, -1))
        return highest > lowest or any(each.job.priority < highest for each in self._late.get(leaf, ()))

    def look(self, contender: Contender, why: Why) -> Way | None:
        """The first option that fits, else the first for which there is room when lower priorities go."""
        ledger, target = self._ledger, self._ledger.target
        held = contender.held
        if held is not None:
            return Way(held, needs=(Need(target, held.charge),)) if why.fits(target, held.charge) else None
        if not ledger.limits.allows(contender.leaf):
            why.is_unsure = True
            return None
        choices = ledger.affordable(contender)
        why.is_unsure = len(choices) < len(contender.choices)
        for choice in choices:
            if why.fits(target, choice.charge) and ledger.may_pass(contender, choice):
                return Way(choice, needs=(Need(target, choice.charge),))
        if not ledger.field.policy.priority_preemption:
            return None
        late = self._late.get(contender.leaf, ())
        why.displaces, why.is_unsure = True, why.is_unsure or bool(late)
        for choice in choices if late else ():
            room = ledger.make_room(target, contender, choice.charge, late)
            if room and ledger.may_pass(contender, choice, gone=room):
                return Way(choice, displaced=room)
        return None

    def place(self, contender: Contender, way: Way) -> None:
        """Place the job; who gives way goes back to the line."""
        late = self._late.setdefault(contender.leaf, {})
        for each in way.displaced:
            self._ledger.take(each)
            del late[each]
            if each.held is not None:
                self._ledger.displace(each)
                self._ledger.wait(each)
        if contender.held is not None:
            self._ledger.restore(contender)
            self._ledger.place(contender, way.choice)
        else:
            step = Step.PRIORITY if way.displaced else Step.BORROWING
            forced = bool(way.displaced) or not self._ledger.present.fits(way.choice.charge)
            self._ledger.place(contender, way.choice, Cause(step, contender.leaf, forced))
        late[contender] = None


class Rebalancing:
    """Steps 3 and 4 as one, with ``rebalance``: running and pending jobs in one fair order.

    Limits and budgets count what is placed, as quotas do: if they counted what runs, who runs would decide who is open
    to the fair order, and with it the order itself, so that jobs would take turns for ever. For the same reason the
    order is that of the present shares, without history: who runs decides what will have been used.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._by_priority = ledger.field.policy.priority_preemption
        self._limits, self._budgets = ledger.limits.copy(), ledger.budgets.copy()

    def run(self) -> None:
        """Place all that can be placed."""
        self._ledger.count_placed()
        self._ledger.forget_history()
        lines = self._ledger.waiting
        for line in lines.values():
            line.reorder(self._key)
        for each in self._ledger.uncounted():
            lines.setdefault(each.leaf, Line(key=self._key)).push(each)
        Turns(self._ledger, lines, self).run()

    def look(self, contender: Contender, why: Why) -> Way | None:
        """What a running job holds, if it can stay; of a pending one the first option that fits.

        Nothing is taken out in this step, so nobody asks why.
        """
        ledger, target = self._ledger, self._ledger.target
        held = contender.held
        if held is not None:
            stays = ledger.can_stay(contender) and ledger.has_place(contender)
            return Way(held, needs=(Need(target, held.charge),)) if stays else None
        if not ledger.limits.allows(contender.leaf):
            return None
        possible = [
            choice
            for choice in ledger.affordable(contender)
            if target.fits(choice.charge) and ledger.may_pass(contender, choice)
        ]
        for choice in possible:
            if ledger.present.fits(choice.charge):
                return Way(choice, needs=(Need(ledger.present, choice.charge),))
        return Way(possible[0], is_forced=True, needs=(Need(target, possible[0].charge),)) if possible else None

    def place(self, contender: Contender, way: Way) -> None:
        """Place the job."""
        leaf, cost = contender.leaf, way.choice.cost
        forced = way.is_forced or not (self._limits.allows(leaf) and self._budgets.allows(leaf, cost))
        if contender.held is None:
            self._limits.add(leaf)
            self._budgets.reserve(leaf, cost)
        self._ledger.place(contender, way.choice, Cause(Step.BORROWING, contender.leaf, forced))

    def _key(self, contender: Contender) -> Key:
        running, rank = contender.held is not None, contender.rank
        if running:
            return (rank[0], 0, contender.admission) if self._by_priority else (0, contender.admission)
        return (rank[0], 1, *rank[1:]) if self._by_priority else (1, *rank)


def _by_admission(contender: Contender) -> Key:
    return -contender.priority, contender.admission
