"""A clock that stands still until it is told to move."""


class SimClock:
    """Virtual time in milliseconds since the epoch."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        """The time that it was moved to last."""
        return self._now_ms

    def advance(self, by_ms: int) -> None:
        """Let some time pass."""
        self._now_ms += by_ms

    def move_to(self, now_ms: int) -> None:
        """Go to an instant, also back: the clocks of real machines do."""
        self._now_ms = now_ms
