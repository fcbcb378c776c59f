"""What the service would have stored at some instant of a story, and the snapshot that a cycle sees of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from fairgate_scheduler.core.amounts import Amount, Row
from fairgate_scheduler.core.budgets import Spending, used_by
from fairgate_scheduler.core.history import settle
from fairgate_scheduler.core.jobs import Attempt, AttemptState, Job, JobState
from fairgate_scheduler.core.lifecycle import Change
from fairgate_scheduler.core.snapshot import Chosen, History, Running, Snapshot
from fairgate_scheduler.core.tenancy import Config
from fairgate_scheduler.scenario.stored import dump, load


@dataclass(frozen=True)
class _Stored:
    config: Config
    jobs: tuple[Job, ...]
    attempts: tuple[Attempt, ...]
    admissions: int
    history: Mapping[str, History]
    choices: Mapping[str, Chosen]


@dataclass
class World:
    """Config, jobs and attempts, what tenants used before, and what jobs chose last.

    ``admissions`` counts the admissions over all jobs.
    """

    config: Config
    jobs: dict[str, Job] = field(default_factory=dict)
    attempts: dict[str, list[Attempt]] = field(default_factory=dict)
    admissions: int = 0
    history: Mapping[str, History] = field(default_factory=dict)
    choices: dict[str, Chosen] = field(default_factory=dict)
    _spending: Spending | None = field(default=None, compare=False, repr=False)

    def write(self, change: Change) -> None:
        """Store what a change says."""
        before = {each.number: each.state for each in self.attempts.get(change.job.id, ())}
        for attempt in change.attempts:
            if attempt.state is AttemptState.GONE and before.get(attempt.number) is not AttemptState.GONE:
                self._spend(self._books(), change.job, attempt)
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
        kept = (self.admissions, self.history, self.choices)
        stored = load(_Stored, dump(_Stored(self.config, tuple(self.jobs.values()), attempts, *kept)))
        jobs = {job.id: job for job in stored.jobs}
        world = World(stored.config, jobs, {}, stored.admissions, stored.history, dict(stored.choices))
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

    def settle(self, now_ms: int) -> None:
        """Reckon the history until now, with what has run since it was reckoned last."""
        running = (Running(job, attempt) for job, attempt in self.running())
        self.history = settle(self.config, running, self.history, now_ms)

    def spent(self, now_ms: int) -> Mapping[str, Fraction]:
        """What attempts that have ended used of each budget in its current period."""
        return self._books().at(now_ms)

    def snapshot(self, capacity: Mapping[Row, Amount], now_ms: int, *, backwards: bool = False) -> Snapshot:
        """What a cycle sees. ``backwards``: the pending jobs in another order, which must not matter."""
        pending = tuple(self.pending())
        running = tuple(Running(job, attempt) for job, attempt in self.running())
        return Snapshot(
            self.config,
            running,
            pending[::-1] if backwards else pending,
            capacity,
            self.history,
            self.spent(now_ms),
            self.choices,
        )

    def below(self, tenant: str, *, pending: bool) -> list[Job]:
        """The jobs that wait (or hold quota) in a tenant's subtree."""
        jobs = self.pending() if pending else (job for job, _ in self.running())
        return [job for job in jobs if tenant in self.config.paths.get(job.tenant, ())]

    def _books(self) -> Spending:
        """The books of the budgets as they are now; made again from the attempts when the config was changed."""
        if self._spending is None or self._spending.config is not self.config:
            self._spending = Spending(self.config)
            for job in self.jobs.values():
                for attempt in self.attempts[job.id]:
                    if attempt.state is AttemptState.GONE:
                        self._spend(self._spending, job, attempt)
        return self._spending

    def _spend(self, books: Spending, job: Job, attempt: Attempt) -> None:
        assert attempt.ended_at_ms is not None, attempt
        books.add(tuple(_path(job.tenant)), used_by(self.config, attempt, attempt.ended_at_ms))


def _path(tenant: str) -> Iterator[str]:
    """From a tenant up to its root, by its name: the tenant itself may have been deleted."""
    while tenant:
        yield tenant
        tenant = tenant.rpartition("/")[0]
