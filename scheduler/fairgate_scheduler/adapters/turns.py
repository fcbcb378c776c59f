"""Threads of one process take turns, in the order in which they asked."""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager


class NestedTurnError(RuntimeError):
    """A thread asked for a turn while it has one: waiting would never end."""


class Turns:
    """A fair lock: ``threading.Lock`` lets a thread that asks again pass those that have waited for long."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._owner: int | None = None

    @property
    def waiting(self) -> int:
        """How many threads wait for their turn now."""
        with self._mutex:
            return len(self._waiting)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for our turn and have it until the block ends.

        Raises:
            NestedTurnError: this thread has its turn already.
        """
        self._acquire()
        try:
            yield
        finally:
            self._release()

    def _acquire(self) -> None:
        me = threading.get_ident()
        with self._mutex:
            if self._owner == me:
                raise NestedTurnError("a transaction is open in this thread already; use that one")
            if self._owner is None:
                self._owner = me
                return
            ticket = threading.Lock()
            ticket.acquire()
            self._waiting.append(ticket)
        try:
            ticket.acquire()
        except BaseException:  # an interrupted wait must not leave a turn that nobody takes
            self._give_up(ticket)
            raise
        self._owner = me

    def _give_up(self, ticket: threading.Lock) -> None:
        with self._mutex:
            if ticket in self._waiting:
                self._waiting.remove(ticket)
                return
        self._release()

    def _release(self) -> None:
        with self._mutex:
            if self._waiting:
                self._owner = -1  # given to the next one, which has not woken up yet
                self._waiting.popleft().release()
            else:
                self._owner = None
