"""What is told of the time to come of a job that waits: when it starts, what would help it, and what it costs."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Charge:
    """An amount of one resource of one flavor."""

    flavor: str
    resource: str
    amount: str


class HelpKind(StrEnum):
    """What is changed: the job's priority, its time limit or its ``fallback_after``, or its tenant's quota or limit."""

    PRIORITY = "PRIORITY"
    TIME_LIMIT = "TIME_LIMIT"
    QUOTA = "QUOTA"
    FALLBACK_AFTER = "FALLBACK_AFTER"
    RUNNING_JOBS = "RUNNING_JOBS"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True)
class Help:
    """A change after which a job would start now; it was tried out on a copy.

    ``message`` tells it: the end of a sentence that begins "it would start now with". Of the rest only what belongs to
    ``kind`` is set: the least ``priority``, the longest ``time_limit``, the ``rows`` that ``tenant`` needs more of, or
    how many ``max_running_jobs`` it needs.
    """

    kind: HelpKind
    message: str
    priority: int | None = None
    time_limit: timedelta | None = None
    rows: tuple[Charge, ...] = ()
    tenant: str = ""
    max_running_jobs: int | None = None


@dataclass(frozen=True, slots=True)
class OptionCost:
    """What one option of a job reserves of budgets until its time limit, in priced accelerator-hours."""

    option: int
    flavor: str
    accelerator_hours: Fraction


@dataclass(frozen=True, slots=True)
class JobForecast:
    """When a job that waits starts and finishes if nothing unforeseen comes. ``None``: not known.

    The earliest instants hold if jobs run as long as those of their tenants typically did, the latest ones if each
    needs its whole time limit; ``option``, ``flavor`` and ``evictions`` (the jobs that give way to it, as far as the
    caller may know them, of ``eviction_count`` in all) belong to the latest ones. Without any instant it starts by
    nothing that is known, or (``is_partial``) there was more to look at than there was time for; then it does not start
    before ``not_before``, if that is given.
    """

    earliest_start: datetime | None = None
    latest_start: datetime | None = None
    earliest_finish: datetime | None = None
    latest_finish: datetime | None = None
    option: int | None = None
    flavor: str = ""
    evictions: tuple[str, ...] = ()
    eviction_count: int = 0
    is_partial: bool = False
    not_before: datetime | None = None
    helps: tuple[Help, ...] = ()
    costs: tuple[OptionCost, ...] = ()
