"""What the runner sees becomes what the store says."""

import logging
from dataclasses import replace

import pytest
from fairgate_scheduler.core.jobs import JobState
from fairgate_scheduler.core.snapshot import HoldReason
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.cancel import cancel
from fairgate_scheduler.service.cycle import Scheduler
from fairgate_scheduler.service.query import get_job
from fairgate_scheduler.service.quota import apply_config, get_config
from fairgate_scheduler.service.submit import submit
from fairgate_scheduler.testing.fake_runner import Script
from fairgate_scheduler.testing.memory_store import MemoryStore
from fairgate_scheduler.testing.runner_contract import make_launch


def test_a_job_runs_from_its_submit_to_its_end(rig):
    name = rig.submit().job.id
    view = rig.run_until(name, "SUCCEEDED")
    assert rig.events(name) == ["SUBMITTED", "ADMITTED", "LAUNCHED", "RUNNING", "SUCCEEDED"]
    assert view.job.finished_at_ms - view.job.started_at_ms == 60_000
    assert view.attempts[0].exit_code == 0
    rig.turn(2)
    assert rig.runner.observe() == []


def test_a_job_whose_attempt_was_ready_only_between_two_looks_has_a_start(rig):
    rig.runner.script = lambda _launch: Script(start_ms=100, run_ms=200)
    name = rig.submit().job.id
    view = rig.run_until(name, "SUCCEEDED", step_ms=5_000)
    assert view.job.finished_at_ms - view.job.started_at_ms == 200


def test_a_failing_job_has_failed(rig):
    rig.runner.script = lambda _launch: Script(exit_code=3)
    view = rig.run_until(rig.submit().job.id, "FAILED")
    assert (view.attempts[0].exit_code, view.job.attempts) == (3, 1)


@pytest.mark.parametrize("is_running", [True, False])
def test_a_job_that_gets_an_id_again_after_a_restore_is_not_taken_for_the_earlier_one(rig, is_running):
    name = submit(rig.app, replace(rig.request(), uid="11")).job.id
    rig.run_until(name, "RUNNING" if is_running else "SUCCEEDED")
    app = App(MemoryStore(), rig.runner, rig.clock)  # the backup is from before that job was submitted
    apply_config(app, get_config(rig.app).source)
    later = replace(rig, app=app, scheduler=Scheduler(app))
    assert submit(app, replace(rig.request(), uid="22")).job.id == name
    view = later.run_until(name, "SUCCEEDED")
    assert later.events(name) == ["SUBMITTED", "ADMITTED", "LAUNCHED", "RUNNING", "SUCCEEDED"]
    assert view.job.attempts == 1
    assert [each.uid for each in rig.runner.history] == ["11", "22"]
    assert (rig.runner.history[0].stop_at_ms is not None) is is_running
    later.turn(2)
    assert rig.runner.observe() == []


@pytest.mark.parametrize("end", ["kill", "vanish"])
def test_a_lost_attempt_is_tried_again(rig, end):
    name = rig.submit().job.id
    rig.run_until(name, "RUNNING")
    getattr(rig.runner, end)(name, 1)
    view = rig.run_until(name, "SUCCEEDED")
    assert [each.reason for each in view.attempts] == ["LOST", "SUCCEEDED"]
    assert rig.events(name).count("REQUEUED") == 1


def test_a_job_whose_attempt_was_lost_waits_before_the_next_one(rig):
    name = rig.submit().job.id
    rig.run_until(name, "RUNNING")
    rig.runner.kill(name, 1)
    rig.turn()
    view = get_job(rig.app, name)
    assert (view.job.state, view.hold, view.job.attempts) == (JobState.PENDING, HoldReason.BACKOFF, 1)
    lost_ms = view.job.pending_since_ms
    with rig.app.world() as world:
        assert world.next_due_ms(rig.clock.now_ms()) == lost_ms + 1_000
    rig.run_until(name, "ADMITTED", step_ms=100)
    assert rig.clock.now_ms() == lost_ms + 1_000


def test_an_attempt_without_a_trace_is_lost_only_after_a_while(rig):
    name = rig.submit().job.id
    rig.run_until(name, "RUNNING")
    rig.runner.history[0].has_trace = False
    rig.turn()
    rig.clock.advance(4_999)
    rig.turn()
    assert get_job(rig.app, name).attempt.number == 1
    rig.runner.history[0].has_trace = True
    rig.turn()
    rig.runner.history[0].has_trace = False
    rig.turn()
    rig.clock.advance(4_999)
    rig.turn()
    assert get_job(rig.app, name).attempt.number == 1
    rig.clock.advance(1)
    rig.turn()
    assert rig.events(name)[4:5] == ["REQUEUED"]


def test_an_attempt_whose_launch_was_not_carried_out_yet_is_not_lost(rig, monkeypatch):
    def refuse(_launch):
        raise OSError("no room")

    monkeypatch.setattr(rig.runner, "launch", refuse)
    logging.disable(logging.CRITICAL)
    name = rig.submit().job.id
    for _ in range(100):
        rig.turn()
        rig.clock.advance(1_000)
    logging.disable(logging.NOTSET)
    assert rig.events(name) == ["SUBMITTED", "ADMITTED", "LAUNCHED"]
    monkeypatch.undo()
    assert rig.run_until(name, "SUCCEEDED").job.attempts == 1


def test_what_runs_without_being_admitted_is_stopped_and_forgotten(rig, caplog):
    stray = make_launch("stray", {})
    rig.runner.launch(stray)
    rig.turn(3)
    assert caplog.text.count("runs without being admitted") == 1
    assert rig.runner.alive() == []
    assert rig.runner.observe() == []


def test_a_job_is_stopped_at_its_time_limit_counted_from_when_it_was_ready(rig):
    rig.runner.script = lambda _launch: Script(start_ms=30_000, run_ms=60_000)
    view = rig.run_until(rig.submit(time_limit_ms=20_000).job.id, "FAILED")
    assert view.job.message == "stopped at its time limit"
    assert view.job.finished_at_ms - view.job.started_at_ms == 20_000


def test_the_time_limit_is_scaled_by_speed(rig):
    options = [{"flavor": "h100", "speed": "1/2"}]
    view = rig.run_until(rig.submit(time_limit_ms=20_000, options=options).job.id, "FAILED")
    assert view.job.finished_at_ms - view.job.started_at_ms == 40_000


def test_an_evicted_job_keeps_its_submit_time_and_starts_again_when_it_may(rig):
    rig.runner.script = lambda launch: Script(run_ms=20_000 if launch.job.tenant == "b" else 60_000, stop_ms=3_000)
    borrows = rig.submit("borrows", gpus=4)
    rig.run_until(borrows.job.id, "RUNNING")
    rig.clock.advance(1_000)
    reclaims = rig.submit("reclaims", "b").job.id
    rig.run_until(reclaims, "RUNNING")
    assert get_job(rig.app, borrows.job.id).job.submitted_at_ms == borrows.job.submitted_at_ms
    view = rig.run_until(borrows.job.id, "SUCCEEDED")
    assert (view.job.attempts, view.job.evictions) == (2, 1)
    first, second, third = rig.runner.history
    assert [each.job for each in (first, second, third)] == [borrows.job.id, reclaims, borrows.job.id]
    assert second.launched_at_ms >= first.end(rig.runner.grace_ms)[0]


def test_a_new_server_goes_on_where_the_old_one_was(rig):
    name = rig.submit().job.id
    rig.run_until(name, "RUNNING")
    rig.app = App(rig.app.store, rig.runner, rig.clock)
    rig.scheduler = Scheduler(rig.app)
    other = submit(rig.app, rig.request("other")).job.id
    assert rig.run_until(name, "SUCCEEDED").job.attempts == 1
    assert rig.run_until(other, "SUCCEEDED")


def test_a_cancelled_launch_that_was_never_carried_out_leaves_nothing(rig, monkeypatch):
    name = rig.submit().job.id
    monkeypatch.setattr(rig.scheduler._courier, "deliver", lambda _now_ms: None)
    rig.turn()
    cancel(rig.app, name)
    monkeypatch.undo()
    rig.run_until(name, "CANCELLED")
    assert rig.runner.history == []
