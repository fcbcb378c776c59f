"""The tenant tree, flavors, quotas and policy: what platform admins own.

A ``Config`` is one immutable version of all of it. ``check_config`` says everything that is wrong with one; the rest
of the core takes a checked config for granted.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import cached_property

from fairgate_scheduler.core.amounts import Amount, Row


@dataclass(frozen=True, slots=True)
class Quota:
    """What a tenant owns of one row, and how far it may borrow and lend. ``None``: without limit."""

    nominal: Amount = 0
    borrowing_limit: Amount | None = None
    lending_limit: Amount | None = None


@dataclass(frozen=True, slots=True)
class Flavor:
    """One kind of capacity. ``price`` is what one accelerator counts in shares and budgets.

    ``capacity`` is what is physically there; ``None``: the sum of the nominal quotas of a row that has any.
    ``resource`` is the accelerator that it offers; ``None`` for plain CPU flavors.
    """

    name: str
    price: Fraction = Fraction(1)
    resource: str | None = None
    capacity: Mapping[str, Amount] | None = None
    node_labels: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, str], ...] = ()
    kueue_flavor: str | None = None
    default_for_cpu_pods: bool = False


@dataclass(frozen=True, slots=True)
class Budget:
    """Priced accelerator-hours that a tenant may use in each period; periods lie end to end from time 0."""

    accelerator_hours: Fraction
    period_ms: int


@dataclass(frozen=True, slots=True)
class Tenant:
    """A node of the tenant tree. Leaves submit jobs; inner tenants may own quota too.

    ``id`` is unique in the config. ``weight`` 0 is served last, but is protected within its nominal quota.
    """

    id: str
    parent: str | None = None
    weight: Fraction = Fraction(1)
    quota: Mapping[Row, Quota] = field(default_factory=dict)
    budget: Budget | None = None
    allowed_flavors: frozenset[str] | None = None
    max_priority: int | None = None
    max_pending_jobs: int | None = None
    max_running_jobs: int | None = None
    namespace: str | None = None
    service_accounts: tuple[str, ...] = ()
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class QuotaCut(StrEnum):
    """What becomes of jobs that run above a lowered quota."""

    DRAIN = "drain"
    RECLAIM = "reclaim"


@dataclass(frozen=True, slots=True)
class Policy:
    """The switches of the fair share; every default is what most clusters want. Durations in milliseconds."""

    reclaim: bool = True
    rebalance: bool = False
    priority_preemption: bool = True
    min_runtime_ms: int = 0
    backfill_after_ms: int | None = None
    quota_cut: QuotaCut = QuotaCut.DRAIN
    ready_timeout_ms: int = 600_000
    option_backoff_ms: int = 600_000
    history_half_life_ms: int | None = None
    dominant_resources: tuple[str, ...] = ("accelerator", "cpu", "memory")


@dataclass(frozen=True)
class Config:
    """One immutable version of flavors, tenants and policy.

    ``speeds`` maps a workload class to the speed of each flavor for options that name no speed; 0 = does not run there.
    """

    flavors: Mapping[str, Flavor] = field(default_factory=dict)
    tenants: Mapping[str, Tenant] = field(default_factory=dict)
    policy: Policy = Policy()
    priorities: Mapping[str, int] = field(default_factory=dict)
    speeds: Mapping[str, Mapping[str, Fraction]] = field(default_factory=dict)

    @cached_property
    def children(self) -> Mapping[str | None, tuple[str, ...]]:
        """The children of each tenant in the order of their ids; the roots under ``None``."""
        out: dict[str | None, list[str]] = {}
        for tenant in self.tenants.values():
            out.setdefault(tenant.parent, []).append(tenant.id)
        return {parent: tuple(sorted(ids)) for parent, ids in out.items()}

    @cached_property
    def paths(self) -> Mapping[str, tuple[str, ...]]:
        """From each tenant up to its root, the tenant itself first. Takes for granted that there is no cycle."""
        return {tenant: tuple(self._upwards(tenant)) for tenant in self.tenants}

    @cached_property
    def cpu_flavor(self) -> str | None:
        """The flavor of heads, submitters and CPU groups that name none."""
        return next((flavor.name for flavor in self.flavors.values() if flavor.default_for_cpu_pods), None)

    def is_leaf(self, tenant: str) -> bool:
        """Whether jobs can be submitted to this tenant."""
        return tenant in self.tenants and not self.children.get(tenant)

    def _upwards(self, tenant: str) -> Iterator[str]:
        at: str | None = tenant
        while at is not None:
            yield at
            at = self.tenants[at].parent
