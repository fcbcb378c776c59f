"""Nodes as capacity by flavor: Ready ones only, without what pods that are no attempt's hold."""

from fractions import Fraction
from typing import Any

from fairgate_scheduler.adapters.kube.watching.capacity import capacity, flavors_of, lost_nodes
from fairgate_scheduler.core.tenancy import Flavor
from fairgate_scheduler.testing.rayjobs import GPU, TPU, fleet

GIB = 1 << 30


def node(name: str, labels: dict[str, str], ready: str = "True", cordoned: bool = False, **more: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"unschedulable": cordoned},
        "status": {
            "conditions": [{"type": "Ready", "status": ready}],
            "allocatable": {"cpu": "8", "memory": "16Gi", "pods": "110", **more},
        },
    }


def pod(where: str, labels: dict[str, str] | None = None, phase: str = "Running", **requests: str) -> dict[str, Any]:
    return {
        "metadata": {"name": "p", "labels": labels or {}},
        "spec": {"nodeName": where, "containers": [{"name": "c", "resources": {"requests": requests}}]},
        "status": {"phase": phase},
    }


H100 = {"accelerator": "h100"}


def test_nodes_count_for_their_flavor_and_others_pods_do_not() -> None:
    nodes = [
        node("a", H100, **{GPU: "8"}),
        node("b", H100, cordoned=True, **{GPU: "8"}),
        node("c", H100, ready="Unknown", **{GPU: "8"}),
        node("d", {}),
    ]
    pods = [
        pod("a", cpu="500m", memory="1Gi"),
        pod("a", {"fairgate.internal/attempt": "1"}, cpu="4"),
        pod("a", phase="Succeeded", cpu="1"),
        pod("b", cpu="1"),
    ]
    found = capacity(fleet(), nodes, pods)
    assert found["h100", GPU] == 8
    assert found["h100", "cpu"] == 7500
    assert found["h100", "memory"] == 15 * GIB
    assert found["cpu", "cpu"] == 8000
    assert found["a100", GPU] == 0
    assert found["v5e", TPU] == 0
    assert lost_nodes(nodes) == {"c"}


def test_more_held_than_there_is_leaves_nothing() -> None:
    assert capacity(fleet(), [node("a", {})], [pod("a", cpu="9")])["cpu", "cpu"] == 0


def test_a_node_is_of_every_flavor_whose_labels_it_has() -> None:
    config = fleet()
    assert [each.name for each in flavors_of(config, node("a", H100))] == ["h100"]
    assert [each.name for each in flavors_of(config, node("a", {"accelerator": "other"}))] == ["cpu"]
    assert [each.name for each in flavors_of(config, node("a", {**H100, "tpu": "v5e"}))] == ["h100", "v5e"]


def test_a_node_of_several_flavors_counts_each_accelerator_once() -> None:
    special = Flavor("special", Fraction(4), GPU, node_labels={"accelerator": "h100", "fabric": "fast"})
    config = fleet(special=special)
    nodes = [node("a", {**H100, "tpu": "v5e", "fabric": "fast"}, **{GPU: "8", TPU: "4"}), node("b", H100, **{GPU: "2"})]
    found = capacity(config, nodes, [pod("a", cpu="1")])
    assert {row: amount for row, amount in found.items() if row[1] in (GPU, TPU) and amount} == {
        ("special", GPU): 8,
        ("h100", GPU): 2,
        ("v5e", TPU): 4,
    }
    assert (found["special", "cpu"], found["h100", "cpu"], found["v5e", "cpu"]) == (7000, 15000, 7000)
