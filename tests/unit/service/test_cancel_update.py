import pytest
from fairgate_scheduler.core.jobs import JobState
from fairgate_scheduler.service.cancel import cancel
from fairgate_scheduler.service.errors import Aborted, FailedPrecondition, InvalidArgument, NotFound
from fairgate_scheduler.service.query import get_job
from fairgate_scheduler.service.update import update


def test_a_waiting_job_is_cancelled_at_once(rig):
    name = rig.submit().job.id
    view = cancel(rig.app, name, "not needed", by="user:me")
    assert (view.job.state, view.job.message, view.hold) == (
        JobState.CANCELLED,
        "cancelled by user:me: not needed",
        None,
    )


def test_a_running_job_stops_first_and_cancelling_again_changes_nothing(rig):
    name = rig.submit().job.id
    rig.run_until(name, "RUNNING")
    first = cancel(rig.app, name)
    assert first.job.state is JobState.STOPPING
    assert cancel(rig.app, name).job == first.job
    assert rig.run_until(name, "CANCELLED").attempt is None
    assert cancel(rig.app, name).job.state is JobState.CANCELLED
    assert rig.events(name)[-2:] == ["STOPPING", "CANCELLED"]


def test_an_ended_job_can_not_be_cancelled(rig):
    name = rig.submit().job.id
    rig.run_until(name, "SUCCEEDED")
    with pytest.raises(FailedPrecondition):
        cancel(rig.app, name)
    with pytest.raises(NotFound):
        cancel(rig.app, "tenants/a/jobs/nobody")


def test_priority_and_time_limit_are_updated(rig):
    view = rig.submit()
    changed = update(rig.app, view.job.id, priority=9, time_limit_ms=60_000, etag=view.etag)
    assert (changed.job.priority, changed.job.time_limit_ms) == (9, 60_000)
    assert changed.etag != view.etag
    assert rig.events(view.job.id) == ["SUBMITTED", "UPDATED"]
    assert update(rig.app, view.job.id, priority=9).job == changed.job


def test_who_asked_is_recorded(rig):
    name = rig.submit().job.id
    rig.run_until(name, "RUNNING")
    update(rig.app, name, priority=1, by="user:ann")
    cancel(rig.app, name, by="user:eve")
    assert rig.run_until(name, "CANCELLED").attempts[0].reason == "cancelled by user:eve"
    with rig.app.read() as transaction:
        events = [each.event for each in transaction.list_events(0, 100, job=name)][-3:]
    assert [(each.kind, each.message, each.details.get("by")) for each in events] == [
        ("UPDATED", "priority is 1 now, by user:ann", "user:ann"),
        ("STOPPING", "cancelled by user:eve", "user:eve"),
        ("CANCELLED", "cancelled by user:eve", None),
    ]


def test_an_update_of_what_somebody_else_changed_is_aborted(rig):
    view = rig.submit()
    update(rig.app, view.job.id, priority=1)
    with pytest.raises(Aborted) as caught:
        update(rig.app, view.job.id, priority=2, etag=view.etag)
    assert caught.value.field == "etag"
    assert get_job(rig.app, view.job.id).job.priority == 1


@pytest.mark.parametrize(("change", "field"), [({"priority": 101}, "priority"), ({"time_limit_ms": 0}, "time_limit")])
def test_wrong_updates_are_refused(rig, change, field):
    name = rig.submit().job.id
    with pytest.raises(InvalidArgument) as caught:
        update(rig.app, name, **change)
    assert caught.value.field == field
    assert rig.events(name) == ["SUBMITTED"]


def test_an_ended_job_can_not_be_updated(rig):
    name = rig.submit().job.id
    cancel(rig.app, name)
    with pytest.raises(FailedPrecondition):
        update(rig.app, name, priority=1)
    with pytest.raises(NotFound):
        update(rig.app, "tenants/a/jobs/nobody", priority=1)


def test_a_shorter_time_limit_ends_a_running_job(rig):
    name = rig.submit().job.id
    rig.run_until(name, "RUNNING")
    update(rig.app, name, time_limit_ms=10_000)
    view = rig.run_until(name, "FAILED")
    assert view.job.message == "stopped at its time limit"
    assert view.job.finished_at_ms - view.job.started_at_ms == 10_000
