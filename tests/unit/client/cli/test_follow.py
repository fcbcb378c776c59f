"""``fairgate watch``, ``logs``, ``get --watch``, ``cancel`` and ``update``."""

import json

import pytest
from fairgate import FailedPrecondition


def test_watch_of_one_job_ends_with_it(fg, service, client, manifest):
    client.submit(manifest("train"), tenant="a")
    with service.running(step_ms=10_000):
        client.wait("a/train", timeout_s=20)
    result = fg("watch", "a/train", "--after", "0")
    assert result.exit_code == 0
    assert [line.split()[2:4] for line in result.stdout.splitlines()] == [
        ["a/train", "SUBMITTED"],
        ["a/train", "ADMITTED"],
        ["a/train", "LAUNCHED"],
        ["a/train", "RUNNING"],
        ["a/train", "SUCCEEDED"],
    ]
    assert result.stdout.startswith("2023-11-14 22:13:20  a/train  SUBMITTED  submitted\n")
    lines = fg("watch", "train", "--tenant", "a", "--after", "3", "-o", "json").stdout.splitlines()
    assert [json.loads(line)["event"]["kind"] for line in lines] == ["RUNNING", "SUCCEEDED"]


def test_watch_of_a_job_that_has_ended_says_how_and_does_not_wait(fg, service, client, manifest):
    client.submit(manifest("train"), tenant="a")
    with service.running(step_ms=10_000):
        client.wait("a/train", timeout_s=20)
    last = client.sequence()
    client.submit(manifest("other"), tenant="a").cancel()
    result = fg("--call-timeout", "5", "watch", "a/train")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("a/train SUCCEEDED after ")
    assert len(result.stderr.splitlines()) == 1
    assert fg("watch", "a/train", "--after", last, "-o", "json").stderr == result.stderr
    assert fg("watch", "a/other").stderr.endswith(": cancelled by local\n")
    assert fg("watch", "a/none").exit_code == 3


def test_get_watch_goes_on_after_the_list(fg, service, client, manifest, monkeypatch):
    client.submit(manifest("train"), tenant="a")
    watch = type(client).watch

    def change_then_watch(self, *arguments, **settings):
        client.update("a/train", priority=3).cancel()
        return _first(watch(self, *arguments, **settings), 2)

    monkeypatch.setattr(type(client), "watch", change_then_watch)
    result = fg("get", "jobs", "--watch")
    assert (result.exit_code, result.stderr) == (0, "")
    header, first, *more = result.stdout.splitlines()
    assert first.split()[:2] == ["a/train", "PENDING"]
    assert [line.split()[:2] for line in more][-1] == ["a/train", "CANCELLED"]
    assert header.startswith("JOB       STATE ")


def test_logs(fg, service, client, manifest):
    client.submit(manifest("train", gpus=8), tenant="a")
    service.turn()
    service.turn(2_000)
    assert fg("logs", "a/train").stdout == "working\n"
    client.submit(manifest("mine", gpus=4), tenant="b")
    with service.running(step_ms=10_000):
        result = fg("logs", "a/train", "-f", "--attempt", "1")
    assert (result.exit_code, result.stdout) == (0, "working\nended\n" * 2)
    assert result.stderr == "--- attempt 2 ---\n"
    assert fg("logs", "a/train", "--attempt", "2").stdout == "working\nended\n"
    result = fg("logs", "a/train", "--attempt", "3")
    assert result.exit_code == 3
    assert result.stderr == ("error: --attempt: tenants/a/jobs/train has no attempt 3\n  fix: it has 1 to 2\n")


def test_following_an_attempt_that_is_yet_to_come_waits_for_it(fg, service, client, manifest):
    client.submit(manifest("train"), tenant="a")
    with service.running(step_ms=10_000):
        result = fg("logs", "a/train", "-f", "--attempt", "1")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "working\nended\n", "")
    result = fg("logs", "a/train", "-f", "--attempt", "2")  # it has ended: there will be none
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith("error: --attempt: tenants/a/jobs/train has no attempt 2\n")


def test_a_log_with_nothing_in_it_says_why(fg, service, client, manifest):
    client.submit(manifest("train"), tenant="a")
    result = fg("logs", "a/train")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "a/train is PENDING: it has not run yet; -f waits for its output\n"
    result = fg("logs", "a/train", "--attempt", "1")
    assert result.exit_code == 3
    assert result.stderr == (
        "error: --attempt: tenants/a/jobs/train has no attempt 1\n"
        "  fix: it has none yet; follow its log to wait for one\n"
    )
    service.turn()
    assert fg("logs", "a/train").stderr == "a/train is ADMITTED and has written nothing yet\n"
    client.submit(manifest("wide", gpus=8), tenant="b").cancel()
    assert fg("logs", "b/wide").stderr == "b/wide is CANCELLED: it never ran\n"


def test_cancel(fg, service, client, manifest):
    client.submit(manifest("one"), tenant="a")
    service.turn()
    service.turn(1_000)
    client.submit(manifest("two"), tenant="b")
    result = fg("cancel", "a/one", "b/two", "a/three", "--reason", "not needed")
    assert result.exit_code == 3
    assert result.stdout == "a/one is STOPPING, to be CANCELLED\nb/two is CANCELLED\n"
    assert result.stderr.startswith("error: there is no job tenants/a/jobs/three\n")
    assert client.get("b/two").message == "cancelled by local: not needed"
    assert fg("describe", "job", "b/two").stdout.splitlines()[2] == "Message:      cancelled by local: not needed"
    told = fg("watch", "b/two", "--after", "0").stdout.splitlines()
    assert told[-1].endswith("b/two  CANCELLED  cancelled by local: not needed")


def test_cancel_tells_of_every_job_that_it_does_not_find(fg):
    result = fg("cancel", "a/one", "a/two")
    assert (result.exit_code, result.stdout) == (3, "")
    errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert [line.rpartition("/")[2] for line in errors] == ["one", "two"]


def test_cancelling_what_has_ended_leaves_it_as_it_is(fg, service, client, manifest):
    client.submit(manifest("train"), tenant="a")
    with service.running(step_ms=10_000):
        before = client.wait("a/train", timeout_s=20)
    result = fg("cancel", "a/train")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "a/train is already SUCCEEDED\n")
    with pytest.raises(FailedPrecondition, match="has succeeded already"):
        client.cancel("a/train")
    assert client.get("a/train") == before
    client.submit(manifest("other"), tenant="a").cancel()
    result = fg("cancel", "a/other")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "a/other is CANCELLED\n", "")


def test_update(fg, client, manifest):
    job = client.submit(manifest("train"), tenant="a")
    assert fg("update", "a/train", "--priority", "3", "--time-limit", "90m").stdout == "a/train updated\n"
    changed = json.loads(fg("update", "a/train", "--priority", "4", "-o", "json").stdout)
    assert (changed["priority"], changed["time_limit"]) == (4, "5400s")
    events = [update.event for _, update in zip(range(3), client.watch(job="a/train", after_sequence=0), strict=False)]
    assert (events[2].message, events[2].details) == ("priority is 4 now, by local", {"priority": "4", "by": "local"})
    result = fg("update", "a/train", "--priority", "5", "--etag", job.etag)
    assert (result.exit_code, result.stdout) == (4, "")
    result = fg("update", "a/train", "--priority", "11")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: --priority: 11 is above the max_priority of 'a'")


@pytest.mark.parametrize("arguments", [("get", "jobs"), ("watch",), ("quota", "get"), ("submit", "-f", "-")])
def test_a_service_that_is_not_there(fg, service, manifest, monkeypatch, arguments):
    monkeypatch.setattr("fairgate._cli.session.PATIENCE_S", 0.1)
    service.stop()
    result = fg(
        *arguments,
        stdin=manifest("train").replace(
            '"metadata": {', '"metadata": {"annotations": {"fairgate.internal/tenant": "a"},'
        ),
    )
    assert (result.exit_code, result.stdout) == (5, "")
    missing = f"error: no service answers at {service.settings.address} (No such file or directory)\n"
    assert result.stderr.startswith(missing)
    assert "\n  fix: start it with `fairgate up`" in result.stderr


def test_a_service_that_was_never_started(fg, service, monkeypatch):
    monkeypatch.setattr("fairgate._cli.session.PATIENCE_S", 0.1)
    monkeypatch.setenv("FAIRGATE_STATE_DIR", str(service.settings.folder / "none"))
    result = fg("get", "jobs")
    assert (result.exit_code, result.stdout) == (5, "")
    assert result.stderr.startswith("error: no service has been started here: there is no token file")


def _first(items, count):
    for _ in range(count):
        yield next(items)
    items.close()
