"""What a set of jobs uses at every node of the quota tree and physically, and what still fits beside it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from fairgate_scheduler.core.amounts import Amount, Demand, Row
from fairgate_scheduler.core.quota import BOUNDLESS, DIMENSIONS, QuotaTree, dimension, lift

Numbered = tuple[tuple[int, Amount], ...]
"""Amounts by the number of their row; zero amounts are left out."""


@dataclass(frozen=True, slots=True, eq=False)
class Charge:
    """One demand as charged to one tenant. Equal demands of one tenant are the same object.

    ``physical``: rows with a capacity. ``quota``: rows that the tenant's tree declares. ``owned``: those of them of
    which some tenant below the root has nominal quota. ``points``: what it adds to the share, by dimension.
    ``common``: the same charge without the owned rows. ``cells``: row and tenant wherever it counts, -1 for what is
    physically there; ``shared``: those that it has in common with other tenants, and the most that it adds there;
    ``short``: those of them that can be short while every quota is kept.
    """

    node: int
    path: tuple[int, ...]
    physical: Numbered
    quota: Numbered
    owned: Numbered
    points: tuple[int, ...]
    common: "Charge | None" = None
    cells: tuple[tuple[int, int], ...] = ()
    shared: tuple[tuple[int, int, Amount], ...] = ()
    short: tuple[tuple[int, int, Amount], ...] = ()

    @property
    def rows(self) -> Numbered:
        """All rows that it counts on, with amounts."""
        return tuple(dict((*self.physical, *self.quota)).items())


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
        self.contested = frozenset(row for row in range(len(self.rows)) if self._is_contested(row))
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

    def _is_contested(self, row: int) -> bool:
        """Whether capacity could be short while every quota is kept. If all trees declare a row and own no more than
        there is, it can not: no tree uses more than all that its tenants own."""
        tree = self.tree
        if self.capacity[row] >= BOUNDLESS:
            return False
        if row >= len(tree.rows) or not all(row in tree.declared[root] for root in tree.roots):
            return True
        return sum(tree.tables[row].nominal) > self.capacity[row]

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
        mine = tuple(each for each in quota if each[0] in owned)
        common = self._charge(
            node,
            tuple(each for each in physical if each[0] not in owned),
            tuple(each for each in quota if each[0] not in owned),
        )
        return replace(self._charge(node, physical, quota), owned=mine, points=tuple(points), common=common)

    def _charge(self, node: int, physical: Numbered, quota: Numbered) -> Charge:
        path = self.tree.paths[node]
        cells = [(row, -1, amount) for row, amount in physical]
        cells += [(row, each, amount) for row, amount in quota for each in path]
        shared = tuple(each for each in cells if each[1] != node)
        short = tuple(each for each in shared if each[1] >= 0 or each[0] in self.contested)
        points = (0,) * len(DIMENSIONS)
        return Charge(node, path, physical, quota, (), points, None, tuple(each[:2] for each in cells), shared, short)


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
        return self.fits_physically(charge, floor) and self.fits_quota(charge, floor)

    def block(self, charge: Charge) -> tuple[int, int, int] | None:
        """Where a job does not fit beside these, the first such place: row, tenant or -1 for what is there, and how
        much room it takes at least. ``None``: it fits.
        """
        for row, amount in charge.physical:
            if self.physical[row] + amount > self.bounds.capacity[row]:
                return row, -1, amount
        for row, amount in charge.quota:
            table, used, least = self.bounds.tree.tables[row], self.used[row], amount
            for node in charge.path:
                after = used[node] + amount
                if after > table.ceiling[node]:
                    return row, node, least
                kept = table.kept[node]
                if after <= kept:
                    break
                amount = min(amount, after - kept)
                least -= kept
        return None

    def fits_physically(self, charge: Charge, floor: "Usage | None" = None) -> bool:
        """Whether there is capacity for a job beside these, whatever the quotas say."""
        physical, capacity = self.physical, self.bounds.capacity
        for row, amount in charge.physical:
            after = physical[row] + amount
            if after > capacity[row] and (floor is None or after > floor.physical[row]):
                return False
        return True

    def room(self, row: int, node: int) -> int:
        """How much more of a row a tenant may use, itself and on behalf of those below; of node -1 the whole place."""
        if node < 0:
            return self.bounds.capacity[row] - self.physical[row]
        return self.bounds.tree.tables[row].ceiling[node] - self.used[row][node]

    def nominal_room(self, row: int, node: int) -> int:
        """The same, if the tenant is not to use more than its quota either."""
        if node < 0:
            return self.room(row, node)
        table = self.bounds.tree.tables[row]
        return min(table.ceiling[node], table.quota[node]) - self.used[row][node]

    def over(self, charge: Charge) -> Iterator[tuple[int, int]]:
        """Where a charge counts and more is used than the bound: row and node, or -1 where it is the capacity."""
        for row, _ in charge.physical:
            if self.physical[row] > self.bounds.capacity[row]:
                yield row, -1
        for row, _ in charge.quota:
            ceiling, used = self.bounds.tree.tables[row].ceiling, self.used[row]
            for node in charge.path:
                if used[node] > ceiling[node]:
                    yield row, node

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

    def fits_quota(self, charge: Charge, floor: "Usage | None" = None) -> bool:
        """Whether there is quota for a job beside these, whatever is there."""
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
