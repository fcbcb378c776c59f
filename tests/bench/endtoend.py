"""A load from the first submit to the last end, through a real server, and what came of it."""

import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import traffic
from fairgate_scheduler.adapters.sql import SqlStore
from fairgate_scheduler.core.jobs import Attempt, Job, JobState
from fairgate_scheduler.ports import JobQuery
from served import Served
from shapes import Shape

_LOOK_S: Final = 0.5
_PAGE: Final = 5_000
_LIVE: Final = frozenset(state for state in JobState if not state.is_final)


class TooSlowError(Exception):
    """The load was not done in time."""


@dataclass
class Outcome:
    """What came of the jobs, told by the store. Milliseconds; ``lost`` is of evicted attempts, in CPU milliseconds."""

    begin_ms: int = 0
    end_ms: int = 0
    done: int = 0
    evictions: int = 0
    work_cpu_ms: int = 0
    lost_cpu_ms: int = 0
    waits_ms: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    """By priority: from each job's submit to its first admission."""
    last_waits_ms: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    """The same to its last admission, which is what Kueue's own test reports."""

    def add(self, job: Job, attempts: list[Attempt]) -> None:
        """Count one job."""
        self.begin_ms = min(self.begin_ms or job.submitted_at_ms, job.submitted_at_ms)
        self.end_ms = max(self.end_ms, job.finished_at_ms or 0)
        self.done += job.state is JobState.SUCCEEDED
        self.evictions += job.evictions
        self.waits_ms[job.priority].append(attempts[0].admitted_at_ms - job.submitted_at_ms)
        self.last_waits_ms[job.priority].append(attempts[-1].admitted_at_ms - job.submitted_at_ms)
        for each in attempts:
            if each.ready_at_ms is not None and each.ended_at_ms is not None:
                spent = (each.ended_at_ms - each.ready_at_ms) * _cpus(each)
                if each is attempts[-1]:
                    self.work_cpu_ms += spent
                else:
                    self.lost_cpu_ms += spent


def run(shape: Shape, folder: Path, *, callers: int, priority_preemption: bool, longest_s: float) -> dict[str, Any]:
    """Run a load. Raises TooSlowError if it is not done after ``longest_s`` seconds."""
    served = Served(folder)
    served.start(shape.config(priority_preemption=priority_preemption))
    try:
        before_s = served.cpu_s()
        calls = traffic.start(traffic.Traffic(served.settings.address, str(served.settings.token_file), shape, callers))
        try:
            store = SqlStore.open(str(served.settings.database))
            _await_end(store, calls, shape, longest_s)
        finally:
            if calls.poll() is None:
                calls.kill()
        report = traffic.finish(calls)
        used_s, memory_mb = served.cpu_s() - before_s, served.memory_mb()
    finally:
        served.stop()
    outcome = _outcome(store)
    store.close()
    assert outcome.done == shape.jobs, f"{outcome.done} of {shape.jobs} jobs have succeeded"
    return _figures(shape, outcome) | {
        "submit_s": round(report.wall_s, 1),
        "submit_late_p99_ms": round(percentile(report.late_ms, 99)),
        "server_cpu_s": round(used_s, 1),
        "client_cpu_s": round(report.cpu_s, 1),
        "server_memory_mb": round(memory_mb),
    }


def waits(name: str, waits_ms: list[int]) -> dict[str, float]:
    """Mean and 99th percentile as figures in seconds."""
    return {
        f"{name}_mean_s": round(sum(waits_ms) / len(waits_ms) / 1000, 2),
        f"{name}_p99_s": round(percentile(waits_ms, 99) / 1000, 2),
    }


def percentile(values: list[float] | list[int], percent: int) -> float:
    """The smallest of the values that so many percent of them do not exceed; 0 of none."""
    ordered = sorted(values)
    return float(ordered[max(0, -(-len(ordered) * percent // 100) - 1)]) if ordered else 0.0


def _await_end(store: SqlStore, calls: Any, shape: Shape, longest_s: float) -> None:
    tenants = frozenset(shape.leaves)
    until_s = time.monotonic() + longest_s
    while True:
        is_submitting = calls.poll() is None
        with store.transaction(read_only=True) as transaction:
            live = transaction.count_jobs(tenants, _LIVE)
        if not is_submitting and not live:
            return
        if time.monotonic() > until_s:
            raise TooSlowError(f"after {longest_s} s {live} jobs still wait or run, submitting: {is_submitting}")
        time.sleep(_LOOK_S)


def _outcome(store: SqlStore) -> Outcome:
    out = Outcome()
    with store.transaction(read_only=True) as transaction:
        for job in _jobs(transaction):
            out.add(job, list(transaction.get_attempts(job.id)))
    return out


def _jobs(transaction: Any) -> Iterator[Job]:
    before: int | None = None
    while page := transaction.list_jobs(JobQuery(before_sequence=before, limit=_PAGE)):
        yield from page
        before = page[-1].sequence


def _figures(shape: Shape, outcome: Outcome) -> dict[str, Any]:
    wall_ms = outcome.end_ms - outcome.begin_ms
    figures: dict[str, Any] = {
        "jobs": shape.jobs,
        "wall_s": round(wall_ms / 1000, 1),
        "ideal_s": round(shape.ideal_s, 1),
        "usage_percent": round(100 * shape.work_ms / (shape.cpus * wall_ms), 1),
        "evictions": outcome.evictions,
        "lost_work_percent": round(100 * outcome.lost_cpu_ms / shape.work_ms, 1),
        "overrun_percent": round(100 * (outcome.work_cpu_ms / shape.work_ms - 1), 1),
    }
    for kind in shape.classes:
        figures |= waits(f"wait_{kind.name}", outcome.waits_ms[kind.priority])
    for kind in shape.classes:
        figures |= waits(f"last_wait_{kind.name}", outcome.last_waits_ms[kind.priority])
    return figures


def _cpus(attempt: Attempt) -> int:
    """Of a charge in thousandths of a CPU."""
    return attempt.demand["cpu", "cpu"] // 1000
