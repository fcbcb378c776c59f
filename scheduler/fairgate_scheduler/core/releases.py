"""When what is placed ends, and so from when on there is room for one more job, if nobody gives way."""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from fairgate_scheduler.core.usage import Bounds, Charge, Usage

STRIDE: Final = 64
"""So many ends lie between two remembered states."""


class Release(NamedTuple):
    """The first instant at which something is true, and the use that is left then."""

    at_ms: int
    usage: Usage


class Releases:
    """The use of some jobs as they end one after the other. It only ever falls, so what fits once fits from then on."""

    def __init__(self, bounds: Bounds, now_ms: int, ends: Iterable[tuple[int, Charge]]) -> None:
        self._ends = sorted(ends, key=lambda end: end[0])
        usage = Usage(bounds)
        for _, charge in self._ends:
            usage.add(charge)
        self._instants = [now_ms, *sorted({at_ms for at_ms, _ in self._ends})]
        self._states = [usage.copy()]
        for place, (_, charge) in enumerate(self._ends, 1):
            usage.remove(charge)
            if place % STRIDE == 0:
                self._states.append(usage.copy())

    def first(self, is_true: Callable[[Usage], bool]) -> Release | None:
        """The first instant at which this is true of the use that is left; once true it must stay so."""
        low, high = 0, len(self._instants)
        while low < high:
            middle = (low + high) // 2
            if is_true(self._at(self._instants[middle])):
                high = middle
            else:
                low = middle + 1
        if low == len(self._instants):
            return None
        return Release(self._instants[low], self._at(self._instants[low]))

    def _at(self, instant_ms: int) -> Usage:
        """What is used when everything that ends by then has ended."""
        over = bisect_left(self._ends, instant_ms + 1, key=lambda end: end[0])
        usage = self._states[over // STRIDE].copy()
        for _, charge in self._ends[over // STRIDE * STRIDE : over]:
            usage.remove(charge)
        return usage
