"""Where tenants and flavors stand, for people to look at: what is used against what is owned. Decides nothing."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from fairgate_scheduler.core.accounts import TenantUsage, tenant_accounts
from fairgate_scheduler.core.amounts import UNLIMITED, Amount, Row, total
from fairgate_scheduler.core.snapshot import Snapshot
from fairgate_scheduler.core.tenancy import Config, Flavor, Tenant
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.errors import NotFound


@dataclass(frozen=True, slots=True)
class RowStanding:
    """One row of a tenant's account. ``nominal`` is what it and all tenants below it own.

    A row for which no tenant of the tree declares quota is not limited: its nominal is ``UNLIMITED``.
    """

    row: Row
    used: Amount
    nominal: Amount
    borrowed: Amount
    lent: Amount


@dataclass(frozen=True, slots=True)
class Standing:
    """One tenant with its subtree at one moment; ``account`` has the figures, ``pending_jobs`` says how many wait."""

    tenant: Tenant
    is_leaf: bool
    account: TenantUsage
    pending_jobs: int

    @property
    def rows(self) -> tuple[RowStanding, ...]:
        """The rows of which it owns, may borrow or uses something, in order."""
        account = self.account
        return tuple(
            RowStanding(
                row,
                used,
                account.subtree_nominal.get(row, UNLIMITED),
                account.borrowed.get(row, 0),
                account.lent.get(row, 0),
            )
            for row, used in sorted(account.usage.items())
            if used or account.subtree_nominal.get(row) or row in self.tenant.quota
        )


@dataclass(frozen=True, slots=True)
class FlavorStanding:
    """One flavor, by resource: what running jobs hold of it, what is there (left out where nobody says), and what all
    tenants together own."""

    flavor: Flavor
    used: Mapping[str, Amount]
    capacity: Mapping[str, Amount]
    nominal: Mapping[str, Amount]


def list_tenants(app: App) -> list[Standing]:
    """Every tenant's, parents before their children, all at one moment."""
    snapshot = app.snapshot()
    config = snapshot.config
    accounts = tenant_accounts(snapshot)
    pending = _pending_jobs(snapshot)
    return [
        Standing(config.tenants[tenant], config.is_leaf(tenant), accounts[tenant], pending[tenant])
        for tenant in sorted(config.tenants, key=lambda each: config.paths[each][::-1])
    ]


def get_tenant(app: App, tenant: str) -> Standing:
    """One tenant's. Raises NotFound."""
    found = {each.tenant.id: each for each in list_tenants(app)}
    if tenant not in found:
        raise NotFound(f"there is no tenant {tenant!r}", field="name", remedy="see: fairgate get tenants")
    return found[tenant]


def list_flavors(app: App) -> list[FlavorStanding]:
    """Every flavor's, by name."""
    snapshot = app.snapshot()
    config = snapshot.config
    used = total(entry.attempt.demand for entry in snapshot.running)
    owned = _owned(config)
    return [
        FlavorStanding(
            flavor,
            _of(name, used),
            _of(name, owned) if flavor.capacity is None else flavor.capacity,
            _of(name, owned),
        )
        for name, flavor in sorted(config.flavors.items())
    ]


def _pending_jobs(snapshot: Snapshot) -> Counter[str]:
    out: Counter[str] = Counter()
    for leaf, count in Counter(job.tenant for job in snapshot.pending).items():
        for tenant in snapshot.config.paths[leaf]:
            out[tenant] += count
    return out


def _owned(config: Config) -> Mapping[Row, Amount]:
    quotas = (tenant.quota for tenant in config.tenants.values())
    return total({row: quota.nominal for row, quota in each.items()} for each in quotas)


def _of(flavor: str, amounts: Mapping[Row, Amount]) -> dict[str, Amount]:
    return {resource: amount for (name, resource), amount in sorted(amounts.items()) if name == flavor}
