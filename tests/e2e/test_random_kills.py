"""The server is killed at twenty random moments while three tenants work: nothing is lost, nothing happens twice."""

import contextlib
import itertools
import random
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import fairgate
import pytest
from fairgate_scheduler.testing.builders import ray_job
from fairgate_scheduler.testing.server_process import ServerProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(480)]

SEED = 20
KILLS = 20
JOBS_EACH = 10
GPUS = 4
PATIENCE_S = 240

# From the trap on, notice makes the attempt say that it was evicted; once its work is done, it is done.
ENTRYPOINT = """\
say() {{ echo "$1 $FAIRGATE_JOB $FAIRGATE_ATTEMPT {gpus}" >> {journal}; }}
trap 'say evicted; exit 143' TERM
say start; sleep {work_s}; trap '' TERM; say done
"""


@dataclass
class Season:
    """What happens in the test. ``kills`` counts; ``jobs`` are all that were submitted, ``cancelled`` some of them."""

    client: Callable[[], fairgate.Client]
    journal: Path
    kills: int = 0
    jobs: set[str] = field(default_factory=set)
    cancelled: set[str] = field(default_factory=set)

    def work(self, tenant: str) -> None:
        """Submit the jobs of a tenant one by one, each twice under its request id, and cancel every fifth."""
        rng = random.Random(f"{SEED} {tenant}")
        with self.client() as client:
            for number in range(JOBS_EACH):
                self._await_kill(number * KILLS * 0.8 / JOBS_EACH)
                name = self._submit(client, tenant, number, rng)
                self.jobs.add(name)
                if number % 5 == 2:
                    time.sleep(rng.uniform(0, 1.5))
                    with contextlib.suppress(fairgate.FailedPrecondition):  # it has ended already
                        client.cancel(name)
                        self.cancelled.add(name)

    def _submit(self, client: fairgate.Client, tenant: str, number: int, rng: random.Random) -> str:
        """The borrower's jobs take long, so that the others find it in their way."""
        work_s = rng.uniform(2, 3) if tenant == "c" else rng.uniform(0.5, 2)
        gpus = rng.choice((1, 1, 2))
        entrypoint = ENTRYPOINT.format(gpus=gpus, journal=self.journal, work_s=f"{work_s:.1f}")
        manifest = ray_job(f"{tenant}-{number}", gpus=gpus, entrypoint=entrypoint)
        request = f"{tenant}-{number}"
        first = client.submit(manifest, tenant=tenant, request_id=request)
        time.sleep(rng.uniform(0, 1))
        again = client.submit(manifest, tenant=tenant, request_id=request)
        assert again.name == first.name
        return first.name

    def _await_kill(self, number: float) -> None:
        while self.kills < number:
            time.sleep(0.05)


@dataclass
class Journal:
    """What the attempts wrote, in order: every moment of the whole machine."""

    done: Counter = field(default_factory=Counter)
    evictions: int = 0
    most_gpus: int = 0

    @classmethod
    def read(cls, file: Path) -> "Journal":
        found, running = cls(), {}
        for line in file.read_text().splitlines():
            word, job, attempt, gpus = line.split()
            if word == "start":
                assert job not in running, f"{line}: attempt {running[job]} still runs"
                assert found.done[job] == 0, f"{line}: it is done"
                running[job] = (int(attempt), int(gpus))
                found.most_gpus = max(found.most_gpus, sum(gpus for _, gpus in running.values()))
            else:
                assert running.pop(job, (int(attempt), 0))[0] == int(attempt), line
                found.done[job] += word == "done"
                found.evictions += word == "evicted"
        assert not running
        return found


@pytest.fixture
def season(server, client_of):
    return Season(partial(client_of, server, timeout_s=PATIENCE_S), server.folder / "journal")


def test_twenty_random_kills(season, server):
    with ThreadPoolExecutor(3) as pool:
        work = [pool.submit(season.work, tenant) for tenant in ("c", "a", "b")]
        _kill_again_and_again(server, season)
        server.start()
        for each in work:
            each.result()
    with season.client() as client:
        jobs = [client.get(client.wait(name, PATIENCE_S).name) for name in sorted(season.jobs)]
        listed = sorted(job.name for job in client.list())
    assert server.stop() == 0
    assert server.leftovers() == []
    assert len(listed) == 3 * JOBS_EACH
    assert listed == sorted(season.jobs)
    _check(season, jobs)


def _kill_again_and_again(server: ServerProcess, season: Season) -> None:
    rng = random.Random(SEED)
    for number in range(KILLS):
        server.start()
        if number % 5 == 0:  # while it starts, the first time with nothing in its state directory
            time.sleep(rng.uniform(0.3, 1.5))
        else:
            server.await_ready()
            time.sleep(rng.uniform(0, 0.9))
        server.kill()
        season.kills += 1


def _check(season: Season, jobs: list[fairgate.Job]) -> None:
    journal = Journal.read(season.journal)
    states = {job.name: job.state for job in jobs}
    succeeded = {name for name, state in states.items() if state is fairgate.JobState.SUCCEEDED}
    assert {name for name in states if name not in succeeded} <= season.cancelled, states
    assert {states[name] for name in states.keys() - succeeded} == {fairgate.JobState.CANCELLED}
    assert {name: journal.done[name] for name in succeeded} == dict.fromkeys(succeeded, 1)
    assert max(journal.done.values()) == 1
    assert 2 <= journal.most_gpus <= GPUS
    assert journal.evictions >= 1
    assert sum(job.eviction_count for job in jobs) >= 1
    for job in jobs:
        for one, two in itertools.pairwise(job.attempts):
            assert two.ready_time is None or one.end_time <= two.ready_time, (one, two)
