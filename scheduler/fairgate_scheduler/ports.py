"""What the service needs from the world, in few methods each: ``Store``, ``Runner``, ``Clock``.

Adapters implement these; one contract suite runs on every implementation. A port must never mention a technology.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from fairgate_scheduler.core.amounts import Amount, Row
from fairgate_scheduler.core.config_checks import Fault
from fairgate_scheduler.core.jobs import Attempt, Job, JobState
from fairgate_scheduler.core.lifecycle import Effect, Event, Observation
from fairgate_scheduler.core.snapshot import History
from fairgate_scheduler.core.tenancy import Config, Tenant


class StaleVersionError(Exception):
    """The record was changed by somebody else since it was read; nothing was written."""


class RunnerUnavailableError(Exception):
    """The runner can not be reached, or does not know enough yet to answer; the same call may succeed later."""


class StoreError(Exception):
    """The store can not be opened or used now; the message says why and what to do. Nothing was written."""


@dataclass(frozen=True, slots=True)
class Submission:
    """What was submitted, as it was understood: kept with the job, not read by the scheduler.

    ``manifest`` is the RayJob as canonical JSON. ``spec`` holds Fairgate's own fields as they were given.
    """

    manifest: str
    spec: Mapping[str, Any] = field(default_factory=dict)
    submitted_by: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """The answer that a request id has got. ``digest`` tells the same content from other content."""

    tenant: str
    request_id: str
    digest: str
    job: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class ConfigVersion:
    """One applied configuration. ``source`` is the document as it was applied; ``etag`` names the version."""

    etag: str
    source: str
    config: Config
    at_ms: int
    by: str
    comment: str = ""


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event with its place in the one order of all events; sequence numbers only grow, from 1."""

    sequence: int
    tenant: str
    event: Event


@dataclass(frozen=True, slots=True)
class StoredEffect:
    """An order that waits for the runner."""

    id: int
    effect: Effect


@dataclass(frozen=True, slots=True)
class KeptLog:
    """The output of an attempt that can not be read any more where it ran. ``uid``: that of its job.

    ``offset``: how many bytes before ``data`` were not kept.
    """

    uid: str
    data: bytes
    offset: int = 0


@dataclass(frozen=True, slots=True)
class JobQuery:
    """Which jobs to list: of these tenants (``None``: all), in these states (``None``: all), newest first.

    ``before_sequence`` continues after a page: only jobs with a lower ``Job.sequence``.
    """

    tenants: frozenset[str] | None = None
    states: frozenset[JobState] | None = None
    before_sequence: int | None = None
    limit: int = 100


class Transaction(Protocol):
    """All reads and writes of one unit of work. Reads see the transaction's own writes."""

    def get_job(self, job: str) -> Job | None:
        """The job of this resource name."""

    def get_jobs(self, jobs: Iterable[str], known: Mapping[str, Job] | None = None) -> Mapping[str, Job]:
        """Those of the jobs of these resource names that are there; cheaper than one by one.

        ``known``: jobs as they were read or written before; what is stored in the same version is not read again.
        """

    def has_job(self, job: str) -> bool:
        """Whether there is a job of this resource name."""

    def get_submission(self, job: str) -> Submission | None:
        """What was submitted as this job."""

    def get_submissions(self, jobs: Iterable[str]) -> Mapping[str, Submission]:
        """What was submitted as those of these jobs that are there; cheaper than one by one."""

    def list_jobs(self, query: JobQuery) -> Sequence[Job]:
        """At most ``query.limit`` jobs, by falling ``Job.sequence``."""

    def live_jobs(self) -> Sequence[Job]:
        """Every job that is not final, by ``Job.sequence``."""

    def count_jobs(self, tenants: frozenset[str], states: frozenset[JobState]) -> int:
        """How many jobs of these tenants are in one of these states."""

    def get_attempts(self, job: str) -> Sequence[Attempt]:
        """All attempts of a job, by number."""

    def live_attempts(self) -> Sequence[Attempt]:
        """Every attempt that is not GONE, by admission."""

    def insert_job(self, job: Job, submission: Submission) -> None:
        """Add a job. Raises StaleVersionError if the name is taken."""

    def update_job(self, job: Job) -> None:
        """Write a job whose stored version is ``job.version - 1``. Raises StaleVersionError otherwise."""

    def replace_submission(self, job: str, submission: Submission) -> None:
        """Write what was submitted as a job anew. Raises StaleVersionError if there is no such job."""

    def put_log(self, job: str, attempt: int, log: KeptLog) -> None:
        """Keep the output of an attempt, in the place of what was kept of it. Raises StaleVersionError: no such job."""

    def get_log(self, job: str, attempt: int) -> KeptLog | None:
        """What was kept of an attempt's output."""

    def ended_attempts(self, since_ms: int) -> Sequence[tuple[str, Attempt]]:
        """Every attempt that ended after this instant, with its tenant, by their ends; of one instant in any order."""

    def put_attempt(self, attempt: Attempt) -> None:
        """Add or replace an attempt, by job and number. Raises StaleVersionError if there is no such job."""

    def add_event(self, tenant: str, event: Event) -> int:
        """Append an event and return its sequence number. Raises StaleVersionError if there is no such job.

        ``details`` comes back as JSON has it (tuples as lists); the same goes for ``Submission.spec``.
        """

    def list_events(
        self, after: int, limit: int, tenants: frozenset[str] | None = None, job: str | None = None
    ) -> Sequence[StoredEvent]:
        """Events with a sequence number above ``after``, in order."""

    def last_event(self) -> int:
        """The highest sequence number given, 0 if there is none."""

    def get_request(self, tenant: str, request_id: str) -> RequestRecord | None:
        """What this request id has been answered with."""

    def get_requests(self, requests: Iterable[tuple[str, str]]) -> Mapping[tuple[str, str], RequestRecord]:
        """What those of these request ids, each with its tenant, have been answered with that have; cheaper than one by
        one.
        """

    def put_request(self, record: RequestRecord) -> None:
        """Remember an answer. Raises StaleVersionError if the id is taken."""

    def add_effect(self, effect: Effect) -> None:
        """Put an order into the outbox. Raises StaleVersionError if there is no such job."""

    def list_effects(self, limit: int) -> Sequence[StoredEffect]:
        """Orders that were not carried out yet, oldest first."""

    def remove_effect(self, effect: int) -> None:
        """Take an order that was carried out from the outbox; once more is no error."""

    def get_config(self, etag: str | None = None) -> ConfigVersion | None:
        """The configuration in force, or the newest one of this etag."""

    def put_config(self, version: ConfigVersion) -> None:
        """Make this the configuration in force; earlier ones are kept."""

    def get_history(self) -> Mapping[str, History]:
        """What tenants used before, by tenant, as it was written last."""

    def put_history(self, history: Mapping[str, History]) -> None:
        """Write what tenants used before, in the place of all that was written."""

    def next_number(self, counter: str) -> int:
        """The next number of a durable counter, from 1."""


class Store(Protocol):
    """Durable state. A transaction commits when its block ends and leaves no trace when the block raises."""

    def transaction(self, *, read_only: bool = False) -> AbstractContextManager[Transaction]:
        """One unit of work; writers take turns, in the order in which they asked.

        ``read_only``: it sees one state of the store and need not wait for writers. Writing in it, using a transaction
        after its block, and opening one while this thread has one open raise RuntimeError.
        """

    def close(self) -> None:
        """Release files and connections."""


@dataclass(frozen=True, slots=True)
class Launch:
    """All that a runner needs to start an attempt. ``manifest`` is the RayJob as submitted (a mapping)."""

    job: Job
    attempt: Attempt
    manifest: Mapping[str, Any]
    spec: Mapping[str, Any]
    config: Config


@dataclass(frozen=True, slots=True)
class LogChunk:
    """A piece of an attempt's log from some offset. ``is_end``: nothing will follow."""

    data: bytes
    next_offset: int
    is_end: bool


class Runner(Protocol):
    """Where attempts run. Every order may come twice, also after a crash of either side, and counts once."""

    def check(self, manifest: Mapping[str, Any], tenant: Tenant) -> Sequence[str]:
        """Everything in a tenant's valid RayJob that can not run here, as sentences
        ``FIELD: what is wrong; the remedy``.
        """

    def objections(self, config: Config) -> Iterable[Fault]:
        """Everything in a configuration, right in itself, that can not be kept here."""

    def remarks(self, config: Config) -> Sequence[str]:
        """Everything in a valid configuration that is kept but has no effect here, as sentences."""

    def capacity(self, config: Config) -> Mapping[Row, Amount]:
        """What is physically there for attempts now, row by row; of rows that are left out the configuration tells."""

    def launch(self, launch: Launch) -> None:
        """Start an attempt unless it was started before, by whomever. Returns before it is ready.

        What an earlier job of the same id, with another uid, has left is not its: raises while some of that still runs.
        """

    def stop(self, job: str, attempt: int, reason: str) -> None:
        """Give notice, wait the grace period, then end it. Returns at once; unknown or ended attempts are no error."""

    def observe(self) -> Sequence[Observation]:
        """What is true now of every attempt that it has a trace of and was not told to forget."""

    def forget(self, job: str, attempt: int) -> None:
        """The attempt's end is recorded; its log stays readable."""

    def read_log(self, job: str, attempt: int, offset: int, limit: int, uid: str = "") -> LogChunk:
        """A piece of its output; empty if there is none (yet). ``uid``: not that of an earlier job of the same id."""


class Clock(Protocol):
    """The time of day. Only entrypoints and the service's outermost calls ask it."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
