"""Flavors as ResourceFlavors, priorities as WorkloadPriorityClasses."""

from collections.abc import Iterator

import fairgate_kueue as kueue

from fairgate_scheduler.adapters.kube.api.kinds import RESOURCE_FLAVOR, WORKLOAD_PRIORITY_CLASS
from fairgate_scheduler.adapters.kube.mapping.objects import Wanted, ours
from fairgate_scheduler.core.tenancy import Config, Flavor


def resource_flavors(config: Config) -> Iterator[Wanted]:
    """One ResourceFlavor each. One that somebody else made is used as it is where ``kueue_flavor`` names it."""
    for flavor in config.flavors.values():
        spec = kueue.ResourceFlavorSpec(
            node_labels=dict(sorted(flavor.node_labels.items())) or None,
            tolerations=[kueue.Toleration.model_validate(each) for each in flavor.tolerations] or None,
        )
        is_adoptable = flavor.kueue_flavor is not None
        yield ours(RESOURCE_FLAVOR, flavor_name(flavor), {"spec": spec.manifest()}, is_adoptable=is_adoptable)


def flavor_name(flavor: Flavor) -> str:
    """The name of a flavor's ResourceFlavor."""
    return flavor.kueue_flavor or flavor.name


def priority_classes(config: Config) -> Iterator[Wanted]:
    """One WorkloadPriorityClass for each named priority. One of others with the same value will do."""
    for name, value in sorted(config.priorities.items()):
        yield ours(WORKLOAD_PRIORITY_CLASS, name, {"value": value}, is_adoptable=True)
