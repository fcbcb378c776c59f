"""``fairgate up`` is killed twice in the middle of real Ray jobs: each of them finishes once, and none starts over."""

import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import fairgate
import pytest
from fairgate_scheduler.adapters.local_ray.layout import read_json
from fairgate_scheduler.testing.server_process import UP, temporary_server

pytestmark = [pytest.mark.ray, pytest.mark.timeout(240)]

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial"
PATIENCE_S = 120
STEPS = 60


def manifest(name: str, entrypoint: str) -> str:
    """A manifest of the tutorial, with other arguments; it waits a second for its better option, if it has one."""
    (file,) = (TUTORIAL / "jobs").glob(f"*-{name}.yaml")
    text, count = re.subn(r"(?<=entrypoint: ).*", entrypoint, file.read_text())
    assert count == 1
    return re.sub(r"(?<=fallback-after: ).*", "1s", text)


@pytest.fixture
def server():
    command = (*UP, "--job-dir", str(TUTORIAL), "--grace-period", "10s")
    with temporary_server((TUTORIAL / "fairgate.yaml").read_text(), command) as made:
        made.start()
        made.await_ready()
        yield made
        print(*(f"{each.path}\n{each.log.read_text()}" for each in made.attempts()), sep="\n")


def test_killed_in_the_middle_of_their_work(server):
    with fairgate.Client(server.address, token_file=server.token_file, timeout_s=PATIENCE_S) as client:
        borrower = client.submit(manifest("sweep", f"python train.py {STEPS} 0.25"))
        _await(lambda: _has_begun(client, borrower))
        moved = client.submit(manifest("to-tpu", "python train.py 5 0.1"))
        _await(lambda: client.get(moved.name).flavor == "v5e")
        owner = client.submit(manifest("vision-train", "python train.py 5 0.1"))
        _await(lambda: client.get(borrower.name).eviction_count == 1)
        server.kill()
        with ThreadPoolExecutor() as pool:
            asked = pool.submit(client.submit, manifest("pi", "python pi.py 4000"), request_id="while-it-is-away")
            time.sleep(2)
            server.start()
            other = asked.result()
        _await(lambda: len(client.get(borrower.name).attempts) == 2 and _log(client, borrower, 2))
        server.kill()
        server.start()
        jobs = [client.get(client.wait(job.name, PATIENCE_S).name) for job in (borrower, moved, owner, other)]
        logs = [_log(client, job, job.attempt_count) for job in jobs]
        assert len(list(client.list())) == 4
    assert [job.state for job in jobs] == [fairgate.JobState.SUCCEEDED] * 4, [job.message for job in jobs]
    assert [(job.attempt_count, job.eviction_count) for job in jobs] == [(2, 1), (1, 0), (1, 0), (1, 0)]
    _check_steps(server.state_dir / "checkpoints" / "research" / "sweep" / "steps.log", logs[0])
    assert "attempt 1 on v5e: 4 TPU, no GPU" in logs[1]
    assert "attempt 1 on h100: 2 GPU, no TPU" in logs[2]
    assert logs[3][-1].endswith("(4000 samples, 1 GPU)")
    assert server.stop() == 0
    assert server.leftovers() == []
    assert _mentioning([read_json(each.launch)["temp_dir"] for each in server.attempts()]) == []


def _check_steps(file: Path, log: list[str]) -> None:
    """Every step was done once, in order: the second attempt's begin after the first one's last checkpoint.

    Notice may come when a step's checkpoint is written and its line here is not.
    """
    (last,) = (int(line.split()[-1]) for line in log if line.startswith("attempt 2 starts after step "))
    assert 3 <= last < STEPS
    steps = [tuple(map(int, line.split())) for line in file.read_text().splitlines()]
    expected = [(1 if step <= last else 2, step) for step in range(1, STEPS + 1)]
    assert steps in (expected, [each for each in expected if each != (1, last)])


def _has_begun(client, job) -> bool:
    log = _log(client, job)
    assert not client.get(job.name).state.is_final, log
    return any(line.startswith("step 3 ") for line in log)


def _log(client, job, attempt=1) -> list[str]:
    return [line.text for line in client.logs(job.name, attempt=attempt, follow=False)]


def _mentioning(folders: list[str]) -> list[str]:
    """Command lines that name one of these folders; Ray's daemons all do."""
    lines = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(file.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return [line for line in lines if any(folder in line for folder in folders)]


def _await(holds) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)
