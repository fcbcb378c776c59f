"""How fast jobs are taken, each durable before it is answered; and how soon a killed server decides again."""

import time
from itertools import islice
from pathlib import Path
from typing import Any, Final

import traffic
from endtoend import percentile
from fairgate_scheduler.adapters.sql import SqlStore
from fairgate_scheduler.core.jobs import JobState
from fairgate_scheduler.entrypoints.loop import SystemClock
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.errors import FairgateError
from fairgate_scheduler.service.quota import apply_config
from fairgate_scheduler.service.submit import JobSpec, SubmitRequest, submit_many
from fairgate_scheduler.testing.timer_runner import TimerRunner
from served import Served
from shapes import BASELINE, Arrival, JobClass, Shape, manifest

_BATCH: Final = 1_000

_KIND = JobClass("waits", 20, 600_000, 50, 1, 1)
"""Runs for long and takes all that its tenant owns: what comes after it waits, and nothing ends meanwhile."""


def submit(jobs: int, callers: int, folder: Path) -> dict[str, Any]:
    """Unary submits by so many callers at once, as fast as they can; 0 callers: in bulk."""
    shape = _shape(jobs)
    served = Served(folder)
    served.start(shape.config())
    try:
        before_s = served.cpu_s()
        address, token = served.settings.address, str(served.settings.token_file)
        report = traffic.finish(traffic.start(traffic.Traffic(address, token, shape, callers, is_paced=False)))
        used_s = served.cpu_s() - before_s
    finally:
        served.stop()
    return {
        "callers": callers or "bulk",
        "jobs": report.jobs,
        "jobs_per_s": round(report.jobs / report.wall_s, 1),
        "call_p50_ms": round(percentile(report.call_ms, 50), 1),
        "call_p99_ms": round(percentile(report.call_ms, 99), 1),
        "server_ms_per_job": round(1000 * used_s / report.jobs, 2),
        "client_ms_per_job": round(1000 * report.cpu_s / report.jobs, 2),
    }


def recover(jobs: int, folder: Path) -> dict[str, Any]:
    """So many pending jobs, SIGKILL, start again: how long until it answers, and until it has decided something."""
    shape = _shape(jobs)
    served = Served(folder)
    filled_s = _fill(served, shape)
    served.start()
    try:
        served.kill()
        store = SqlStore.open(str(served.settings.database))
        began_s = time.monotonic()
        served.start()
        answers_s = time.monotonic() - began_s
        decides_s = _first_decision(served, store, shape.leaves[0]) - began_s
        used_s, memory_mb = served.cpu_s(), served.memory_mb()
        store.close()
    finally:
        served.stop()
    return {
        "pending": jobs,
        "filled_s": round(filled_s, 1),
        "answers_s": round(answers_s, 2),
        "first_decision_s": round(decides_s, 2),
        "server_cpu_s": round(used_s, 1),
        "server_memory_mb": round(memory_mb),
    }


def _fill(served: Served, shape: Shape) -> float:
    """Submit all of it in this process, without a scheduler; returns how long that took."""
    served.settings.state_dir.mkdir()
    store, runner = SqlStore.open(str(served.settings.database)), TimerRunner()
    app = App(store, runner, SystemClock())
    apply_config(app, shape.config())
    began_s = time.monotonic()
    requests = (
        SubmitRequest(each.tenant, None, manifest(each.kind), JobSpec(each.kind.priority, time_limit_ms=3_600_000))
        for each in shape.arrivals()
    )
    while some := list(islice(requests, _BATCH)):
        assert not [each for each in submit_many(app, some) if isinstance(each, FairgateError)]
    took_s = time.monotonic() - began_s
    runner.close()
    store.close()
    return took_s


def _first_decision(served: Served, store: SqlStore, tenant: str) -> float:
    """End what the tenant runs and see when the next one is admitted."""
    running = frozenset({JobState.ADMITTED, JobState.RUNNING})
    with served.client(timeout_s=600) as client:
        job = client.submit(**traffic.submission(Arrival(0, tenant, _FIRST)), request_id="first-after-the-kill")
    while True:
        with store.transaction(read_only=True) as transaction:
            found = transaction.get_job(job.name)
        if found is not None and found.state in running:
            return time.monotonic()
        time.sleep(0.02)


_FIRST = JobClass("first", 20, 600_000, 1_000, 1, 1)
"""Its priority is above all others, so that the next decision is about it."""


def _shape(jobs: int) -> Shape:
    tenants = len(BASELINE.leaves)
    kind = JobClass(_KIND.name, _KIND.cpus, _KIND.run_ms, _KIND.priority, -(-jobs // tenants), 1)
    return Shape("submit", BASELINE.cohorts, BASELINE.tenants, (kind,))
