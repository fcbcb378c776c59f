"""The production loop, in its own thread and in real time."""

import threading
import time
from itertools import pairwise

import pytest
from fairgate_scheduler.entrypoints.loop import Loop, SystemClock
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.cycle import Scheduler, Timing
from fairgate_scheduler.service.query import get_job
from fairgate_scheduler.service.quota import apply_config
from fairgate_scheduler.service.submit import JobSpec, SubmitRequest, submit
from fairgate_scheduler.testing.builders import ray_job
from fairgate_scheduler.testing.fake_runner import FakeRunner, Script
from fairgate_scheduler.testing.memory_store import MemoryStore

CONFIG = """
version: 1
flavors: {h100: {resource: nvidia.com/gpu}, cpu: {default_for_cpu_pods: true}}
tenants: [{id: a, quota: {h100: {nvidia.com/gpu: {nominal: 1}}}}]
"""


@pytest.fixture
def app():
    clock = SystemClock()
    runner = FakeRunner(clock, lambda _launch: Script(start_ms=10, run_ms=50))
    app = App(MemoryStore(), runner, clock)
    apply_config(app, CONFIG)
    return app


@pytest.fixture
def loop(app):
    loop = Loop(app, Scheduler(app, Timing(poll_ms=20)), app.clock)
    loop.start()
    yield loop
    loop.stop()


def _submit(app, name):
    return submit(app, SubmitRequest("a", None, ray_job(name), JobSpec(time_limit_ms=60_000))).job.id


def _wait_for_the_end(app, name, most_s=30):
    deadline = time.monotonic() + most_s
    while not get_job(app, name).job.state.is_final:
        assert time.monotonic() < deadline, get_job(app, name).job
        time.sleep(0.01)
    return get_job(app, name).job.state.value


def test_a_submit_wakes_it_and_jobs_run_one_after_the_other(app, loop):
    names = [_submit(app, f"j{number}") for number in range(3)]
    assert [_wait_for_the_end(app, name) for name in names] == ["SUCCEEDED"] * 3
    spans = [(each.launched_at_ms, each.end(0)[0]) for each in app.runner.history]
    assert all(start >= end for (_start, end), (start, _end) in pairwise(spans))


def test_errors_do_not_end_it(app, loop, monkeypatch, caplog):
    failed = threading.Event()

    def fail():
        failed.set()
        raise OSError("no answer")

    with monkeypatch.context() as broken:
        broken.setattr(app.runner, "observe", fail)
        name = _submit(app, "train")
        assert failed.wait(30)
    assert _wait_for_the_end(app, name) == "SUCCEEDED"
    assert "the step 'observe' failed" in caplog.text


def test_it_sleeps_while_nothing_is_to_be_done(app, monkeypatch):
    scheduler = Scheduler(app)
    turns = []
    turn = scheduler.turn
    monkeypatch.setattr(scheduler, "turn", lambda: turns.append(1) or turn())
    loop = Loop(app, scheduler, app.clock)
    loop.start()
    time.sleep(0.3)
    loop.stop()
    assert len(turns) <= 2


def test_it_stops_at_once_and_what_runs_goes_on(app):
    app.runner.script = lambda _launch: Script(start_ms=0, run_ms=60_000)
    loop = Loop(app, Scheduler(app, Timing(poll_ms=20)), app.clock)
    loop.start()
    name = _submit(app, "train")
    deadline = time.monotonic() + 30
    while get_job(app, name).job.state.value != "RUNNING" and time.monotonic() < deadline:
        time.sleep(0.01)
    began = time.monotonic()
    loop.stop()
    assert time.monotonic() - began < 5
    assert [each.job for each in app.runner.alive()] == [name]


def test_it_does_no_turn_for_a_state_that_is_not_its_own_any_more(app):
    answers = iter([False, True])
    scheduler = Scheduler(app)
    turns = []
    loop = Loop(app, scheduler, app.clock, lambda: next(answers))
    scheduler.turn = lambda: turns.append(1) or app.changes.notify()
    loop.start()
    loop._thread.join(10)
    assert (turns, loop._thread.is_alive()) == ([1], False)
