"""A submit counts once, whatever gets lost; what must not be made twice is made once."""

import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import fairgate
import pytest
from fairgate._wire import Wire


@pytest.fixture
def lose_answers(monkeypatch):
    """Let a call reach the service and lose its first answers; returns how often each call was made."""
    made = {}

    def install(method, count=1):
        real = getattr(Wire, method)

        def call(*arguments):
            answer = real(*arguments)
            made[method] = made.get(method, 0) + 1
            if made[method] <= count:
                raise fairgate.Unavailable("the answer was lost")
            return answer

        monkeypatch.setattr(Wire, method, call)
        return made

    return install


def test_a_submit_whose_answer_was_lost_makes_one_job(client, manifest, lose_answers):
    made = lose_answers("submit_job", 2)
    job = client.submit(manifest("train"), tenant="a")
    assert [each.name for each in client.list()] == [job.name]
    assert made == {"submit_job": 3}


def test_many_submits_whose_answer_was_lost_make_each_job_once(client, manifest, lose_answers):
    lose_answers("submit_jobs")
    answers = client.submit_many(fairgate.Submission(manifest(f"j{index}"), tenant="b") for index in range(4))
    assert sorted(each.name for each in client.list()) == sorted(answer.name for answer in answers)
    assert len(answers) == 4


def test_a_cancel_may_be_made_twice(client, manifest, lose_answers):
    lose_answers("cancel_job")
    client.submit(manifest("train"), tenant="a")
    assert client.cancel("a/train").state is fairgate.JobState.CANCELLED


def test_a_change_that_names_a_version_is_made_once(client, manifest, lose_answers):
    job = client.submit(manifest("train"), tenant="a")
    made = lose_answers("update_job")
    with pytest.raises(fairgate.Unavailable):
        client.update(job.name, priority=1, etag=job.etag)
    assert (made, job.refresh().priority) == ({"update_job": 1}, 1)


def test_a_configuration_is_applied_once(client, lose_answers):
    config = client.get_config()
    made = lose_answers("apply_config")
    with pytest.raises(fairgate.Unavailable):
        client.apply_config(config.source.replace("urgent: 7", "urgent: 8"), etag=config.etag)
    assert made == {"apply_config": 1}
    assert "urgent: 8" in client.get_config().source


def test_fifty_submits_of_one_request_at_the_same_time_make_one_job(client, manifest):
    with ThreadPoolExecutor(16) as pool:
        jobs = list(pool.map(lambda _: client.submit(manifest("train"), tenant="a", request_id="r-1").name, range(50)))
    assert set(jobs) == {"tenants/a/jobs/train"}
    assert len(list(client.list())) == 1


def test_a_service_that_takes_calls_and_never_answers():
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with fairgate.Client(address, token="x" * 20, timeout_s=0.5) as client:
            with pytest.raises((fairgate.DeadlineExceeded, fairgate.Unavailable)) as caught:
                client.get("a/train")
            assert address in str(caught.value)


def test_one_client_serves_many_threads(service, client, manifest):
    seen, ready = [], threading.Barrier(4)

    def watch():
        updates = client.watch(after_sequence=0, timeout_s=30)
        ready.wait(10)
        seen.append([next(updates).sequence for _ in range(5)])
        updates.close()

    threads = [threading.Thread(target=watch) for _ in range(3)]
    for thread in threads:
        thread.start()
    ready.wait(10)
    for index in range(5):
        client.submit(manifest(f"j{index}"), tenant="b")
    for thread in threads:
        thread.join(30)
    assert seen == [[1, 2, 3, 4, 5]] * 3
