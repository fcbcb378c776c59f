"""Watches and logs over the wire: resumable, bounded, and never in the way of other calls."""

import grpc
import pytest
from fairgate_api.v1 import job_service_pb2 as wire_pb2
from fairgate_api.v1 import jobs_pb2
from fairgate_scheduler.entrypoints.grpc import server
from fairgate_scheduler.service import watch

CODE = grpc.StatusCode
NAME = "tenants/a/jobs/train"


def _watch(wire, **fields):
    return wire.jobs.WatchJobs(wire_pb2.WatchJobsRequest(**{"parent": "tenants/-", **fields}))


def _events(stream, count):
    """The next so many events, with what is no event left out."""
    found = []
    while len(found) < count:
        answer = next(stream)
        if answer.HasField("event"):
            found.append(answer)
    return found


def _told(answers):
    return [(each.event.job.rpartition("/")[2], jobs_pb2.EventKind.Name(each.event.kind)[11:]) for each in answers]


def test_a_watch_from_the_first_event_tells_all_in_order(wire):
    wire.submit("one")
    wire.submit("two", tenant="b")
    wire.jobs.CancelJob(wire_pb2.CancelJobRequest(name="tenants/a/jobs/one"))
    stream = _watch(wire, after_sequence=0)
    begin = next(stream)
    assert (begin.sequence, begin.HasField("event"), begin.caught_up) == (0, False, False)
    answers = _events(stream, 3)
    assert _told(answers) == [("one", "SUBMITTED"), ("two", "SUBMITTED"), ("one", "CANCELLED")]
    assert [each.sequence for each in answers] == sorted(each.sequence for each in answers)
    assert answers[0].job.state == jobs_pb2.JOB_STATE_CANCELLED, "the job is told as it is now"
    assert not answers[0].job.manifest
    stream.cancel()


def test_a_watch_goes_on_after_any_of_its_events(wire):
    for name in ("one", "two", "three"):
        wire.submit(name)
    stream = _watch(wire, after_sequence=0)
    first = _events(stream, 2)
    stream.cancel()
    again = _watch(wire, after_sequence=first[-1].sequence)
    assert _told(_events(again, 1)) == [("three", "SUBMITTED")]
    again.cancel()


def test_a_watch_without_a_place_begins_now(wire):
    wire.submit("before")
    stream = _watch(wire)
    begin = next(stream)
    assert (begin.HasField("event"), begin.caught_up) == (False, True)
    wire.submit("after")
    assert _told(_events(stream, 1)) == [("after", "SUBMITTED")]
    stream.cancel()


def test_a_watch_of_one_tenant_or_one_job_tells_of_nothing_else(wire):
    wire.submit("one")
    wire.submit("two", tenant="b")
    wire.submit("three")
    by_tenant = _watch(wire, parent="tenants/b", after_sequence=0)
    by_job = _watch(wire, job="tenants/a/jobs/three", after_sequence=0)
    assert _told(_events(by_tenant, 1)) == [("two", "SUBMITTED")]
    assert _told(_events(by_job, 1)) == [("three", "SUBMITTED")]
    by_tenant.cancel()
    by_job.cancel()


def test_a_quiet_watch_gives_signs_of_life(wire, monkeypatch):
    monkeypatch.setattr(watch, "HEARTBEAT_LOOKS", 1)
    wire.submit()
    stream = _watch(wire, after_sequence=0)
    (event,) = _events(stream, 1)
    for heartbeat in (next(stream), next(stream)):
        assert (heartbeat.HasField("event"), heartbeat.caught_up) == (False, True)
        assert heartbeat.sequence == event.sequence
    stream.cancel()


@pytest.mark.parametrize(
    ("change", "code", "field"),
    [
        ({"parent": ""}, CODE.INVALID_ARGUMENT, "parent"),
        ({"parent": "tenants/nobody"}, CODE.NOT_FOUND, "parent"),
        ({"job": "train"}, CODE.INVALID_ARGUMENT, "job"),
        ({"job": "tenants/a/jobs/nowhere"}, CODE.NOT_FOUND, "job"),
        ({"after_sequence": 99}, CODE.INVALID_ARGUMENT, "after_sequence"),
        ({"after_sequence": -1}, CODE.INVALID_ARGUMENT, "after_sequence"),
    ],
)
def test_wrong_watches_are_refused(wire, refused, change, code, field):
    request = wire_pb2.WatchJobsRequest(**{"parent": "tenants/-", **change})
    answer = refused(wire.jobs.WatchJobs, request)
    assert (answer.code, answer.details["ErrorInfo"].metadata["field"]) == (code, field)


def _log(wire, **fields):
    answers = wire.jobs.StreamJobLogs(wire_pb2.StreamJobLogsRequest(**{"name": NAME, **fields}))
    return [(each.attempt, each.offset, each.data, each.next_offset) for each in answers]


def test_a_log_is_read_from_any_offset(wire):
    wire.submit()
    assert _log(wire) == [], "a job that never ran has written nothing"
    wire.turn()
    wire.turn(2000)
    assert _log(wire) == [(1, 0, b"working\n", 8)]
    assert _log(wire, attempt=1, offset=3) == [(1, 3, b"king\n", 8)]
    assert _log(wire, attempt=1, offset=8) == []


def test_following_a_log_ends_with_the_job(wire):
    wire.submit()
    wire.turn()
    wire.turn(2000)
    stream = wire.jobs.StreamJobLogs(wire_pb2.StreamJobLogsRequest(name=NAME, follow=True))
    assert next(stream).data == b"working\n"
    wire.turn(60_000)
    assert [each.data for each in stream] == [b"ended\n"]


def test_following_a_log_goes_on_with_the_next_attempt(wire):
    wire.submit("train", gpus=4)
    wire.turn()
    wire.turn(2000)
    stream = wire.jobs.StreamJobLogs(wire_pb2.StreamJobLogsRequest(name=NAME, follow=True))
    assert (first := next(stream)).attempt == 1
    wire.runner.kill(NAME, 1)
    for _ in range(3):
        wire.turn(2000)
    wire.turn(60_000)
    rest = [(each.attempt, each.data) for each in stream]
    assert (first.data, rest[0][0]) == (b"working\n", 1)
    assert b"".join(data for attempt, data in rest if attempt == 2) == b"working\nended\n"


@pytest.mark.parametrize(
    ("change", "field"), [({"attempt": -1}, "attempt"), ({"offset": -1}, "offset"), ({"offset": 5}, "attempt")]
)
def test_wrong_log_requests_are_refused(wire, refused, change, field):
    wire.submit()
    assert refused(wire.jobs.StreamJobLogs, wire_pb2.StreamJobLogsRequest(name=NAME, **change)).fields == [field]


def test_an_attempt_that_never_was_is_not_found(wire, refused):
    wire.submit()
    request = wire_pb2.StreamJobLogsRequest(name=NAME, attempt=7)
    assert refused(wire.jobs.StreamJobLogs, request).code is CODE.NOT_FOUND


def test_streams_are_bounded_and_leave_room_for_other_calls(settings, make_wire, refused, monkeypatch):
    monkeypatch.setattr(server, "MAX_STREAMS", 3)
    monkeypatch.setattr(server, "UNARY_THREADS", 1)
    wire = make_wire(settings)
    streams = [_watch(wire) for _ in range(3)]
    for stream in streams:
        next(stream)
    answer = refused(wire.jobs.WatchJobs, wire_pb2.WatchJobsRequest(parent="tenants/-"))
    assert (answer.code, "RetryInfo" in answer.details) == (CODE.UNAVAILABLE, True)
    assert wire.submit().name == NAME, "a call that is no stream has a thread left"
    for stream in streams:
        stream.cancel()
    wire.submit("second")  # wakes the streams, so that they see that nobody reads them
    wire.wait_for(lambda: _begins(_watch(wire)))


def _begins(stream):
    """Whether a watch is let in."""
    try:
        next(stream)
    except grpc.RpcError:
        return False
    stream.cancel()
    return True


def test_stopping_ends_streams_as_unavailable_not_as_finished(wire):
    wire.submit()
    wire.turn()
    wire.turn(2000)
    stream = _watch(wire)
    logs = wire.jobs.StreamJobLogs(wire_pb2.StreamJobLogsRequest(name=NAME, follow=True))
    next(stream)
    assert next(logs).data == b"working\n", "the server has both streams before it is stopped"
    wire.server.stop(5)
    for each in (stream, logs):
        with pytest.raises(grpc.RpcError) as caught:
            list(each)
        assert caught.value.code() is CODE.UNAVAILABLE
