"""The live part of the store in memory: what a cycle plans from, fed by every commit and never re-read whole."""

import heapq
from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from itertools import count
from typing import Any

from fairgate_scheduler.core.amounts import Amount, Row
from fairgate_scheduler.core.jobs import Attempt, Job, JobState
from fairgate_scheduler.core.launching import AttemptKey, Books
from fairgate_scheduler.core.lifecycle import Change, expires_at_ms, unready_at_ms
from fairgate_scheduler.core.snapshot import Chosen, History, Running, Snapshot
from fairgate_scheduler.core.tenancy import Config
from fairgate_scheduler.ports import ConfigVersion, Transaction
from fairgate_scheduler.service.alarms import Alarms
from fairgate_scheduler.service.past import Past

__all__ = ["AttemptKey", "World"]

_marks = count(1)


class World:
    """Every job that is not final, every attempt that is not gone, and the configuration in force.

    It mirrors the store commit by commit; whoever holds it guards it against other threads. A commit costs what it
    changed, not what is there. ``mark`` is another number after each change, and in each world.
    """

    def __init__(
        self,
        version: ConfigVersion | None,
        jobs: Iterable[Job],
        attempts: Iterable[Attempt],
        past: Past | None = None,
    ) -> None:
        self.version = version
        self.past = past or Past(self.config)
        self.mark = next(_marks)
        self.jobs: dict[str, Job] = {}
        self.attempts: dict[AttemptKey, Attempt] = {}
        self._pending: dict[str, Job] = {}
        self._running: dict[str, Running] = {}
        self._changed: dict[str, None] = {}
        self._wakeups: list[tuple[int, str]] = []
        self._matured: list[tuple[int, AttemptKey]] = []
        self._limits, self._unready = Alarms(), Alarms()
        self._capacity: Mapping[Row, Amount] = {}
        self._snapshot: Snapshot | None = None
        self._books: Books | None = None
        for job in jobs:
            self._put_job(job)
        for attempt in sorted(attempts, key=_admission):
            self._put_attempt(self.jobs[attempt.job], attempt)

    @classmethod
    def load(cls, transaction: Transaction, now_ms: int = 0) -> "World":
        """What the store says. ``now_ms``: of what has ended, only what counts in a budget from then on is read."""
        version = transaction.get_config()
        past = Past.load(transaction, version.config if version else Config(), now_ms)
        return cls(version, transaction.live_jobs(), transaction.live_attempts(), past)

    @property
    def config(self) -> Config:
        """The configuration in force; before the first one is applied, an empty one."""
        return self.version.config if self.version else Config()

    def apply(self, change: Change) -> None:
        """Take in what was committed."""
        self._touch()
        self._put_job(change.job)
        for attempt in change.attempts:
            self._put_attempt(change.job, attempt)
        self._put_running(change.job)

    def apply_config(self, version: ConfigVersion, ended: Iterable[tuple[str, Attempt]] = ()) -> None:
        """Take in a configuration that was committed. ``ended``: see ``past.ended_attempts``."""
        self._touch()
        self.version = version
        self.past.apply_config(version.config, ended)
        for job in self._pending.values():
            self._put_wakeups(job)
        self._books = None
        self._matured = []
        for attempt in self.attempts.values():
            self._put_alarms(self.jobs[attempt.job], attempt)

    @property
    def capacity(self) -> Mapping[Row, Amount]:
        """What the runner has said last is physically there, row by row; of other rows the configuration tells."""
        return self._capacity

    def see_capacity(self, capacity: Mapping[Row, Amount]) -> None:
        """Take in what is physically there now."""
        if capacity != self._capacity:
            self._touch()
            self._capacity = dict(capacity)
            self._books = None

    def snapshot(self, now_ms: int | None = None) -> Snapshot:
        """The world as one cycle sees it; the same object until something changes.

        ``now_ms``: with what was used before this instant, where that counts.
        """
        if self._snapshot is None:
            self._snapshot = Snapshot(
                self.config, tuple(self._running.values()), tuple(self._pending.values()), self._capacity
            )
        if now_ms is None or not self.past.matters:
            return self._snapshot
        return replace(
            self._snapshot,
            history=self.history(now_ms),
            spent=self.past.spent(now_ms),
            choices=dict(self.past.choices),
        )

    def take_changes(self) -> Mapping[str, Running | Job | None]:
        """The jobs that have changed since this was asked last, at first all: each as it holds quota or waits, ``None``
        if it does neither. Meant for one who follows the world.
        """
        changed, self._changed = self._changed, {}
        return {name: self._running.get(name) or self._pending.get(name) for name in changed}

    def settle(self, now_ms: int) -> None:
        """Reckon until now what was used, with what has run since."""
        if self.past.has_history:
            self.past.keep_history(self.history(now_ms))

    def history(self, now_ms: int) -> Mapping[str, History]:
        """What tenants used before this instant."""
        return self.past.history(self._running.values(), now_ms)

    def choose(self, choices: Mapping[str, Chosen]) -> None:
        """Remember what jobs that wait have chosen."""
        self.past.choices |= {job: chosen for job, chosen in choices.items() if job in self._pending}

    def books(self) -> Books:
        """What is reserved and what is there. Copy them before you write into them."""
        if self._books is None:
            self._books = Books(self.config, self._capacity)
            for attempt in self.attempts.values():
                self._books.put(self.jobs[attempt.job].tenant, None, attempt)
        return self._books

    def present(self) -> dict[AttemptKey, Attempt]:
        """The attempts of which processes or pods may exist."""
        return {key: attempt for key, attempt in self.attempts.items() if attempt.is_present}

    def launchable(self) -> tuple[Attempt, ...]:
        """Those of the admitted attempts for which there is room now, in the order of admission."""
        return self.books().launchable()

    def blocked(self) -> frozenset[AttemptKey]:
        """The admitted attempts that wait until what gives way to them, or their job's last attempt, is gone."""
        return self.books().reserved - {(each.job, each.number) for each in self.launchable()}

    def expired(self, now_ms: int) -> list[str]:
        """The running jobs that have reached their time limit."""
        return self._limits.over(now_ms)

    def unready(self, now_ms: int) -> list[str]:
        """The launched jobs that should be ready by now and are not."""
        return self._unready.over(now_ms)

    def next_due_ms(self, now_ms: int) -> int | None:
        """The next instant at which time alone can change what the core decides, or a time limit or the time to get
        ready is over.
        """
        _drop(self._wakeups, now_ms, self._pending)
        _drop(self._matured, now_ms, self.attempts)
        due = [self._limits.next_ms(now_ms), self._unready.next_ms(now_ms)]
        due += [at_ms for at_ms, _ in self._wakeups[:1]]
        if self._pending:
            due += [at_ms for at_ms, _ in self._matured[:1]]
            due += self.past.next_periods_ms(now_ms)
        return min((at_ms for at_ms in due if at_ms is not None), default=None)

    def _put_job(self, job: Job) -> None:
        self._changed[job.id] = None
        if job.state.is_final:
            self.jobs.pop(job.id, None)
        else:
            self.jobs[job.id] = job
        if job.state is not JobState.PENDING:
            self._pending.pop(job.id, None)
            self.past.forget(job.id)
            return
        self._pending[job.id] = job
        self._put_wakeups(job)

    def _put_wakeups(self, job: Job) -> None:
        instants = {job.pending_since_ms + job.fallback_after_ms} if job.fallback_after_ms else set()
        backfill_after_ms = self.config.policy.backfill_after_ms
        if backfill_after_ms is not None:
            instants.add(job.pending_since_ms + backfill_after_ms)
        for at_ms in instants.union(job.backoff.values()):
            heapq.heappush(self._wakeups, (at_ms, job.id))

    def _put_attempt(self, job: Job, attempt: Attempt) -> None:
        self._changed[job.id] = None
        key = (attempt.job, attempt.number)
        before = self.attempts.get(key)
        after = attempt if attempt.is_present or attempt.holds_quota else None
        self.past.put(job, attempt)
        if after is not None:
            self.attempts[key] = after
        elif before is not None:
            del self.attempts[key]
        if self._books is not None:
            self._books.put(job.tenant, before, after)
        if attempt.holds_quota:
            self._running[job.id] = _running(job, attempt)
            self._put_alarms(job, attempt)
        elif before is not None and before.holds_quota and self._running[job.id].attempt.number == attempt.number:
            del self._running[job.id]
            self._limits.set(job.id, None)
            self._unready.set(job.id, None)

    def _put_running(self, job: Job) -> None:
        """The job has changed beside its attempt."""
        running = self._running.get(job.id)
        if running is not None and running.job is not job:
            self._running[job.id] = _running(job, running.attempt)
            self._put_alarms(job, running.attempt)

    def _put_alarms(self, job: Job, attempt: Attempt) -> None:
        if attempt.holds_quota:
            runs = job.state is JobState.RUNNING
            self._limits.set(job.id, expires_at_ms(job, attempt) if runs else None)
            self._unready.set(job.id, unready_at_ms(attempt, self.config.policy))
        min_runtime_ms = self.config.policy.min_runtime_ms
        if min_runtime_ms:
            key = (attempt.job, attempt.number)
            for at_ms in (attempt.admitted_at_ms, attempt.ready_at_ms):
                if at_ms is not None:
                    heapq.heappush(self._matured, (at_ms + min_runtime_ms, key))

    def _touch(self) -> None:
        self.mark = next(_marks)
        self._snapshot = None


def _running(job: Job, attempt: Attempt) -> Running:
    return Running(job, attempt, leaving=job.state is JobState.STOPPING)


def _drop(heap: list[tuple[int, Any]], now_ms: int, there: Container[Any]) -> None:
    """Take what is over, or is about something that is not there any more, from the top of a heap."""
    while heap and (heap[0][0] <= now_ms or heap[0][1] not in there):
        heapq.heappop(heap)


def _admission(attempt: Attempt) -> int:
    return attempt.admission
