"""The frozen world that one cycle sees, and the plan that comes of it: input, output and item of a cycle."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from fairgate_scheduler.core.amounts import Amount, Row
from fairgate_scheduler.core.jobs import Attempt, Job
from fairgate_scheduler.core.tenancy import Config


@dataclass(frozen=True, slots=True)
class Running:
    """A job whose current attempt holds quota. ``leaving``: it is being stopped for another reason than the plan
    (cancelled, over its time limit); it keeps its place until it is gone and can not be evicted."""

    job: Job
    attempt: Attempt
    leaving: bool = False


@dataclass(frozen=True, slots=True)
class History:
    """What a tenant used before now: the decayed mean of its dominant share, and until when it is reckoned."""

    value: Fraction
    settled_at_ms: int


@dataclass(frozen=True, slots=True)
class Chosen:
    """The option that a job with ``fallback: soonest`` chose last, and when. At that instant it stands."""

    option: int
    at_ms: int


@dataclass(frozen=True)
class Snapshot:
    """All that a plan depends on. ``capacity`` overrides what the flavors say is physically there, row by row.

    ``running`` is in the order of admission; ``pending`` is in any order. ``history`` by tenant, settled at the instant
    of the plan. ``spent``: tenant → what attempts that have ended used of its budget in the current period, its subtree
    included, in priced accelerator-milliseconds. ``choices``: by job, of those with ``fallback: soonest``.
    """

    config: Config
    running: tuple[Running, ...] = ()
    pending: tuple[Job, ...] = ()
    capacity: Mapping[Row, Amount] = field(default_factory=dict)
    history: Mapping[str, History] = field(default_factory=dict)
    spent: Mapping[str, Fraction] = field(default_factory=dict)
    choices: Mapping[str, Chosen] = field(default_factory=dict)


class HoldReason(StrEnum):
    """Why a job does not run now. When several are true the first of this list is told (but WAITING_FOR_PREEMPTED,
    which only an admitted job has, and SUSPENDED)."""

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


@dataclass(frozen=True, slots=True)
class Admit:
    """The decision that a job may run, on which of its options."""

    job: str
    option: int


@dataclass(frozen=True, slots=True)
class Preempt:
    """The decision that a running job gives way. ``reason`` says why in a sentence; ``for_jobs`` whom it was for."""

    job: str
    reason: str
    for_jobs: tuple[str, ...] = ()


Decision = Admit | Preempt


@dataclass(frozen=True, slots=True)
class Plan:
    """What one cycle decided, evictions first, admissions in the order of placing. Empty: nothing changes.

    ``choices``: what jobs with ``fallback: soonest`` chose for this plan; keep them for the next one. They alone change
    nothing.
    """

    preemptions: tuple[Preempt, ...] = ()
    admissions: tuple[Admit, ...] = ()
    choices: Mapping[str, Chosen] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.preemptions or self.admissions)


@dataclass(frozen=True, slots=True)
class Need:
    """One row that an option asks for and does not get. ``holders``: tenant id → what its running jobs use of it."""

    row: Row
    need: Amount
    have: Amount
    at: str
    """The tenant whose quota is in the way, or "" where the physical capacity is."""
    holders: Mapping[str, Amount] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OptionReport:
    """Why one option of a pending job is not taken now."""

    index: int
    flavor: str
    reason: str
    needs: tuple[Need, ...] = ()


@dataclass(frozen=True, slots=True)
class Hold:
    """The decision not to run a job now, in full. Computed when somebody asks, never for the whole queue."""

    job: str
    reason: HoldReason
    message: str
    options: tuple[OptionReport, ...] = ()
    position: int | None = None
    """Its place in its tenant's order, from 1."""
