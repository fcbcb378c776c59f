"""A plan is written only as far as it still holds."""

import pytest
from fairgate_scheduler.core.jobs import JobState
from fairgate_scheduler.core.plan import plan_cycle
from fairgate_scheduler.core.snapshot import Admit, HoldReason, Plan, Preempt
from fairgate_scheduler.service.apply import apply_plan
from fairgate_scheduler.service.cancel import cancel
from fairgate_scheduler.service.query import get_job
from fairgate_scheduler.service.quota import apply_config
from fairgate_scheduler.service.update import update


def _planned(rig):
    snapshot = rig.app.snapshot()
    return snapshot, plan_cycle(snapshot, rig.clock.now_ms())


def _apply(rig, snapshot, plan):
    return apply_plan(rig.app, snapshot, plan, rig.clock.now_ms())


def test_admissions_are_numbered_in_their_order_over_all_plans(rig):
    one, two = rig.submit("one").job.id, rig.submit("two").job.id
    assert _apply(rig, *_planned(rig)) == 2
    three = rig.submit("three", "b").job.id
    assert _apply(rig, *_planned(rig)) == 1
    assert [get_job(rig.app, name).attempt.admission for name in (one, two, three)] == [1, 2, 3]


def test_a_plan_written_twice_changes_nothing(rig):
    name = rig.submit().job.id
    snapshot, plan = _planned(rig)
    assert _apply(rig, snapshot, plan) == 1
    assert _apply(rig, snapshot, plan) == 0
    assert rig.events(name) == ["SUBMITTED", "ADMITTED", "LAUNCHED"]


def test_what_has_nothing_in_its_way_is_launched_with_its_admission(rig):
    borrows = rig.submit("borrows", gpus=3).job.id
    rig.run_until(borrows, "RUNNING")
    fits, waits = rig.submit("fits", "b", gpus=1).job.id, rig.submit("waits", "b", gpus=1).job.id
    assert _apply(rig, *_planned(rig)) == 3
    views = {name: get_job(rig.app, name) for name in (fits, waits)}
    assert [(view.attempt.state.value, view.hold) for view in views.values()] == [
        ("LAUNCHED", None),
        ("RESERVED", HoldReason.WAITING_FOR_PREEMPTED),
    ]
    assert rig.events(fits)[-1] == "LAUNCHED"


@pytest.mark.parametrize("change", [cancel, lambda app, name: update(app, name, priority=1)])
def test_the_decision_on_a_job_that_has_changed_is_dropped_and_the_others_are_written(rig, change):
    changed, other = rig.submit("changed").job.id, rig.submit("other").job.id
    snapshot, plan = _planned(rig)
    change(rig.app, changed)
    assert _apply(rig, snapshot, plan) == 1
    assert get_job(rig.app, changed).attempts == ()
    assert get_job(rig.app, other).job.state is JobState.ADMITTED


def test_a_plan_for_another_configuration_is_dropped(rig):
    name = rig.submit().job.id
    snapshot, plan = _planned(rig)
    apply_config(rig.app, rig.app.config_version().source.replace("nominal: 2", "nominal: 1"))
    assert _apply(rig, snapshot, plan) == 0
    assert get_job(rig.app, name).job.state is JobState.PENDING


def test_an_admission_without_the_eviction_that_makes_room_for_it_is_dropped(rig):
    borrows = rig.submit("borrows", gpus=4).job.id
    rig.run_until(borrows, "RUNNING")
    reclaims = rig.submit("reclaims", "b").job.id
    snapshot, plan = _planned(rig)
    assert [each.job for each in plan.preemptions] == [borrows]
    cancel(rig.app, borrows)  # it stops, and holds its quota until it is gone
    assert _apply(rig, snapshot, plan) == 0
    assert get_job(rig.app, reclaims).job.state is JobState.PENDING
    assert rig.run_until(reclaims, "RUNNING")


def test_never_more_is_reserved_than_the_quota_whatever_the_plan_says(rig):
    one, two = rig.submit("one", gpus=2).job.id, rig.submit("two", gpus=3).job.id
    assert _apply(rig, rig.app.snapshot(), Plan(admissions=(Admit(one, 0), Admit(two, 0)))) == 1
    assert get_job(rig.app, two).job.state is JobState.PENDING


def test_decisions_on_jobs_that_nobody_knows_are_dropped(rig):
    plan = Plan((Preempt("tenants/a/jobs/x", "why"),), (Admit("tenants/a/jobs/y", 0),))
    assert _apply(rig, rig.app.snapshot(), plan) == 0


def test_a_job_may_be_evicted_and_come_back_on_another_option_in_one_plan(rig):
    name = rig.submit(gpus=1, options=[{"flavor": "h100"}, {"flavor": "h100", "speed": "1/2"}]).job.id
    rig.run_until(name, "RUNNING")
    assert _apply(rig, rig.app.snapshot(), Plan((Preempt(name, "moves"),), (Admit(name, 1),))) == 2
    view = get_job(rig.app, name)
    assert (view.job.evictions, view.job.attempts, view.attempt.option) == (1, 2, 1)
    assert rig.run_until(name, "RUNNING").attempt.number == 2
