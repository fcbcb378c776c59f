"""What every tenant uses, owns, borrows and lends, for people to look at. Nothing is decided by these figures."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from fairgate_scheduler.core.amounts import Amount, Row, total
from fairgate_scheduler.core.quota import DIMENSIONS, QuotaTree, dimension, lower, quota_tree
from fairgate_scheduler.core.snapshot import Snapshot
from fairgate_scheduler.core.usage import Bounds, Usage


@dataclass(frozen=True, slots=True)
class TenantUsage:
    """One tenant's figures, its subtree included, by row: all rows that its tree declares, and in ``usage`` also those
    that it uses undeclared.

    ``nominal``: what the tenant itself owns, ``subtree_nominal``: with all tenants below it. ``subtree_quota``: with
    only what those lend it. ``borrowed``: what it uses beyond its subtree quota. ``lent``: what of its subtree quota
    its siblings use; where several could be the lender each is told the most that it can be.
    ``share``: the dominant share, the largest part that it uses of all nominal quota of its tree, and ``dominant`` the
    resource (see ``quota.DIMENSIONS``) that it is of. ``weighted_share``: share ÷ weight, ``None`` for weight 0, which
    is served last. ``entitlement``: the part of its tree that the weights give it.
    """

    usage: Mapping[Row, Amount]
    nominal: Mapping[Row, Amount]
    subtree_nominal: Mapping[Row, Amount]
    subtree_quota: Mapping[Row, Amount]
    borrowed: Mapping[Row, Amount]
    lent: Mapping[Row, Amount]
    share: Fraction
    dominant: str | None
    weighted_share: Fraction | None
    entitlement: Fraction
    running_jobs: int


def usage_by_tenant(snapshot: Snapshot) -> Mapping[str, Mapping[Row, Amount]]:
    """What the running jobs of each tenant use, its subtree included; rows of which nothing is used are left out."""
    config = snapshot.config
    demands: dict[str, list[Mapping[Row, Amount]]] = {tenant: [] for tenant in sorted(config.tenants)}
    for running in snapshot.running:
        for tenant in config.paths[running.job.tenant]:
            demands[tenant].append(running.attempt.demand)
    return {
        tenant: {row: amount for row, amount in sorted(total(mine).items()) if amount}
        for tenant, mine in demands.items()
    }


def tenant_accounts(snapshot: Snapshot) -> Mapping[str, TenantUsage]:
    """The figures of every tenant, by id."""
    tree = quota_tree(snapshot.config)
    bounds = Bounds(tree, snapshot.capacity)
    books = Usage(bounds)
    counts = dict.fromkeys(tree.ids, 0)
    for running in snapshot.running:
        books.add(bounds.charge(running.job.tenant, running.attempt.demand))
        for tenant in snapshot.config.paths[running.job.tenant]:
            counts[tenant] += 1
    usage = usage_by_tenant(snapshot)
    return {tenant: _account(tree, node, books, usage[tenant], counts[tenant]) for node, tenant in enumerate(tree.ids)}


def _account(tree: QuotaTree, node: int, books: Usage, usage: Mapping[Row, Amount], running_jobs: int) -> TenantUsage:
    declared = sorted(tree.declared[tree.root[node]])
    shares = _shares(tree, tree.root[node], usage)
    share = max(shares.values(), default=Fraction(0))
    dominant = next((name for name, each in shares.items() if each == share), None) if share else None
    weight = tree.config.tenants[tree.ids[node]].weight
    rows = {row: tree.rows[row] for row in declared}
    return TenantUsage(
        usage={**dict.fromkeys(rows.values(), 0), **usage},
        nominal={name: lower(tree.tables[row].nominal[node]) for row, name in rows.items()},
        subtree_nominal={name: lower(_subtree_nominal(tree, row, node)) for row, name in rows.items()},
        subtree_quota={name: lower(tree.tables[row].quota[node]) for row, name in rows.items()},
        borrowed={name: lower(_borrowed(tree, row, node, books)) for row, name in rows.items()},
        lent={name: lower(_lent(tree, row, node, books)) for row, name in rows.items()},
        share=share,
        dominant=dominant,
        weighted_share=share / weight if weight else None,
        entitlement=_entitlement(tree, node),
        running_jobs=running_jobs,
    )


def _shares(tree: QuotaTree, root: int, usage: Mapping[Row, Amount]) -> Mapping[str, Fraction]:
    out = {DIMENSIONS[place]: Fraction(0) for place in sorted(tree.totals[root])}
    for row, amount in usage.items():
        place = dimension(row[1])
        if place is not None and place in tree.totals[root] and tree.row_index.get(row) in tree.declared[root]:
            out[DIMENSIONS[place]] += amount * tree.price(row) / tree.totals[root][place]
    return out


def _subtree_nominal(tree: QuotaTree, row: int, node: int) -> int:
    below = (_subtree_nominal(tree, row, child) for child in tree.children[node])
    return tree.tables[row].nominal[node] + sum(below)


def _borrowed(tree: QuotaTree, row: int, node: int, books: Usage) -> int:
    return max(0, books.used[row][node] - tree.tables[row].quota[node])


def _lent(tree: QuotaTree, row: int, node: int, books: Usage) -> int:
    """What it has to spare, at most what its siblings borrow beyond what the tenant above owns itself."""
    if node == tree.root[node]:
        return 0
    table, parent = tree.tables[row], tree.paths[node][1]
    spare = max(0, table.quota[node] - max(table.kept[node], books.used[row][node]))
    borrowed = sum(_borrowed(tree, row, each, books) for each in tree.children[parent])
    return min(spare, max(0, borrowed - table.nominal[parent]))


def _entitlement(tree: QuotaTree, node: int) -> Fraction:
    """The weights' part, from the root down; siblings that all have weight 0 part equally."""
    part = Fraction(1)
    for each in tree.paths[node][:-1]:
        siblings = tree.children[tree.paths[each][1]]
        weights = {sibling: tree.config.tenants[tree.ids[sibling]].weight for sibling in siblings}
        whole = sum(weights.values(), Fraction(0))
        part *= weights[each] / whole if whole else Fraction(1, len(siblings))
    return part
