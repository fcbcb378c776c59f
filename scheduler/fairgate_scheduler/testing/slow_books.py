"""Quota, use and shares by their definitions, computed anew for every question: slow, short and meant to be read.

The counterpart of the core's own books, for tests that hold the two against each other. Nothing here is shared with
the core's arithmetic: a set of jobs is a list, what it uses is summed up from that list each time, shares are
``Fraction``. Only the input (config, jobs, amounts) is the core's.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cached_property
from typing import Final, NamedTuple

from fairgate_scheduler.core.amounts import UNLIMITED, Amount, Demand, Row, is_accelerator
from fairgate_scheduler.core.tenancy import Config, Quota

DIMENSIONS: Final = ("accelerator", "cpu", "memory")
"""What a share is measured in."""

_NOTHING: Final = Quota()

Vector = Mapping[str, Fraction]
"""What a tenant uses, by dimension. Accelerators are priced."""

ShareKey = tuple[bool, tuple[Fraction, ...]]
"""What siblings are compared by: weight 0 last, then the weighted shares, largest first."""


class Held(NamedTuple):
    """What one job takes, and who pays."""

    tenant: str
    demand: Demand


class SlowBooks:
    """The definitions, for one config and what is physically there (``capacity`` overrides the config, by row).

    ``history``: what each tenant has used before, as a share.
    """

    def __init__(
        self, config: Config, capacity: Mapping[Row, Amount], history: Mapping[str, Fraction] | None = None
    ) -> None:
        self.config = config
        self.history = history or {}
        self.capacity = capacity
        # What depends on nothing but the config is kept; about jobs nothing is.
        self._quotas: dict[tuple[str, Row], Amount] = {}
        self._declared: dict[str, set[Row]] = {}

    # ---- who owns what

    def root(self, node: str) -> str:
        """The root of a tenant's tree."""
        return self.config.paths[node][-1]

    def tree(self, node: str) -> list[str]:
        """All tenants of a tenant's tree."""
        return [each for each, path in self.config.paths.items() if path[-1] == self.root(node)]

    def quota(self, node: str, row: Row) -> Amount:
        """Its own nominal, and what its children lend it."""
        key = node, row
        if key not in self._quotas:
            lent = sum(self._lent(child, row) for child in self.config.children.get(node, ()))
            self._quotas[key] = self._row(node, row).nominal + lent
        return self._quotas[key]

    def ceiling(self, node: str, row: Row) -> Amount | None:
        """The most that it may use; ``None``: no bound here. A root borrows from nobody."""
        limit = self._row(node, row).borrowing_limit
        if node == self.root(node):
            return self.quota(node, row)
        return None if limit is None else self.quota(node, row) + limit

    def declared(self, node: str) -> set[Row]:
        """The rows of which any tenant of its tree declares quota: all others are not limited by quota there."""
        root = self.root(node)
        if root not in self._declared:
            self._declared[root] = {row for each in self.tree(node) for row in self.config.tenants[each].quota}
        return self._declared[root]

    def owned(self, node: str) -> set[Row]:
        """The rows of which a tenant of its tree, below the root, has nominal quota."""
        below = [self.config.tenants[each] for each in self.tree(node) if each != self.root(node)]
        return {row for each in below for row, quota in each.quota.items() if quota.nominal}

    def owns(self, node: str) -> bool:
        """Whether it has any nominal quota: its own, or lent by those below it."""
        return any(self.quota(node, row) for row in self.owned(node))

    def physical(self, row: Row) -> Amount | None:
        """What is there of a row; ``None``: no bound."""
        if row in self.capacity:
            return self.capacity[row]
        flavor = self.config.flavors.get(row[0])
        if flavor is not None and flavor.capacity is not None:
            return flavor.capacity.get(row[1])
        nominal = [each.quota[row].nominal for each in self.config.tenants.values() if row in each.quota]
        return sum(nominal) if nominal and UNLIMITED not in nominal else None

    # ---- what a list of jobs uses

    def used(self, jobs: Iterable[Held], node: str, row: Row) -> Amount:
        """Its own use, and of each child's what the child can not serve from what it keeps for itself."""
        own = dict.fromkeys(self.config.tenants, 0)
        for job in jobs:
            own[job.tenant] += job.demand.get(row, 0)

        def used_by(one: str) -> Amount:
            below = (max(0, used_by(child) - self._kept(child, row)) for child in self.config.children.get(one, ()))
            return own[one] + sum(below)

        return used_by(node)

    def used_physically(self, jobs: Iterable[Held], row: Row) -> Amount:
        """What all of them use of a row."""
        return sum(job.demand.get(row, 0) for job in jobs)

    def fits(
        self,
        jobs: list[Held],
        job: Held,
        floor: Mapping[tuple[str, Row], Amount] | None = None,
        *,
        only: set[Row] | None = None,
    ) -> bool:
        """Whether a job fits beside others. ``floor``: (tenant, or "" for the capacity, and row) → a higher bound.

        ``only``: no other rows are asked for.
        """
        rows = [row for row, amount in job.demand.items() if amount and (only is None or row in only)]
        raised = floor or {}
        return all(self._fits_physically(jobs, job, row, raised) for row in rows) and all(
            self._fits_at(jobs, job, node, row, raised)
            for row in rows
            if row in self.declared(job.tenant)
            for node in self.config.paths[job.tenant]
        )

    def fits_quota(self, jobs: list[Held], job: Held) -> bool:
        """Whether there is quota for it, whatever is there."""
        rows = [row for row, amount in job.demand.items() if amount and row in self.declared(job.tenant)]
        return all(self._fits_at(jobs, job, node, row, {}) for row in rows for node in self.config.paths[job.tenant])

    def within(self, jobs: list[Held], node: str, job: Held) -> bool:
        """Whether a tenant would stay within its nominal quota with this job of its subtree.

        Asked of the job's rows that are owned below the root; a job without any is within nobody's nominal.
        """
        rows = [row for row, amount in job.demand.items() if amount and row in self.owned(node)]
        for row in rows:
            after = self.used([*jobs, job], node, row)
            if after > self.used(jobs, node, row) and after > self.quota(node, row):
                return False
        return bool(rows)

    # ---- shares

    def key(self, counted: list[Held], node: str, active: set[str]) -> ShareKey:
        """What a tenant is compared with its siblings by; ``active``: those that have a job that can be placed."""
        weight = self.config.tenants[node].weight
        vector = self._vector(counted, node, active)
        totals = self._totals(node)
        shares = sorted(vector[name] / totals[name] if name in totals else Fraction(0) for name in DIMENSIONS)[::-1]
        shares[0] += self.history.get(node, Fraction(0))
        return not weight, tuple(share / weight if weight else share for share in shares)

    def _vector(self, counted: list[Held], node: str, active: set[str]) -> Vector:
        """Of a leaf what it uses; of an inner tenant the sum of its children's, the active ones rescaled to the least
        share among them."""
        children = self.config.children.get(node, ())
        if not children:
            return self._priced([job for job in counted if job.tenant == node], node)
        keys = {child: self.key(counted, child, active) for child in children}
        least = min((keys[child] for child in children if child in active), default=None)
        out = dict.fromkeys(self._totals(node), Fraction(0))
        for child in children:
            scale = Fraction(1)
            if child in active and least is not None and keys[child][1][0]:
                scale = least[1][0] / keys[child][1][0] if least[0] == keys[child][0] else Fraction(0)
            for name, amount in self._vector(counted, child, active).items():
                out[name] += amount * scale
        return out

    def _priced(self, jobs: list[Held], node: str) -> Vector:
        out = dict.fromkeys(self._totals(node), Fraction(0))
        for job in jobs:
            for row, amount in job.demand.items():
                name = _dimension(row)
                if name in out and row in self.declared(node):
                    out[name] += amount * self._price(row)
        return out

    def _totals(self, node: str) -> Vector:
        """All nominal quota of the whole tree, by dimension; those of which there is none do not count."""
        return self._totals_by_root[self.root(node)]

    @cached_property
    def _totals_by_root(self) -> Mapping[str, Vector]:
        out: dict[str, dict[str, Fraction]] = {root: {} for root in self.config.children.get(None, ())}
        for node, tenant in self.config.tenants.items():
            for row, quota in tenant.quota.items():
                name, totals = _dimension(row), out[self.root(node)]
                if quota.nominal and name in self.config.policy.dominant_resources:
                    totals[name] = totals.get(name, Fraction(0)) + quota.nominal * self._price(row)
        return out

    def _price(self, row: Row) -> Fraction:
        return self.config.flavors[row[0]].price if is_accelerator(row[1]) else Fraction(1)

    # ---- rows

    def _row(self, node: str, row: Row) -> Quota:
        return self.config.tenants[node].quota.get(row, _NOTHING)

    def _lent(self, node: str, row: Row) -> Amount:
        limit = self._row(node, row).lending_limit
        return self.quota(node, row) if limit is None else min(self.quota(node, row), limit)

    def _kept(self, node: str, row: Row) -> Amount:
        return self.quota(node, row) - self._lent(node, row)

    def _fits_physically(self, jobs: list[Held], job: Held, row: Row, floor: Mapping[tuple[str, Row], Amount]) -> bool:
        bound = self.physical(row)
        return bound is None or self.used_physically([*jobs, job], row) <= max(bound, floor.get(("", row), 0))

    def _fits_at(
        self, jobs: list[Held], job: Held, node: str, row: Row, floor: Mapping[tuple[str, Row], Amount]
    ) -> bool:
        bound = self.ceiling(node, row)
        after = self.used([*jobs, job], node, row)
        is_raised = after > self.used(jobs, node, row)
        return bound is None or not is_raised or after <= max(bound, floor.get((node, row), 0))


def _dimension(row: Row) -> str:
    return "accelerator" if is_accelerator(row[1]) else row[1]
