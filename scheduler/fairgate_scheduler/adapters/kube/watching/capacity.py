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
    that a flavor offers, but no node has, is 0: quota without nodes is no capacity. A node of several flavors counts
    its CPU and memory for each of them, but each accelerator once.
    """
    rows = {name: _rows_of(config, node) for node in nodes if is_usable(node) for name in [_name(node)]}
    free: defaultdict[Row, Amount] = defaultdict(int)
    for flavor in config.flavors.values():
        for resource in (*_COUNTED, *([flavor.resource] if flavor.resource else [])):
            free[flavor.name, resource] = 0
    for node in nodes:
        _count(free, rows.get(_name(node), {}), _allocatable(node), 1)
    for pod in pods:
        of_node = rows.get(get_text(get_map(pod, "spec"), "nodeName"))
        if of_node and not _is_attempts(pod) and _runs(pod):
            _count(free, of_node, pod_requests(pod, "", list[Finding]()), -1)
    return {row: max(amount, 0) for row, amount in free.items()}


def flavors_of(config: Config, node: Manifest) -> list[Flavor]:
    """The flavors that a node is of: those all of whose labels it has, the one with the most labels first. A flavor
    without node labels has the nodes that are of no other one.
    """
    labels = get_map(node, "metadata", "labels")
    matching = [each for each in config.flavors.values() if each.node_labels and _matches(each, labels)]
    matching = matching or [each for each in config.flavors.values() if not each.node_labels]
    return sorted(matching, key=lambda each: (-len(each.node_labels), each.name))


def _rows_of(config: Config, node: Manifest) -> Mapping[str, list[Row]]:
    """For each resource of a node, the rows that it counts for."""
    flavors = flavors_of(config, node)
    rows: dict[str, list[Row]] = {}
    for resource in get_map(node, "status", "allocatable"):
        if resource in _COUNTED:
            rows[resource] = [(each.name, resource) for each in flavors]
        elif "/" in resource:
            rows[resource] = [(each.name, resource) for each in flavors if _offers(config, each, resource)][:1]
    return rows


def _offers(config: Config, flavor: Flavor, resource: str) -> bool:
    declared = any((flavor.name, resource) in tenant.quota for tenant in config.tenants.values())
    return declared or flavor.resource == resource


def _count(free: dict[Row, Amount], rows: Mapping[str, list[Row]], amounts: Mapping[str, Amount], sign: int) -> None:
    for resource, amount in amounts.items():
        for row in rows.get(resource, ()):
            free[row] += sign * amount


def _name(node: Manifest) -> str:
    return get_text(node["metadata"], "name")


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
