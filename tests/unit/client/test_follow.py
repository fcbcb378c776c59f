"""Waiting, watching and logs, also when the service goes away meanwhile."""

import threading
import time

import fairgate
import pytest
from fairgate import JobState
from fairgate_scheduler.testing.fake_runner import Script


def test_wait_returns_the_job_as_it_ended(service, client, manifest):
    job = client.submit(manifest("train"), tenant="a")
    with service.running(step_ms=10_000):
        ended = job.wait(timeout_s=20)
    assert (ended.state, ended.attempt_count, ended.exit_code) == (JobState.SUCCEEDED, 1, 0)
    assert job.wait() == ended


def test_wait_returns_a_failure_too(service, client, manifest):
    service.scripts["bad"] = Script(exit_code=3)
    job = client.submit(manifest("bad"), tenant="a")
    with service.running(step_ms=10_000):
        ended = job.wait(timeout_s=20)
    assert (ended.state, ended.exit_code) == (JobState.FAILED, 3)


def test_wait_gives_up_in_time_and_says_where_the_job_stands(service, client, manifest):
    client.submit(manifest("big", gpus=8), tenant="a", preemptible=False)
    service.turn()
    job = client.submit(manifest("train", gpus=4), tenant="b")
    service.turn()
    with pytest.raises(
        fairgate.DeadlineExceeded, match="tenants/b/jobs/train is still PENDING: there is not enough free"
    ) as error:
        job.wait(timeout_s=0.3)
    assert error.value.remedy


def test_wait_outlives_a_restart_of_the_service(service, client, manifest):
    job = client.submit(manifest("train"), tenant="a")
    waiting = _InThread(lambda: job.wait(timeout_s=30))
    waiting.is_under_way(service)
    service.stop()
    service.turn()
    service.start()
    with service.running(step_ms=10_000):
        assert waiting.result().state is JobState.SUCCEEDED


def test_watch_from_the_begin_has_every_event_in_order(service, client, manifest):
    client.submit(manifest("one"), tenant="a")
    client.submit(manifest("two"), tenant="b")
    service.turn()
    service.turn(1_000)
    seen = _take(client.watch(after_sequence=0), 8)
    assert [update.sequence for update in seen] == list(range(1, 9))
    assert [update.event.kind for update in seen if update.job.id == "one"] == [
        "SUBMITTED",
        "ADMITTED",
        "LAUNCHED",
        "RUNNING",
    ]
    assert {update.event.attempt for update in seen if update.event.kind == "RUNNING"} == {1}
    assert [update.job.id for update in _take(client.watch("b", after_sequence=0), 4)] == ["two"] * 4
    (later,) = _take(client.watch(job="b/two", after_sequence=seen[3].sequence), 1)
    assert (later.sequence > 4, later.job.id) == (True, "two")


def test_watch_without_a_place_begins_now(service, client, manifest):
    client.submit(manifest("one"), tenant="a")
    place = client.sequence()
    client.submit(manifest("two"), tenant="a")
    (update,) = _take(client.watch(after_sequence=place), 1)
    assert (place, update.sequence, update.job.id) == (1, 2, "two")


def test_watch_ends_at_its_deadline(service, client):
    with pytest.raises(fairgate.DeadlineExceeded):
        next(client.watch(timeout_s=0.2))


def test_watch_goes_on_after_its_last_event_when_the_connection_breaks(service, client, manifest):
    client.submit(manifest("one"), tenant="a")
    updates = client.watch(after_sequence=0, timeout_s=30)
    assert next(updates).sequence == 1
    for index in range(3):
        service.stop()
        service.start()
        client.submit(manifest(f"next-{index}"), tenant="b")
        update = next(updates)
        assert (update.sequence, update.job.id) == (2 + index, f"next-{index}")
    updates.close()


def test_watch_gives_up_on_a_service_that_is_not_there(service):
    service.stop()
    with service.client(patience_s=0.3) as client, pytest.raises(fairgate.Unavailable, match="no service answers"):
        next(client.watch())


def test_logs_are_lines_of_text(service, client, manifest):
    service.scripts["train"] = Script(output="eins\r\nzwölf\nnine".encode() + b"\xff\n")
    job = client.submit(manifest("train"), tenant="a")
    with service.running(step_ms=10_000):
        lines = list(job.logs())
    assert lines == [fairgate.LogLine(1, text) for text in ("eins", "zwölf", "nine�", "ended")]
    assert [str(line) for line in client.logs("a/train", follow=False)] == ["eins", "zwölf", "nine�", "ended"]


def test_logs_go_on_with_the_next_attempt(service, client, manifest):
    job = client.submit(manifest("train", gpus=8), tenant="a")
    reading = _InThread(lambda: [str(line) for line in job.logs()])
    service.turn()
    service.turn(2_000)
    client.submit(manifest("mine", gpus=4), tenant="b", time_limit="1h")
    with service.running(step_ms=5_000):
        assert reading.result() == ["working", "ended", "working", "ended"]
    assert job.refresh().attempt_count == 2
    assert [line.attempt for line in client.logs(job.name, attempt=1)] == [1, 1, 2, 2]
    assert [line.attempt for line in client.logs(job.name, attempt=1, follow=False)] == [1, 1]


def test_logs_outlive_a_restart_without_a_gap_or_a_repeat(service, client, manifest, monkeypatch):
    text = "".join(f"line {index}\n" for index in range(50_000))
    service.scripts["train"] = Script(output=text.encode())
    job = client.submit(manifest("train"), tenant="a")
    service.turn()
    service.turn(2_000)
    chunks = client.log_chunks(job.name)
    data = next(chunks).data
    service.stop()
    service.start()
    with service.running(step_ms=10_000):
        data += b"".join(chunk.data for chunk in chunks)
    assert data.decode() == text + "ended\n"


def test_logs_from_an_offset(service, client, manifest):
    client.submit(manifest("train"), tenant="a")
    with service.running(step_ms=10_000):
        client.wait("a/train", timeout_s=20)
    assert [str(line) for line in client.logs("a/train", attempt=1, offset=4)] == ["ing", "ended"]
    with pytest.raises(fairgate.NotFound, match="has no attempt 7"):
        list(client.logs("a/train", attempt=7))


def test_closing_the_client_ends_what_is_under_way(service, manifest):
    client = service.client()
    watching = _InThread(lambda: next(client.watch()))
    time.sleep(0.3)
    client.close()
    with pytest.raises(fairgate.Cancelled):
        watching.result()
    with pytest.raises(fairgate.Cancelled, match="the client is closed"):
        client.get("a/train")
    client.close()


def _take(updates, count):
    found = [next(updates) for _ in range(count)]
    updates.close()
    return found


class _InThread:
    """A call that runs beside the test."""

    def __init__(self, call):
        self._answer = None
        self._error = None
        self._thread = threading.Thread(target=self._run, args=(call,), daemon=True)
        self._thread.start()

    def _run(self, call):
        try:
            self._answer = call()
        except fairgate.FairgateError as error:
            self._error = error

    def is_under_way(self, service):
        time.sleep(0.3)
        assert self._thread.is_alive()

    def result(self):
        self._thread.join(timeout=30)
        assert not self._thread.is_alive(), "it did not end"
        if self._error:
            raise self._error
        return self._answer
