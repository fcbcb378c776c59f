"""What a configuration has of accelerators, and what of it each leaf is entitled to."""

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property

from fairgate_scheduler.core.amounts import Row, is_accelerator
from fairgate_scheduler.core.quota import BOUNDLESS, quota_tree
from fairgate_scheduler.core.tenancy import Config, Tenant


class Cluster:
    """The accelerators of a configuration. Amounts are devices; ``BOUNDLESS``: as many as anybody wants."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self._tree = quota_tree(config)

    @cached_property
    def flavors(self) -> Mapping[str, Row]:
        """The row of the accelerator of each flavor that has one, in the order of the configuration."""
        out: dict[str, Row] = {}
        for flavor in self.config.flavors.values():
            offered = {name for of, name in self._tree.rows if of == flavor.name and is_accelerator(name)}
            resource = flavor.resource or min(offered, default=None)
            if resource is not None:
                out[flavor.name] = (flavor.name, resource)
        return out

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """The tenants that submit jobs, by id."""
        return tuple(sorted(tenant for tenant in self.config.tenants if self.config.is_leaf(tenant)))

    @cached_property
    def capacity(self) -> Mapping[str, int]:
        """How many accelerators there are, by flavor."""
        tree = self._tree
        return {
            flavor: tree.capacity[tree.row_index[row]] if row in tree.row_index else BOUNDLESS
            for flavor, row in self.flavors.items()
        }

    @cached_property
    def total(self) -> int | None:
        """All accelerators; ``None``: without bound."""
        total = sum(self.capacity.values())
        return total if total < BOUNDLESS else None

    @cached_property
    def entitled(self) -> Mapping[str, Mapping[str, Fraction]]:
        """What each leaf is entitled to, by flavor, at most what is there.

        Its own nominal quota, and of that of every tenant above it its part by weight. Where nobody owns anything of a
        flavor, its capacity is divided by weight.
        """
        return {leaf: {flavor: self._entitled(leaf, flavor) for flavor in self.flavors} for leaf in self.leaves}

    @cached_property
    def private(self) -> Mapping[str, Mapping[str, int]]:
        """The private cluster of each leaf: whole accelerators that it is entitled to, at least one in all if any."""
        out: dict[str, Mapping[str, int]] = {}
        for leaf, parts in self.entitled.items():
            whole = {flavor: int(part) for flavor, part in parts.items()}
            if parts and not any(whole.values()) and any(parts.values()):
                whole[max(parts, key=lambda flavor: parts[flavor])] = 1
            out[leaf] = whole
        return out

    def demand_rows(self, flavor: str) -> frozenset[str]:
        """The resources of a flavor that are counted at all."""
        return frozenset(resource for of, resource in self._tree.rows if of == flavor)

    def _entitled(self, leaf: str, flavor: str) -> Fraction:
        row, capacity = self.flavors[flavor], self.capacity[flavor]
        owned = any(row in tenant.quota and tenant.quota[row].nominal for tenant in self.config.tenants.values())
        part, sum_of_parts = Fraction(1), Fraction(0)
        for tenant_id in self.config.paths[leaf]:
            tenant = self.config.tenants[tenant_id]
            if owned and row in tenant.quota:
                sum_of_parts += part * min(tenant.quota[row].nominal, capacity)
            part *= self._part(tenant)
        return min(sum_of_parts, Fraction(capacity)) if owned else part * capacity

    def _part(self, tenant: Tenant) -> Fraction:
        """A tenant's part of what is shared with its siblings."""
        siblings = [self.config.tenants[each].weight for each in self.config.children[tenant.parent]]
        total = sum(siblings)
        return tenant.weight / total if total else Fraction(1, len(siblings))
