"""A runner for measuring: an attempt is a timer in the server's process. A stop ends it at once and loses its work."""

import heapq
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from fairgate_scheduler.core.amounts import Amount, Row
from fairgate_scheduler.core.config_checks import Fault
from fairgate_scheduler.core.lifecycle import Observation, Phase
from fairgate_scheduler.core.tenancy import Config, Tenant
from fairgate_scheduler.ports import Launch, LogChunk

_COMMAND: Final = "sleep"


class TimerRunner:
    """Implements ``Runner`` for manifests whose entrypoint is ``sleep SECONDS``.

    Timers do not survive their process: after a restart every attempt is without a trace, so it counts as lost and is
    tried again. ``on_change`` is called, from a thread of its own, whenever a timer has run out.
    """

    def __init__(self, on_change: Callable[[], None] = lambda: None) -> None:
        self.on_change = on_change
        self._seen: dict[tuple[str, int], Observation] = {}
        self._forgotten: set[tuple[str, int]] = set()
        self._ends: list[tuple[int, str, int]] = []
        self._changed = threading.Condition()
        self._is_closed = False
        self._thread = threading.Thread(target=self._ring, name="timers", daemon=True)
        self._thread.start()

    def check(self, manifest: Mapping[str, Any], tenant: Tenant) -> list[str]:
        """Everything but a sleep can not run here."""
        try:
            _run_ms(manifest)
        except ValueError as error:
            return [f"spec.entrypoint: {error}; write {_COMMAND} and seconds"]
        return []

    def objections(self, config: Config) -> tuple[Fault, ...]:
        """Everything can be kept."""
        return ()

    def remarks(self, config: Config) -> tuple[str, ...]:
        """Nothing to say."""
        return ()

    def capacity(self, config: Config) -> Mapping[Row, Amount]:
        """As configured."""
        return {}

    def launch(self, launch: Launch) -> None:
        """Start the timer, unless it was started or stopped before."""
        key = (launch.attempt.job, launch.attempt.number)
        now_ms = _now_ms()
        with self._changed:
            if key not in self._seen and key not in self._forgotten:
                self._seen[key] = Observation(*key, Phase.RUNNING, now_ms, started_at_ms=now_ms)
                heapq.heappush(self._ends, (now_ms + _run_ms(launch.manifest), *key))
                self._changed.notify_all()

    def stop(self, job: str, attempt: int, reason: str) -> None:
        """End it now; one that was never started will not start any more."""
        key = (job, attempt)
        with self._changed:
            if key not in self._forgotten:
                self._end(key, Phase.STOPPED, _now_ms(), reason)
        self.on_change()

    def observe(self) -> list[Observation]:
        """Every timer that was not forgotten, as it is now."""
        with self._changed:
            self._settle(_now_ms())
            return list(self._seen.values())

    def forget(self, job: str, attempt: int) -> None:
        """Drop the trace of an ended timer."""
        key = (job, attempt)
        with self._changed:
            if key in self._seen and self._seen[key].is_gone:
                del self._seen[key]
                self._forgotten.add(key)

    def read_log(self, job: str, attempt: int, offset: int, limit: int, uid: str = "") -> LogChunk:
        """Timers say nothing."""
        return LogChunk(b"", offset, is_end=True)

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self._thread.join()

    def _ring(self) -> None:
        while True:
            with self._changed:
                if self._is_closed:
                    return
                if not self._settle(_now_ms()):
                    wait_ms = max(self._ends[0][0] - _now_ms(), 0) + 1 if self._ends else None
                    self._changed.wait(None if wait_ms is None else wait_ms / 1000)
                    continue
            self.on_change()

    def _settle(self, now_ms: int) -> bool:
        """End what has run out. Returns whether anything has."""
        has_ended = False
        while self._ends and self._ends[0][0] <= now_ms:
            at_ms, job, attempt = heapq.heappop(self._ends)
            has_ended |= self._end((job, attempt), Phase.SUCCEEDED, at_ms, "")
        return has_ended

    def _end(self, key: tuple[str, int], phase: Phase, at_ms: int, message: str) -> bool:
        before = self._seen.get(key)
        if before is not None and before.is_gone:
            return False
        started_at_ms = None if before is None else before.started_at_ms
        self._seen[key] = Observation(*key, phase, at_ms, True, None, message, started_at_ms)
        return True


def _run_ms(manifest: Mapping[str, Any]) -> int:
    command, _, seconds = str(manifest["spec"]["entrypoint"]).partition(" ")
    if command != _COMMAND:
        raise ValueError(f"{command!r} does not run as a timer")
    return round(float(seconds) * 1000)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
