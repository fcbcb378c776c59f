"""A runner on virtual time: attempts take time to start, to run and to stop, and can be killed from outside.

It survives the crash of whoever uses it, as processes survive their server, and keeps a record of all that ever ran.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from fairgate_scheduler.core.amounts import Amount, Demand, Row
from fairgate_scheduler.core.config_checks import Fault
from fairgate_scheduler.core.lifecycle import Observation, Phase
from fairgate_scheduler.core.tenancy import Config, Tenant
from fairgate_scheduler.ports import Clock, Launch, LogChunk

_ENDS: Final[Mapping[int, Phase]] = {0: Phase.SUCCEEDED}


@dataclass(frozen=True, slots=True)
class Script:
    """How one attempt behaves. ``stop_ms``: how long it takes to end after notice, if the grace period lets it."""

    start_ms: int = 1_000
    run_ms: int = 60_000
    exit_code: int = 0
    stop_ms: int = 0
    output: bytes = b"working\n"


@dataclass(slots=True)
class Process:
    """One attempt as it really is. Instants in milliseconds since the epoch."""

    job: str
    attempt: int
    demand: Demand
    script: Script
    launched_at_ms: int
    stop_at_ms: int | None = None
    reason: str = ""
    killed_at_ms: int | None = None
    has_trace: bool = True
    is_forgotten: bool = False
    uid: str = ""

    @property
    def ready_at_ms(self) -> int:
        """When it is ready to work, if nothing ends it before."""
        return self.launched_at_ms + self.script.start_ms

    def end(self, grace_ms: int) -> tuple[int, Phase]:
        """When it ends and what its end looks like, if nothing more happens to it."""
        ends = [(self.ready_at_ms + self.script.run_ms, _ENDS.get(self.script.exit_code, Phase.FAILED))]
        if self.stop_at_ms is not None:
            ends.append((self.stop_at_ms + min(self.script.stop_ms, grace_ms), Phase.STOPPED))
        if self.killed_at_ms is not None:
            ends.append((self.killed_at_ms, Phase.LOST))
        return min(ends, key=lambda end: end[0])


@dataclass
class FakeRunner:
    """Implements ``Runner``. ``script`` says how an attempt behaves; ``history`` holds every process ever started."""

    clock: Clock
    script: Callable[[Launch], Script] = field(default=lambda _launch: Script())
    grace_ms: int = 10_000
    history: list[Process] = field(default_factory=list)
    rows: Mapping[Row, Amount] = field(default_factory=dict)

    def check(self, manifest: Mapping[str, Any], tenant: Tenant) -> list[str]:
        """Here runs everything but what says that it can not: an entrypoint that begins with ``impossible``."""
        if str(manifest["spec"]["entrypoint"]).startswith("impossible"):
            return ["spec.entrypoint: it says so itself; write another one"]
        return []

    def objections(self, config: Config) -> tuple[Fault, ...]:
        """Everything can be kept."""
        return ()

    def remarks(self, config: Config) -> tuple[str, ...]:
        """Nothing to say."""
        return ()

    def capacity(self, config: Config) -> Mapping[Row, Amount]:
        """What a test has put there."""
        return self.rows

    def launch(self, launch: Launch) -> None:
        """Start it, unless there is a trace of it. A forgotten attempt has none, as with real processes."""
        attempt, uid = launch.attempt, launch.job.uid
        for other in self.history:
            if other.job == attempt.job and other.uid != uid:
                if self.is_alive(other):
                    raise RuntimeError(f"an earlier job {other.job} still runs")
                other.is_forgotten = True
        if self._traced(attempt.job, attempt.number) is None:
            process = Process(attempt.job, attempt.number, attempt.demand, self.script(launch), self.clock.now_ms())
            process.uid = uid
            self.history.append(process)

    def stop(self, job: str, attempt: int, reason: str) -> None:
        """Give notice; the first one counts."""
        process = self._traced(job, attempt)
        if process and process.stop_at_ms is None and self.is_alive(process):
            process.stop_at_ms, process.reason = self.clock.now_ms(), reason

    def observe(self) -> list[Observation]:
        """What is true now."""
        traced = (process for process in self.history if process.has_trace and not process.is_forgotten)
        return [replace(self._look(process), uid=process.uid) for process in traced]

    def forget(self, job: str, attempt: int) -> None:
        """Drop the trace; the log stays."""
        process = self._traced(job, attempt)
        if process and not self.is_alive(process):
            process.is_forgotten = True

    def read_log(self, job: str, attempt: int, offset: int, limit: int, uid: str = "") -> LogChunk:
        """Its output: all of it from when it is ready, and the last line when it ends."""
        found = [each for each in self.history if (each.job, each.attempt, each.uid) == (job, attempt, uid or each.uid)]
        if not found:
            return LogChunk(b"", offset, is_end=False)
        process, now_ms = found[-1], self.clock.now_ms()
        ended = not self.is_alive(process)
        text = (process.script.output if now_ms >= process.ready_at_ms else b"") + (b"ended\n" if ended else b"")
        data = text[offset : offset + limit]
        return LogChunk(data, offset + len(data), is_end=ended and offset + len(data) >= len(text))

    def kill(self, job: str, attempt: int) -> None:
        """End it from outside, as the kernel does when memory is short: it leaves no result."""
        process = self._traced(job, attempt)
        if process and self.is_alive(process):
            process.killed_at_ms = self.clock.now_ms()

    def vanish(self, job: str, attempt: int) -> None:
        """End it and remove every trace, as a reboot does."""
        process = self._traced(job, attempt)
        if process:
            self.kill(job, attempt)
            process.has_trace = False

    def is_alive(self, process: Process) -> bool:
        """Whether it runs now."""
        return self.clock.now_ms() < process.end(self.grace_ms)[0]

    def alive(self) -> list[Process]:
        """Everything that runs now."""
        return [process for process in self.history if self.is_alive(process)]

    def next_change_ms(self) -> int | None:
        """The next instant at which something becomes ready or ends by itself."""
        now_ms = self.clock.now_ms()
        instants = (at for each in self.alive() for at in (each.ready_at_ms, each.end(self.grace_ms)[0]))
        return min((at for at in instants if at > now_ms), default=None)

    def _traced(self, job: str, attempt: int) -> Process | None:
        for process in reversed(self.history):
            if (process.job, process.attempt) == (job, attempt) and process.has_trace and not process.is_forgotten:
                return process
        return None

    def _look(self, process: Process) -> Observation:
        now_ms, ready_at_ms = self.clock.now_ms(), process.ready_at_ms
        end_ms, phase = process.end(self.grace_ms)
        started = ready_at_ms if ready_at_ms <= min(now_ms, end_ms) else None
        if now_ms >= end_ms:
            code = process.script.exit_code if phase in (Phase.SUCCEEDED, Phase.FAILED) else None
            message = f"ended with exit code {code}" if code is not None else process.reason or "killed"
            return Observation(process.job, process.attempt, phase, end_ms, True, code, message, started)
        if started is not None:
            return Observation(process.job, process.attempt, Phase.RUNNING, started, started_at_ms=started)
        return Observation(process.job, process.attempt, Phase.STARTING, process.launched_at_ms)
