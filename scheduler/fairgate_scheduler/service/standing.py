"""Where a tenant stands: what it uses against what it owns, row by row, and its share."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from fairgate_scheduler.core.amounts import UNLIMITED, Amount, Row, add, subtract, total
from fairgate_scheduler.core.quota import QuotaTree, dimension, quota_tree
from fairgate_scheduler.core.tenancy import Config, Tenant
from fairgate_scheduler.service import quota
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.quota import FlavorUsage, TenantUsage


@dataclass(frozen=True, slots=True)
class RowStanding:
    """One row. ``nominal`` is that of the whole subtree, ``borrowed`` what is used above it.

    A row for which no tenant of the tree declares quota is not limited: its nominal is ``UNLIMITED``.

    ``lent`` is what others of the tree must be using of it, because together they use more than they own.
    """

    row: Row
    used: Amount
    nominal: Amount
    borrowed: Amount
    lent: Amount


@dataclass(frozen=True, slots=True)
class Standing:
    """One tenant with its subtree. ``share`` is its dominant share ÷ weight (of weight 0: undivided)."""

    usage: TenantUsage
    is_leaf: bool
    rows: tuple[RowStanding, ...]
    share: Fraction


@dataclass(frozen=True, slots=True)
class FlavorStanding:
    """One flavor: what is reserved and there of it, and what all tenants together own, by resource."""

    usage: FlavorUsage
    nominal: Mapping[str, Amount]


def list_standings(app: App) -> list[Standing]:
    """Every tenant's, parents before their children, all at one moment."""
    with app.world() as world:
        config, usages = world.config, quota.list_tenants(app)
    return list(_standings(config, usages, [usage.tenant.id for usage in usages]))


def get_standing(app: App, tenant: str) -> Standing:
    """One tenant's. Raises NotFound."""
    with app.world() as world:
        quota.tenant_usage(app, tenant)
        config, usages = world.config, quota.list_tenants(app)
    return next(_standings(config, usages, [tenant]))


def list_flavor_standings(app: App) -> list[FlavorStanding]:
    """Every flavor's, by name."""
    with app.world() as world:
        config, flavors = world.config, quota.list_flavors(app)
    owned = total(_nominals(tenant) for tenant in config.tenants.values())
    out = []
    for each in flavors:
        mine = {resource: amount for (flavor, resource), amount in owned.items() if flavor == each.flavor.name}
        out.append(FlavorStanding(each, mine))
    return out


def _standings(config: Config, usages: Sequence[TenantUsage], tenants: Sequence[str]) -> Iterator[Standing]:
    usage_of = {usage.tenant.id: usage for usage in usages}
    owned: dict[str, dict[Row, Amount]] = {tenant: {} for tenant in usage_of}
    for tenant, path in config.paths.items():
        for above in path:
            for row, amount in _nominals(config.tenants[tenant]).items():
                owned[above][row] = add(owned[above].get(row, 0), amount)
    for tenant in tenants:
        root = config.paths[tenant][-1]
        mine, everybody = usage_of[tenant].reserved, usage_of[root].reserved
        declared = owned[root].keys()
        rows = tuple(
            _row(row, (mine.get(row, 0), everybody.get(row, 0)), (owned[tenant].get(row, 0), owned[root][row]))
            if row in declared
            else RowStanding(row, mine[row], UNLIMITED, 0, 0)
            for row in sorted(owned[tenant].keys() | mine.keys())
        )
        yield Standing(usage_of[tenant], config.is_leaf(tenant), rows, _share(quota_tree(config), usage_of[tenant]))


def _row(row: Row, used: tuple[Amount, Amount], owned: tuple[Amount, Amount]) -> RowStanding:
    """``used`` and ``owned`` of this tenant and of its whole tree."""
    mine, nominal = used[0], owned[0]
    others_borrow = (used[1] - mine) - subtract(owned[1], nominal)
    lent = max(0, min(nominal - mine, others_borrow))
    return RowStanding(row, mine, nominal, max(0, mine - nominal), lent)


def _share(tree: QuotaTree, usage: TenantUsage) -> Fraction:
    totals = tree.totals[tree.root[tree.index[usage.tenant.id]]]
    parts = dict.fromkeys(totals, Fraction(0))
    for row, amount in usage.reserved.items():
        place = dimension(row[1])
        if place in parts and row in tree.row_index:
            parts[place] += amount * tree.price(row) / totals[place]
    return max(parts.values(), default=Fraction(0)) / (usage.tenant.weight or 1)


def _nominals(tenant: Tenant) -> Mapping[Row, Amount]:
    return {row: each.nominal for row, each in tenant.quota.items()}
