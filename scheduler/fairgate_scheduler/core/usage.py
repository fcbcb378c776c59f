"""What a set of jobs uses at every node of the quota tree and physically, and what still fits beside it."""

from collections.abc import Mapping
from dataclasses import dataclass

from fairgate_scheduler.core.amounts import Amount, Demand, Row
from fairgate_scheduler.core.quota import BOUNDLESS, DIMENSIONS, QuotaTree, dimension, lift

Numbered = tuple[tuple[int, Amount], ...]
"""Amounts by the number of their row; zero amounts are left out."""


@dataclass(frozen=True, slots=True, eq=False)
class Charge:
    """One demand as charged to one tenant. Equal demands of one tenant are the same object.

    ``physical``: rows with a capacity. ``quota``: rows that the tenant's tree declares. ``owned``: those of them of
    which some tenant below the root has nominal quota. ``points``: what it adds to the share, by dimension.
    ``common``: the same charge without the owned rows.
    """

    node: int
    path: tuple[int, ...]
    physical: Numbered
    quota: Numbered
    owned: Numbered
    points: tuple[int, ...]
    common: "Charge | None" = None


class Bounds:
    """All that limits a set of jobs: the quota tree and what is physically there. It makes the charges."""

    def __init__(self, tree: QuotaTree, capacity: Mapping[Row, Amount]) -> None:
        self.tree = tree
        extra = sorted(row for row in capacity if row not in tree.row_index)
        self.rows = tree.rows + tuple(extra)
        self.row_index = {row: number for number, row in enumerate(self.rows)}
        self.capacity = [*tree.capacity, *(BOUNDLESS for _ in extra)]
        for row, amount in capacity.items():
            self.capacity[self.row_index[row]] = lift(amount)
        self._charges: dict[tuple[int, tuple[tuple[Row, Amount], ...]], Charge] = {}
        self._possible: dict[Charge, bool] = {}

    def charge(self, tenant: str, demand: Demand) -> Charge:
        """The charge of a demand to a tenant."""
        node = self.tree.index[tenant]
        key = (node, tuple(sorted(demand.items())))
        known = self._charges.get(key)
        if known is None:
            rows = [(self.row_index[row], amount) for row, amount in key[1] if amount and row in self.row_index]
            known = self._charges[key] = self._make(node, rows)
        return known

    def is_possible(self, charge: Charge) -> bool:
        """Whether it would fit if nothing else ran."""
        known = self._possible.get(charge)
        if known is None:
            known = self._possible[charge] = Usage(self).fits(charge)
        return known

    def _make(self, node: int, rows: list[tuple[int, Amount]]) -> Charge:
        tree, root = self.tree, self.tree.root[node]
        declared, owned, coefficients = tree.declared[root], tree.owned[root], tree.coefficients[root]
        points = [0] * len(DIMENSIONS)
        for row, amount in rows:
            place = dimension(self.rows[row][1])
            if place is not None and row in coefficients:
                points[place] += amount * coefficients[row]
        quota = tuple((row, amount) for row, amount in rows if row in declared)
        physical = tuple((row, amount) for row, amount in rows if self.capacity[row] < BOUNDLESS)
        common = Charge(
            node,
            tree.paths[node],
            tuple(each for each in physical if each[0] not in owned),
            tuple(each for each in quota if each[0] not in owned),
            (),
            (0,) * len(DIMENSIONS),
        )
        mine = tuple(each for each in quota if each[0] in owned)
        return Charge(node, tree.paths[node], physical, quota, mine, tuple(points), common)


class Usage:
    """The use of a set of jobs, changed job by job. Adding a charge and removing it again changes nothing.

    ``used[row][node]`` is what a tenant uses beyond what its children keep for themselves; plain integers, which grow
    without wrapping. ``physical[row]`` is what is physically used.
    """

    __slots__ = ("bounds", "physical", "used")

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.used = [[0] * len(bounds.tree.ids) for _ in bounds.tree.rows]
        self.physical = [0] * len(bounds.rows)

    def copy(self) -> "Usage":
        """An independent copy."""
        other = Usage.__new__(Usage)
        other.bounds = self.bounds
        other.used = [row[:] for row in self.used]
        other.physical = self.physical[:]
        return other

    def add(self, charge: Charge) -> None:
        """Count a job."""
        self._change(charge, 1)

    def remove(self, charge: Charge) -> None:
        """Count a job no longer."""
        self._change(charge, -1)

    def fits(self, charge: Charge, floor: "Usage | None" = None) -> bool:
        """Whether a job fits beside these in every row: quota, with borrowing and lending at every level, and capacity.

        Where ``floor`` uses more than the bound, its use is the bound: what a quota cut left.
        """
        return self.fits_physically(charge, floor) and self._fits_quota(charge, floor)

    def fits_physically(self, charge: Charge, floor: "Usage | None" = None) -> bool:
        """Whether there is capacity for a job beside these, whatever the quotas say."""
        physical, capacity = self.physical, self.bounds.capacity
        for row, amount in charge.physical:
            after = physical[row] + amount
            if after > capacity[row] and (floor is None or after > floor.physical[row]):
                return False
        return True

    def is_within(self, node: int, charge: Charge) -> bool:
        """Whether a tenant (the job's own, or one above it) would stay within its nominal quota with this job.

        Asked of the rows, of those that the job uses, of which some tenant below the root has nominal quota. A job that
        uses none of them is within nobody's nominal.
        """
        for row, amount in charge.owned:
            table, used = self.bounds.tree.tables[row], self.used[row]
            for each in charge.path:
                after = used[each] + amount
                if each == node:
                    if after > table.quota[each]:
                        return False
                    break
                if after <= table.kept[each]:
                    break
                amount = min(amount, after - table.kept[each])
        return bool(charge.owned)

    def _fits_quota(self, charge: Charge, floor: "Usage | None") -> bool:
        for row, amount in charge.quota:
            table, used = self.bounds.tree.tables[row], self.used[row]
            for node in charge.path:
                after = used[node] + amount
                if after > table.ceiling[node] and (floor is None or after > floor.used[row][node]):
                    return False
                kept = table.kept[node]
                if after <= kept:
                    break
                amount = min(amount, after - kept)
        return True

    def _change(self, charge: Charge, sign: int) -> None:
        for row, amount in charge.physical:
            self.physical[row] += sign * amount
        for row, amount in charge.quota:
            kept_by, used = self.bounds.tree.tables[row].kept, self.used[row]
            change = sign * amount
            for node in charge.path:
                before, kept = used[node], kept_by[node]
                after = used[node] = before + change
                change = (after - kept if after > kept else 0) - (before - kept if before > kept else 0)
                if not change:
                    break
