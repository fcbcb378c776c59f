"""Jobs as the client shows them: frozen values with Python's own types, and the submission that makes one.

Amounts are Kubernetes quantities in text (``500m``, ``16Gi``, ``UNLIMITED``), ratios exact fractions, instants in UTC.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

from fairgate._forecasts import Charge, JobForecast


class JobState(StrEnum):
    """Where a job stands. An evicted job is PENDING again, while its last attempt may still be stopping."""

    PENDING = "PENDING"
    ADMITTED = "ADMITTED"
    RUNNING = "RUNNING"
    STOPPING = "STOPPING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    UNKNOWN = "UNKNOWN"
    """The service is newer than this client and knows a state that the client does not."""

    @property
    def is_final(self) -> bool:
        """Whether nothing follows any more."""
        return self in (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)


class AttemptState(StrEnum):
    """Where one run of an admitted job stands."""

    RESERVED = "RESERVED"
    LAUNCHED = "LAUNCHED"
    RUNNING = "RUNNING"
    STOPPING = "STOPPING"
    GONE = "GONE"
    UNKNOWN = "UNKNOWN"


class Fallback(StrEnum):
    """How one of a job's options is chosen: the first that can start, or the one that is forecast to finish first."""

    ORDERED = "ORDERED"
    SOONEST = "SOONEST"


class HoldReason(StrEnum):
    """Why a job does not run now. When several are true the first of this list is told."""

    NO_MATCHING_FLAVOR = "NO_MATCHING_FLAVOR"
    EXCEEDS_MAX_QUOTA = "EXCEEDS_MAX_QUOTA"
    TENANT_LIMIT = "TENANT_LIMIT"
    BACKOFF = "BACKOFF"
    WAITING_FOR_PREFERRED = "WAITING_FOR_PREFERRED"
    BUDGET_EXHAUSTED = "BUDGET_EXHAUSTED"
    WAITING_FOR_QUOTA = "WAITING_FOR_QUOTA"
    BACKFILL_CLAIM = "BACKFILL_CLAIM"
    WAITING_FOR_PREEMPTED = "WAITING_FOR_PREEMPTED"
    SUSPENDED = "SUSPENDED"
    UNKNOWN = "UNKNOWN"


class EventKind(StrEnum):
    """What can happen to a job."""

    SUBMITTED = "SUBMITTED"
    UPDATED = "UPDATED"
    ADMITTED = "ADMITTED"
    LAUNCHED = "LAUNCHED"
    RUNNING = "RUNNING"
    EVICTED = "EVICTED"
    REQUEUED = "REQUEUED"
    STOPPING = "STOPPING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True)
class GroupChange:
    """What differs in one pod group of the manifest on some option; what is unset stays as the manifest has it.

    ``resources`` are those of each pod. Accelerators of the manifest that are not named in it are taken away when it
    names one.
    """

    flavor: str = ""
    resources: Mapping[str, str] = field(default_factory=dict)
    replicas: int | None = None
    min_replicas: int | None = None
    max_replicas: int | None = None
    num_of_hosts: int | None = None
    image: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    ray_start_params: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OptionSpec:
    """One way to run a job. ``speed`` is relative to the job's time limit, 0: never there, ``None``: as configured.

    ``groups`` says what differs there, by pod group: ``head``, ``submitter``, or the name of a worker group.
    """

    flavor: str
    speed: Fraction | None = None
    groups: Mapping[str, GroupChange] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PodGroup:
    """Some equal pods of an option, charged to one flavor. ``requests`` are those of one pod."""

    name: str
    flavor: str
    count: int
    requests: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class OptionCharge:
    """What one option of a job is charged, its whole gang; ``rows`` is the sum over ``groups``."""

    option: int
    flavor: str
    speed: Fraction
    groups: tuple[PodGroup, ...]
    rows: tuple[Charge, ...]


@dataclass(frozen=True, slots=True)
class Hold:
    """Why a job does not run now, in short."""

    reason: HoldReason
    message: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of an admitted job, numbered from 1."""

    number: int
    state: AttemptState
    option: int
    flavor: str
    admit_time: datetime | None = None
    ready_time: datetime | None = None
    end_time: datetime | None = None
    reason: str = ""
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class JobEvent:
    """Something that happened to a job. ``attempt`` is the one that it happened to, ``None`` if it was none."""

    job: str
    kind: EventKind
    time: datetime
    message: str = ""
    attempt: int | None = None
    details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LogChunk:
    """A piece of an attempt's output, cut anywhere. ``offset`` and ``next_offset`` count its bytes."""

    attempt: int
    offset: int
    data: bytes
    next_offset: int


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of an attempt's output without its end; bytes that are not UTF-8 become U+FFFD."""

    attempt: int
    text: str

    def __str__(self) -> str:
        return self.text


class JobActions(Protocol):
    """What a job's handle needs of its client."""

    def get(self, name: str) -> "Job":
        """The job as it is now."""

    def wait(self, name: str, timeout_s: float | None = None) -> "Job":
        """The job once it has ended."""

    def logs(self, name: str, attempt: int = 0, offset: int = 0, follow: bool = True) -> Iterator[LogLine]:
        """The job's output."""

    def cancel(self, name: str, reason: str = "") -> "Job":
        """End the job."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job as it was at one moment, and the handle of it: its methods ask the service anew and change nothing here.

    ``uid`` names it for good; its name may come again when the service's state is restored from a backup.
    ``flavor`` is the one that it holds a reservation on or, when it has ended, ran on last. ``manifest`` and
    ``attempts`` are filled by ``get`` and ``explain`` only; ``forecast``, of a job that waits, by ``explain``, by
    ``submit`` of one job with ``dry_run`` and, without ``helps`` and ``costs``, by ``list`` with ``with_forecasts``.
    """

    name: str
    tenant: str
    state: JobState
    priority: int = 0
    preemptible: bool = True
    time_limit: timedelta | None = None
    fallback: Fallback = Fallback.ORDERED
    fallback_after: timedelta = timedelta(0)
    options: tuple[OptionSpec, ...] = ()
    workload: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    outcome: JobState | None = None
    message: str = ""
    hold: Hold | None = None
    flavor: str = ""
    charges: tuple[OptionCharge, ...] = ()
    warnings: tuple[str, ...] = ()
    submitted_by: str = ""
    create_time: datetime | None = None
    start_time: datetime | None = None
    finish_time: datetime | None = None
    pending_since: datetime | None = None
    attempt_count: int = 0
    eviction_count: int = 0
    exit_code: int | None = None
    attempts: tuple[Attempt, ...] = ()
    etag: str = ""
    uid: str = ""
    manifest: Mapping[str, Any] | None = None
    forecast: JobForecast | None = None
    _client: JobActions | None = field(default=None, repr=False, compare=False)

    @property
    def id(self) -> str:
        """The last part of its name."""
        return self.name.rpartition("/")[2]

    def wait(self, timeout_s: float | None = None) -> "Job":
        """Wait until it has ended, well or badly, and return it as it is then.

        Raises:
            DeadlineExceeded: it has not ended after ``timeout_s`` seconds.
        """
        return self._actions().wait(self.name, timeout_s)

    def logs(self, attempt: int = 0, follow: bool = True) -> Iterator[LogLine]:
        """Its output line by line, from an attempt (0: the latest) on, until the job has ended."""
        return self._actions().logs(self.name, attempt=attempt, follow=follow)

    def cancel(self, reason: str = "") -> "Job":
        """End it. Returns at once; a job that runs is STOPPING until nothing of it is left."""
        return self._actions().cancel(self.name, reason)

    def refresh(self) -> "Job":
        """The job as it is now."""
        return self._actions().get(self.name)

    def _actions(self) -> JobActions:
        if self._client is None:
            raise ValueError(f"{self.name} did not come from a client: it is a value, not a handle")
        return self._client


@dataclass(frozen=True, slots=True)
class JobUpdate:
    """One event of a watch with the job as it is now. Pass ``sequence`` as ``after_sequence`` to go on from here."""

    sequence: int
    event: JobEvent
    job: Job


@dataclass(frozen=True, slots=True)
class Need:
    """One resource of one flavor that an option asks for and does not get.

    ``at`` is the id of the tenant whose quota is in the way, "" where the physical capacity is. ``holders`` says what
    the running jobs of each tenant use of it.
    """

    flavor: str
    resource: str
    need: str
    have: str
    at: str
    holders: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class OptionReport:
    """Why one option of a pending job is not taken now."""

    option: int
    flavor: str
    reason: str
    needs: tuple[Need, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a job does not run, in full. ``hold`` is ``None`` when it runs or has ended.

    ``job.forecast`` says when it starts, and what would help.
    ``position`` is its place in its tenant's order, from 1; ``None``: not known.
    """

    job: Job
    hold: Hold | None = None
    position: int | None = None
    options: tuple[OptionReport, ...] = ()


@dataclass(frozen=True, slots=True)
class Submission:
    """One job to submit. What is ``None`` or empty is taken from the manifest's ``fairgate.internal/`` annotations.

    ``manifest`` is a RayJob as YAML or JSON text, as a mapping, or the path of its file. ``priority`` is a number or
    one of the configured names. ``options`` are ``OptionSpec`` or mappings as one would write them in YAML. The same
    ``request_id`` and the same content make one job; without one, each submission gets its own.
    """

    manifest: str | Mapping[str, Any] | Path
    tenant: str | None = None
    job_id: str | None = None
    request_id: str | None = None
    priority: int | str | None = None
    time_limit: timedelta | str | None = None
    preemptible: bool | None = None
    fallback: Fallback | None = None
    fallback_after: timedelta | str | None = None
    options: Sequence[OptionSpec | Mapping[str, Any]] = ()
    workload: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    dry_run: bool = False
