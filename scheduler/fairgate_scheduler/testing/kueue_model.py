"""Kueue's quota arithmetic, for tests: what it would reserve under queues as they are written, without a cluster.

A tree of nodes, Cohorts above ClusterQueues. Of all quota below a node its lending limit says how much its parent may
see; the rest stays at home and is used first. What a node uses beyond that is used at its parent, too. A job gets what
is left at home and what the parent has left, but of the latter no more than borrowing allows. Nothing is ever evicted,
and a debt above (quota was cut) counts against what is left at home, too.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairgate_scheduler.core.amounts import Amount, parse_quantity
from fairgate_scheduler.core.jobs import Option

Pair = tuple[str, str]
"""(ResourceFlavor, resource)."""
_MOST = 2**63 - 1


@dataclass
class _Node:
    parent: str | None
    nominal: dict[Pair, Amount] = field(default_factory=dict)
    borrowing: dict[Pair, Amount] = field(default_factory=dict)
    lending: dict[Pair, Amount] = field(default_factory=dict)
    used: dict[Pair, Amount] = field(default_factory=dict)
    children: list["_Node"] = field(default_factory=list)


class KueueModel:
    """ClusterQueues and Cohorts as applied, and what is reserved in them. Sums must fit into 64 bits."""

    def __init__(self, manifests: Iterable[Mapping[str, Any]]) -> None:
        self._nodes: dict[tuple[str, str], _Node] = {}
        self._flavors: dict[str, Sequence[str]] = {}
        self._labels: dict[str, Mapping[str, str]] = {}
        self._reserved: list[tuple[str, Mapping[Pair, Amount]]] = []
        self.apply(manifests)

    def apply(self, manifests: Iterable[Mapping[str, Any]]) -> None:
        """Other queues, with what is reserved as it is."""
        self._nodes.clear()
        for manifest in manifests:
            kind, name, spec = manifest["kind"], manifest["metadata"]["name"], manifest.get("spec", {})
            if kind == "ResourceFlavor":
                self._labels[name] = spec.get("nodeLabels", {})
            elif kind in ("Cohort", "ClusterQueue"):
                node = self._nodes[kind, name] = _Node(spec.get("parentName") or spec.get("cohortName"))
                for group in spec.get("resourceGroups", ()):
                    self._flavors[name] = [each["name"] for each in group["flavors"]]
                    _read(node, group)
        for node in self._nodes.values():
            if node.parent is not None:
                self._nodes["Cohort", node.parent].children.append(node)
        for queue, usage in self._reserved:
            self._use(queue, usage)

    def reserve(self, queue: str, usage: Mapping[Pair, Amount]) -> bool:
        """Whether a workload gets its quota; then it has it."""
        node = self._nodes["ClusterQueue", queue]
        if any(amount > max(0, self._available(node, pair)) for pair, amount in usage.items()):
            return False
        self._reserved.append((queue, usage))
        self._use(queue, usage)
        return True

    def release(self, queue: str, usage: Mapping[Pair, Amount]) -> None:
        """A workload that had its quota is gone."""
        self._reserved.remove((queue, usage))
        for node in self._nodes.values():
            node.used.clear()
        for each, amounts in self._reserved:
            self._use(each, amounts)

    def flavor_for(self, queue: str, selector: Mapping[str, str]) -> str | None:
        """The first flavor of a queue whose labels agree with a pod's selector, as far as flavors know its keys."""
        known = {key for flavor in self._flavors[queue] for key in self._labels[flavor]}
        asked = {key: value for key, value in selector.items() if key in known}
        for flavor in self._flavors[queue]:
            if all(self._labels[flavor].get(key) == value for key, value in asked.items()):
                return flavor
        return None

    def _use(self, queue: str, usage: Mapping[Pair, Amount]) -> None:
        for pair, amount in usage.items():
            self._add(self._nodes["ClusterQueue", queue], pair, amount)

    def _add(self, node: _Node, pair: Pair, amount: Amount) -> None:
        home = max(0, self._home(node, pair) - node.used.get(pair, 0))
        node.used[pair] = node.used.get(pair, 0) + amount
        if node.parent is not None and amount > home:
            self._add(self._nodes["Cohort", node.parent], pair, amount - home)

    def _subtree(self, node: _Node, pair: Pair) -> Amount:
        quota = node.nominal.get(pair, 0)
        quota += sum(self._subtree(child, pair) - self._home(child, pair) for child in node.children)
        assert quota <= _MOST, (pair, quota)
        return quota

    def _home(self, node: _Node, pair: Pair) -> Amount:
        """What of a node's quota is never lent."""
        return max(0, self._subtree(node, pair) - node.lending[pair]) if pair in node.lending else 0

    def _available(self, node: _Node, pair: Pair) -> Amount:
        quota, used = self._subtree(node, pair), node.used.get(pair, 0)
        if node.parent is None:
            return quota - used
        home, above = self._home(node, pair), self._available(self._nodes["Cohort", node.parent], pair)
        if pair in node.borrowing:
            most = quota - home - max(0, used - home) + node.borrowing[pair]
            assert most <= _MOST, (pair, most)
            above = min(above, most)
        return max(0, home - used) + above


def usage_of(model: KueueModel, queue: str, option: Option, labels: Mapping[str, Mapping[str, str]]) -> dict[Pair, int]:
    """What Kueue charges for an option whose pods carry the node labels of their flavors."""
    usage: dict[Pair, int] = {}
    for (flavor, resource), amount in option.demand.items():
        found = model.flavor_for(queue, labels[flavor])
        assert found is not None, (queue, flavor)
        usage[found, resource] = usage.get((found, resource), 0) + amount
    return usage


def _read(node: _Node, group: Mapping[str, Any]) -> None:
    for flavor in group["flavors"]:
        for each in flavor["resources"]:
            pair, resource = (flavor["name"], each["name"]), each["name"]
            node.nominal[pair] = parse_quantity(each["nominalQuota"], resource)
            for key, limits in (("borrowingLimit", node.borrowing), ("lendingLimit", node.lending)):
                if key in each:
                    limits[pair] = parse_quantity(each[key], resource)
