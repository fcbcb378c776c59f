"""The fair order: weighted dominant shares down the tenant tree, hierarchical DRF.

Dominant resource fairness is Ghodsi et al., NSDI 2011: a tenant's share is the largest of its shares of any resource.
On a tree the vector of an inner tenant is the sum of its children's, each scaled down to the least share among them,
and children that can not use more are left out of the scaling (Bhattacharya et al., SoCC 2013): without the scaling a
child can be starved by its siblings' use of another resource, and without the exception by a blocked sibling.

Unlike Kueue's dominant resource share, which counts only what is used above nominal, this counts all use.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from operator import add
from typing import Final

from fairgate_scheduler.core.quota import DIMENSIONS, QuotaTree
from fairgate_scheduler.core.usage import Charge

Number = int | Fraction
Key = tuple[int, tuple[Number, ...]]
"""What a tenant is compared by: weight 0 last, then the weighted shares, largest first."""

Points = tuple[int, ...]
"""What a leaf has been counted, by dimension, in the tree's unit."""


class FairOrder:
    """Whose turn it is, given what each leaf has been counted so far.

    Only the leaves that have entered take turns. ``history``: what tenants have used before, by number, in the tree's
    unit; it is added to the dominant share, also where children are scaled, so that siblings with equal sums are not
    scaled at all.

    A change costs what lies on the path of its leaf, not what lies beside it: each level keeps its least child on top
    of a heap, and the sum of its children's vectors as a sum.
    """

    def __init__(self, tree: QuotaTree, history: Mapping[int, Number] | None = None) -> None:
        self._tree = tree
        self._history = history or {}
        self._points: list[Points] = [(0,) * len(DIMENSIONS)] * len(tree.ids)
        self._levels: dict[int, _Level] = {}
        self._top = _Level(self)

    def copy(self) -> "FairOrder":
        """An independent copy of what is counted. Nobody has entered it."""
        other = FairOrder(self._tree, self._history)
        other._points = self._points[:]
        return other

    def recall(self, history: Mapping[int, Number]) -> None:
        """What tenants have used before is this now. Nobody may have entered yet."""
        self._history = history

    def count(self, charge: Charge, times: int = 1) -> None:
        """Count a job, or with ``times`` -1 count it no longer."""
        self.count_points(charge.node, charge.points, times)

    def uncount(self, charge: Charge) -> None:
        """Count a job no longer."""
        self.count_points(charge.node, charge.points, -1)

    def count_points(self, leaf: int, points: Sequence[int], times: int = 1) -> None:
        """Count jobs of a leaf by their points."""
        self._points[leaf] = tuple([had + times * more for had, more in zip(self._points[leaf], points, strict=True)])
        self._touch(leaf)

    def count_all(self, charges: Iterable[Charge]) -> None:
        """Count many jobs."""
        sums: dict[int, Points] = {}
        for charge in charges:
            had = sums.get(charge.node)
            sums[charge.node] = charge.points if had is None else tuple(map(add, had, charge.points))
        for leaf, points in sums.items():
            self.count_points(leaf, points)

    def enter(self, leaf: int) -> None:
        """The leaf has a job that can be placed: it takes turns."""
        for node, level in self._levels_of(leaf):
            if node in level.active:
                break
            level.active.add(node)
        self._touch(leaf)

    def leave(self, leaf: int) -> None:
        """The leaf has no job any more that can be placed."""
        for node, level in self._levels_of(leaf):
            level.active.discard(node)
            if level.active:
                break
        self._touch(leaf)

    def least(self) -> int:
        """The leaf whose turn it is.

        From the roots down always to the child with the least share; ties: the next-largest share, then the id.
        """
        level, node = self._top, -1
        while level.active:
            node = level.least()
            below = self._levels.get(node)
            if below is None:
                break
            level = below
        return node

    def standing(self, node: int) -> Key:
        """What a tenant is compared by if nothing is scaled: all that its subtree has been counted."""
        return self.key(node, self._total(node))

    def vector(self, node: int) -> Sequence[Number]:
        """What a tenant has been counted: of an inner one its children's, those that take turns scaled to the least."""
        if not self._tree.children[node]:
            return self._points[node]
        return self._level(node).vector()

    def key(self, node: int, vector: Sequence[Number]) -> Key:
        """What a tenant of this vector is compared by."""
        shares = sorted(vector, reverse=True)
        if node in self._history:
            shares[0] += self._history[node]
        multiplier = self._tree.multipliers[node]
        return (0 if multiplier else 1, tuple(share * multiplier for share in shares) if multiplier else tuple(shares))

    def _total(self, node: int) -> Sequence[Number]:
        children = self._tree.children[node]
        return [sum(each) for each in zip(*map(self._total, children), strict=True)] if children else self._points[node]

    def _level(self, node: int) -> "_Level":
        level = self._levels.get(node)
        if level is None:
            level = self._levels[node] = _Level(self, self._tree.children[node])
        return level

    def _levels_of(self, leaf: int) -> Iterator[tuple[int, "_Level"]]:
        """Each tenant from the leaf up to the root, with the level that it competes in."""
        path = self._tree.paths[leaf]
        for node, parent in pairwise(path):
            yield node, self._level(parent)
        yield path[-1], self._top

    def _touch(self, leaf: int) -> None:
        for node, level in self._levels_of(leaf):
            level.unranked.add(node)
            level.unsummed.add(node)


class _Level:
    """The children of one tenant (or the roots), of which the active ones take turns."""

    __slots__ = ("_heap", "_keys", "_order", "_parts", "_sums", "active", "unranked", "unsummed")

    def __init__(self, order: FairOrder, children: Iterable[int] = ()) -> None:
        self._order = order
        self._keys: dict[int, Key] = {}
        self._heap: list[tuple[Key, int]] = []
        self._parts: dict[int, tuple[int, Sequence[Number]]] = {}
        self._sums: dict[int, list[Number]] = {kind: [0] * len(DIMENSIONS) for kind in (_WEIGHTED, _WEIGHTLESS, _IDLE)}
        self.active: set[int] = set()
        self.unranked: set[int] = set()
        self.unsummed: set[int] = set(children)

    def least(self) -> int:
        """The active child with the least key."""
        if len(self.active) == 1:
            return next(iter(self.active))
        return self._first()[1]

    def vector(self) -> Sequence[Number]:
        """The sum of the children's vectors: of those that are active each scaled down to the least share among them.

        So a child of share s adds its vector ÷ s, times the least share, which is taken out of the sum. Beside a child
        of any weight one of weight 0 has a share beyond comparison, and is scaled to nothing.
        """
        for child in self.unsummed:
            self._sum(child)
        self.unsummed.clear()
        idle = self._sums[_IDLE]
        if not self.active:
            return idle
        kind, shares = self._first()[0]
        return [at_rest + shares[0] * moving for at_rest, moving in zip(idle, self._sums[kind], strict=True)]

    def _first(self) -> tuple[Key, int]:
        for child in self.unranked:
            if child in self.active:
                key = self._keys[child] = self._order.key(child, self._order.vector(child))
                heapq.heappush(self._heap, (key, child))
            else:
                self._keys.pop(child, None)
        self.unranked.clear()
        while self._keys.get(self._heap[0][1]) is not self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0]

    def _sum(self, child: int) -> None:
        kind, part = self._part(child)
        had = self._parts.get(child)
        if had == (kind, part):
            return
        if had is not None:
            self._add(had[0], had[1], -1)
        self._add(kind, part, 1)
        self._parts[child] = kind, part

    def _part(self, child: int) -> tuple[int, Sequence[Number]]:
        vector = self._order.vector(child)
        if child not in self.active:
            return _IDLE, vector
        kind, shares = self._order.key(child, vector)
        if not shares[0]:
            return _IDLE, vector
        return kind, [Fraction(amount) / shares[0] if amount else 0 for amount in vector]

    def _add(self, kind: int, part: Sequence[Number], times: int) -> None:
        sums = self._sums[kind]
        for place, amount in enumerate(part):
            if amount:
                sums[place] += times * amount


_WEIGHTED: Final = 0
_WEIGHTLESS: Final = 1
_IDLE: Final = 2
