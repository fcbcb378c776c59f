"""The decisions alone: the core on virtual time, without a store, a runner or a wire.

``Brain`` is the one place that knows how the core is called.
"""

import gc
import heapq
import json
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import psutil
from fairgate_scheduler.core import lifecycle
from fairgate_scheduler.core.engine import Engine
from fairgate_scheduler.core.jobs import Attempt, AttemptState, Job, JobState, Option, PodGroup
from fairgate_scheduler.core.lifecycle import Change
from fairgate_scheduler.core.snapshot import Admit, Plan, Running
from fairgate_scheduler.core.tenancy import Config
from fairgate_scheduler.documents.config_file import read_config
from fairgate_scheduler.entrypoints import collecting
from fairgate_scheduler.ports import ConfigVersion
from fairgate_scheduler.service.planner import Planner
from fairgate_scheduler.service.world import World
from shapes import Arrival, JobClass, Shape

TICK_MS: Final = 20
"""On virtual time: what happens within a tick is planned together, as a loop does that is woken by commits."""
CHANGES: Final = 100
RUNNING: Final = 10_000
_KINDS: Final = (
    JobClass("small", 1, 150, 50, 1, 1),
    JobClass("medium", 5, 350, 100, 1, 1),
    JobClass("large", 20, 700, 200, 1, 1),
)


class Brain:
    """The core, kept up to date change by change."""

    def __init__(self, config: Config) -> None:
        self._world = World(ConfigVersion("1", "", config, 0, ""), (), ())
        self._planner = Planner()
        self._engine = Engine(config)
        self._admissions = 0

    def submit(self, job: Job) -> None:
        """A job comes in."""
        self._take(lifecycle.submit(job, job.submitted_at_ms))

    def end(self, job: str) -> None:
        """A running job has succeeded."""
        attempt = self._world.attempts[job, self._world.jobs[job].attempts]
        ended = replace(self._world.jobs[job], state=JobState.SUCCEEDED)
        self._take(Change(ended, (replace(attempt, state=AttemptState.GONE, holds_quota=False),)))

    def plan(self, now_ms: int) -> Plan:
        """What is to be done now."""
        self._world.settle(now_ms)
        return self._engine.plan(now_ms, self._world.history(now_ms))

    def preempt(self, job: str, now_ms: int) -> None:
        """A running job gives way; what it held is free at once."""
        record = self._world.jobs[job]
        change = lifecycle.preempt(record, self._world.attempts[job, record.attempts], "", now_ms)
        gone = replace(change.attempts[0], state=AttemptState.GONE)
        self._take(Change(change.job, (gone,)))

    def admit(self, decision: Admit, now_ms: int) -> Job:
        """A job starts, and runs at once."""
        self._admissions += 1
        change = lifecycle.admit(self._world.jobs[decision.job], decision.option, self._admissions, now_ms)
        started = replace(change.job, state=JobState.RUNNING)
        self._take(Change(started, (_running(change.attempts[0], now_ms),)))
        return started

    def running(self) -> list[str]:
        """The names of what runs, the oldest first."""
        return [each.job.id for each in self._world.snapshot().running]

    def _take(self, change: Change) -> None:
        self._world.apply(change)
        job = change.job
        if job.state is JobState.PENDING:
            self._engine.put_pending(job)
        elif job.state.is_final:
            self._engine.remove(job.id)
        else:
            self._engine.put_running(Running(job, change.attempts[0]))


def _running(attempt: Attempt, now_ms: int) -> Attempt:
    return replace(attempt, state=AttemptState.RUNNING, ready_at_ms=now_ms)


def job(number: int, arrival: Arrival) -> Job:
    """The record of a job of the load."""
    kind = arrival.kind
    return Job(
        f"tenants/{arrival.tenant}/jobs/{number}",
        arrival.tenant,
        arrival.due_ms,
        number,
        _options(kind),
        3_600_000,
        kind.priority,
        pending_since_ms=arrival.due_ms,
    )


_made: dict[JobClass, tuple[Option, ...]] = {}


def _options(kind: JobClass) -> tuple[Option, ...]:
    """Equal jobs share their options, as those read from a store do."""
    if kind not in _made:
        amount = kind.cpus * 1000
        group = PodGroup("head", "cpu", 1, {"cpu": amount})
        _made[kind] = (Option("cpu", Fraction(1), (group,), {("cpu", "cpu"): amount}),)
    return _made[kind]


@dataclass
class _Virtual:
    """A run of a load on virtual time."""

    brain: Brain
    shape: Shape
    now_ms: int = 0
    cycles: int = 0
    evictions: int = 0
    in_core_s: float = 0.0

    def run(self, longest_s: float) -> None:
        arrivals = [(each.due_ms, job(number, each)) for number, each in enumerate(self.shape.arrivals(), 1)]
        arrivals.reverse()
        run_ms = {kind.priority: kind.run_ms for kind in self.shape.classes}
        ends: list[tuple[int, str, int]] = []
        attempt_of: dict[str, int] = {}
        began_s = time.monotonic()
        while arrivals or ends:
            assert time.monotonic() - began_s < longest_s, f"at {self.now_ms} ms of virtual time after {longest_s} s"
            next_ms = min(at for at, *_ in (arrivals[-1:] + ends[:1]))
            self.now_ms = -(-next_ms // TICK_MS) * TICK_MS
            while arrivals and arrivals[-1][0] <= self.now_ms:
                self.brain.submit(arrivals.pop()[1])
            while ends and ends[0][0] <= self.now_ms:
                _, name, number = heapq.heappop(ends)
                if attempt_of.get(name) == number:
                    del attempt_of[name]
                    self.brain.end(name)
            for started in self._cycle(attempt_of):
                attempt_of[started.id] = started.attempts
                heapq.heappush(ends, (self.now_ms + run_ms[started.priority], started.id, started.attempts))

    def _cycle(self, attempt_of: dict[str, int]) -> list[Job]:
        before_s = time.process_time()
        plan = self.brain.plan(self.now_ms)
        self.in_core_s += time.process_time() - before_s
        self.cycles += 1
        self.evictions += len(plan.preemptions)
        for each in plan.preemptions:
            del attempt_of[each.job]
            self.brain.preempt(each.job, self.now_ms)
        return [self.brain.admit(each, self.now_ms) for each in plan.admissions]


@collecting.seldom()  # as a server does
def virtual(shape: Shape, longest_s: float) -> dict[str, Any]:
    """A load on virtual time: how long the decisions take."""
    run = _Virtual(Brain(read_config(shape.config())), shape)
    began_s, before_s = time.perf_counter(), time.process_time()
    run.run(longest_s)
    return {
        "jobs": shape.jobs,
        "wall_s": round(time.perf_counter() - began_s, 1),
        "cpu_s": round(time.process_time() - before_s, 1),
        "core_s": round(run.in_core_s, 1),
        "cycles": run.cycles,
        "evictions": run.evictions,
        "virtual_s": round(run.now_ms / 1000, 1),
        "ideal_s": round(shape.ideal_s, 1),
    }


def cycle(pending: int, tenants: int, running: int, *half_life: str) -> dict[str, Any]:
    """In another process, so that its memory is its own: as ``measure_cycle``."""
    command = [sys.executable, __file__, str(pending), str(tenants), str(running), *half_life]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


@collecting.seldom()  # as a server does
def measure_cycle(pending: int, tenants: int, running: int, half_life: str | None = None) -> dict[str, Any]:
    """A cold plan, then a cycle after so many changes, with so much running and so much waiting.

    ``half_life``: with a history of what was used.
    """
    shape = Shape("cycle", tenants // 100 or 1, min(tenants, 100), _KINDS, nominal=-(-running // tenants))
    brain = Brain(read_config(shape.config(history_half_life=half_life)))
    leaves = shape.leaves
    small, mixed = _KINDS[0], _KINDS
    for number in range(running):  # exactly what is owned, so that all of it starts and nothing else can
        brain.submit(job(number, Arrival(number, leaves[number % len(leaves)], small)))
    for decision in brain.plan(running).admissions:
        brain.admit(decision, running)
    started = len(brain.running())
    before = _memory()
    for number in range(running, running + pending):
        brain.submit(
            job(number, Arrival(number, leaves[number % len(leaves)], mixed[number % len(mixed) if number % 10 else 0]))
        )
    now_ms = running + pending
    cold_s = _timed(brain, now_ms)
    memory = _memory() - before
    warm_s = [_after_changes(brain, leaves, now_ms + 1_000 * (turn + 1)) for turn in range(3)]
    return {
        "pending": pending,
        "running": started,
        "cold_plan_s": round(cold_s, 3),
        "cycle_ms": round(1000 * min(warm_s), 1),
        "bytes_per_pending_job": round(memory / pending),
    }


def _timed(brain: Brain, now_ms: int) -> float:
    began_s = time.process_time()  # one thread that only computes: so other programs do not count
    plan = brain.plan(now_ms)
    took_s = time.process_time() - began_s
    for each in plan.preemptions:
        brain.preempt(each.job, now_ms)
    for decision in plan.admissions:
        brain.admit(decision, now_ms)
    return took_s


def _after_changes(brain: Brain, leaves: list[str], now_ms: int) -> float:
    for name in _some(brain.running(), CHANGES // 2):
        brain.end(name)
    for number in range(CHANGES // 2):
        arrival = Arrival(now_ms, leaves[number * 7 % len(leaves)], _KINDS[0])
        brain.submit(job(now_ms * CHANGES + number, arrival))
    return _timed(brain, now_ms)


def _some(names: list[str], count: int) -> Iterable[str]:
    return names[:: max(1, len(names) // count)][:count]


def _memory() -> int:
    gc.collect()
    return int(psutil.Process().memory_info().rss)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    json.dump(measure_cycle(*map(int, sys.argv[1:4]), *sys.argv[4:]), sys.stdout)
