"""Many callers at once, beside the running loop, on a real database: nothing deadlocks, nothing is lost."""

import random
import threading
import time

import pytest
from fairgate_scheduler.adapters.sql import SqlStore
from fairgate_scheduler.entrypoints.loop import Loop, SystemClock
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.cancel import cancel
from fairgate_scheduler.service.cycle import Scheduler, Timing
from fairgate_scheduler.service.errors import FailedPrecondition
from fairgate_scheduler.service.query import JobFilter, explain, list_jobs
from fairgate_scheduler.service.quota import apply_config
from fairgate_scheduler.service.standing import list_tenants
from fairgate_scheduler.service.submit import JobSpec, SubmitRequest, submit
from fairgate_scheduler.service.update import update
from fairgate_scheduler.service.watch import watch
from fairgate_scheduler.service.world import World
from fairgate_scheduler.testing.builders import ray_job
from fairgate_scheduler.testing.fake_runner import FakeRunner, Script
from fairgate_scheduler.testing.memory_store import MemoryStore

CONFIG = """
version: 1
flavors: {h100: {resource: nvidia.com/gpu}, cpu: {default_for_cpu_pods: true}}
tenants:
  - {id: org}
  - {id: a, parent: org, quota: {h100: {nvidia.com/gpu: {nominal: 2}}}}
  - {id: b, parent: org, quota: {h100: {nvidia.com/gpu: {nominal: 2}}}}
"""
CALLERS, JOBS = 6, 6


@pytest.fixture(params=["memory", "sqlite"])
def app(request, tmp_path):
    store = MemoryStore() if request.param == "memory" else SqlStore.open(tmp_path / "fairgate.db")
    clock = SystemClock()
    app = App(store, FakeRunner(clock, lambda _launch: Script(start_ms=5, run_ms=20)), clock)
    apply_config(app, CONFIG)
    yield app
    store.close()


def _call(app, number):
    chance = random.Random(number)
    for at in range(JOBS):
        spec = JobSpec(priority=chance.randrange(3), time_limit_ms=60_000)
        request = SubmitRequest(chance.choice("ab"), None, ray_job(f"c{number}-{at}"), spec, f"{number}-{at}")
        name = submit(app, request).job.id
        try:
            chance.choice([cancel, explain, lambda app, name: update(app, name, 9)])(app, name)
        except FailedPrecondition:
            assert explain(app, name).view.job.state.is_final
        list_tenants(app)
        list_jobs(app, JobFilter(filter_text="state = PENDING"))


def test_many_callers_at_once(app):
    loop = Loop(app, Scheduler(app, Timing(poll_ms=5)), app.clock)
    loop.start()
    seen, stop = [], threading.Event()
    watcher = threading.Thread(target=lambda: seen.extend(watch(app, None, None, 0, stop.is_set)))
    callers = [threading.Thread(target=_call, args=(app, number)) for number in range(CALLERS)]
    for thread in (watcher, *callers):
        thread.start()
    for thread in callers:
        thread.join(60)
        assert not thread.is_alive(), "a deadlock"
    deadline = time.monotonic() + 60
    while app.snapshot().pending or app.snapshot().running:
        assert time.monotonic() < deadline, app.snapshot()
        time.sleep(0.01)
    loop.stop()
    with app.read() as transaction:
        last = transaction.last_event()
    while not seen or seen[-1].sequence < last:  # else it might be stopped before it has seen the end
        assert time.monotonic() < deadline, last
        time.sleep(0.01)
    stop.set()
    app.changes.notify()
    watcher.join(60)
    jobs = list_jobs(app, JobFilter(), 1_000)[0]
    assert len(jobs) == CALLERS * JOBS
    assert all(view.job.state.is_final for view in jobs)
    with app.read() as transaction:
        events = transaction.list_events(0, 10_000)
        assert World.load(transaction).attempts == {}
    assert [each.sequence for each in seen if each.stored] == [each.sequence for each in events]
    starts = [(each.job, each.attempt) for each in app.runner.history]
    assert len(set(starts)) == len(starts)
