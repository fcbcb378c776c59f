"""Nodes that are of no flavor, and flavors without nodes."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from fairgate_scheduler.adapters.kube.api import Api
from fairgate_scheduler.adapters.kube.api.kinds import NODE
from fairgate_scheduler.adapters.kube.inspection.findings import Finding, error, warning
from fairgate_scheduler.adapters.kube.watching.capacity import flavors_of
from fairgate_scheduler.core.amounts import is_accelerator
from fairgate_scheduler.core.manifests.plain import get_map
from fairgate_scheduler.core.tenancy import Config, Flavor


def nodes(api: Api, config: Config) -> Iterator[Finding]:
    """By the labels of nodes, Ready or not."""
    counts: Counter[str] = Counter()
    strange: defaultdict[str, list[str]] = defaultdict(list)
    for node in api.list(NODE).items:
        name, there = node["metadata"]["name"], get_map(node, "status", "allocatable")
        devices = sorted(each for each, amount in there.items() if _is_device(each) and str(amount) != "0")
        flavors = flavors_of(config, node)
        counts.update(flavor.name for flavor in flavors)
        offered = {flavor.resource for flavor in flavors if flavor.resource} | _declared(config, flavors)
        for device in sorted(set(devices) - offered):
            strange[device].append(name)
        for flavor in flavors[:1]:
            if flavor.resource is not None and flavor.resource not in devices:
                message = f"is of flavor {flavor.name} and has no {flavor.resource}"
                yield warning(f"Node {name}", message, "see to its device plugin, or to node_labels of the flavor")
    for what, found in strange.items():
        message = f"{len(found)} with {what}, such as {found[0]}, are of no flavor that has it: nobody's jobs get it"
        yield warning("Nodes", message, "declare a flavor with their labels")
    for name in config.flavors:
        if not counts[name]:
            make = error if name == config.cpu_flavor else warning
            message = "has no nodes: what is charged to it waits"
            yield make(f"flavors.{name}", message, "see to its node_labels; nodes that are added later count, too")


def _is_device(resource: str) -> bool:
    return "/" in resource and is_accelerator(resource)


def _declared(config: Config, flavors: Iterable[Flavor]) -> set[str]:
    names = {flavor.name for flavor in flavors}
    return {row[1] for tenant in config.tenants.values() for row in tenant.quota if row[0] in names}
