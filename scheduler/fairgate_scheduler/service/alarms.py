"""Instants by what they are for: which come next, which are over. A change costs what changed."""

import heapq
from collections.abc import Mapping


class Alarms:
    """At most one instant for each name, in milliseconds since the epoch."""

    def __init__(self) -> None:
        self._at: dict[str, int] = {}
        self._heap: list[tuple[int, str]] = []
        self._over: set[str] = set()

    @property
    def all(self) -> Mapping[str, int]:
        """Every instant that is set."""
        return self._at

    def set(self, name: str, at_ms: int | None) -> None:
        """Set it, or (``None``) unset it."""
        if self._at.get(name) == at_ms:
            return
        self._over.discard(name)
        if at_ms is None:
            del self._at[name]
        else:
            self._at[name] = at_ms
            heapq.heappush(self._heap, (at_ms, name))

    def over(self, now_ms: int) -> list[str]:
        """Those whose instant has come, in order of the names."""
        self._settle(now_ms)
        return sorted(name for name in self._over if self._at[name] <= now_ms)

    def next_ms(self, now_ms: int) -> int | None:
        """The next instant after now."""
        self._settle(now_ms)
        coming = [self._at[name] for name in self._over if self._at[name] > now_ms]  # the clock was set back
        return min(coming + [at_ms for at_ms, _ in self._heap[:1]], default=None)

    def _settle(self, now_ms: int) -> None:
        while self._heap and (self._heap[0][0] <= now_ms or self._at.get(self._heap[0][1]) != self._heap[0][0]):
            at_ms, name = heapq.heappop(self._heap)
            if self._at.get(name) == at_ms:
                self._over.add(name)
