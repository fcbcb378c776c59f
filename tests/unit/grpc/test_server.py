"""What surrounds every call: the seam, errors nobody expected, limits, health, reflection, addresses."""

import logging
import socket
import stat
from dataclasses import replace
from pathlib import Path

import grpc
import pytest
from fairgate_api.v1 import job_service_pb2 as wire_pb2
from fairgate_api.v1 import job_service_pb2_grpc, jobs_pb2
from fairgate_scheduler.entrypoints.grpc import interceptors, server
from fairgate_scheduler.entrypoints.grpc.auth import TokenFileError
from fairgate_scheduler.entrypoints.grpc.server import AddressError
from fairgate_scheduler.service import query
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

CODE = grpc.StatusCode
LIST = wire_pb2.ListJobsRequest(parent="tenants/-")
SERVICES = ["fairgate_api.v1.JobService", "fairgate_api.v1.QuotaService"]


def _services(wire, metadata):
    request = reflection_pb2.ServerReflectionRequest(list_services="")
    stub = reflection_pb2_grpc.ServerReflectionStub(wire.channel)
    (answer,) = stub.ServerReflectionInfo(iter([request]), timeout=10, metadata=metadata)
    return [each.name for each in answer.list_services_response.service]


@pytest.mark.parametrize("metadata", [None, [("authorization", "Bearer wrong")]])
def test_no_call_gets_past_the_seam(wire, refused, metadata):
    stub = job_service_pb2_grpc.JobServiceStub(wire.channel)
    for method, request in (
        (stub.ListJobs, LIST),
        (stub.WatchJobs, wire_pb2.WatchJobsRequest(parent="tenants/-")),
        (stub.SubmitJob, wire_pb2.SubmitJobRequest()),
    ):
        answer = refused(lambda request, method=method: method(request, timeout=10, metadata=metadata), request)
        assert (answer.code, answer.details["ErrorInfo"].reason) == (CODE.UNAUTHENTICATED, "UNAUTHENTICATED")
        assert "authorization: Bearer" in answer.text


def test_health_is_for_everybody(wire):
    stub = health_pb2_grpc.HealthStub(wire.channel)
    for service in ("", *SERVICES):
        answer = stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=10)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING


def test_health_says_when_the_server_stops(wire):
    stub = health_pb2_grpc.HealthStub(wire.channel)
    watch = stub.Watch(health_pb2.HealthCheckRequest(service=""), timeout=10)
    assert next(watch).status == health_pb2.HealthCheckResponse.SERVING
    wire.server.stop(1)
    assert next(watch).status == health_pb2.HealthCheckResponse.NOT_SERVING


def test_health_says_whether_the_scheduler_plans_as_it_should(wire):
    stub = health_pb2_grpc.HealthStub(wire.channel)
    answers = []
    for is_well in (None, False, True):
        if is_well is not None:
            wire.server.set_planning(is_well)
        answers.append(stub.Check(health_pb2.HealthCheckRequest(service=server.PLANNING), timeout=10).status)
    status = health_pb2.HealthCheckResponse
    assert answers == [status.SERVING, status.NOT_SERVING, status.SERVING]


def test_reflection_lists_the_services_to_those_who_may_call(wire, refused):
    assert set(SERVICES) <= set(_services(wire, wire.metadata))
    assert refused(lambda _: _services(wire, None), None).code is CODE.UNAUTHENTICATED


def test_reflection_can_be_switched_off(settings, make_wire, refused):
    wire = make_wire(replace(settings, reflection=False))
    assert refused(lambda _: _services(wire, wire.metadata), None).code is CODE.UNIMPLEMENTED


def test_what_nobody_expected_is_logged_and_not_told(wire, refused, monkeypatch, caplog):
    def fail(*_, **__):
        raise RuntimeError("the password is hunter2")

    monkeypatch.setattr(query, "list_jobs", fail)
    with caplog.at_level(logging.ERROR, interceptors.__name__):
        answer = refused(wire.jobs.ListJobs, LIST)
    assert answer.code is CODE.INTERNAL
    assert "hunter2" not in answer.text + str(answer.details)
    (record,) = (each for each in caplog.records if each.name == interceptors.__name__)
    assert "/fairgate_api.v1.JobService/ListJobs" in record.getMessage()
    assert answer.details["RequestInfo"].request_id in record.getMessage()
    assert "hunter2" in str(record.exc_info[1])


def test_a_message_that_is_too_large_is_refused(wire, refused):
    request = wire.request(manifest="x" * (server.MAX_MESSAGE_BYTES + 1))
    with pytest.raises(grpc.RpcError) as caught:
        wire.jobs.SubmitJob(request)
    assert caught.value.code() is CODE.RESOURCE_EXHAUSTED


def test_lists_are_cut_to_messages_that_callers_accept(wire, monkeypatch):
    monkeypatch.setattr("fairgate_scheduler.entrypoints.grpc.job_servicer.MAX_ANSWER_BYTES", 1000)
    names = [wire.submit(f"job-{number}", labels={"x": "y" * 250}).name for number in range(3)]
    found, token = [], ""
    for _ in names:
        page = wire.jobs.ListJobs(wire_pb2.ListJobsRequest(parent="tenants/-", page_token=token))
        assert len(page.jobs) == 1
        found += [job.name for job in page.jobs]
        token = page.next_page_token
    assert (found, token) == (names[::-1], "")


def test_a_large_answer_to_many_submits_still_says_what_became_of_each(wire, monkeypatch):
    monkeypatch.setattr("fairgate_scheduler.entrypoints.grpc.job_servicer.MAX_ANSWER_BYTES", 10)
    request = wire_pb2.SubmitJobsRequest(parent="tenants/a", requests=[wire.request("one"), wire.request("two")])
    results = wire.jobs.SubmitJobs(request).results
    assert [result.job.name for result in results] == ["tenants/a/jobs/one", "tenants/a/jobs/two"]
    assert not results[0].job.charges


class _Expired:
    """The context of a call whose caller has given up."""

    def is_active(self):
        return False

    def abort(self, code, _):
        raise RuntimeError(code)


def test_a_call_is_not_begun_after_its_deadline():
    with pytest.raises(RuntimeError, match="DEADLINE_EXCEEDED"), interceptors.translate_errors("/m", False, _Expired()):
        pytest.fail("it was begun")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_loopback_is_served_on_a_free_port(settings, make_wire, host):
    settings.address = f"{host}:0"
    wire = make_wire(settings)
    assert not wire.server.address.endswith(":0")
    assert wire.submit().state == jobs_pb2.JOB_STATE_PENDING


@pytest.mark.parametrize(
    "address",
    ["0.0.0.0:0", "[::]:0", "10.0.0.1:80", "example.com:80", ":80", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000",
     "unix:relative/path", "unix:/" + "x" * 200, ""],
)  # fmt: skip
def test_nothing_else_is(address):
    with pytest.raises(AddressError):
        server.check_address(address)


def test_a_port_is_taken_once(settings, make_wire):
    settings.address = "127.0.0.1:0"
    first = make_wire(settings)
    with pytest.raises(AddressError, match="taken"):
        server.build(first.app, replace_address(settings, first.server.address))


def replace_address(settings, address):
    copy = replace(settings)
    copy.address = address
    return copy


def test_a_socket_is_not_taken_from_a_server_that_answers_on_it(wire):
    with pytest.raises(AddressError, match="another server"):
        server.build(wire.app, wire.settings)
    assert wire.submit()


def test_a_socket_that_a_dead_server_left_is_taken(settings, make_wire):
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(settings.address.removeprefix("unix:"))
    assert make_wire(settings).submit()


def test_the_socket_and_the_token_are_private(wire):
    for path in (wire.settings.address.removeprefix("unix:"), wire.settings.token_file):
        assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600


def test_a_token_file_that_others_can_read_keeps_the_server_from_starting(wire, folder):
    wire.settings.token_file.chmod(0o644)
    with pytest.raises(TokenFileError):
        server.build(wire.app, wire.settings)
