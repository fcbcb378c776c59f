"""What may have changed for whom when something is placed or taken out: so that nobody else is looked at again."""

import heapq
from collections.abc import Callable, Hashable, Iterator, Mapping
from itertools import count
from types import MappingProxyType
from typing import Final, NamedTuple

from fairgate_scheduler.core.usage import Charge, Usage

Cell = tuple[Usage, int, int]
"""A use, a row of it, and the tenant whose bound is asked for, or -1 for what is physically there."""

Room = Callable[[Usage, int, int], int]
"""How much is left of a cell."""


NOTHING: Final[Mapping[int, int]] = MappingProxyType({})


class Shift(NamedTuple):
    """That a charge was added to a use, or taken from it."""

    usage: Usage
    charge: Charge
    is_more: bool


class Need(NamedTuple):
    """That there must be room for a charge beside a use. ``spared``: what is taken out for it, by row."""

    usage: Usage
    charge: Charge
    spared: Mapping[int, int] = NOTHING


Needs = tuple[Need, ...]


class Why:
    """What stands in the way of one job, gathered while a step looks at it.

    ``blocks``: the cells with too little room, and how much it would take at least. ``is_unsure``: something else,
    which may be gone after anything was taken out below the same root. ``displaces``: it could have others of its leaf
    give way, so that each of them that is placed counts for it too.
    """

    __slots__ = ("blocks", "displaces", "is_unsure")

    def __init__(self) -> None:
        self.blocks: list[tuple[Cell, int]] = []
        self.is_unsure = False
        self.displaces = False

    def fits(self, usage: Usage, charge: Charge, out: Mapping[int, int] = NOTHING) -> bool:
        """Whether a charge fits beside a use. ``out``: what was taken out of it for this question only, by row."""
        block = usage.block(charge)
        if block is None:
            return True
        row, node, need = block
        self.blocks.append(((usage, row, node), need - out.get(row, 0)))
        return False


class Watch:
    """Remembers, cell by cell, who is blocked there, and whose way would be blocked if there were less room.

    ``is_calm``: every quota is kept, so that only some cells can be short.
    """

    def __init__(self, room: Room, *, is_calm: bool) -> None:
        self._room = room
        self._is_calm = is_calm
        self._numbers = count()
        self._ways: dict[Cell, list[tuple[int, int, int, object]]] = {}
        self._followed: dict[int, object] = {}
        self._blocked: dict[Cell, list[tuple[int, int, int, Hashable]]] = {}

    def follow(self, leaf: int, needs: Needs) -> None:
        """The leaf's turn is what it is as long as there is room for these."""
        if self._followed.get(leaf) == needs:
            return
        self._followed[leaf] = needs
        for usage, charge, spared in needs:
            for row, node, amount in charge.short if self._is_calm else charge.shared:
                least = amount - spared.get(row, 0)
                if least > 0:
                    heap = self._ways.setdefault((usage, row, node), [])
                    heapq.heappush(heap, (-least, next(self._numbers), leaf, needs))

    def block(self, leaf: int, group: Hashable, why: Why) -> None:
        """The jobs of this group are hopeless, or their way is not the best, until there is more room somewhere."""
        for cell, need in why.blocks:
            heapq.heappush(self._blocked.setdefault(cell, []), (need, next(self._numbers), leaf, group))

    def narrowed(self, shift: Shift) -> Iterator[int]:
        """The leaves whose way has to be looked at again because something was added."""
        charge = shift.charge
        for row, node, _ in charge.short if self._is_calm else charge.shared:
            heap = self._ways.get((shift.usage, row, node))
            if heap:
                room = self._room(shift.usage, row, node)
                while heap and -heap[0][0] > room:
                    _, _, leaf, needs = heapq.heappop(heap)
                    if self._followed.get(leaf) is needs:
                        del self._followed[leaf]
                        yield leaf

    def opened(self, shift: Shift) -> Iterator[tuple[int, Hashable]]:
        """The leaves and groups that are blocked no longer, perhaps, because something was taken out."""
        for row, node in shift.charge.cells:
            heap = self._blocked.get((shift.usage, row, node))
            if heap:
                room = self._room(shift.usage, row, node)
                while heap and heap[0][0] <= room:
                    _, _, leaf, group = heapq.heappop(heap)
                    yield leaf, group
