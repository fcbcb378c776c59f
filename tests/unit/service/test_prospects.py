"""Forecasts, help and cost through the service: what is told, to whom, and that nothing changes."""

import threading
from dataclasses import replace
from fractions import Fraction

import pytest
from fairgate_scheduler.core.advice import HelpKind
from fairgate_scheduler.core.jobs import JobState
from fairgate_scheduler.core.outlook import Outlook
from fairgate_scheduler.core.snapshot import HoldReason
from fairgate_scheduler.service import prospects
from fairgate_scheduler.service.errors import NotFound
from fairgate_scheduler.service.privacy import OTHERS, explanation_for, view_for
from fairgate_scheduler.service.prospects import Prospects
from fairgate_scheduler.service.query import JobFilter, explain, list_jobs
from fairgate_scheduler.service.submit import preview_many, submit
from fairgate_scheduler.service.update import update

HOUR_MS = 3_600_000
MINUTE_MS = 60_000
TOGETHER = (("new", "a", 4), ("new", "a", 4), ("mine", "b", 1), ("lost", "nobody", 1))
ADMIN, USER = frozenset({"admin"}), frozenset({"submitter"})


@pytest.fixture(autouse=True)
def patient(rig):
    """A busy machine must not cut the forecasts of tests short; each list is looked at anew."""
    rig.app.prospects = Prospects(rig.app.store, work_s=60, fresh_s=0)


@pytest.fixture
def full(rig):
    """``a`` and ``b`` run on all that there is, since 1,000 s of their clock; ``a`` uses one of ``b``'s."""
    for tenant, gpus in (("a", 3), ("b", 1)):
        rig.submit("runs", tenant, gpus=gpus, time_limit_ms=HOUR_MS)
    rig.turn(2)
    return rig


def dry_run(rig, name="new", tenant="a", **spec):
    request = rig.request(name, tenant, **spec)
    return submit(
        rig.app, type(request)(**{each: getattr(request, each) for each in request.__slots__} | {"validate_only": True})
    )


def test_explain_says_when_a_job_starts_and_what_helps(full):
    full.submit("job", "a", gpus=2)
    full.turn()
    told = explain(full.app, "tenants/a/jobs/job").view.prospect
    start_ms = 1_000_000 + HOUR_MS
    assert told.outlook == Outlook("tenants/a/jobs/job", start_ms, start_ms, start_ms + HOUR_MS, start_ms + HOUR_MS, 0)
    assert [each.kind for each in told.helps] == [HelpKind.PRIORITY, HelpKind.QUOTA]
    assert told.costs[0].accelerator_hours == 2


def test_what_helps_does(full):
    full.submit("first", "a", gpus=1, priority=3)
    full.submit("job", "a", gpus=1)
    full.run_until("tenants/a/jobs/runs", "SUCCEEDED")
    for name in ("x", "y"):
        full.submit(name, "a", gpus=2, priority=7)
    full.turn(2)
    waiting = full.submit("late", "a", gpus=1).job.id
    told = explain(full.app, waiting).view.prospect
    priority = next(each.value for each in told.helps if each.kind is HelpKind.PRIORITY)
    update(full.app, waiting, priority=priority)
    full.turn()
    assert explain(full.app, waiting).view.job.state is JobState.ADMITTED


def test_typical_run_times_of_jobs_that_have_ended(full):
    name = "tenants/a/jobs/runs"
    full.run_until(name, "SUCCEEDED")
    for each in ("big", "job"):
        full.submit(each, "a", gpus=3)
    full.turn()
    found = explain(full.app, "tenants/a/jobs/job").view.prospect.outlook
    now_ms = full.clock.now_ms()
    assert found.earliest_start_ms < now_ms + 2 * MINUTE_MS + 10_000 < now_ms + HOUR_MS <= found.latest_start_ms


def test_a_job_that_runs_or_can_never_start(full):
    assert explain(full.app, "tenants/a/jobs/runs").view.prospect is None
    with full.app.world() as world:
        assert full.app.prospects.of(world.snapshot(), "tenants/a/jobs/nobody", 0) is None


def test_a_dry_run_changes_nothing_and_says_what_would_be(full):
    with full.app.read() as transaction:
        before = transaction.last_event()
    told = dry_run(full, gpus=2)
    assert (told.hold, told.prospect.outlook.latest_start_ms) == (HoldReason.WAITING_FOR_QUOTA, 1_000_000 + HOUR_MS)
    assert told.prospect.costs[0].accelerator_hours == Fraction(2)
    with full.app.read() as transaction:
        assert transaction.last_event() == before
    assert {job.id for job in full.app.snapshot().pending} == set()


def test_a_dry_run_says_who_would_be_evicted(full):
    told = dry_run(full, tenant="b")
    assert told.hold is None
    assert told.prospect.outlook.latest_start_ms == full.clock.now_ms()
    assert told.prospect.outlook.evicts == ("tenants/a/jobs/runs",)
    assert told.prospect.helps == ()
    full.submit("new", "b")
    full.turn()
    assert full.events("tenants/a/jobs/runs")[-1] == "EVICTED"


def test_a_dry_run_comes_after_all_that_wait(full):
    full.submit("first", "a", gpus=4)
    assert dry_run(full, gpus=4).prospect.outlook.latest_start_ms == 1_000_000 + 2 * HOUR_MS


def test_several_jobs_are_looked_at_together(full):
    asked = [full.request(name, tenant, gpus=gpus) for name, tenant, gpus in TOGETHER]
    told = preview_many(full.app, [replace(each, validate_only=True) for each in asked])
    assert isinstance(told[3], NotFound)
    starts = [(each.job.id, each.prospect.outlook.latest_start_ms, each.hold) for each in told[:3]]
    assert starts == [
        # Who gives way to the third one runs again before them.
        ("tenants/a/jobs/new", 1_000_000 + 2 * HOUR_MS, HoldReason.WAITING_FOR_QUOTA),
        ("tenants/a/jobs/new", 1_000_000 + 3 * HOUR_MS, HoldReason.WAITING_FOR_QUOTA),
        ("tenants/b/jobs/mine", full.clock.now_ms(), None),
    ]
    assert [each.prospect.outlook.evicts for each in told[:3]] == [(), (), ("tenants/a/jobs/runs",)]
    assert [each.prospect.costs[0].accelerator_hours for each in told[:3]] == [4, 4, 1]
    assert {job.id for job in full.app.snapshot().pending} == set()


def test_who_is_no_admin_is_not_told_who_others_are(full):
    told = dry_run(full, tenant="b")
    assert view_for(told, ADMIN) == told
    shown = view_for(told, USER).prospect
    assert (shown.outlook.evicts, shown.unnamed_evictions) == ((), 1)
    full.submit("job", "a", gpus=2)
    full.turn()
    explained = explain(full.app, "tenants/a/jobs/job")
    assert explanation_for(explained, ADMIN) == explained
    needs = explanation_for(explained, USER).hold.options[0].needs
    assert [each.holders for each in explained.hold.options[0].needs] == [{"a": 3, "b": 1}] * len(needs)
    assert [each.holders for each in needs] == [{"a": 3, OTHERS: 1}] * len(needs)
    assert "tenants/b" not in repr(explanation_for(explained, USER))


def test_own_jobs_that_give_way_are_named(rig):
    rig.submit("mine", "a", gpus=4)
    rig.turn(2)
    told = view_for(dry_run(rig, gpus=4, priority=9), USER).prospect
    assert (told.outlook.evicts, told.unnamed_evictions) == (("tenants/a/jobs/mine",), 0)


def test_lists_have_forecasts_when_asked(full):
    full.submit("job", "a", gpus=2)
    full.turn()
    views, _ = list_jobs(full.app, JobFilter(), with_outlooks=True)
    starts = {view.job.id: view.prospect and view.prospect.outlook.latest_start_ms for view in views}
    assert starts == {
        "tenants/a/jobs/job": 1_000_000 + HOUR_MS,
        "tenants/b/jobs/runs": None,
        "tenants/a/jobs/runs": None,
    }
    views, _ = list_jobs(full.app, JobFilter())
    assert [view.prospect for view in views] == [None] * 3


def test_a_forecast_of_all_is_shared_for_a_while(full):
    full.app.prospects = Prospects(full.app.store, work_s=60, fresh_s=600)
    full.submit("job", "a", gpus=2)
    list_jobs(full.app, JobFilter(), with_outlooks=True)
    full.submit("later", "a", gpus=2)
    views, _ = list_jobs(full.app, JobFilter(), with_outlooks=True)
    told = {view.job.id.rpartition("/")[2]: view.prospect.outlook for view in views if view.prospect}
    assert told["later"] == Outlook("tenants/a/jobs/later", is_cut=True)
    assert told["job"].latest_start_ms == 1_000_000 + HOUR_MS


def test_without_time_it_is_said_to_be_not_known(full):
    full.app.prospects = Prospects(full.app.store, work_s=0)
    name = full.submit("job", "a", gpus=2).job.id
    told = explain(full.app, name).view.prospect
    assert (told.outlook, told.helps) == (Outlook(name, is_cut=True), ())
    assert told.costs[0].accelerator_hours == 2
    assert explain(full.app, name).hold.reason is HoldReason.WAITING_FOR_QUOTA


def test_who_has_waited_too_long_for_others_is_not_kept(full, monkeypatch):
    monkeypatch.setattr(prospects, "PATIENCE_S", 0.01)
    name = full.submit("job", "a", gpus=2).job.id
    with full.app.prospects._turn:
        assert explain(full.app, name).view.prospect.outlook == Outlook(name, is_cut=True)
        list_jobs(full.app, JobFilter(), with_outlooks=True)
    assert explain(full.app, name).view.prospect.outlook.latest_start_ms is not None


def test_a_defect_in_what_was_only_looked_at_keeps_nobody_from_an_answer(full, monkeypatch, caplog):
    def broken(*_):
        raise AssertionError("not idempotent")

    monkeypatch.setattr(prospects, "advise", broken)
    name = full.submit("job", "a", gpus=2).job.id
    told = explain(full.app, name).view.prospect
    assert (told.helps, told.outlook.latest_start_ms) == ((), 1_000_000 + HOUR_MS)
    assert "broke a law" in caplog.text


def test_writers_do_not_wait_for_a_forecast(full, monkeypatch):
    """While a forecast is being made, jobs are submitted and decided on by another thread."""
    seen = []

    def work():
        seen.append(full.submit("meanwhile", "b").job.id)
        full.turn()

    def slow(snapshot, name, now_ms, typical, go_on):
        other = threading.Thread(target=work, daemon=True)
        other.start()
        other.join(20)
        assert not other.is_alive()
        return Outlook(name, is_cut=True)

    monkeypatch.setattr(prospects, "outlook", slow)
    name = full.submit("job", "a", gpus=2).job.id
    assert explain(full.app, name).view.prospect.outlook.is_cut
    assert full.events(seen[0])[0] == "SUBMITTED"
