"""Steps 3 and 4 of the refill: running jobs beyond nominal quota are kept, and new ones come, in fair order."""

from typing import NamedTuple

from fairgate_scheduler.core.contenders import Choice, Contender
from fairgate_scheduler.core.ledger import Cause, Key, Ledger, Line, Step, charge_of, held_by
from fairgate_scheduler.core.turns import Turns


class Keeping:
    """Step 3. Running jobs stay where there is room: in fair order, inside a tenant by priority, then admission."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def run(self) -> list[Contender]:
        """Place the rest of the running jobs, as far as there is room. Returns those that were placed here."""
        rest = [
            each
            for each in self._ledger.running
            if each not in self._ledger.counted and each not in self._ledger.displaced
        ]
        if self._all_fit(rest):
            for each in rest:
                self._ledger.place(each, held_by(each))
            return rest
        lines: dict[int, Line] = {}
        for each in rest:
            lines.setdefault(each.leaf, Line()).push((-each.priority, each.admission), each)
        Turns(self._ledger, lines, self).run()
        return [each for each in rest if each in self._ledger.placed]

    def look(self, contender: Contender) -> Choice | None:
        """What the job holds, if it can stay."""
        return held_by(contender) if self._ledger.can_stay(contender) else None

    def place(self, contender: Contender, way: Choice) -> None:
        """Keep the job."""
        self._ledger.place(contender, way)

    def _all_fit(self, rest: list[Contender]) -> bool:
        """Whether all of them fit together, so that their order does not matter."""
        ledger, added, fits = self._ledger, list[Contender](), True
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


class Room(NamedTuple):
    """How a job is placed in step 4: its option, and who of its own leaf gives way."""

    choice: Choice
    displaced: tuple[Contender, ...] = ()


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
        Turns(self._ledger, self._ledger.waiting, self).run()

    def look(self, contender: Contender) -> Room | None:
        """The first option that fits, else the first for which there is room when lower priorities go."""
        ledger = self._ledger
        if contender.held is not None:
            return Room(contender.held) if ledger.target.fits(contender.held.charge) else None
        if not ledger.limits.allows(contender.leaf):
            return None
        choices = [each for each in contender.choices if ledger.may_start(contender, each)]
        for choice in choices:
            if ledger.target.fits(choice.charge) and ledger.may_pass(contender, choice):
                return Room(choice)
        if not ledger.field.policy.priority_preemption:
            return None
        for choice in choices:
            room = ledger.make_room(ledger.target, contender, choice.charge, self._late.get(contender.leaf, ()))
            if room and ledger.may_pass(contender, choice, gone=room):
                return Room(choice, room)
        return None

    def place(self, contender: Contender, way: Room) -> None:
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
    """Steps 3 and 4 as one, with ``rebalance``: running and pending jobs in one fair order."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._by_priority = ledger.field.policy.priority_preemption

    def run(self) -> None:
        """Place all that can be placed."""
        lines: dict[int, Line] = {}
        for each in self._ledger.running:
            if each not in self._ledger.counted and each not in self._ledger.displaced:
                lines.setdefault(each.leaf, Line()).push(self._key(each), each)
        for line in self._ledger.waiting.values():
            for each in line.drain():
                lines.setdefault(each.leaf, Line()).push(self._key(each), each)
        Turns(self._ledger, lines, self).run()

    def look(self, contender: Contender) -> tuple[Choice, bool] | None:
        """What a running job holds, if it can stay; of a pending one the first option that fits."""
        ledger = self._ledger
        if contender.held is not None:
            return (contender.held, False) if ledger.can_stay(contender) else None
        if not ledger.limits.allows(contender.leaf):
            return None
        possible = [
            choice
            for choice in contender.choices
            if ledger.may_start(contender, choice)
            and ledger.target.fits(choice.charge)
            and ledger.may_pass(contender, choice)
        ]
        for choice in possible:
            if ledger.present.fits(choice.charge):
                return choice, False
        return (possible[0], True) if possible else None

    def place(self, contender: Contender, way: tuple[Choice, bool]) -> None:
        """Place the job."""
        choice, is_forced = way
        self._ledger.place(contender, choice, Cause(Step.BORROWING, contender.leaf, is_forced))

    def _key(self, contender: Contender) -> Key:
        running, rank = contender.held is not None, contender.rank
        if running:
            return (rank[0], 0, contender.admission) if self._by_priority else (0, contender.admission)
        return (rank[0], 1, *rank[1:]) if self._by_priority else (1, *rank)
