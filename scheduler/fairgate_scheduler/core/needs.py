"""What an option lacks: row by row, where, and who holds it."""

from collections.abc import Iterable, Iterator, Mapping

from fairgate_scheduler.core.amounts import Amount
from fairgate_scheduler.core.contenders import Contender, charge_of
from fairgate_scheduler.core.quota import lower
from fairgate_scheduler.core.snapshot import Need
from fairgate_scheduler.core.usage import Bounds, Charge, Usage


class Holders:
    """Who uses a row: leaf by leaf."""

    def __init__(self, bounds: Bounds, running: Iterable[Contender]) -> None:
        self._bounds = bounds
        self._by_row: dict[int, dict[int, int]] = {}
        for each in running:
            charge = charge_of(each)
            for row, amount in {**dict(charge.quota), **dict(charge.physical)}.items():
                leaves = self._by_row.setdefault(row, {})
                leaves[each.leaf] = leaves.get(each.leaf, 0) + amount

    def of(self, row: int, node: int | None) -> Mapping[str, Amount]:
        """Tenant id → what its running jobs use of the row, below ``node`` or anywhere (``None``)."""
        tree = self._bounds.tree
        return {
            tree.ids[leaf]: lower(amount)
            for leaf, amount in sorted(self._by_row.get(row, {}).items())
            if node is None or node in tree.paths[leaf]
        }


def needs_of(usage: Usage, charge: Charge, holders: Holders | None = None) -> tuple[Need, ...]:
    """Every row of which there is not enough for a job beside ``usage``: at the tenant where the least is left (the one
    nearest to the job, if at several) and where the capacity is. Empty if the job fits."""
    return tuple(_needs(usage, charge, holders))


def _needs(usage: Usage, charge: Charge, holders: Holders | None) -> Iterator[Need]:
    bounds = usage.bounds
    for row, amount in charge.quota:
        have, node = min(
            ((have, place, node) for place, (node, have) in enumerate(_room(usage, row, charge))),
            key=lambda each: each[:2],
        )[::2]
        if have < amount:
            found = holders.of(row, node) if holders is not None else {}
            yield Need(bounds.rows[row], lower(amount), lower(max(0, have)), bounds.tree.ids[node], found)
    for row, amount in charge.physical:
        have = bounds.capacity[row] - usage.physical[row]
        if have < amount:
            found = holders.of(row, None) if holders is not None else {}
            yield Need(bounds.rows[row], lower(amount), lower(max(0, have)), "", found)


def _room(usage: Usage, row: int, charge: Charge) -> Iterator[tuple[int, int]]:
    """Node by node up from the job's tenant: how much more it could use before that node is at its ceiling."""
    table, used = usage.bounds.tree.tables[row], usage.used[row]
    absorbed = 0
    for node in charge.path:
        yield node, absorbed + max(0, table.ceiling[node] - used[node])
        absorbed += max(0, table.kept[node] - used[node])
