"""What follows what in a job's life, event by event."""

from dataclasses import replace
from fractions import Fraction

import pytest
from fairgate_scheduler.core import lifecycle
from fairgate_scheduler.core.jobs import TRANSITIONS, Attempt, AttemptState, Job, JobState
from fairgate_scheduler.core.lifecycle import MAX_LOSSES, EffectKind, EventKind, Observation, Phase
from fairgate_scheduler.core.tenancy import Policy
from fairgate_scheduler.testing.worlds import takes

OPTIONS = (takes("h100", gpu=2), takes("v5e", Fraction(1, 2), tpu=4))
PENDING = Job("job", "a", 0, 1, OPTIONS, 600_000, pending_since_ms=0)
FINAL = [JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED]


def admitted(job: Job = PENDING, option: int = 0) -> tuple[Job, Attempt]:
    change = lifecycle.admit(job, option, 7, 1_000)
    return change.job, change.attempts[0]


def launched(job: Job = PENDING) -> tuple[Job, Attempt]:
    reserved, attempt = admitted(job)
    change = lifecycle.launch(reserved, attempt, 2_000)
    return change.job, change.attempts[0]


def running(job: Job = PENDING) -> tuple[Job, Attempt]:
    started, attempt = launched(job)
    change = lifecycle.observe(started, [attempt], Observation("job", attempt.number, Phase.RUNNING, 3_000))
    assert change is not None
    return change.job, change.attempts[0]


def gone(attempt: Attempt, phase: Phase, at_ms: int = 9_000, exit_code: int | None = None) -> Observation:
    return Observation("job", attempt.number, phase, at_ms, is_gone=True, exit_code=exit_code, message="seen")


def test_admission_reserves_the_options_whole_demand():
    change = lifecycle.admit(PENDING, 1, 7, 1_000)
    attempt = change.attempts[0]
    assert (change.job.state, change.job.attempts, change.job.version) == (JobState.ADMITTED, 1, 2)
    assert (attempt.number, attempt.option, attempt.demand, attempt.admission) == (1, 1, OPTIONS[1].demand, 7)
    assert (attempt.state, attempt.holds_quota, attempt.is_present) == (AttemptState.RESERVED, True, False)
    assert [event.kind for event in change.events] == [EventKind.ADMITTED]
    assert change.effects == ()


def test_launch_orders_the_runner_once():
    job, attempt = admitted()
    change = lifecycle.launch(job, attempt, 2_000)
    assert (change.attempts[0].state, change.attempts[0].launched_at_ms) == (AttemptState.LAUNCHED, 2_000)
    assert [(effect.kind, effect.attempt) for effect in change.effects] == [(EffectKind.LAUNCH, 1)]
    with pytest.raises(AssertionError):
        lifecycle.launch(change.job, change.attempts[0], 2_000)


def test_only_what_is_launched_and_not_ready_is_waited_for():
    policy = Policy(ready_timeout_ms=500)
    job, attempt = launched()
    stopping = lifecycle.preempt(job, attempt, "others", 2_100).attempts[0]
    stored_before = replace(attempt, launched_at_ms=None)
    others = (admitted()[1], running()[1], stopping, stored_before)
    assert lifecycle.unready_at_ms(attempt, policy) == 2_500
    assert [lifecycle.unready_at_ms(each, policy) for each in others] == [None] * 4


def test_what_does_not_get_ready_is_evicted_and_its_option_rests():
    job, attempt = launched(replace(PENDING, backoff={1: 9_000}))
    change = lifecycle.give_up(job, attempt, Policy(option_backoff_ms=70_000), 2_500)
    assert (change.job.state, change.job.evictions, change.job.version) == (JobState.PENDING, 1, job.version + 1)
    assert change.job.backoff == {0: 72_500, 1: 9_000}
    assert (change.job.submitted_at_ms, change.job.pending_since_ms, change.job.done_ms) == (0, 2_500, 0)
    assert (change.attempts[0].state, change.attempts[0].holds_quota) == (AttemptState.STOPPING, False)
    assert [(event.kind, event.message) for event in change.events] == [(EventKind.EVICTED, lifecycle.NOT_READY)]
    assert [effect.kind for effect in change.effects] == [EffectKind.STOP]


def test_running_is_told_once():
    job, attempt = running()
    assert (job.state, job.started_at_ms, attempt.state, attempt.ready_at_ms) == (
        JobState.RUNNING,
        3_000,
        AttemptState.RUNNING,
        3_000,
    )
    assert lifecycle.observe(job, [attempt], Observation("job", 1, Phase.RUNNING, 4_000)) is None


@pytest.mark.parametrize(("phase", "state"), [(Phase.SUCCEEDED, JobState.SUCCEEDED), (Phase.FAILED, JobState.FAILED)])
def test_an_attempt_that_ends_ends_its_job(phase, state):
    job, attempt = running()
    assert lifecycle.observe(job, [attempt], replace(gone(attempt, phase), is_gone=False)) is None
    change = lifecycle.observe(job, [attempt], gone(attempt, phase, exit_code=3))
    assert (change.job.state, change.job.finished_at_ms, change.job.message) == (state, 9_000, "seen")
    ended = change.attempts[0]
    assert (ended.state, ended.holds_quota, ended.exit_code) == (AttemptState.GONE, False, 3)
    assert [(event.kind.value, event.details) for event in change.events] == [(state.value, {"exit_code": 3})]
    assert lifecycle.observe(change.job, change.attempts, gone(attempt, phase)) is None


def test_preemption_requeues_and_gives_the_reservation_on_at_once():
    job, attempt = running()
    change = lifecycle.preempt(job, attempt, "for others", 5_000, done_ms=120_000)
    requeued, stopping = change.job, change.attempts[0]
    assert (requeued.state, requeued.pending_since_ms, requeued.submitted_at_ms) == (JobState.PENDING, 5_000, 0)
    assert (requeued.evictions, requeued.done_ms) == (1, 120_000)
    assert (stopping.state, stopping.holds_quota, stopping.is_present) == (AttemptState.STOPPING, False, True)
    assert [(effect.kind, effect.reason) for effect in change.effects] == [(EffectKind.STOP, "for others")]


def test_preemption_before_the_launch_leaves_nothing():
    job, attempt = admitted()
    change = lifecycle.preempt(job, attempt, "for others", 5_000)
    assert (change.attempts[0].state, change.effects, change.job.done_ms) == (AttemptState.GONE, (), 0)


def test_an_evicted_attempt_that_is_gone_changes_nothing_else():
    job, attempt = running()
    evicted = lifecycle.preempt(job, attempt, "for others", 5_000)
    change = lifecycle.observe(evicted.job, evicted.attempts, gone(attempt, Phase.STOPPED))
    assert (change.job.state, change.attempts[0].state, change.events) == (JobState.PENDING, AttemptState.GONE, ())


def test_an_evicted_driver_that_ends_well_in_its_grace_period_has_finished_the_job():
    job, attempt = running()
    evicted = lifecycle.preempt(job, attempt, "for others", 5_000)
    again = lifecycle.admit(evicted.job, 0, 8, 6_000)
    attempts = [evicted.attempts[0], again.attempts[0]]
    change = lifecycle.observe(again.job, attempts, gone(attempt, Phase.SUCCEEDED))
    assert change.job.state is JobState.SUCCEEDED
    assert [(each.number, each.state) for each in change.attempts] == [(1, AttemptState.GONE), (2, AttemptState.GONE)]


def test_a_lost_attempt_is_tried_again_until_it_is_lost_too_often():
    job, lost = PENDING, list[Attempt]()
    for number in range(1, MAX_LOSSES + 1):
        job, attempt = running(job)
        change = lifecycle.observe(job, [*lost, attempt], gone(attempt, Phase.LOST))
        job, last = change.job, change.attempts[0]
        lost.append(last)
        assert job.state is (JobState.PENDING if number < MAX_LOSSES else JobState.FAILED)
    assert job.message.startswith(f"{MAX_LOSSES} attempts vanished")


def test_a_job_rests_longer_after_each_lost_attempt():
    two = (PENDING.options[0], PENDING.options[0])
    job, lost = replace(PENDING, options=two, backoff={1: 10_500}), list[Attempt]()
    rests = []
    for _ in range(MAX_LOSSES - 1):
        job, attempt = running(job)
        change = lifecycle.observe(job, [*lost, attempt], gone(attempt, Phase.LOST, at_ms=9_000))
        job = change.job
        lost.append(change.attempts[0])
        rests.append(job.backoff)
    assert rests == [{0: 10_000, 1: 10_500}, {0: 11_000, 1: 11_000}, {0: 13_000, 1: 13_000}, {0: 17_000, 1: 17_000}]


def test_cancel_of_a_waiting_job_is_final_at_once():
    change = lifecycle.cancel(PENDING, [], 4_000)
    assert (change.job.state, change.job.finished_at_ms, change.job.message) == (JobState.CANCELLED, 4_000, "cancelled")
    job, attempt = admitted()
    change = lifecycle.cancel(job, [attempt], 4_000)
    assert (change.job.state, change.attempts[0].state) == (JobState.CANCELLED, AttemptState.GONE)
    event = lifecycle.cancel(PENDING, [], 4_000, "too dear", by="ann").events[0]
    assert (event.message, event.details) == ("cancelled by ann: too dear", {"by": "ann"})


@pytest.mark.parametrize(
    ("end", "state"), [(lifecycle.cancel, JobState.CANCELLED), (lifecycle.expire, JobState.FAILED)]
)
def test_a_running_job_keeps_its_place_until_it_is_gone(end, state):
    job, attempt = running()
    change = end(job, [attempt], 4_000)
    assert (change.job.state, change.job.outcome) == (JobState.STOPPING, state)
    assert (change.attempts[0].state, change.attempts[0].holds_quota) == (AttemptState.STOPPING, True)
    assert [effect.kind for effect in change.effects] == [EffectKind.STOP]
    assert end(change.job, change.attempts, 5_000).job is change.job
    ended = lifecycle.observe(change.job, change.attempts, gone(attempt, Phase.STOPPED))
    assert (ended.job.state, ended.attempts[0].holds_quota) == (state, False)


def test_a_cancelled_job_waits_for_its_evicted_attempt_too():
    job, attempt = running()
    evicted = lifecycle.preempt(job, attempt, "for others", 5_000)
    change = lifecycle.cancel(evicted.job, evicted.attempts, 6_000)
    assert (change.job.state, change.effects) == (JobState.STOPPING, ())
    ended = lifecycle.observe(change.job, evicted.attempts, gone(attempt, Phase.STOPPED))
    assert ended.job.state is JobState.CANCELLED


@pytest.mark.parametrize("state", FINAL)
def test_nothing_follows_an_end(state):
    ended = replace(PENDING, state=state)
    assert TRANSITIONS[state] == frozenset()
    assert state.is_final
    assert lifecycle.cancel(ended, [], 1).job is ended
    with pytest.raises(AssertionError, match="is no transition"):
        lifecycle.admit(ended, 0, 1, 1)


def test_what_is_seen_of_another_job_of_the_same_id_changes_nothing():
    job, attempt = launched(replace(PENDING, uid="22"))
    seen = Observation(attempt.job, attempt.number, Phase.RUNNING, 3_000)
    assert lifecycle.observe(job, [attempt], replace(seen, uid="11")) is None
    for uid in ("22", ""):
        assert lifecycle.observe(job, [attempt], replace(seen, uid=uid)) is not None


def test_observations_of_unknown_or_given_up_attempts_are_ignored():
    job, attempt = running()
    assert lifecycle.observe(job, [attempt], Observation("job", 2, Phase.SUCCEEDED, 1, is_gone=True)) is None
    old = replace(attempt, state=AttemptState.GONE)
    assert lifecycle.observe(job, [old], gone(attempt, Phase.SUCCEEDED)) is None


def test_update_tells_what_changed_and_nothing_otherwise():
    change = lifecycle.update(PENDING, 1_000, priority=5, time_limit_ms=600_000)
    assert (change.job.priority, change.job.version) == (5, 2)
    assert [(event.kind, dict(event.details)) for event in change.events] == [(EventKind.UPDATED, {"priority": 5})]
    assert lifecycle.update(change.job, 2_000, priority=5).job is change.job


@pytest.mark.parametrize(
    ("option", "done_ms", "expires_at_ms"),
    [(0, 0, 603_000), (0, 200_000, 403_000), (1, 0, 1_203_000), (1, 1, 1_203_000 - 2)],
)
def test_the_time_limit_counts_from_the_checkpoint_and_by_speed(option, done_ms, expires_at_ms):
    job, attempt = admitted(replace(PENDING, done_ms=done_ms), option)
    assert lifecycle.expires_at_ms(job, attempt) is None
    assert lifecycle.expires_at_ms(job, replace(attempt, ready_at_ms=3_000)) == expires_at_ms


def test_the_time_limit_is_rounded_up():
    third = replace(PENDING, options=(takes("h100", Fraction(3), gpu=1),), time_limit_ms=100)
    job, attempt = admitted(third)
    assert lifecycle.expires_at_ms(job, replace(attempt, ready_at_ms=0)) == 34
