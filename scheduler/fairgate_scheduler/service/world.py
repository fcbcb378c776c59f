"""The live part of the store in memory: what a cycle plans from, fed by every commit and never re-read whole."""

import heapq
from collections.abc import Iterable, Mapping
from itertools import count

from fairgate_scheduler.core.jobs import Attempt, AttemptState, Job, JobState
from fairgate_scheduler.core.launching import launchable
from fairgate_scheduler.core.lifecycle import Change, expires_at_ms, unready_at_ms
from fairgate_scheduler.core.snapshot import Running, Snapshot
from fairgate_scheduler.core.tenancy import Config
from fairgate_scheduler.ports import ConfigVersion, Transaction

_marks = count(1)

AttemptKey = tuple[str, int]
"""(job, number)"""


class World:
    """Every job that is not final, every attempt that is not gone, and the configuration in force.

    It mirrors the store commit by commit; whoever holds it guards it against other threads. ``mark`` is another
    number after each change, and in each world.
    """

    def __init__(self, version: ConfigVersion | None, jobs: Iterable[Job], attempts: Iterable[Attempt]) -> None:
        self.version = version
        self.mark = next(_marks)
        self.jobs: dict[str, Job] = {}
        self.attempts: dict[AttemptKey, Attempt] = {}
        self._pending: dict[str, Job] = {}
        self._wakeups: list[tuple[int, str]] = []
        self._snapshot: Snapshot | None = None
        for job in jobs:
            self._put_job(job)
        for attempt in attempts:
            self._put_attempt(attempt)

    @classmethod
    def load(cls, transaction: Transaction) -> "World":
        """What the store says now."""
        return cls(transaction.get_config(), transaction.live_jobs(), transaction.live_attempts())

    @property
    def config(self) -> Config:
        """The configuration in force; before the first one is applied, an empty one."""
        return self.version.config if self.version else Config()

    def apply(self, change: Change) -> None:
        """Take in what was committed."""
        self._touch()
        self._put_job(change.job)
        for attempt in change.attempts:
            self._put_attempt(attempt)

    def apply_config(self, version: ConfigVersion) -> None:
        """Take in a configuration that was committed."""
        self._touch()
        self.version = version

    def snapshot(self) -> Snapshot:
        """The world as one cycle sees it; the same object until something changes."""
        if self._snapshot is None:
            holding = sorted((each for each in self.attempts.values() if each.holds_quota), key=_admission)
            running = tuple(
                Running(self.jobs[each.job], each, leaving=self.jobs[each.job].state is JobState.STOPPING)
                for each in holding
            )
            self._snapshot = Snapshot(self.config, running, tuple(self._pending.values()))
        return self._snapshot

    def present(self) -> dict[AttemptKey, Attempt]:
        """The attempts of which processes or pods may exist."""
        return {key: attempt for key, attempt in self.attempts.items() if attempt.is_present}

    def reserved(self) -> frozenset[AttemptKey]:
        """The attempts that are admitted and not launched."""
        return frozenset(key for key, each in self.attempts.items() if each.state is AttemptState.RESERVED)

    def launchable(self) -> tuple[Attempt, ...]:
        """Those of the admitted attempts for which there is room now, in the order of admission."""
        if not self.reserved():
            return ()
        attempts = [(self.jobs[each.job].tenant, each) for each in self.attempts.values()]
        return launchable(self.config, self.snapshot().capacity, attempts)

    def blocked(self) -> frozenset[AttemptKey]:
        """The admitted attempts that wait until what gives way to them, or their job's last attempt, is gone."""
        return self.reserved() - {(each.job, each.number) for each in self.launchable()}

    def deadlines(self) -> Mapping[str, int]:
        """When each running job reaches its time limit, in milliseconds since the epoch."""
        out = {}
        for attempt in self.attempts.values():
            job = self.jobs[attempt.job]
            if attempt.holds_quota and job.state is JobState.RUNNING:
                deadline = expires_at_ms(job, attempt)
                if deadline is not None:
                    out[job.id] = deadline
        return out

    def unready(self) -> Mapping[str, int]:
        """When each launched job that is not ready yet is given up, in milliseconds since the epoch."""
        due = ((each.job, unready_at_ms(each, self.config.policy)) for each in self.attempts.values())
        return {job: at_ms for job, at_ms in due if at_ms is not None}

    def next_due_ms(self, now_ms: int) -> int | None:
        """The next instant at which time alone can change what the core decides, or a time limit or the time to get
        ready is over.

        Costs what runs, not what waits.
        """
        while self._wakeups and (self._wakeups[0][0] <= now_ms or self._wakeups[0][1] not in self._pending):
            heapq.heappop(self._wakeups)
        due = [self._wakeups[0][0]] if self._wakeups else []
        due += [at for at in (*self.deadlines().values(), *self.unready().values()) if at > now_ms]
        min_runtime_ms = self.config.policy.min_runtime_ms
        if min_runtime_ms and self._pending:
            for attempt in self.attempts.values():
                begins = (attempt.admitted_at_ms, attempt.ready_at_ms)
                due += [at + min_runtime_ms for at in begins if at is not None and at + min_runtime_ms > now_ms]
        return min(due, default=None)

    def _put_job(self, job: Job) -> None:
        if job.state.is_final:
            self.jobs.pop(job.id, None)
        else:
            self.jobs[job.id] = job
        if job.state is not JobState.PENDING:
            self._pending.pop(job.id, None)
            return
        self._pending[job.id] = job
        instants = {job.pending_since_ms + job.fallback_after_ms} if job.fallback_after_ms else set()
        for at_ms in instants.union(job.backoff.values()):
            heapq.heappush(self._wakeups, (at_ms, job.id))

    def _put_attempt(self, attempt: Attempt) -> None:
        key = (attempt.job, attempt.number)
        if attempt.is_present or attempt.holds_quota:
            self.attempts[key] = attempt
        else:
            self.attempts.pop(key, None)

    def _touch(self) -> None:
        self.mark = next(_marks)
        self._snapshot = None


def _admission(attempt: Attempt) -> int:
    return attempt.admission
