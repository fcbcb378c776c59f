"""The quota tree of one config as integer tables: who owns, keeps, lends and may use how much of each row.

The arithmetic is that of Kueue's hierarchical cohorts (``pkg/cache/scheduler/resource_node.go``), so that what fits
here fits in the cluster's quota line: of its subtree's quota a tenant keeps all but its lending limit for itself; what
it uses beyond that is used up at its parent, and so on up to the root, which borrows from nobody.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Final

from fairgate_scheduler.core.amounts import UNLIMITED, Amount, Row, is_accelerator
from fairgate_scheduler.core.tenancy import Config, Quota

BOUNDLESS: Final = 1 << 128
"""No bound, inside the arithmetic: above every sum of amounts (each below 2**63), so it needs no special case."""

DIMENSIONS: Final = ("accelerator", "cpu", "memory")
"""The resources that a share is measured in; every accelerator of every flavor is one resource, priced."""

_CACHE: Final = "_quota_tree"
_NOTHING: Final = Quota()


def lift(amount: Amount | None) -> int:
    """A bound as the tables hold it: ``None`` and ``UNLIMITED`` are ``BOUNDLESS``."""
    return BOUNDLESS if amount is None or amount >= UNLIMITED else amount


def lower(amount: int) -> Amount:
    """A number of the tables as an amount: saturated at ``UNLIMITED``."""
    return min(amount, UNLIMITED)


def dimension(resource: str) -> int | None:
    """The place of a resource in ``DIMENSIONS``; ``None``: it is in no share."""
    if resource in DIMENSIONS[1:]:
        return DIMENSIONS.index(resource)
    return 0 if is_accelerator(resource) else None


@dataclass(frozen=True, slots=True)
class Table:
    """One row's numbers, by node: subtree quota, what of it is kept at home, and the most that may be used."""

    nominal: Sequence[int]
    quota: Sequence[int]
    kept: Sequence[int]
    ceiling: Sequence[int]


class QuotaTree:
    """Everything about quotas and shares that depends on nothing but the config. Tenants and rows are numbered.

    Tenants are numbered in the order of their ids, so that the order of siblings is the order of their numbers.
    ``coefficients[root][row]`` is what one unit of the row adds to the share, times a number common to all: integers,
    so that shares compare exactly without fractions. That number is ``unit``: what a share of 1 counts.
    ``multipliers`` do the same for ``1 ÷ weight``; 0 for weight 0.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.ids = tuple(sorted(config.tenants))
        self.index = {tenant: number for number, tenant in enumerate(self.ids)}
        self.paths = tuple(tuple(self.index[each] for each in config.paths[tenant]) for tenant in self.ids)
        self.roots = tuple(number for number, path in enumerate(self.paths) if len(path) == 1)
        self.root = tuple(path[-1] for path in self.paths)
        self.children = tuple(
            tuple(self.index[child] for child in config.children.get(tenant, ())) for tenant in self.ids
        )
        self.leaves = tuple(number for number, children in enumerate(self.children) if not children)
        self.deepest_first = tuple(sorted(range(len(self.ids)), key=lambda number: (-len(self.paths[number]), number)))
        self.rows: tuple[Row, ...] = tuple(sorted(set(self._all_rows())))
        self.row_index = {row: number for number, row in enumerate(self.rows)}
        self.tables = tuple(self._table(row) for row in self.rows)
        self.declared = {root: frozenset(self._rows_of(root, owned=False)) for root in self.roots}
        self.owned = {root: frozenset(self._rows_of(root, owned=True)) for root in self.roots}
        self.capacity = tuple(self._capacity(row) for row in self.rows)
        self.multipliers = self._multipliers()
        self.totals = {root: self._totals(root) for root in self.roots}
        self.unit, self.coefficients = self._coefficients()

    def members(self, root: int) -> Iterator[int]:
        """All tenants of a root's tree."""
        return (number for number, own in enumerate(self.root) if own == root)

    def owns(self, node: int) -> bool:
        """Whether any nominal quota below the root is this tenant's, or is lent to it by its children."""
        return any(self.tables[row].quota[node] for row in self.owned[self.root[node]])

    def price(self, row: Row) -> Fraction:
        """What one unit of a row counts in its dimension of the share."""
        return self.config.flavors[row[0]].price if is_accelerator(row[1]) else Fraction(1)

    def _all_rows(self) -> Iterator[Row]:
        for tenant in self.config.tenants.values():
            yield from tenant.quota
        for flavor in self.config.flavors.values():
            yield from ((flavor.name, resource) for resource in flavor.capacity or ())

    def _table(self, row: Row) -> Table:
        quotas = [self.config.tenants[tenant].quota.get(row, _NOTHING) for tenant in self.ids]
        nominal = [lift(quota.nominal) for quota in quotas]
        subtree, kept, ceiling = list(nominal), [0] * len(quotas), [BOUNDLESS] * len(quotas)
        for node in self.deepest_first:
            own, mine = quotas[node], subtree[node]
            lent = min(mine, lift(own.lending_limit))
            kept[node] = mine - lent
            if len(self.paths[node]) == 1:
                ceiling[node] = mine
                continue
            subtree[self.paths[node][1]] += lent
            if own.borrowing_limit is not None:
                ceiling[node] = mine + lift(own.borrowing_limit)
        return Table(nominal, subtree, kept, ceiling)

    def _rows_of(self, root: int, *, owned: bool) -> Iterator[int]:
        for node in self.members(root):
            for row, quota in self.config.tenants[self.ids[node]].quota.items():
                if not owned or (node != root and quota.nominal):
                    yield self.row_index[row]

    def _capacity(self, row: Row) -> int:
        listed = self.config.flavors[row[0]].capacity if row[0] in self.config.flavors else None
        if listed is not None:
            return lift(listed.get(row[1]))
        nominal = [tenant.quota[row].nominal for tenant in self.config.tenants.values() if row in tenant.quota]
        return sum(map(lift, nominal)) if nominal else BOUNDLESS

    def _multipliers(self) -> tuple[int, ...]:
        weights = [self.config.tenants[tenant].weight for tenant in self.ids]
        common = lcm(*(weight.numerator for weight in weights if weight))
        return tuple(weight.denominator * (common // weight.numerator) if weight else 0 for weight in weights)

    def _totals(self, root: int) -> Mapping[int, Fraction]:
        """What the whole tree owns of each dimension that counts, priced; those of which it owns nothing left out."""
        out: dict[int, Fraction] = {}
        for node in self.members(root):
            for row, quota in self.config.tenants[self.ids[node]].quota.items():
                place = dimension(row[1])
                if place is not None and quota.nominal and DIMENSIONS[place] in self.config.policy.dominant_resources:
                    out[place] = out.get(place, Fraction(0)) + quota.nominal * self.price(row)
        return {place: total for place, total in out.items() if total}

    def _coefficients(self) -> tuple[int, Mapping[int, Mapping[int, int]]]:
        exact: dict[int, dict[int, Fraction]] = {root: {} for root in self.roots}
        for root in self.roots:
            for row in sorted(self.declared[root]):
                place = dimension(self.rows[row][1])
                if place is not None and place in self.totals[root]:
                    exact[root][row] = self.price(self.rows[row]) / self.totals[root][place]
        common = lcm(*(each.denominator for rows in exact.values() for each in rows.values()))
        return common, {root: {row: int(each * common) for row, each in rows.items()} for root, rows in exact.items()}


def quota_tree(config: Config) -> QuotaTree:
    """The tree of a config, made once and kept with it, as ``functools.cached_property`` would."""
    cached: QuotaTree | None = vars(config).get(_CACHE)
    if cached is None:
        cached = vars(config)[_CACHE] = QuotaTree(config)
    return cached
