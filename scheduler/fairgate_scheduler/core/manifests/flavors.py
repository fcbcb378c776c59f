"""Which flavors could serve a pod group: by what they offer, by the tenant's leave, and by node labels."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from fairgate_scheduler.core.amounts import Row, is_accelerator
from fairgate_scheduler.core.tenancy import Config


@dataclass(frozen=True)
class Flavors:
    """The flavors of a configuration as one tenant sees them (``None``, or one that does not exist: may use all)."""

    config: Config
    tenant: str | None = None

    @cached_property
    def _declared(self) -> frozenset[Row]:
        """Rows of which a tenant has quota, or which a flavor says are physically there."""
        owned = {row for tenant in self.config.tenants.values() for row in tenant.quota}
        there = {(flavor.name, name) for flavor in self.config.flavors.values() for name in flavor.capacity or ()}
        return frozenset(owned | there)

    def is_declared(self, flavor: str, resource: str) -> bool:
        """Whether this resource of this flavor is counted by anybody."""
        return (flavor, resource) in self._declared

    def serves(self, flavor: str, resource: str) -> bool:
        """Whether this flavor has this accelerator: it is what it offers, or a declared row of it."""
        return self.config.flavors[flavor].resource == resource or self.is_declared(flavor, resource)

    def serving(self, resource: str) -> list[str]:
        """The flavors that have this accelerator, in the order of the configuration."""
        return [name for name in self.config.flavors if self.serves(name, resource)]

    def served_resources(self) -> list[str]:
        """All accelerators that some flavor has."""
        offered = [flavor.resource for flavor in self.config.flavors.values() if flavor.resource]
        declared = sorted(resource for _, resource in self._declared if is_accelerator(resource))
        return list(dict.fromkeys([*offered, *declared]))

    def is_allowed(self, flavor: str) -> bool:
        """Whether the tenant and everybody above it may use this flavor."""
        path = self.config.paths.get(self.tenant or "", ())
        rules = (self.config.tenants[tenant].allowed_flavors for tenant in path)
        return all(allowed is None or flavor in allowed for allowed in rules)

    def is_plain(self, flavor: str) -> bool:
        """Whether it is a flavor without accelerators."""
        return self.config.flavors[flavor].resource is None and not any(
            is_accelerator(resource) for name, resource in self._declared if name == flavor
        )

    def plain_from(self, default: str) -> list[str]:
        """The flavors without accelerators, the default first, then others that the tenant may use."""
        others = (name for name in self.config.flavors if name != default and self.is_plain(name))
        return [default, *filter(self.is_allowed, others)]

    def matching(self, names: Iterable[str], selector: Mapping[str, str]) -> list[str]:
        """Of these flavors those whose node labels agree best with a node selector, in the given order.

        A flavor whose labels contradict the selector is out; only keys that both have are compared, so a selector for
        another flavor's label does not stick to this one.
        """
        agreed = {
            name: sum(selector.get(key) == value for key, value in self.config.flavors[name].node_labels.items())
            for name in names
            if not any(
                selector.get(key, value) != value for key, value in self.config.flavors[name].node_labels.items()
            )
        }
        best = max(agreed.values(), default=0)
        return [name for name, count in agreed.items() if count == best]
