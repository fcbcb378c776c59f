"""An attempt that does not get ready in time is evicted, and the job does not try its option again for a while."""

import logging
from dataclasses import replace

import pytest
from fairgate_scheduler.core.jobs import AttemptState, JobState
from fairgate_scheduler.core.lifecycle import NOT_READY
from fairgate_scheduler.core.snapshot import HoldReason
from fairgate_scheduler.service.query import explain, get_job
from fairgate_scheduler.service.quota import apply_config
from fairgate_scheduler.testing.fake_runner import FakeRunner, Script

NEVER_MS = 10**12


@pytest.fixture(autouse=True)
def _quiet():
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture
def timed(rig):
    """The same service; an attempt has 60 s to get ready, then its option rests for 300 s."""
    source = rig.app.config_version().source.replace(
        "a100: {resource", "a100: {capacity: {nvidia.com/gpu: 8}, resource"
    )
    apply_config(rig.app, source + "policy: {ready_timeout: 60s, option_backoff: 300s}\n")
    return rig


def _stuck_on(*options):
    return lambda launch: Script(start_ms=NEVER_MS if launch.attempt.option in options else 1_000)


def test_the_job_waits_with_backoff_until_its_option_may_be_tried_again(timed):
    timed.runner.script = _stuck_on(0)
    name = timed.submit().job.id
    timed.turn()
    begin_ms = timed.clock.now_ms()
    timed.clock.advance(59_999)
    timed.turn()
    assert get_job(timed.app, name).attempt.state is AttemptState.LAUNCHED
    assert timed.scheduler.next_due_ms(timed.clock.now_ms()) <= begin_ms + 60_020
    timed.clock.advance(1)
    timed.turn()
    view = get_job(timed.app, name)
    assert (view.job.state, view.hold, view.job.evictions) == (JobState.PENDING, HoldReason.BACKOFF, 1)
    assert view.job.backoff == {0: begin_ms + 360_000}
    assert explain(timed.app, name).hold.options[0].reason == "skipped for another 300s"
    assert [each.reason for each in view.attempts] == [NOT_READY]
    timed.runner.script = _stuck_on()
    again = timed.run_until(name, "RUNNING")
    assert again.attempt.admitted_at_ms == begin_ms + 360_000
    assert again.attempt.number == 2


def test_the_next_option_is_taken(timed):
    timed.runner.script = _stuck_on(0)
    name = timed.submit(options=[{"flavor": "h100"}, {"flavor": "a100"}]).job.id
    view = timed.run_until(name, "RUNNING")
    assert (view.attempt.number, view.attempt.option) == (2, 1)


def test_what_got_ready_while_nobody_looked_is_not_given_up(timed):
    name = timed.submit().job.id
    timed.turn()
    timed.clock.advance(60_500)
    timed.turn()
    assert timed.events(name)[-1] == "RUNNING"


def test_while_the_runner_can_not_be_asked_nothing_is_given_up(timed, monkeypatch):
    timed.runner.script = _stuck_on(0)
    name = timed.submit().job.id
    timed.turn()
    timed.clock.advance(60_000)
    with monkeypatch.context() as broken:
        broken.setattr(timed.runner, "observe", lambda: 1 / 0)
        timed.turn()
        assert get_job(timed.app, name).job.state is JobState.ADMITTED
    timed.turn()
    assert get_job(timed.app, name).job.state is JobState.PENDING


def test_a_wait_for_what_gives_way_does_not_count(timed):
    borrows = timed.submit("borrows", gpus=4).job.id
    timed.run_until(borrows, "RUNNING")
    timed.runner.grace_ms = NEVER_MS
    timed.runner.history[0].script = replace(timed.runner.history[0].script, stop_ms=200_000, run_ms=NEVER_MS)
    name = timed.submit("reclaims", "b", gpus=2).job.id
    view = timed.run_until(name, "RUNNING")
    assert view.attempt.number == 1
    assert view.attempt.launched_at_ms - view.attempt.admitted_at_ms >= 200_000


class RefusingRunner(FakeRunner):
    """Can not launch on the first option, whatever it is told."""

    def launch(self, launch):
        if launch.attempt.option == 0:
            raise OSError("no room for another process")
        super().launch(launch)


def test_a_launch_that_always_fails_counts_as_not_ready(timed):
    timed.runner = timed.app.runner = RefusingRunner(timed.clock, timed.runner.script)
    name = timed.submit(options=[{"flavor": "h100"}, {"flavor": "a100"}]).job.id
    view = timed.run_until(name, "RUNNING")
    assert [(each.number, each.option, each.state.value, each.reason) for each in view.attempts] == [
        (1, 0, "GONE", NOT_READY),
        (2, 1, "RUNNING", ""),
    ]
    with timed.app.read() as transaction:
        assert transaction.list_effects(10) == []
