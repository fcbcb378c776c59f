"""The configuration, tenants, flavors and what is used of them, as the client shows them.

Amounts are Kubernetes quantities in text, ratios exact fractions, instants in UTC.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Config:
    """One applied configuration. ``source`` is the YAML document as it was applied, ``etag`` names the version."""

    etag: str
    source: str
    create_time: datetime | None = None
    applied_by: str = ""
    comment: str = ""


@dataclass(frozen=True, slots=True)
class JobPreview:
    """What would become of one job, and why. ``flavor`` is what it would start on, or would lose.
    ``job`` is empty if the caller lacks the role admin.

    Of one that would wait, in a dry run: when it would start at the latest (``latest_start``), and when it does under
    the configuration in force (``latest_start_before``). ``None``: not by anything that is known, or not found out.
    """

    job: str
    flavor: str
    message: str
    latest_start: datetime | None = None
    latest_start_before: datetime | None = None


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """What a new version of the configuration changes: its text line by line, and the jobs of now.

    ``waits`` lists at most 100 of the ``waiting_count`` jobs that would wait. ``warnings`` say what of the
    configuration is kept but has no effect where the jobs run.
    """

    config: Config
    changes: tuple[str, ...] = ()
    starts: tuple[JobPreview, ...] = ()
    evictions: tuple[JobPreview, ...] = ()
    waits: tuple[JobPreview, ...] = ()
    waiting_count: int = 0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Quota:
    """What a tenant owns of one resource of one flavor, and how far it may borrow and lend."""

    flavor: str
    resource: str
    nominal: str
    borrowing_limit: str
    lending_limit: str


@dataclass(frozen=True, slots=True)
class Budget:
    """Priced accelerator-hours per period."""

    accelerator_hours: Fraction
    period: timedelta


@dataclass(frozen=True, slots=True)
class Tenant:
    """A node of the tenant tree. ``parent`` is "" for a root; ``allowed_flavors`` is ``None`` where all are allowed."""

    name: str
    parent: str = ""
    weight: Fraction = Fraction(1)
    is_leaf: bool = True
    quotas: tuple[Quota, ...] = ()
    budget: Budget | None = None
    allowed_flavors: tuple[str, ...] | None = None
    max_priority: int | None = None
    max_pending_jobs: int | None = None
    max_running_jobs: int | None = None
    namespace: str = ""
    usage: "TenantUsage | None" = None

    @property
    def id(self) -> str:
        """The last part of its name."""
        return self.name.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class QuotaUsage:
    """What is used of one resource of one flavor. ``nominal`` includes that of the tenants below."""

    flavor: str
    resource: str
    usage: str
    nominal: str
    borrowed: str
    lent: str


@dataclass(frozen=True, slots=True)
class TenantUsage:
    """What a tenant uses of its quota now, its subtree included.

    ``share`` is its dominant share: the greatest part that it uses of its whole tree's nominal quota, and
    ``dominant_resource`` (``accelerator``, ``cpu`` or ``memory``; "" if it uses nothing that counts) what it is of.
    ``entitlement`` is the part of the tree that the weights give it. ``weighted_share`` is ``share`` ÷ ``weight``, by
    which siblings take turns; ``None`` for weight 0, which is served last.
    """

    tenant: str
    rows: tuple[QuotaUsage, ...]
    share: Fraction
    weight: Fraction
    running_job_count: int
    pending_job_count: int
    dominant_resource: str = ""
    weighted_share: Fraction | None = None
    entitlement: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class FlavorCapacity:
    """What there is of one resource of a flavor: physically, as nominal quota, and in use.

    ``nominal`` is ``UNLIMITED`` where no tenant declares any: what is not declared is not limited by quota.
    """

    resource: str
    capacity: str
    nominal: str
    usage: str


@dataclass(frozen=True, slots=True)
class Flavor:
    """One kind of capacity. ``price`` is what one accelerator counts in shares and budgets."""

    name: str
    price: Fraction
    resource: str = ""
    capacities: tuple[FlavorCapacity, ...] = ()
    node_labels: Mapping[str, str] = field(default_factory=dict)
    kueue_flavor: str = ""
    default_for_cpu_pods: bool = False

    @property
    def id(self) -> str:
        """The last part of its name."""
        return self.name.rpartition("/")[2]
