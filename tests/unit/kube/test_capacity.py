"""Nodes as capacity by flavor: Ready ones only, without what pods that are no attempt's hold."""

from typing import Any

from fairgate_scheduler.adapters.kube.watching.capacity import capacity, flavor_of, lost_nodes
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


def test_the_flavor_with_the_most_labels_has_the_node() -> None:
    config = fleet()
    assert flavor_of(config, node("a", H100)) == "h100"
    assert flavor_of(config, node("a", {"accelerator": "other"})) == "cpu"
