"""When a job starts, what would help it and what it costs, over the wire."""

import pytest
from fairgate_api.v1 import job_service_pb2 as wire_pb2
from fairgate_api.v1 import jobs_pb2
from fairgate_scheduler.core.advice import Help, HelpKind
from fairgate_scheduler.core.amounts import UNLIMITED
from fairgate_scheduler.core.outlook import Outlook
from fairgate_scheduler.entrypoints.grpc import auth, codec
from fairgate_scheduler.service.prospects import Prospects
from fairgate_scheduler.service.views import Prospect
from fairgate_scheduler.testing.builders import job
from google.protobuf.duration_pb2 import Duration

HOUR_S = 3_600
NAME = "tenants/a/jobs/train"


@pytest.fixture
def full(wire):
    """``a`` has borrowed one of ``b``'s; both run on all that there is."""
    wire.app.prospects = Prospects(wire.app.store, work_s=60, fresh_s=0)
    wire.submit("big", "a", gpus=5, time_limit=Duration(seconds=HOUR_S))
    wire.submit("other", "b", gpus=3, time_limit=Duration(seconds=HOUR_S))
    wire.turn()
    wire.turn(2_000)
    return wire


def _user(monkeypatch):
    user = auth.Principal("user:eve", frozenset({"submitter"}))
    monkeypatch.setattr(auth.TokenAuthenticator, "authenticate", lambda *_: user)


def _explain(wire):
    return wire.jobs.ExplainJob(wire_pb2.ExplainJobRequest(name=NAME))


def test_explain_tells_the_forecast_and_what_helps(full):
    start_s = full.clock.now_ms() // 1000 - 1 + HOUR_S
    full.submit(gpus=2, time_limit=Duration(seconds=2 * HOUR_S))
    forecast = _explain(full).job.forecast
    assert abs(forecast.latest_start_time.seconds - start_s) <= 1
    assert forecast.latest_finish_time.seconds == forecast.latest_start_time.seconds + 2 * HOUR_S
    assert (forecast.option, forecast.flavor, forecast.partial, forecast.eviction_count) == (0, "h100", False, 0)
    assert [(each.option, each.flavor, each.accelerator_hours) for each in forecast.costs] == [(0, "h100", "12")]
    priority, quota = forecast.helps
    assert (priority.kind, priority.priority, priority.message) == (jobs_pb2.Help.KIND_PRIORITY, 1, "priority ≥ 1")
    assert (quota.kind, quota.tenant) == (jobs_pb2.Help.KIND_QUOTA, "a")
    assert [(each.flavor, each.resource, each.amount) for each in quota.rows] == [("h100", "nvidia.com/gpu", "2")]


def test_a_job_that_runs_has_no_forecast(full):
    assert not full.jobs.GetJob(wire_pb2.GetJobRequest(name="tenants/a/jobs/big")).HasField("forecast")


def test_a_dry_run_tells_who_gives_way(full):
    request = full.request("new", "b")
    request.validate_only = True
    told = full.jobs.SubmitJob(request)
    assert told.forecast.latest_start_time.seconds == full.clock.now_ms() // 1000
    assert (list(told.forecast.evictions), told.forecast.eviction_count) == (["tenants/a/jobs/big"], 1)
    assert not told.HasField("hold")
    assert len(full.jobs.ListJobs(wire_pb2.ListJobsRequest(parent="tenants/-")).jobs) == 2


def test_others_are_not_named_to_who_is_no_admin(full, monkeypatch):
    _user(monkeypatch)
    request = full.request("new", "b")
    request.validate_only = True
    told = full.jobs.SubmitJob(request)
    assert (list(told.forecast.evictions), told.forecast.eviction_count) == ([], 1)
    full.submit(gpus=2)
    answer = _explain(full)
    assert {"a": "5", "(other tenants)": "3"} in [dict(need.holders) for need in answer.hold.options[0].needs]
    assert "tenants/b" not in str(answer)


def test_lists_tell_forecasts_when_asked(full):
    full.submit(gpus=2)
    plain = full.jobs.ListJobs(wire_pb2.ListJobsRequest(parent="tenants/a"))
    assert not any(each.HasField("forecast") for each in plain.jobs)
    told = full.jobs.ListJobs(wire_pb2.ListJobsRequest(parent="tenants/a", with_forecasts=True))
    forecasts = {each.name: each.forecast for each in told.jobs if each.HasField("forecast")}
    assert list(forecasts) == [NAME]
    assert forecasts[NAME].HasField("latest_start_time")


def test_what_is_not_known_stays_unset():
    found = codec.encode_forecast(Prospect(Outlook(NAME, is_cut=True, reached_ms=5_000)), job())
    assert (found.partial, found.not_before_time.seconds) == (True, 5)
    assert not any(found.HasField(each) for each in ("earliest_start_time", "latest_start_time", "option"))


@pytest.mark.parametrize(
    ("told", "field", "value"),
    [
        (Help(HelpKind.PRIORITY, "", 0), "priority", 0),
        (Help(HelpKind.TIME_LIMIT, "", 1_500), "time_limit", Duration(seconds=1, nanos=500_000_000)),
        (Help(HelpKind.RUNNING_JOBS, "", 3, "org"), "max_running_jobs", 3),
        (Help(HelpKind.QUOTA, "", tenant="a", rows={("h100", "cpu"): UNLIMITED}), "tenant", "a"),
    ],
)
def test_each_help_has_its_value(told, field, value):
    (found,) = codec.encode_forecast(Prospect(Outlook(NAME), (told,)), job()).helps
    assert found.kind == jobs_pb2.Help.Kind.Value(f"KIND_{told.kind.name}")
    assert getattr(found, field) == value


def test_the_wire_knows_every_kind_of_help():
    assert set(jobs_pb2.Help.Kind.keys()) - {"KIND_UNSPECIFIED"} == {f"KIND_{each.name}" for each in HelpKind}
