"""Filling in fair order: whose turn it is gets its best job placed, until nothing can be placed any more."""

import heapq
from collections.abc import Hashable, Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import count
from typing import Protocol

from fairgate_scheduler.core.contenders import Contender
from fairgate_scheduler.core.ledger import Ledger, Way
from fairgate_scheduler.core.lines import Line
from fairgate_scheduler.core.usage import Usage
from fairgate_scheduler.core.watch import Room, Shift, Watch, Why


class Filling(Protocol):
    """One step of the refill: how a job could be placed now, and placing it."""

    def look(self, contender: Contender, why: Why) -> Way | None:
        """A way to place the job; ``None``: there is none. Changes nothing. ``why`` is told what stands in the way."""

    def place(self, contender: Contender, way: Way) -> None:
        """Place the job that way."""


class Turns:
    """Takes turns over the lines of the leaves.

    A job that could not be placed is not looked at again, nor any of its equals, until something was taken out that
    stood in its way: as long as jobs are only added there is ever less room. For the same reason a steady way stays
    what it is while there is room for it, and while it is within the budgets. So after each placing only those leaves
    are looked at again for which it may have changed something. A cautious ledger has all of them looked at.
    """

    def __init__(self, ledger: Ledger, lines: Mapping[int, Line], step: Filling, room: Room = Usage.room) -> None:
        self._ledger = ledger
        self._lines = lines
        self._step = step
        self._turns: dict[int, tuple[Contender, Way]] = {}
        self._hopeless: dict[int, set[Hashable]] = {}
        self._places: dict[int, int] = {}
        self._watch = Watch(room, is_calm=ledger.is_calm)
        self._unsteady: set[int] = set()
        self._unsure: set[int] = set()
        self._refused: dict[int, set[Hashable]] = {}
        self._roomless: dict[int, set[Hashable]] = {}
        self._displacing: set[int] = set()
        self._numbers = count()
        self._costs: dict[int, list[tuple[Fraction, int, int, Way]]] = {}

    def run(self) -> None:
        """Place jobs until no leaf has one that can be placed."""
        self._ledger.shifts.clear()
        for leaf in sorted(self._lines):
            self._look(leaf)
        while self._turns:
            leaf = self._ledger.order.least()
            contender, way = self._turns[leaf]
            self._lines[leaf].pop(self._places[leaf])
            self._step.place(contender, way)
            shifts, self._ledger.shifts = self._ledger.shifts, []
            again = self._all_again(leaf, shifts) if self._ledger.is_cautious else self._again(leaf, shifts)
            for each in sorted(again):
                self._look(each)

    def _all_again(self, leaf: int, shifts: Iterable[Shift]) -> Iterable[int]:
        """Every leaf; if nothing was taken out, those with a job that can be placed, or that a claim alone forbade."""
        if all(shift.is_more for shift in shifts):
            again = {leaf, *self._turns, *self._refused}
            for each, groups in self._refused.items():
                self._hopeless[each] -= groups
                self._places.pop(each, None)
            self._refused.clear()
            return again
        self._refused.clear()
        self._roomless.clear()
        self._hopeless.clear()
        self._places.clear()
        return list(self._lines)

    def _again(self, leaf: int, shifts: Iterable[Shift]) -> Iterable[int]:
        """The leaves whose turn may be another one after this leaf was served."""
        if leaf in self._displacing:
            self._unsure.add(leaf)
        less = [shift for shift in shifts if not shift.is_more]
        again = {leaf, *self._unsteady}
        for shift in shifts:
            if shift.is_more:
                again.update(self._watch.narrowed(shift))
        again.update(self._full(leaf))
        again.update(self._unaffordable(leaf))
        again.intersection_update((leaf, *self._turns))
        for shift in less:
            for each, group in self._watch.opened(shift):
                self._reopen(each, group)
                again.add(each)
        for each in self._unsettled(leaf, less):
            self._hopeless.pop(each, None)
            self._places.pop(each, None)
            again.add(each)
        return again

    def _full(self, leaf: int) -> Iterable[int]:
        """The leaves that may not start another job because of this one's."""
        full, paths = self._ledger.limits.full_above(leaf), self._ledger.field.tree.paths
        return [each for each in self._turns if not full.isdisjoint(paths[each])] if full else ()

    def _unaffordable(self, leaf: int) -> Iterator[int]:
        """The leaves whose way is not within the budgets any more because of this one's job."""
        for node, left in self._ledger.budgets.left_above(leaf):
            costs = self._costs.get(node, [])
            while costs and -costs[0][0] > left:
                _, _, each, way = heapq.heappop(costs)
                if each in self._turns and self._turns[each][1] is way:
                    yield each

    def _unsettled(self, leaf: int, less: Iterable[Shift]) -> Iterable[int]:
        """The leaves of which all has to be looked at again: this one if it lost something, and those not sure why."""
        tree, contested = self._ledger.field.tree, self._ledger.field.bounds.contested
        out, roots = set[int](), set[int]()
        for shift in less:
            if shift.charge.node == leaf:
                out.add(leaf)
            everywhere = any(row in contested for row, _ in shift.charge.physical) or not self._ledger.is_calm
            roots.update(tree.roots if everywhere else (tree.root[shift.charge.node],))
        if roots:
            out.update(each for each in self._unsure if tree.root[each] in roots)
        return out

    def _reopen(self, leaf: int, group: Hashable) -> None:
        self._hopeless.get(leaf, set()).discard(group)
        self._places.pop(leaf, None)

    def _look(self, leaf: int) -> None:
        """Find the best job of a leaf that can be placed."""
        hopeless, entries = self._hopeless.setdefault(leaf, set()), self._lines[leaf].entries
        place, claims = self._places.get(leaf, 0), self._ledger.claims
        roomless = self._roomless.setdefault(leaf, set())
        while place < len(entries):
            contender = entries[place][2]
            if contender.group not in hopeless and not (claims and _room_of(contender) in roomless):
                why, refused = Why(), claims.refused if claims else 0
                way = self._step.look(contender, why)
                self._keep(leaf, contender.group, why)
                if way is not None:
                    self._places[leaf] = place
                    self._take_turns(leaf, contender, way)
                    return
                hopeless.add(contender.group)
                if claims and claims.refused > refused:
                    self._refused.setdefault(leaf, set()).add(contender.group)
                elif claims:
                    roomless.add(_room_of(contender))
            place += 1
        self._places[leaf] = place
        self._unsteady.discard(leaf)
        if self._turns.pop(leaf, None) is not None:
            self._ledger.order.leave(leaf)

    def _keep(self, leaf: int, group: Hashable, why: Why) -> None:
        if why.blocks:
            self._watch.block(leaf, group, why)
        if why.is_unsure:
            self._unsure.add(leaf)
        if why.displaces:
            self._displacing.add(leaf)

    def _take_turns(self, leaf: int, contender: Contender, way: Way) -> None:
        if leaf not in self._turns:
            self._ledger.order.enter(leaf)
        self._turns[leaf] = contender, way
        if way.choice.cost and contender.held is None:
            for node, _ in self._ledger.budgets.left_above(leaf):
                heapq.heappush(self._costs.setdefault(node, []), (-way.choice.cost, next(self._numbers), leaf, way))
        if way.needs:
            self._unsteady.discard(leaf)
            self._watch.follow(leaf, way.needs)
        else:
            self._unsteady.add(leaf)


def _room_of(contender: Contender) -> Hashable:
    """What tells jobs of one leaf apart if claims are left aside: those that lack room lack it whatever their time."""
    return contender.priority, contender.held, contender.choices or contender.group
