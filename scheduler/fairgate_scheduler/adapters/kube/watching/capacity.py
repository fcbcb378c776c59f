"""What is physically there for attempts: the nodes of each flavor, without what others' pods hold of them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from fairgate_scheduler.adapters.kube import names
from fairgate_scheduler.adapters.kube.api import Manifest
from fairgate_scheduler.adapters.kube.watching.sight import condition
from fairgate_scheduler.core.amounts import Amount, Row, parse_quantity
from fairgate_scheduler.core.manifests.findings import Finding
from fairgate_scheduler.core.manifests.plain import get_map, get_text, is_true
from fairgate_scheduler.core.manifests.pods import pod_requests
from fairgate_scheduler.core.tenancy import Config, Flavor

_COUNTED: Final = ("cpu", "memory")
_ENDED: Final = ("Succeeded", "Failed")


def capacity(config: Config, nodes: Iterable[Manifest], pods: Iterable[Manifest]) -> Mapping[Row, Amount]:
    """By flavor and resource: what the Ready, schedulable nodes of the flavor can give to attempts.

    ``pods``: all pods of the cluster; those that are no attempt's take from their node what they ask for. A resource
    that a flavor offers, but no node has, is 0: quota without nodes is no capacity. A flavor without node labels has
    the nodes that are of no other flavor.
    """
    flavors = {get_text(node["metadata"], "name"): flavor_of(config, node) for node in nodes if is_usable(node)}
    free: defaultdict[Row, Amount] = defaultdict(int)
    for flavor in config.flavors.values():
        for resource in (*_COUNTED, *([flavor.resource] if flavor.resource else [])):
            free[flavor.name, resource] = 0
    for node in nodes:
        flavor_name = flavors.get(get_text(node["metadata"], "name"))
        if flavor_name is not None:
            for resource, amount in _allocatable(node).items():
                free[flavor_name, resource] += amount
    for pod in pods:
        flavor_name = flavors.get(get_text(get_map(pod, "spec"), "nodeName"))
        if flavor_name is not None and not _is_attempts(pod) and _runs(pod):
            for resource, amount in pod_requests(pod, "", list[Finding]()).items():
                free[flavor_name, resource] -= amount
    return {row: max(amount, 0) for row, amount in free.items()}


def flavor_of(config: Config, node: Manifest) -> str | None:
    """The flavor that a node belongs to: the one with the most node labels, all of which it has."""
    labels = get_map(node, "metadata", "labels")
    matching = [flavor for flavor in config.flavors.values() if _matches(flavor, labels)]
    best = max(matching, key=lambda flavor: (len(flavor.node_labels), flavor.name), default=None)
    return best.name if best else None


def is_usable(node: Manifest) -> bool:
    """Whether pods can be put on it: Ready and not cordoned."""
    return condition(node, "Ready")[0] and not is_true(get_map(node, "spec"), "unschedulable")


def lost_nodes(nodes: Iterable[Manifest]) -> frozenset[str]:
    """The nodes that nobody hears of any more."""
    return frozenset(get_text(node["metadata"], "name") for node in nodes if not condition(node, "Ready")[0])


def _matches(flavor: Flavor, labels: Mapping[str, str]) -> bool:
    return all(labels.get(key) == value for key, value in flavor.node_labels.items())


def _allocatable(node: Manifest) -> Mapping[str, Amount]:
    out: dict[str, Amount] = {}
    for resource, text in get_map(node, "status", "allocatable").items():
        if resource in _COUNTED or "/" in resource:
            try:
                out[resource] = parse_quantity(text, resource)
            except ValueError:
                continue  # what is no amount is nothing that can be given
    return out


def _is_attempts(pod: Manifest) -> bool:
    return names.ATTEMPT in get_map(pod, "metadata", "labels")


def _runs(pod: Manifest) -> bool:
    return get_text(get_map(pod, "status"), "phase") not in _ENDED
