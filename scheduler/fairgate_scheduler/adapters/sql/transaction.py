"""One unit of work on the tables, in SQL that every database understands.

Writers take turns, so reading a counter or looking whether a name is taken and then writing needs no special statement.
New rows wait in memory and go to the database in batches: before the next read, and at the end.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from sqlalchemy import Connection, bindparam, delete, func, insert, select, tuple_, update

from fairgate_scheduler.adapters.sql import schema
from fairgate_scheduler.adapters.sql.config_cache import ConfigCache
from fairgate_scheduler.adapters.sql.mapping import ATTEMPT, CONFIG, EFFECT, EVENT, HISTORY, JOB, REQUEST, SUBMISSION
from fairgate_scheduler.adapters.sql.pending import Pending
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

_job = schema.table(schema.JobRow)
_submission = schema.table(schema.SubmissionRow)
_attempt = schema.table(schema.AttemptRow)
_log = schema.table(schema.LogRow)
_event = schema.table(schema.EventRow)
_request = schema.table(schema.RequestRow)
_effect = schema.table(schema.EffectRow)
_config = schema.table(schema.ConfigRow)
_counter = schema.table(schema.CounterRow)
_history = schema.table(schema.HistoryRow)

_INSERT_CONFIG = insert(_config)
_INSERT_COUNTER = insert(_counter)

_AT_ONCE: Final = 500
"""Names in one statement; databases take only so many."""
_EVENTS = "@event"
"""The counter of event sequence numbers."""

_JOBS = select(*(_job.c[name] for name in JOB.names))
_GET_JOB = _JOBS.where(_job.c.id == bindparam("job_"))
_LIVE_JOBS = _JOBS.where(_job.c.state.in_([state.value for state in JobState if not state.is_final])).order_by(
    _job.c.sequence, _job.c.id
)
_SOME_JOBS = _JOBS.where(_job.c.id.in_(bindparam("jobs_", expanding=True)))
_SOME_VERSIONS = select(_job.c.id, _job.c.version, _job.c.uid).where(_job.c.id.in_(bindparam("jobs_", expanding=True)))
_VERSION = select(_job.c.version).where(_job.c.id == bindparam("job_"))
_GET_SUBMISSION = select(*(_submission.c[name] for name in SUBMISSION.names)).where(
    _submission.c.job == bindparam("job_")
)
_SOME_SUBMISSIONS = select(_submission.c.job, *(_submission.c[name] for name in SUBMISSION.names)).where(
    _submission.c.job.in_(bindparam("jobs_", expanding=True))
)
_UPDATE_SUBMISSION = update(_submission).where(_submission.c.job == bindparam("job_"))
_OF_LOG = (_log.c.job == bindparam("job_"), _log.c.attempt == bindparam("attempt_"))
_GET_LOG = select(_log.c.uid, _log.c.data, _log.c.offset).where(*_OF_LOG)
_REMOVE_LOG = delete(_log).where(*_OF_LOG)
_INSERT_LOG = insert(_log)
_ATTEMPTS = select(*(_attempt.c[name] for name in ATTEMPT.names))
_GET_ATTEMPTS = _ATTEMPTS.where(_attempt.c.job == bindparam("job_")).order_by(_attempt.c.number)
_LIVE_ATTEMPTS = _ATTEMPTS.where(
    _attempt.c.state.in_([state.value for state in AttemptState if state is not AttemptState.GONE])
).order_by(_attempt.c.admission, _attempt.c.job, _attempt.c.number)
_ENDED_ATTEMPTS = (
    select(_job.c.tenant, *(_attempt.c[name] for name in ATTEMPT.names))
    .join_from(_attempt, _job)
    .where(_attempt.c.ended_at_ms > bindparam("since_"))
    .order_by(_attempt.c.ended_at_ms)
)
_HISTORY = select(_history.c.tenant, *(_history.c[name] for name in HISTORY.names)).order_by(_history.c.tenant)
_REMOVE_HISTORY = delete(_history)
_INSERT_HISTORY = insert(_history)
_EVENTS_AFTER = (
    select(_event.c.sequence, _event.c.tenant, *(_event.c[name] for name in EVENT.names))
    .where(_event.c.sequence > bindparam("after_"))
    .order_by(_event.c.sequence)
)
_GET_REQUEST = select(*(_request.c[name] for name in REQUEST.names)).where(
    _request.c.tenant == bindparam("tenant_"), _request.c.request_id == bindparam("request_id_")
)
_SOME_REQUESTS = select(*(_request.c[name] for name in REQUEST.names)).where(
    tuple_(_request.c.tenant, _request.c.request_id).in_(bindparam("requests_", expanding=True))
)
_EFFECTS = select(_effect.c.id, *(_effect.c[name] for name in EFFECT.names)).order_by(_effect.c.id)
_NEWEST_CONFIG = select(_config.c.id).order_by(_config.c.id.desc()).limit(1)
_CONFIG_OF_ETAG = _NEWEST_CONFIG.where(_config.c.etag == bindparam("etag_"))
_GET_CONFIG = select(*(_config.c[name] for name in CONFIG.names)).where(_config.c.id == bindparam("id_"))
_GET_COUNTER = select(_counter.c.value).where(_counter.c.name == bindparam("name_"))
_UPDATE_COUNTER = update(_counter).where(_counter.c.name == bindparam("name_"))


class SqlTransaction:
    """A ``ports.Transaction`` on an open connection; whoever made it begins and commits."""

    def __init__(self, connection: Connection, cache: ConfigCache, *, read_only: bool) -> None:
        self._connection = connection
        self._cache = cache
        self._read_only = read_only
        self._is_over = False
        self._pending = Pending()
        self._requests: dict[tuple[str, str], RequestRecord | None] = {}
        """Every one that was asked for, or is new."""
        self._counters: dict[str, int] = {}
        self._counters_changed: set[str] = set()
        self._jobs: dict[str, Job] = {}
        """Those that were read or written: a writer's stay right, because nobody else writes meanwhile."""
        self._versions: dict[str, int | None] = {}
        """Of every job that was asked for; ``None``: there is none."""
        self._has_new_config = False

    # Jobs

    def get_job(self, job: str) -> Job | None:
        connection = self._reading(flush=False)
        known = self._jobs.get(job)
        if known is None and (job not in self._versions or self._versions[job] is not None):
            row = connection.execute(_GET_JOB, {"job_": job}).first()
            known = self._keep(JOB.record(row)) if row is not None else None
        return known

    def get_jobs(self, jobs: Iterable[str], known: Mapping[str, Job] | None = None) -> Mapping[str, Job]:
        connection = self._reading(flush=False)
        names = list(dict.fromkeys(jobs))
        self._keep_current({name: known[name] for name in names if known and name in known and name not in self._jobs})
        for some in _in_parts(name for name in names if name not in self._jobs):
            for row in connection.execute(_SOME_JOBS, {"jobs_": some}):
                self._keep(JOB.record(row))
            for name in some:
                self._versions.setdefault(name, None)
        return {name: self._jobs[name] for name in names if name in self._jobs}

    def has_job(self, job: str) -> bool:
        self._reading(flush=False)
        return self._version(job) is not None

    def get_submission(self, job: str) -> Submission | None:
        connection = self._reading(flush=self._pending.has_submission(job))
        row = connection.execute(_GET_SUBMISSION, {"job_": job}).first()
        return None if row is None else SUBMISSION.record(row)

    def get_submissions(self, jobs: Iterable[str]) -> Mapping[str, Submission]:
        connection = self._reading()
        return {
            name: SUBMISSION.record(values)
            for some in _in_parts(jobs)
            for name, *values in connection.execute(_SOME_SUBMISSIONS, {"jobs_": some})
        }

    def list_jobs(self, query: JobQuery) -> Sequence[Job]:
        statement = _JOBS.order_by(_job.c.sequence.desc(), _job.c.id.desc()).limit(max(query.limit, 0))
        if query.tenants is not None:
            statement = statement.where(_job.c.tenant.in_(sorted(query.tenants)))
        if query.states is not None:
            statement = statement.where(_job.c.state.in_(_texts(query.states)))
        if query.before_sequence is not None:
            statement = statement.where(_job.c.sequence < query.before_sequence)
        return [JOB.record(row) for row in self._reading().execute(statement)]

    def live_jobs(self) -> Sequence[Job]:
        return [JOB.record(row) for row in self._reading().execute(_LIVE_JOBS)]

    def count_jobs(self, tenants: frozenset[str], states: frozenset[JobState]) -> int:
        statement = select(func.count()).where(_job.c.tenant.in_(sorted(tenants)), _job.c.state.in_(_texts(states)))
        return int(self._reading().execute(statement).scalar_one())

    def insert_job(self, job: Job, submission: Submission) -> None:
        self._writing()
        if self._version(job.id) is not None:
            raise StaleVersionError(f"{job.id} is there already")
        self._pending.insert_job(JOB.row(job), SUBMISSION.row(submission))
        self._keep(job)

    def update_job(self, job: Job) -> None:
        self._writing()
        version = self._version(job.id)
        if version is None or version != job.version - 1:
            there = "is not there" if version is None else f"has version {version}"
            raise StaleVersionError(f"{job.id} {there}, so version {job.version} can not follow")
        self._pending.update_job(job.id, JOB.changes(self._jobs.get(job.id), job), version)
        self._keep(job)

    def replace_submission(self, job: str, submission: Submission) -> None:
        self._writing()
        self._require_job(job)
        self.flush()
        self._connection.execute(_UPDATE_SUBMISSION, {"job_": job, **SUBMISSION.row(submission)})

    # Attempts

    def put_log(self, job: str, attempt: int, log: KeptLog) -> None:
        self._writing()
        self._require_job(job)
        self.flush()
        self._connection.execute(_REMOVE_LOG, {"job_": job, "attempt_": attempt})
        row = {"job": job, "attempt": attempt, "uid": log.uid, "data": log.data, "offset": log.offset}
        self._connection.execute(_INSERT_LOG, row)

    def get_log(self, job: str, attempt: int) -> KeptLog | None:
        row = self._reading(flush=False).execute(_GET_LOG, {"job_": job, "attempt_": attempt}).first()
        return None if row is None else KeptLog(*row)

    def get_attempts(self, job: str) -> Sequence[Attempt]:
        connection = self._reading(flush=self._pending.has_attempts(job))
        return [ATTEMPT.record(row) for row in connection.execute(_GET_ATTEMPTS, {"job_": job})]

    def live_attempts(self) -> Sequence[Attempt]:
        return [ATTEMPT.record(row) for row in self._reading().execute(_LIVE_ATTEMPTS)]

    def ended_attempts(self, since_ms: int) -> Sequence[tuple[str, Attempt]]:
        rows = self._reading().execute(_ENDED_ATTEMPTS, {"since_": since_ms})
        return [(tenant, ATTEMPT.record(values)) for tenant, *values in rows]

    def put_attempt(self, attempt: Attempt) -> None:
        self._writing()
        self._require_job(attempt.job)
        self._pending.put_attempt(ATTEMPT.row(attempt))

    # Events

    def add_event(self, tenant: str, event: Event) -> int:
        self._writing()
        self._require_job(event.job)
        row = EVENT.row(event)
        sequence = self._count(_EVENTS)
        self._pending.add_event({"sequence": sequence, "tenant": tenant, **row})
        return sequence

    def list_events(
        self, after: int, limit: int, tenants: frozenset[str] | None = None, job: str | None = None
    ) -> Sequence[StoredEvent]:
        statement = _EVENTS_AFTER.limit(max(limit, 0))
        if tenants is not None:
            statement = statement.where(_event.c.tenant.in_(sorted(tenants)))
        if job is not None:
            statement = statement.where(_event.c.job == job)
        rows = self._reading().execute(statement, {"after_": after})
        return [StoredEvent(sequence, of, EVENT.record(values)) for sequence, of, *values in rows]

    def last_event(self) -> int:
        self._reading()
        return self._last_number(_EVENTS)

    # Requests, effects, configurations, counters

    def get_request(self, tenant: str, request_id: str) -> RequestRecord | None:
        connection = self._reading(flush=False)
        key = tenant, request_id
        if key not in self._requests:
            row = connection.execute(_GET_REQUEST, {"tenant_": tenant, "request_id_": request_id}).first()
            self._requests[key] = None if row is None else REQUEST.record(row)
        return self._requests[key]

    def get_requests(self, requests: Iterable[tuple[str, str]]) -> Mapping[tuple[str, str], RequestRecord]:
        connection = self._reading(flush=False)
        keys = list(dict.fromkeys(requests))
        unknown = iter([key for key in keys if key not in self._requests])
        while some := list(islice(unknown, _AT_ONCE)):
            found = (REQUEST.record(row) for row in connection.execute(_SOME_REQUESTS, {"requests_": some}))
            self._requests |= {**dict.fromkeys(some), **{(each.tenant, each.request_id): each for each in found}}
        return {key: record for key in keys if (record := self._requests[key]) is not None}

    def put_request(self, record: RequestRecord) -> None:
        self._writing()
        if self.get_request(record.tenant, record.request_id) is not None:
            raise StaleVersionError(f"request {record.request_id} of {record.tenant} is answered already")
        self._pending.put_request(REQUEST.row(record))
        self._requests[record.tenant, record.request_id] = record

    def add_effect(self, effect: Effect) -> None:
        self._writing()
        self._require_job(effect.job)
        self._pending.add_effect(EFFECT.row(effect))

    def list_effects(self, limit: int) -> Sequence[StoredEffect]:
        rows = self._reading().execute(_EFFECTS.limit(max(limit, 0)))
        return [StoredEffect(number, EFFECT.record(values)) for number, *values in rows]

    def remove_effect(self, effect: int) -> None:
        self._writing()
        self._pending.remove_effect(effect)

    def get_config(self, etag: str | None = None) -> ConfigVersion | None:
        connection = self._reading(flush=False)
        which, parameters = (_NEWEST_CONFIG, {}) if etag is None else (_CONFIG_OF_ETAG, {"etag_": etag})
        config_id = connection.execute(which, parameters).scalar()
        if config_id is None:
            return None
        if (cached := self._cache.get(config_id)) is not None:
            return cached
        version = CONFIG.record(connection.execute(_GET_CONFIG, {"id_": config_id}).one())
        if not self._has_new_config:  # what is not committed may yet be another version under the same id
            self._cache.keep(config_id, version)
        return version

    def put_config(self, version: ConfigVersion) -> None:
        self._writing().execute(_INSERT_CONFIG, CONFIG.row(version))
        self._has_new_config = True

    def get_history(self) -> Mapping[str, History]:
        rows = self._reading(flush=False).execute(_HISTORY)
        return {tenant: HISTORY.record(values) for tenant, *values in rows}

    def put_history(self, history: Mapping[str, History]) -> None:
        self._writing().execute(_REMOVE_HISTORY)
        if history:
            rows = [{"tenant": tenant, **HISTORY.row(each)} for tenant, each in history.items()]
            self._connection.execute(_INSERT_HISTORY, rows)

    def next_number(self, counter: str) -> int:
        self._writing()
        return self._count(f"of callers: {counter}")

    # How

    def flush(self) -> None:
        """Give everything that waits to the database."""
        self._pending.flush(self._connection)
        for name in sorted(self._counters_changed):
            value = self._counters[name]
            if self._connection.execute(_UPDATE_COUNTER, {"name_": name, "value": value}).rowcount == 0:
                self._connection.execute(_INSERT_COUNTER, {"name": name, "value": value})
        self._counters_changed.clear()

    def end(self) -> None:
        """Refuse every further use."""
        self._is_over = True

    def _reading(self, *, flush: bool = True) -> Connection:
        if self._is_over:
            raise RuntimeError("the transaction has ended")
        if flush:
            self.flush()
        return self._connection

    def _writing(self) -> Connection:
        if self._read_only:
            raise RuntimeError("a transaction that only reads can not write")
        return self._reading(flush=False)

    def _keep(self, job: Job) -> Job:
        self._jobs[job.id] = job
        self._versions[job.id] = job.version
        return job

    def _keep_current(self, known: Mapping[str, Job]) -> None:
        """Those of some jobs that are stored as they are known."""
        for some in _in_parts(known):
            for name, version, uid in self._connection.execute(_SOME_VERSIONS, {"jobs_": some}):
                if (known[name].version, known[name].uid) == (version, uid):
                    self._keep(known[name])

    def _version(self, job: str) -> int | None:
        if job not in self._versions:
            self._versions[job] = self._connection.execute(_VERSION, {"job_": job}).scalar()
        return self._versions[job]

    def _require_job(self, job: str) -> None:
        if self._version(job) is None:
            raise StaleVersionError(f"there is no job {job}")

    def _count(self, counter: str) -> int:
        self._counters[counter] = number = self._last_number(counter) + 1
        self._counters_changed.add(counter)
        return number

    def _last_number(self, counter: str) -> int:
        if counter in self._counters:
            return self._counters[counter]
        self._counters[counter] = last = self._connection.execute(_GET_COUNTER, {"name_": counter}).scalar() or 0
        return last


def _in_parts(names: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(dict.fromkeys(names))
    while some := list(islice(rest, _AT_ONCE)):
        yield some


def _texts(states: frozenset[JobState]) -> list[str]:
    return sorted(state.value for state in states)
