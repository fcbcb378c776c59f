"""A configuration's quotas as the numbers that Kueue gets: by tenant and row, nothing left open.

Kueue's arithmetic is that of ``core.quota``, so nominal quotas and limits are taken over as they are. What is left is
to say in numbers what is not limited: a row of which no tenant of a tree declares quota has ``TOP`` at the root, and an
``UNLIMITED`` nominal is a part of ``TOP``, so that no sum passes what Kueue can count.

A quota cut may leave more in use than a bound allows. Kueue takes such a debt from what every tenant below keeps for
itself; our core does not. ``overruns`` says by how much, and the bound that Kueue gets is lifted to what is used there
until that has ended: nobody can add to it, and nobody else is held back by it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from fairgate_scheduler.adapters.kube.mapping.quantities import TOP
from fairgate_scheduler.core.amounts import UNLIMITED, Amount, Demand, Row
from fairgate_scheduler.core.manifests.flavors import Flavors
from fairgate_scheduler.core.quota import quota_tree
from fairgate_scheduler.core.tenancy import Config, Quota
from fairgate_scheduler.core.usage import Bounds, Usage

Overruns = Mapping[tuple[str, Row], Amount]
"""By tenant and row: how much more is used there than its bound."""

_ALWAYS: Final = ("cpu", "memory")


def overruns(config: Config, *uses: Iterable[tuple[str, Demand]]) -> Overruns:
    """What a quota cut left above its bounds. ``uses``: sets of (tenant, demand), such as all attempts that are there
    and all that hold quota; the one that uses most counts. Tenants that the configuration does not have are left out.
    """
    tree = quota_tree(config)
    bounds = Bounds(tree, {})
    most: dict[tuple[str, Row], Amount] = {}
    for use in uses:
        books = Usage(bounds)
        for tenant, demand in use:
            if tenant in config.tenants:
                books.add(bounds.charge(tenant, demand))
        for number, row in enumerate(tree.rows):
            for node, name in enumerate(tree.ids):
                over = books.used[number][node] - tree.tables[number].ceiling[node]
                if over > 0:
                    most[name, row] = max(over, most.get((name, row), 0))
    return most


@dataclass(frozen=True, slots=True)
class Table:
    """One row, by tenant: what Kueue is told, and the most that the tenant could use if nobody else used any."""

    quotas: Mapping[str, Quota]
    most: Mapping[str, Amount]


@dataclass(frozen=True)
class Numbers:
    """The numbers of one configuration."""

    config: Config
    overruns: Overruns = field(default_factory=dict)
    _tables: dict[Row, Table] = field(default_factory=dict, init=False, compare=False, repr=False)

    @cached_property
    def resources(self) -> tuple[str, ...]:
        """All that any pod can be charged for: cpu, memory, every accelerator that a flavor has, all that is declared.

        The same list everywhere, as one group: Kueue looks for one flavor for all resources of a pod set that are in a
        group, and refuses a workload that asks for a resource which is in none.
        """
        offered = {flavor.resource for flavor in self.config.flavors.values() if flavor.resource}
        declared = {resource for _, resource in quota_tree(self.config).rows}
        return (*_ALWAYS, *sorted((declared | offered) - set(_ALWAYS)))

    @cached_property
    def flavors(self) -> tuple[str, ...]:
        """All flavors, those with fewer node labels first.

        Kueue takes the first flavor whose labels do not contradict a pod's node selector. Pods carry all labels of
        their own flavor, so one before it that matches, too, would need as many.
        """
        return tuple(sorted(self.config.flavors, key=lambda name: (len(self.config.flavors[name].node_labels), name)))

    def table(self, row: Row) -> Table:
        """The numbers of a row."""
        if row not in self._tables:
            self._tables[row] = self._table(row)
        return self._tables[row]

    def serves(self, row: Row) -> bool:
        """Whether anything can be charged on a row: a flavor has no accelerators but those that it has."""
        return row[1] in _ALWAYS or self._flavors.serves(*row)

    @cached_property
    def _flavors(self) -> Flavors:
        return Flavors(self.config)

    @cached_property
    def _downwards(self) -> tuple[str, ...]:
        """All tenants, parents before their children."""
        return tuple(sorted(self.config.tenants, key=lambda tenant: len(self.config.paths[tenant])))

    def _table(self, row: Row) -> Table:
        parts = self._parts(row)
        quotas = {tenant: self._quota(tenant, row, parts) for tenant in self.config.tenants}
        subtree = {tenant: quota.nominal for tenant, quota in quotas.items()}
        kept: dict[str, Amount] = {}
        for tenant in reversed(self._downwards):
            lending, parent = quotas[tenant].lending_limit, self.config.tenants[tenant].parent
            kept[tenant] = 0 if lending is None else max(0, subtree[tenant] - lending)
            if parent is not None:
                subtree[parent] += subtree[tenant] - kept[tenant]
        most: dict[str, Amount] = {}
        for tenant in self._downwards:
            borrowing, parent = quotas[tenant].borrowing_limit, self.config.tenants[tenant].parent
            found = subtree[tenant] if parent is None else kept[tenant] + most[parent]
            most[tenant] = found if borrowing is None else min(found, subtree[tenant] + borrowing)
        for tenant, amount in most.items():
            if amount >= parts[self.config.paths[tenant][-1]]:
                most[tenant] = UNLIMITED
        return Table(quotas, most)

    def _parts(self, row: Row) -> Mapping[str, Amount]:
        """By root: what is written for one nominal quota that is not limited."""
        counts = Counter(
            self.config.paths[tenant.id][-1]
            for tenant in self.config.tenants.values()
            if row in tenant.quota and tenant.quota[row].nominal >= UNLIMITED
        )
        return {root: TOP // max(1, counts[root]) for root in self.config.children.get(None, ())}

    def _quota(self, tenant: str, row: Row, parts: Mapping[str, Amount]) -> Quota:
        root, over = self.config.paths[tenant][-1], self.overruns.get((tenant, row), 0)
        declared = self.config.tenants[tenant].quota.get(row, Quota())
        nominal = parts[root] if declared.nominal >= UNLIMITED else declared.nominal
        if tenant == root:
            is_open = row not in self._declared[root] and self.serves(row)
            return Quota(parts[root] if is_open else nominal + over)
        borrowing, lending = declared.borrowing_limit, declared.lending_limit
        return Quota(
            nominal,
            None if borrowing is None or borrowing >= TOP else borrowing + over,
            None if lending is None or lending >= TOP else min(lending, nominal),
        )

    @cached_property
    def _declared(self) -> Mapping[str, frozenset[Row]]:
        tree = quota_tree(self.config)
        return {tree.ids[root]: frozenset(tree.rows[row] for row in rows) for root, rows in tree.declared.items()}
