"""What the service would have stored at some instant of a story, and the snapshot that a cycle sees of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from fairgate_scheduler.core.amounts import Amount, Row
from fairgate_scheduler.core.jobs import Attempt, Job, JobState
from fairgate_scheduler.core.lifecycle import Change
from fairgate_scheduler.core.snapshot import Running, Snapshot
from fairgate_scheduler.core.tenancy import Config
from fairgate_scheduler.scenario.stored import dump, load


@dataclass(frozen=True)
class _Stored:
    config: Config
    jobs: tuple[Job, ...]
    attempts: tuple[Attempt, ...]
    admissions: int


@dataclass
class World:
    """Config, jobs and attempts. ``admissions`` counts the admissions over all jobs."""

    config: Config
    jobs: dict[str, Job] = field(default_factory=dict)
    attempts: dict[str, list[Attempt]] = field(default_factory=dict)
    admissions: int = 0

    def write(self, change: Change) -> None:
        """Store what a change says."""
        self.jobs[change.job.id] = change.job
        numbered = {each.number: each for each in (*self.attempts.get(change.job.id, ()), *change.attempts)}
        self.attempts[change.job.id] = [numbered[number] for number in sorted(numbered)]

    def add(self, job: Job) -> None:
        """Store a new job."""
        self.jobs[job.id] = job
        self.attempts[job.id] = []

    def restarted(self) -> "World":
        """The world that a service finds in its store after a restart: nothing but what was written."""
        attempts = tuple(each for many in self.attempts.values() for each in many)
        stored = load(_Stored, dump(_Stored(self.config, tuple(self.jobs.values()), attempts, self.admissions)))
        world = World(stored.config, {job.id: job for job in stored.jobs}, {}, stored.admissions)
        for job in stored.jobs:
            world.attempts[job.id] = [each for each in stored.attempts if each.job == job.id]
        return world

    def current(self, job: str) -> Attempt | None:
        """The attempt of a job that holds quota."""
        return next((each for each in self.attempts[job] if each.holds_quota), None)

    def running(self) -> list[tuple[Job, Attempt]]:
        """The jobs that hold quota with their attempts, in the order of admission."""
        found = [
            (job, attempt) for job in self.jobs.values() for attempt in self.attempts[job.id] if attempt.holds_quota
        ]
        return sorted(found, key=lambda pair: pair[1].admission)

    def pending(self) -> Iterator[Job]:
        """The jobs that wait, in the order of their submits."""
        return (job for job in self.jobs.values() if job.state is JobState.PENDING)

    def snapshot(self, capacity: Mapping[Row, Amount], *, backwards: bool = False) -> Snapshot:
        """What a cycle sees. ``backwards``: the pending jobs in another order, which must not matter."""
        pending = tuple(self.pending())
        running = tuple(Running(job, attempt) for job, attempt in self.running())
        return Snapshot(self.config, running, pending[::-1] if backwards else pending, capacity)

    def below(self, tenant: str, *, pending: bool) -> list[Job]:
        """The jobs that wait (or hold quota) in a tenant's subtree."""
        jobs = self.pending() if pending else (job for job, _ in self.running())
        return [job for job in jobs if tenant in self.config.paths.get(job.tenant, ())]
