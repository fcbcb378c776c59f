"""Backfill claims where many have waited too long: a start is told by when there is room, not by a forecast for each.

The same rule as in ``core.claims``, with the shadow time of EASY backfill itself (Lifka, JSSPP 1995) as the forecast:
the first instant at which what is placed leaves room for the claimant, if all that is placed needs its time limit. Who
could be made to give way, and what else may keep a claimant (limits, budgets), is left out. So a placing costs what it
delays, and not a forecast for each claimant.
"""

import heapq
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from fairgate_scheduler.core.contenders import Choice, Contender, Field
from fairgate_scheduler.core.forecast import end_ms
from fairgate_scheduler.core.ledger import Ledger
from fairgate_scheduler.core.shares import Key
from fairgate_scheduler.core.usage import Charge, Usage

Crowd = tuple[int, int, tuple[Charge, ...]]
"""Leaf, priority, and what the open options are charged: claimants that are equal in these have room at once."""

_END = itemgetter(0)


def crowd_of(contender: Contender) -> Crowd:
    """What tells when there is room for a claimant."""
    return contender.leaf, contender.priority, tuple(choice.charge for choice in contender.choices)


class _Claimants:
    """The claimants of one crowd, best rank first."""

    __slots__ = ("_known", "_more", "_place", "charges")

    def __init__(self, crowd: Crowd) -> None:
        self.charges = crowd[2]
        self._known: list[Contender] = []
        self._more: Iterator[Contender] = iter(())
        self._place = 0

    def gather(self, groups: Sequence[Iterable[Contender]]) -> None:
        """These are the claimants."""
        self._more = heapq.merge(*groups, key=lambda each: each.rank)

    def first(self, placed: Mapping[Contender, Choice]) -> Contender | None:
        """The best that is not placed; ``None``: all are."""
        while True:
            if self._place == len(self._known):
                following = next(self._more, None)
                if following is None:
                    return None
                self._known.append(following)
            if self._known[self._place] not in placed:
                return self._known[self._place]
            self._place += 1

    def restart(self) -> None:
        """Some may be placed no longer."""
        self._place = 0


class _End(NamedTuple):
    """When a placed job ends, and what it holds until then."""

    at_ms: int
    charge: Charge


class CrowdClaims:
    """The claims of one round. Within a refill the start of a claimant is only ever told later."""

    def __init__(self, field: Field, claimants: Iterable[Iterable[Contender]]) -> None:
        self.refused = 0
        self._field = field
        groups: dict[Crowd, list[Iterable[Contender]]] = {}
        for mates in claimants:
            best = next(iter(mates))
            if best.choices:
                groups.setdefault(crowd_of(best), []).append(mates)
        self._claimants = {crowd: _Claimants(crowd) for crowd in groups}
        for crowd, each in self._claimants.items():
            each.gather(groups[crowd])
        self._seen: tuple[Ledger, int] | None = None
        self._placed: dict[Contender, Choice] = {}
        self._ends: list[_End] = []
        self._total = Usage(field.bounds)
        self._waiting: dict[int, list[_Claimants]] = {}
        self._usages: dict[int, Usage] = {}
        self._instants: list[int] = []
        self._standing: dict[int, Key] = {}
        self._standing_at: tuple[Ledger, int, int] | None = None

    def __bool__(self) -> bool:
        return bool(self._claimants)

    def allow(
        self,
        ledger: Ledger,
        contender: Contender,
        choice: Choice,
        nominal: Usage | None = None,
        gone: Sequence[Contender] = (),
    ) -> bool:
        """Whether placing a job now delays nobody who has a claim and comes before it; see ``BackfillClaims``."""
        self._follow(ledger)
        over_ms = end_ms(self._field, contender, choice)
        out = [self._end(each, ledger.placed[each]) for each in gone if self._leaves(ledger, each)]
        for at_ms in self._instants:
            if at_ms >= over_ms:
                break
            if at_ms <= self._field.now_ms:
                continue
            usage, freed = self._usages[at_ms], [each.charge for each in out if each.at_ms > at_ms]
            for charge in freed:
                usage.remove(charge)
            usage.add(choice.charge)
            delayed = [each for each in self._waiting[at_ms] if not any(map(usage.fits, each.charges))]
            usage.remove(choice.charge)
            for charge in freed:
                usage.add(charge)
            if any(self._is_before(ledger, each, contender, nominal) for each in delayed):
                self.refused += 1
                return False
        return True

    def _end(self, contender: Contender, choice: Choice) -> _End:
        return _End(end_ms(self._field, contender, choice), choice.charge)

    @staticmethod
    def _leaves(ledger: Ledger, contender: Contender) -> bool:
        return contender in ledger.placed and contender not in ledger.protected

    def _is_before(self, ledger: Ledger, claimants: _Claimants, contender: Contender, nominal: Usage | None) -> bool:
        """Whether one of these comes before the job, in the step that ``nominal`` is of."""
        other = claimants.first(ledger.placed)
        if other is None or other is contender:
            return False
        if nominal is not None:
            path = self._field.tree.paths[other.leaf]
            if not any(nominal.is_within(node, charge) for node in path[:-1] for charge in claimants.charges):
                return False
        return self._precedes(ledger, other, contender)

    def _precedes(self, ledger: Ledger, one: Contender, other: Contender) -> bool:
        paths = self._field.tree.paths
        mine, theirs = paths[one.leaf], paths[other.leaf]
        if one.leaf == other.leaf or mine[-1] != theirs[-1]:
            return one.rank < other.rank
        mine_below, theirs_below = next(
            (low, high) for low, high in zip(reversed(mine), reversed(theirs), strict=False) if low != high
        )
        return (self._stands(ledger, mine_below), mine_below) < (self._stands(ledger, theirs_below), theirs_below)

    def _stands(self, ledger: Ledger, node: int) -> Key:
        now = ledger, ledger.version, len(ledger.counted)
        if self._standing_at != now:
            self._standing_at = now
            self._standing.clear()
        if node not in self._standing:
            self._standing[node] = ledger.order.standing(node)
        return self._standing[node]

    def _follow(self, ledger: Ledger) -> None:
        """Take in what has been placed and taken out since the last time."""
        now = ledger, ledger.version
        if self._seen == now:
            return
        if self._seen is None or self._seen[0] is not ledger:
            self._placed, self._ends, self._total = {}, [], Usage(self._field.bounds)
            self._waiting, self._usages, self._instants = {}, {}, []
            new, delayed = list(ledger.placed), list(self._claimants.values())
            for claimants in delayed:
                claimants.restart()
        else:
            lost = [each for each in self._placed if each not in ledger.placed]
            for each in lost:
                self._take(each)
            new, delayed = [each for each in ledger.placed if each not in self._placed], []
        self._seen = now
        for each in new:
            delayed += self._put(each, ledger.placed[each])
        if delayed:
            self._find(delayed)

    def _put(self, contender: Contender, choice: Choice) -> list[_Claimants]:
        """A job is placed. Returns whom that delays."""
        self._placed[contender] = choice
        end = self._end(contender, choice)
        insort(self._ends, end, key=_END)
        self._total.add(choice.charge)
        delayed: list[_Claimants] = []
        for at_ms in self._instants[: bisect_left(self._instants, end.at_ms)]:
            usage = self._usages[at_ms]
            usage.add(choice.charge)
            here = self._waiting[at_ms]
            stay = [each for each in here if any(map(usage.fits, each.charges))]
            if len(stay) < len(here):
                delayed += [each for each in here if each not in stay]
                self._waiting[at_ms] = stay
        return delayed

    def _take(self, contender: Contender) -> None:
        """A job is placed no longer. Nobody's start is told sooner for it."""
        end = self._end(contender, self._placed.pop(contender))
        place = bisect_left(self._ends, end.at_ms, key=_END)
        while self._ends[place].charge is not end.charge:
            place += 1
        del self._ends[place]
        self._total.remove(end.charge)
        for at_ms in self._instants[: bisect_left(self._instants, end.at_ms)]:
            self._usages[at_ms].remove(end.charge)
        for each in self._claimants.values():
            each.restart()

    def _find(self, claimants: list[_Claimants]) -> None:
        """Find out when there is room for these. Each is looked at again only where room came that it lacked."""
        usage, blocked, number = self._total.copy(), dict[tuple[int, int], list[tuple[int, int, _Claimants]]](), 0
        left = dict.fromkeys(claimants)

        def look(each: _Claimants) -> bool:
            nonlocal number
            blocks = [usage.block(charge) for charge in each.charges]
            if None in blocks:
                del left[each]
                return True
            for block in blocks:
                assert block is not None, each
                row, node, least = block
                number += 1
                heapq.heappush(blocked.setdefault((row, node), []), (least, number, each))
            return False

        for each in list(left):
            if look(each):
                self._wait(each, self._field.now_ms, usage)
        for at_ms, ends in groupby(self._ends, key=_END):
            if not left:
                return
            cells: dict[tuple[int, int], None] = {}
            for _, charge in ends:
                usage.remove(charge)
                cells.update(dict.fromkeys(charge.cells))
            again: dict[_Claimants, None] = {}
            for cell in cells:
                heap = blocked.get(cell)
                while heap and heap[0][0] <= usage.room(*cell):
                    again[heapq.heappop(heap)[2]] = None
            for each in again:
                if each in left and look(each):
                    self._wait(each, at_ms, usage)

    def _wait(self, claimants: _Claimants, at_ms: int, usage: Usage) -> None:
        if at_ms not in self._waiting:
            self._waiting[at_ms], self._usages[at_ms] = [], usage.copy()
            self._instants.insert(bisect_right(self._instants, at_ms), at_ms)
        self._waiting[at_ms].append(claimants)
