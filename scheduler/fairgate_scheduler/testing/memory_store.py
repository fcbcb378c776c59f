"""``MemoryStore``: the Store without a disk, for fast tests and the simulator, held to the same contract suite."""

import heapq
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, TypeVar

from fairgate_scheduler.adapters.turns import Turns
from fairgate_scheduler.core.jobs import Attempt, AttemptState, Job, JobState
from fairgate_scheduler.core.lifecycle import Effect, Event
from fairgate_scheduler.core.snapshot import History
from fairgate_scheduler.ports import (
    ConfigVersion,
    JobQuery,
    KeptLog,
    RequestRecord,
    StaleVersionError,
    StoredEffect,
    StoredEvent,
    Submission,
)

K = TypeVar("K")
V = TypeVar("V")


@dataclass
class _Tables:
    jobs: dict[str, Job] = field(default_factory=dict)
    live_jobs: dict[str, Job] = field(default_factory=dict)
    submissions: dict[str, Submission] = field(default_factory=dict)
    logs: dict[tuple[str, int], KeptLog] = field(default_factory=dict)
    attempts: dict[str, tuple[Attempt, ...]] = field(default_factory=dict)
    live_attempts: dict[tuple[str, int], Attempt] = field(default_factory=dict)
    events: list[StoredEvent] = field(default_factory=list)
    requests: dict[tuple[str, str], RequestRecord] = field(default_factory=dict)
    effects: dict[int, Effect] = field(default_factory=dict)
    configs: list[ConfigVersion] = field(default_factory=list)
    counters: dict[str, int] = field(default_factory=dict)
    history: dict[str, History] = field(default_factory=dict)


class MemoryStore:
    """A Store that lasts as long as the process. All transactions take turns, those that only read too."""

    def __init__(self) -> None:
        self._tables = _Tables()
        self._turns = Turns()
        self._is_closed = False

    @contextmanager
    def transaction(self, *, read_only: bool = False) -> Iterator["MemoryTransaction"]:
        """One unit of work, taken back if the block raises."""
        with self._turns.turn():
            if self._is_closed:
                raise RuntimeError("the store is closed")
            transaction = MemoryTransaction(self._tables, read_only)
            try:
                yield transaction
            except BaseException:
                transaction.undo()
                raise
            finally:
                transaction.end()

    def close(self) -> None:
        """Refuse every further transaction."""
        self._is_closed = True


class MemoryTransaction:
    """Writes go to the tables at once; each leaves behind how to undo it."""

    def __init__(self, tables: _Tables, read_only: bool) -> None:
        self._tables = tables
        self._read_only = read_only
        self._undo: list[Callable[[], object]] = []
        self._is_over = False

    # Jobs

    def get_job(self, job: str) -> Job | None:
        return self._reading().jobs.get(job)

    def get_jobs(self, jobs: Iterable[str], known: Mapping[str, Job] | None = None) -> Mapping[str, Job]:
        found = self._reading().jobs
        return {name: found[name] for name in dict.fromkeys(jobs) if name in found}

    def has_job(self, job: str) -> bool:
        return job in self._reading().jobs

    def get_submission(self, job: str) -> Submission | None:
        return self._reading().submissions.get(job)

    def get_submissions(self, jobs: Iterable[str]) -> Mapping[str, Submission]:
        found = self._reading().submissions
        return {name: found[name] for name in dict.fromkeys(jobs) if name in found}

    def list_jobs(self, query: JobQuery) -> Sequence[Job]:
        found = (
            job
            for job in self._reading().jobs.values()
            if (query.tenants is None or job.tenant in query.tenants)
            and (query.states is None or job.state in query.states)
            and (query.before_sequence is None or job.sequence < query.before_sequence)
        )
        return heapq.nlargest(query.limit, found, key=lambda job: (job.sequence, job.id))

    def live_jobs(self) -> Sequence[Job]:
        return sorted(self._reading().live_jobs.values(), key=lambda job: (job.sequence, job.id))

    def count_jobs(self, tenants: frozenset[str], states: frozenset[JobState]) -> int:
        tables = self._reading()
        jobs = tables.jobs if any(state.is_final for state in states) else tables.live_jobs
        return sum(job.tenant in tenants and job.state in states for job in jobs.values())

    def insert_job(self, job: Job, submission: Submission) -> None:
        tables = self._writing()
        if job.id in tables.jobs:
            raise StaleVersionError(f"{job.id} is there already")
        self._set(tables.submissions, job.id, replace(submission, spec=_as_json(submission.spec)))
        self._put_job(job)

    def replace_submission(self, job: str, submission: Submission) -> None:
        tables = self._writing()
        self._require_job(job)
        self._set(tables.submissions, job, replace(submission, spec=_as_json(submission.spec)))

    def put_log(self, job: str, attempt: int, log: KeptLog) -> None:
        tables = self._writing()
        self._require_job(job)
        self._set(tables.logs, (job, attempt), log)

    def get_log(self, job: str, attempt: int) -> KeptLog | None:
        return self._reading().logs.get((job, attempt))

    def update_job(self, job: Job) -> None:
        stored = self._writing().jobs.get(job.id)
        if stored is None or stored.version != job.version - 1:
            there = "is not there" if stored is None else f"has version {stored.version}"
            raise StaleVersionError(f"{job.id} {there}, so version {job.version} can not follow")
        self._put_job(job)

    def _put_job(self, job: Job) -> None:
        self._set(self._tables.jobs, job.id, job)
        if job.state.is_final:
            self._remove(self._tables.live_jobs, job.id)
        else:
            self._set(self._tables.live_jobs, job.id, job)

    # Attempts

    def get_attempts(self, job: str) -> Sequence[Attempt]:
        return list(self._reading().attempts.get(job, ()))

    def live_attempts(self) -> Sequence[Attempt]:
        return sorted(self._reading().live_attempts.values(), key=lambda each: (each.admission, each.job, each.number))

    def ended_attempts(self, since_ms: int) -> Sequence[tuple[str, Attempt]]:
        tables = self._reading()
        ends = [
            (attempt.ended_at_ms, tables.jobs[job].tenant, attempt)
            for job, attempts in tables.attempts.items()
            for attempt in attempts
            if attempt.ended_at_ms is not None and attempt.ended_at_ms > since_ms
        ]
        return [(tenant, attempt) for _, tenant, attempt in sorted(ends, key=lambda each: each[0])]

    def put_attempt(self, attempt: Attempt) -> None:
        tables = self._writing()
        self._require_job(attempt.job)
        others = [each for each in tables.attempts.get(attempt.job, ()) if each.number != attempt.number]
        self._set(tables.attempts, attempt.job, tuple(sorted([*others, attempt], key=lambda each: each.number)))
        key = (attempt.job, attempt.number)
        if attempt.state is AttemptState.GONE:
            self._remove(tables.live_attempts, key)
        else:
            self._set(tables.live_attempts, key, attempt)

    # Events

    def add_event(self, tenant: str, event: Event) -> int:
        events = self._writing().events
        self._require_job(event.job)
        stored = StoredEvent(len(events) + 1, tenant, replace(event, details=_as_json(event.details)))
        self._append(events, stored)
        return stored.sequence

    def list_events(
        self, after: int, limit: int, tenants: frozenset[str] | None = None, job: str | None = None
    ) -> Sequence[StoredEvent]:
        found = (
            each
            for each in islice(self._reading().events, max(after, 0), None)
            if (tenants is None or each.tenant in tenants) and (job is None or each.event.job == job)
        )
        return list(islice(found, max(limit, 0)))

    def last_event(self) -> int:
        return len(self._reading().events)

    # Requests, effects, configurations, counters

    def get_request(self, tenant: str, request_id: str) -> RequestRecord | None:
        return self._reading().requests.get((tenant, request_id))

    def get_requests(self, requests: Iterable[tuple[str, str]]) -> Mapping[tuple[str, str], RequestRecord]:
        found = self._reading().requests
        return {key: found[key] for key in dict.fromkeys(requests) if key in found}

    def put_request(self, record: RequestRecord) -> None:
        requests, key = self._writing().requests, (record.tenant, record.request_id)
        if key in requests:
            raise StaleVersionError(f"request {record.request_id} of {record.tenant} is answered already")
        self._set(requests, key, record)

    def add_effect(self, effect: Effect) -> None:
        effects = self._writing().effects
        self._require_job(effect.job)
        self._set(effects, self._count("effect"), effect)

    def list_effects(self, limit: int) -> Sequence[StoredEffect]:
        effects = self._reading().effects
        return [StoredEffect(number, effects[number]) for number in heapq.nsmallest(limit, effects)]

    def remove_effect(self, effect: int) -> None:
        self._remove(self._writing().effects, effect)

    def get_config(self, etag: str | None = None) -> ConfigVersion | None:
        newest_first = reversed(self._reading().configs)
        return next((version for version in newest_first if etag is None or version.etag == etag), None)

    def put_config(self, version: ConfigVersion) -> None:
        self._append(self._writing().configs, version)

    def get_history(self) -> Mapping[str, History]:
        return dict(sorted(self._reading().history.items()))

    def put_history(self, history: Mapping[str, History]) -> None:
        mine = self._writing().history
        for tenant in [tenant for tenant in mine if tenant not in history]:
            self._remove(mine, tenant)
        for tenant, each in history.items():
            self._set(mine, tenant, each)

    def next_number(self, counter: str) -> int:
        self._writing()
        return self._count(f"of callers: {counter}")

    # How

    def undo(self) -> None:
        """Take back every write, the last one first."""
        for step in reversed(self._undo):
            step()

    def end(self) -> None:
        """Refuse every further use."""
        self._is_over = True

    def _reading(self) -> _Tables:
        if self._is_over:
            raise RuntimeError("the transaction has ended")
        return self._tables

    def _writing(self) -> _Tables:
        if self._read_only:
            raise RuntimeError("a transaction that only reads can not write")
        return self._reading()

    def _require_job(self, job: str) -> None:
        if job not in self._tables.jobs:
            raise StaleVersionError(f"there is no job {job}")

    def _count(self, counter: str) -> int:
        number = self._tables.counters.get(counter, 0) + 1
        self._set(self._tables.counters, counter, number)
        return number

    def _set(self, table: dict[K, V], key: K, value: V) -> None:
        if key in table:
            old = table[key]
            self._undo.append(lambda: table.__setitem__(key, old))
        else:
            self._undo.append(lambda: table.pop(key))
        table[key] = value

    def _remove(self, table: dict[K, V], key: K) -> None:
        if key in table:
            old = table.pop(key)
            self._undo.append(lambda: table.__setitem__(key, old))

    def _append(self, table: list[V], value: V) -> None:
        table.append(value)
        self._undo.append(table.pop)


def _as_json(value: Mapping[str, Any]) -> Any:
    """What a store on a disk would give back, so that nobody counts on tuples or objects to be kept."""
    return json.loads(json.dumps(value, allow_nan=False))
