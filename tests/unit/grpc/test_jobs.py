"""Reading, changing and ending jobs over the wire."""

import json

import grpc
import pytest
from fairgate_api.v1 import job_service_pb2 as wire_pb2
from fairgate_api.v1 import jobs_pb2
from google.protobuf.duration_pb2 import Duration
from google.protobuf.field_mask_pb2 import FieldMask

CODE = grpc.StatusCode
NAME = "tenants/a/jobs/train"
NOWHERE = "tenants/a/jobs/nowhere"


def _names(answer):
    return [job.name.rpartition("/")[2] for job in answer.jobs]


def test_get_returns_manifest_and_attempts(wire):
    wire.submit()
    wire.turn()
    wire.turn(2000)
    job = wire.jobs.GetJob(wire_pb2.GetJobRequest(name=NAME))
    assert json.loads(job.manifest)["metadata"]["name"] == "train"
    assert (job.state, job.flavor, job.attempt_count) == (jobs_pb2.JOB_STATE_RUNNING, "h100", 1)
    assert [(each.number, each.state, each.flavor) for each in job.attempts] == [
        (1, jobs_pb2.ATTEMPT_STATE_RUNNING, "h100")
    ]
    assert job.HasField("start_time")
    assert not job.HasField("finish_time")


def test_a_finished_job_has_its_end(wire):
    wire.submit()
    wire.turn()
    wire.turn(2000)
    wire.turn(60_000)
    job = wire.jobs.GetJob(wire_pb2.GetJobRequest(name=NAME))
    assert (job.state, job.exit_code, job.HasField("exit_code")) == (jobs_pb2.JOB_STATE_SUCCEEDED, 0, True)
    assert job.finish_time.ToMilliseconds() > job.start_time.ToMilliseconds()
    assert job.attempts[0].state == jobs_pb2.ATTEMPT_STATE_GONE


@pytest.mark.parametrize(
    ("method", "request_type"),
    [
        ("GetJob", wire_pb2.GetJobRequest),
        ("CancelJob", wire_pb2.CancelJobRequest),
        ("ExplainJob", wire_pb2.ExplainJobRequest),
        ("StreamJobLogs", wire_pb2.StreamJobLogsRequest),
    ],
)
def test_what_is_not_there_is_not_found_and_what_is_no_name_is_refused(wire, refused, method, request_type):
    assert refused(getattr(wire.jobs, method), request_type(name=NOWHERE)).code is CODE.NOT_FOUND
    assert refused(getattr(wire.jobs, method), request_type(name="nowhere")).fields == ["name"]


def test_lists_come_in_pages_newest_first(wire):
    for name in ("one", "two", "three"):
        wire.submit(name)
    first = wire.jobs.ListJobs(wire_pb2.ListJobsRequest(parent="tenants/a", page_size=2))
    rest = wire.jobs.ListJobs(
        wire_pb2.ListJobsRequest(parent="tenants/a", page_size=2, page_token=first.next_page_token)
    )
    assert (_names(first), _names(rest), rest.next_page_token) == (["three", "two"], ["one"], "")
    assert not first.jobs[0].manifest


def test_lists_of_one_tenant_of_a_subtree_and_of_all(wire):
    wire.submit("one", tenant="a")
    wire.submit("two", tenant="b")
    for parent, names in (("a", ["one"]), ("org", ["two", "one"]), ("-", ["two", "one"])):
        assert _names(wire.jobs.ListJobs(wire_pb2.ListJobsRequest(parent=f"tenants/{parent}"))) == names


def test_lists_are_filtered(wire):
    wire.submit("one", priority=3, labels={"project": "x"})
    wire.submit("two", priority=5, labels={"project": "x"})
    wire.submit("three", priority=7)
    asked = wire_pb2.ListJobsRequest(
        parent="tenants/-", filter="state = PENDING AND priority < 7 AND labels.project = x"
    )
    assert _names(wire.jobs.ListJobs(asked)) == ["two", "one"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"parent": ""}, "parent"),
        ({"filter": "colour = red"}, "filter"),
        ({"page_size": -1}, "page_size"),
        ({"page_token": "x"}, "page_token"),
    ],
)
def test_wrong_lists_are_refused(wire, refused, change, field):
    request = wire_pb2.ListJobsRequest(**{"parent": "tenants/-", **change})
    assert refused(wire.jobs.ListJobs, request).fields == [field]


def test_cancel_ends_a_job_once(wire):
    wire.submit()
    request = wire_pb2.CancelJobRequest(name=NAME, reason="not needed")
    assert wire.jobs.CancelJob(request).state == jobs_pb2.JOB_STATE_CANCELLED
    again = wire.jobs.CancelJob(request)
    assert (again.state, again.message) == (jobs_pb2.JOB_STATE_CANCELLED, "cancelled by local: not needed")


def test_a_running_job_is_stopping_first(wire):
    wire.submit()
    wire.turn()
    wire.turn(2000)
    job = wire.jobs.CancelJob(wire_pb2.CancelJobRequest(name=NAME))
    assert (job.state, job.outcome) == (jobs_pb2.JOB_STATE_STOPPING, jobs_pb2.JOB_STATE_CANCELLED)


def test_what_has_ended_can_not_be_cancelled(wire, refused):
    wire.submit()
    wire.turn()
    wire.turn(2000)
    wire.turn(60_000)
    answer = refused(wire.jobs.CancelJob, wire_pb2.CancelJobRequest(name=NAME))
    assert answer.code is CODE.FAILED_PRECONDITION
    assert "succeeded" in answer.details["PreconditionFailure"].violations[0].description


def _update(paths=(), **fields):
    return wire_pb2.UpdateJobRequest(job=jobs_pb2.Job(name=NAME, **fields), update_mask=FieldMask(paths=paths))


@pytest.mark.parametrize(
    ("request_", "priority", "limit_s"),
    [
        (_update(["priority"], priority=9, time_limit=Duration(seconds=5)), 9, 600),
        (_update(["time_limit"], priority=9, time_limit=Duration(seconds=5)), 1, 5),
        (_update(["*"], priority=9, time_limit=Duration(seconds=5)), 9, 5),
        (_update(priority=9), 9, 600),
        (_update(priority=0), 0, 600),
    ],
)
def test_update_changes_what_the_mask_names(wire, request_, priority, limit_s):
    etag = wire.submit(priority=1, time_limit=Duration(seconds=600)).etag
    request_.job.etag = etag
    job = wire.jobs.UpdateJob(request_)
    assert (job.priority, job.time_limit.seconds) == (priority, limit_s)
    assert job.etag != etag


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (_update(["labels"]), "update_mask"),
        (_update(), "update_mask"),
        (_update(["priority"]), "job.priority"),
        (_update(priority=11), "job.priority"),
        (_update(time_limit=Duration()), "job.time_limit"),
        (_update(time_limit=Duration(seconds=-1)), "job.time_limit"),
        (wire_pb2.UpdateJobRequest(job=jobs_pb2.Job(name="x", priority=1)), "job.name"),
    ],
)
def test_wrong_updates_are_refused(wire, refused, request_, field):
    wire.submit()
    assert refused(wire.jobs.UpdateJob, request_).fields == [field]


def test_a_stale_etag_is_refused(wire, refused):
    etag = wire.submit().etag
    wire.jobs.UpdateJob(_update(priority=2))
    answer = refused(wire.jobs.UpdateJob, _update(priority=3, etag=etag))
    assert (answer.code, answer.details["ErrorInfo"].reason) == (CODE.ABORTED, "STALE_ETAG")
    assert answer.details["ErrorInfo"].metadata["field"] == "job.etag"


def test_what_was_read_can_be_sent_back(wire):
    wire.submit(priority=1)
    job = wire.jobs.GetJob(wire_pb2.GetJobRequest(name=NAME))
    job.priority = 4
    changed = wire.jobs.UpdateJob(wire_pb2.UpdateJobRequest(job=job, update_mask=FieldMask(paths=["priority"])))
    assert changed.priority == 4


def test_explain_says_why_with_numbers(wire):
    wire.submit("first", tenant="b", gpus=6)
    wire.turn()
    wire.turn(2000)
    wire.submit("train", tenant="b", gpus=6)
    answer = wire.jobs.ExplainJob(wire_pb2.ExplainJobRequest(name="tenants/b/jobs/train"))
    assert answer.job.hold.reason == answer.hold.reason == jobs_pb2.HOLD_REASON_WAITING_FOR_QUOTA
    assert answer.job.hold.message
    assert answer.hold.message
    assert answer.hold.options[0].flavor == "h100"
    needs = [(need.flavor, need.resource, need.need, need.have) for need in answer.hold.options[0].needs]
    assert ("h100", "nvidia.com/gpu", "6", "0") in needs


def test_what_runs_has_nothing_to_explain(wire):
    wire.submit()
    wire.turn()
    wire.turn(2000)
    answer = wire.jobs.ExplainJob(wire_pb2.ExplainJobRequest(name=NAME))
    assert answer.job.state == jobs_pb2.JOB_STATE_RUNNING
    assert not answer.HasField("hold")
