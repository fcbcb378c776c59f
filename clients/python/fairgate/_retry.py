"""When to try again, and how long to wait before: exponential backoff with jitter, within a deadline.

The jitter follows "equal jitter" of https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/.
"""

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from fairgate._errors import DeadlineExceeded, Unavailable, Violation

Value = TypeVar("Value")

FIRST_PAUSE_S: Final = 0.1
LONGEST_PAUSE_S: Final = 3.0


def over() -> DeadlineExceeded:
    """The error for a time that is over before anything could be tried."""
    return DeadlineExceeded([Violation("", "the time that was given is over", "allow more time")])


@dataclass(frozen=True, slots=True)
class Stream(Generic[Value]):
    """A stream of the service. ``open`` gets the seconds that it may last, and goes on where the last one broke.

    ``patience_s`` is how long to try for the first connection, ``again_s`` for each later one, ``longest_s`` how long
    one connection may last, so that a dead one is noticed. ``is_endless``: an end is a break, too.
    """

    open: Callable[[float], Iterator[Value]]
    patience_s: float
    again_s: float = 120.0
    longest_s: float = 300.0
    is_endless: bool = False


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait before each retry; ``sleep``, ``now_s`` and ``chance`` are the world's unless a test says so."""

    sleep: Callable[[float], None] = time.sleep
    now_s: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = field(default=random.random)

    def pause_s(self, failures: int) -> float:
        """The pause after so many failures in a row, from 1: doubling, at least half of it, the rest by chance."""
        whole = min(FIRST_PAUSE_S * 2.0 ** min(failures - 1, 30), LONGEST_PAUSE_S)
        return whole * (1 + self.chance()) / 2

    def retry(self, call: Callable[[float], Value], timeout_s: float, patience_s: float) -> Value:
        """Make a call that may be made twice, until it succeeds or fails with anything but ``Unavailable``.

        ``call`` gets the seconds that are left. No retry begins after ``patience_s`` or ``timeout_s`` seconds.
        """
        begin = self.now_s()
        failures = 0
        while True:
            left = begin + timeout_s - self.now_s()
            if left <= 0:
                raise over()
            try:
                return call(left)
            except Unavailable:
                failures += 1
                pause = self.pause_s(failures)
                if self.now_s() + pause >= begin + min(timeout_s, patience_s):
                    raise
            self.sleep(pause)

    def resume(self, stream: Stream[Value], deadline_s: float | None) -> Iterator[Value]:
        """The items of a stream that is opened again whenever it breaks, until it ends.

        Raises:
            Unavailable: it could not be opened for ``stream.patience_s`` seconds (``stream.again_s`` once it was).
            DeadlineExceeded: it is later than ``deadline_s``, an instant of ``now_s``.
        """
        failures, failing_since, patience_s = 0, self.now_s(), stream.patience_s
        while True:
            left = None if deadline_s is None else deadline_s - self.now_s()
            if left is not None and left <= 0:
                raise over()
            broken: Unavailable | None = None
            try:
                for item in stream.open(stream.longest_s if left is None else min(left, stream.longest_s)):
                    failures, patience_s = 0, stream.again_s
                    yield item
                if not stream.is_endless:
                    return
            except DeadlineExceeded:
                continue  # the limit of one connection: see whether the service is still there
            except Unavailable as error:
                broken = error
            if failures == 0:
                failing_since = self.now_s()
            failures += 1
            pause = self.pause_s(failures)
            if broken is not None and self.now_s() + pause - failing_since >= patience_s:
                raise broken
            self.sleep(pause if left is None else min(pause, left))
