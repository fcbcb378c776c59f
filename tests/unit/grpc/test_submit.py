"""SubmitJob and SubmitJobs over the wire."""

import uuid
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from fairgate_api.v1 import job_service_pb2 as wire_pb2
from fairgate_api.v1 import jobs_pb2
from fairgate_scheduler.testing.builders import ray_job
from google.protobuf.duration_pb2 import Duration

CODE = grpc.StatusCode


def test_a_job_comes_back_as_it_was_understood(wire):
    job = wire.submit("train", gpus=2, labels={"project": "x"}, workload="llm", priority=5)
    assert job.name == "tenants/a/jobs/train"
    assert (job.tenant, job.state, job.priority, job.preemptible) == ("a", jobs_pb2.JOB_STATE_PENDING, 5, True)
    assert (dict(job.labels), job.workload, job.submitted_by) == ({"project": "x"}, "llm", "local")
    assert job.create_time.ToMilliseconds() == wire.clock.now_ms()
    assert job.etag
    assert not job.manifest
    charge = {(row.flavor, row.resource): row.amount for row in job.charges[0].rows}
    assert charge["h100", "nvidia.com/gpu"] == "2"
    assert charge["cpu", "cpu"]
    assert {group.name: group.flavor for group in job.charges[0].groups}["head"] == "cpu"


def test_each_job_has_a_uid_of_its_own(wire):
    def submit(**fields):
        job = jobs_pb2.Job(manifest=ray_job("train"))
        return wire.jobs.SubmitJob(wire_pb2.SubmitJobRequest(parent="tenants/a", job=job, **fields))

    first, second = submit(request_id="one"), submit(request_id="two")
    assert {uuid.UUID(each.uid).version for each in (first, second)} == {4}
    assert first.uid != second.uid
    assert submit(request_id="one").uid == first.uid
    assert wire.jobs.GetJob(wire_pb2.GetJobRequest(name=first.name)).uid == first.uid
    assert submit(validate_only=True).uid == ""


def test_fairgates_own_fields_come_back(wire):
    change = jobs_pb2.GroupChange(resources={"nvidia.com/gpu": "4"}, replicas=2, env={"A": "b"}, image="img")
    job = wire.submit(
        "train",
        preemptible=False,
        time_limit=Duration(seconds=90),
        fallback=jobs_pb2.FALLBACK_POLICY_ORDERED,
        fallback_after=Duration(seconds=30),
        options=[jobs_pb2.OptionSpec(flavor="h100", speed="1/3", groups={"gpu": change})],
    )
    assert (job.preemptible, job.time_limit.seconds, job.fallback_after.seconds) == (False, 90, 30)
    assert job.fallback == jobs_pb2.FALLBACK_POLICY_ORDERED
    assert job.options == [jobs_pb2.OptionSpec(flavor="h100", speed="1/3", groups={"gpu": change})]
    assert job.charges[0].speed == "1/3"
    assert {(row.flavor, row.resource): row.amount for row in job.charges[0].rows}["h100", "nvidia.com/gpu"] == "8"


def test_a_priority_has_a_name(wire):
    assert wire.submit(priority_class="urgent").priority == 7


def test_a_job_without_an_id_gets_one(wire):
    first, second = wire.submit(""), wire.submit("")
    assert first.name.startswith("tenants/a/jobs/train")
    assert first.name != second.name


def test_validate_only_changes_nothing(wire, refused):
    request = wire.request()
    request.validate_only = True
    assert wire.jobs.SubmitJob(request).charges
    assert refused(wire.jobs.GetJob, wire_pb2.GetJobRequest(name="tenants/a/jobs/train")).code is CODE.NOT_FOUND


def test_a_request_id_makes_one_job_however_often_it_is_sent(wire):
    request = wire.request("")
    request.request_id = "6f1c0c5e-31d5-4c8d-9d0a-8a2f3b1f0a77"
    with ThreadPoolExecutor(50) as threads:
        names = {job.name for job in threads.map(wire.jobs.SubmitJob, [request] * 50)}
    assert len(names) == 1
    listed = wire.jobs.ListJobs(wire_pb2.ListJobsRequest(parent="tenants/-")).jobs
    assert [job.name for job in listed] == sorted(names)


def test_a_request_id_stands_for_one_content(wire, refused):
    request = wire.request()
    request.request_id = "once"
    wire.jobs.SubmitJob(request)
    request.job.priority = 3
    answer = refused(wire.jobs.SubmitJob, request)
    assert (answer.code, answer.details["ErrorInfo"].metadata["field"]) == (CODE.ALREADY_EXISTS, "request_id")


def test_a_name_is_taken_once(wire, refused):
    wire.submit("train")
    answer = refused(wire.jobs.SubmitJob, wire.request("train"))
    assert (answer.code, answer.details["ErrorInfo"].metadata["field"]) == (CODE.ALREADY_EXISTS, "job_id")


MANIFEST = "job.manifest"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"parent": ""}, "parent"),
        ({"parent": "a"}, "parent"),
        ({"parent": "tenants/-"}, "parent"),
        ({"parent": "tenants/org"}, "parent"),
        ({"job_id": "Not A Label"}, "job_id"),
        ({"request_id": "x" * 129}, "request_id"),
        ({"job": {"manifest": ""}}, MANIFEST),
        ({"job": {"manifest": "{"}}, MANIFEST),
        ({"job": {"manifest": ray_job(gpus=-1)}}, f"{MANIFEST}.spec.rayClusterSpec.workerGroupSpecs[0]"),
        ({"job": {"manifest": ray_job(entrypoit="x")}}, f"{MANIFEST}.spec.entrypoit"),
        ({"job": {"priority": 11}}, "job.priority"),
        ({"job": {"priority_class": "nope"}}, "job.priority_class"),
        ({"job": {"time_limit": Duration(seconds=-1)}}, "job.time_limit"),
        ({"job": {"time_limit": Duration()}}, "job.time_limit"),
        ({"job": {"fallback": 99}}, "job.fallback"),
        ({"job": {"options": [jobs_pb2.OptionSpec(flavor="h100", speed="fast")]}}, "job.options[0].speed"),
        ({"job": {"options": [jobs_pb2.OptionSpec(flavor="nope")]}}, "job.options[0].flavor"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_wrong_is_named_by_its_field(wire, refused, change, field):
    request = wire.request(**change.pop("job", {}))
    for name, value in change.items():
        setattr(request, name, value)
    answer = refused(wire.jobs.SubmitJob, request)
    assert answer.code is CODE.INVALID_ARGUMENT
    assert answer.details["ErrorInfo"].reason == "INVALID_ARGUMENT"
    assert [each for each in answer.fields if each.startswith(field)], answer.text
    assert not wire.jobs.ListJobs(wire_pb2.ListJobsRequest(parent="tenants/-")).jobs


def test_an_unknown_tenant_is_not_found(wire, refused):
    answer = refused(wire.jobs.SubmitJob, wire.request(tenant="nobody"))
    assert (answer.code, answer.details["ErrorInfo"].metadata["field"]) == (CODE.NOT_FOUND, "parent")


def test_a_full_queue_is_a_quota_failure(wire, refused):
    for number in range(3):
        wire.submit(f"train-{number}")
    answer = refused(wire.jobs.SubmitJob, wire.request("train-3"))
    assert answer.code is CODE.RESOURCE_EXHAUSTED
    assert answer.details["QuotaFailure"].violations[0].description


def test_of_many_each_succeeds_or_fails_alone(wire, details_of):
    requests = [
        wire.request("one"),
        wire.request("two", priority=11),
        wire.request("three", manifest=""),
        wire.request("one"),
        wire.request("four"),
    ]
    results = wire.jobs.SubmitJobs(wire_pb2.SubmitJobsRequest(parent="tenants/-", requests=requests)).results
    assert [result.job.name for result in results] == ["tenants/a/jobs/one", "", "", "", "tenants/a/jobs/four"]
    assert [result.error.code for result in results] == [
        0,
        CODE.INVALID_ARGUMENT.value[0],
        CODE.INVALID_ARGUMENT.value[0],
        CODE.ALREADY_EXISTS.value[0],
        0,
    ]
    assert details_of(results[1].error)["BadRequest"].field_violations[0].field == "job.priority"
    listed = wire.jobs.ListJobs(wire_pb2.ListJobsRequest(parent="tenants/a")).jobs
    assert [job.name for job in listed] == ["tenants/a/jobs/four", "tenants/a/jobs/one"]


def test_items_may_leave_their_parent_to_the_call_and_must_agree_with_it(wire, details_of):
    request = wire.request("one")
    request.parent = ""
    items = [request, wire.request("two", tenant="b")]
    results = wire.jobs.SubmitJobs(wire_pb2.SubmitJobsRequest(parent="tenants/a", requests=items)).results
    assert results[0].job.name == "tenants/a/jobs/one"
    assert details_of(results[1].error)["BadRequest"].field_violations[0].field == "parent"


def test_too_many_at_a_time_are_refused(wire, refused):
    request = wire_pb2.SubmitJobsRequest(parent="tenants/a", requests=[wire_pb2.SubmitJobRequest()] * 1001)
    assert refused(wire.jobs.SubmitJobs, request).fields == ["requests"]


def test_none_at_all_is_no_error(wire):
    assert not wire.jobs.SubmitJobs(wire_pb2.SubmitJobsRequest(parent="tenants/a")).results
