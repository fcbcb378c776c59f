"""The production loop: one thread that does the scheduler's turns, woken by commits and by what is due next."""

import threading
import time
from collections.abc import Callable
from typing import Final

from fairgate_scheduler.ports import Clock
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.cycle import Scheduler

LONGEST_WAIT_S: Final = 60.0
"""Nothing is due later than this: a clock that was set back must not put the loop to sleep for hours."""


REST_S: Final = 0.01
"""The least time between two turns, whatever is committed meanwhile: single submits come in hundreds a second, and a
turn for each of them would take the disk and the processor from the others."""


class SystemClock:
    """The machine's time of day."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
        return time.time_ns() // 1_000_000


class Loop:
    """Runs a scheduler until it is stopped. The scheduler's turn logs its errors, so that nothing else ends the loop
    but that ``is_lost`` says that the state is not this server's any more."""

    def __init__(
        self, app: App, scheduler: Scheduler, clock: Clock, is_lost: Callable[[], bool] = lambda: False
    ) -> None:
        self._app = app
        self._scheduler = scheduler
        self._clock = clock
        self._is_lost = is_lost
        self._is_stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="scheduler", daemon=True)

    def start(self) -> None:
        """Begin. Returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """Finish the turn that is under way, and no other one."""
        self._is_stopping.set()
        self._app.changes.notify()
        self._thread.join()

    def _run(self) -> None:
        while not self._is_stopping.is_set() and not self._is_lost():
            seen = self._app.changes.count
            self._scheduler.turn()
            self._is_stopping.wait(REST_S)
            if self._app.changes.count == seen and not self._is_stopping.is_set():
                self._app.changes.wait(seen, self._wait_s())

    def _wait_s(self) -> float:
        now_ms = self._clock.now_ms()
        due_ms = self._scheduler.next_due_ms(now_ms)
        return LONGEST_WAIT_S if due_ms is None else min(max(due_ms - now_ms, 0) / 1000, LONGEST_WAIT_S)
