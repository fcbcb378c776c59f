"""Jobs, their options, attempts and reservations, and the one table of what may follow what."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from fairgate_scheduler.core.amounts import Amount, Demand


@dataclass(frozen=True, slots=True)
class PodGroup:
    """Some equal pods of one option, all charged to one flavor. ``requests`` are those of one pod."""

    name: str
    flavor: str
    count: int
    requests: Mapping[str, Amount]


@dataclass(frozen=True, slots=True)
class Option:
    """One way to run a job: its whole gang as it looks there. ``flavor`` names the option (the workers' flavor).

    ``speed`` is relative: on speed 2 the job needs half of its time limit. ``demand`` is the sum over ``groups``.
    """

    flavor: str
    speed: Fraction
    groups: tuple[PodGroup, ...]
    demand: Demand


class Fallback(StrEnum):
    """How the option is chosen."""

    ORDERED = "ordered"
    SOONEST = "soonest"


class JobState(StrEnum):
    """Where a job stands. An evicted job is ``PENDING`` again, while its old attempt may still be stopping."""

    PENDING = "PENDING"
    """In the queue, without a reservation."""
    ADMITTED = "ADMITTED"
    """It holds a reservation; its attempt is not running yet (launching, or waiting for preempted capacity)."""
    RUNNING = "RUNNING"
    """Its attempt runs."""
    STOPPING = "STOPPING"
    """Cancelled or over its time limit; its attempt still holds the reservation. ``Job.outcome``: what it will be."""
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"

    @property
    def is_final(self) -> bool:
        """Whether nothing follows any more."""
        return self in (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)


TRANSITIONS: Final[Mapping[JobState, frozenset[JobState]]] = MappingProxyType(
    {
        JobState.PENDING: frozenset(
            # SUCCEEDED, FAILED: an evicted driver that ended by itself within its grace period has ended.
            {JobState.ADMITTED, JobState.CANCELLED, JobState.SUCCEEDED, JobState.FAILED, JobState.STOPPING}
        ),
        JobState.ADMITTED: frozenset(
            {
                JobState.RUNNING,
                JobState.PENDING,
                JobState.STOPPING,
                JobState.SUCCEEDED,
                JobState.FAILED,
                JobState.CANCELLED,
            }
        ),
        JobState.RUNNING: frozenset({JobState.PENDING, JobState.STOPPING, JobState.SUCCEEDED, JobState.FAILED}),
        JobState.STOPPING: frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED}),
        JobState.SUCCEEDED: frozenset(),
        JobState.FAILED: frozenset(),
        JobState.CANCELLED: frozenset(),
    }
)


@dataclass(frozen=True, slots=True)
class Job:
    """Our record of a tenant's request: what the scheduler needs to know of it. Instants and durations in milliseconds.

    ``sequence`` breaks ties of ``submitted_at_ms`` (the order of the submits). ``done_ms`` is the work, at speed 1,
    that a checkpoint keeps. ``pending_since_ms`` is when it last became pending. ``backoff`` maps an option's index to
    the instant before which it is not tried again. ``version`` grows with each change of the record. No other job
    ever has its ``uid``, while its ``id`` may come again when the state is restored from a backup; "" is not known.
    """

    id: str
    tenant: str
    submitted_at_ms: int
    sequence: int
    options: tuple[Option, ...]
    time_limit_ms: int
    priority: int = 0
    preemptible: bool = True
    fallback: Fallback = Fallback.ORDERED
    fallback_after_ms: int = 0
    state: JobState = JobState.PENDING
    pending_since_ms: int = 0
    done_ms: int = 0
    backoff: Mapping[int, int] = field(default_factory=dict)
    attempts: int = 0
    evictions: int = 0
    outcome: JobState | None = None
    message: str = ""
    started_at_ms: int | None = None
    finished_at_ms: int | None = None
    version: int = 1
    uid: str = ""


class AttemptState(StrEnum):
    """Where one run of an admitted job stands."""

    RESERVED = "RESERVED"
    """Admitted, not launched: it waits for what was preempted for it (or for its own last attempt) to be gone."""
    LAUNCHED = "LAUNCHED"
    """The runner has been told to start it."""
    RUNNING = "RUNNING"
    STOPPING = "STOPPING"
    """The runner has been told to stop it. Evicted: ``holds_quota`` is false, what it held is already given on."""
    GONE = "GONE"
    """Nothing of it is left; it holds nothing."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of an admitted job, and with it the job's reservation. Attempts of a job are numbered from 1.

    ``admission`` is its place in the order of admission over all jobs. While ``holds_quota`` is true the attempt counts
    in the plan; while its state is LAUNCHED, RUNNING or STOPPING it counts as physically there, so that nothing is
    launched above quota or capacity while an evicted attempt is still on its way out.
    """

    job: str
    number: int
    option: int
    demand: Demand
    admission: int
    admitted_at_ms: int
    state: AttemptState = AttemptState.RESERVED
    holds_quota: bool = True
    launched_at_ms: int | None = None
    ready_at_ms: int | None = None
    ended_at_ms: int | None = None
    reason: str = ""
    exit_code: int | None = None

    @property
    def is_present(self) -> bool:
        """Whether processes or pods of it may exist."""
        return self.state in (AttemptState.LAUNCHED, AttemptState.RUNNING, AttemptState.STOPPING)
