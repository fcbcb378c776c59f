"""A job goes on to its next option, rewritten for it, where the nodes of an option do not take its pods."""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import pytest
import yaml
from driving import SHORT, driven, program
from fairgate import Client
from fairgate_scheduler.testing.server_process import ServerProcess
from rig.kubectl import Kubectl
from rig.target import Target
from rig.waiting import until
from serving import serving
from witness import GPU, witness

TPU: Final = "google.com/tpu"
READY: Final = "ready_timeout: 15s"
CONFIG: Final = f"""
version: 1
policy: {{{READY}}}
flavors:
  h100: {{resource: nvidia.com/gpu, node_labels: {{kind: full-h100}}}}
  a100: {{resource: nvidia.com/gpu, node_labels: {{kind: full-a100}}}}
  v5e: {{resource: google.com/tpu, node_labels: {{cloud.google.com/gke-tpu-accelerator: tpu-v5-lite-podslice}}}}
  cpu: {{node_labels: {{pool: cpu}}, default_for_cpu_pods: true}}
tenants:
  - {{id: plant}}
  - id: moving
    parent: plant
    quota:
      h100: {{nvidia.com/gpu: {{nominal: 2}}}}
      a100: {{nvidia.com/gpu: {{nominal: 2}}}}
      v5e: {{google.com/tpu: {{nominal: 4}}}}
"""
OPTIONS: Final[list[dict[str, Any]]] = [
    {"flavor": "h100"},
    {"flavor": "a100"},
    {
        "flavor": "v5e",
        "speed": "0.5",
        "groups": {
            "workers": {"replicas": 1, "resources": {"cpu": "150m", "memory": "1Gi", TPU: 4}, "env": {"ON": "TPU"}}
        },
    },
]
LONG_S = 300

pytestmark = pytest.mark.timeout(1500)  # real Ray on two cores that others use, too


@pytest.fixture
def server(cluster: Target) -> Iterator[ServerProcess]:
    """With nodes that have accelerators and take no pods: quota and devices are there, a place is not."""
    rig, kubectl = cluster.own(), cluster.kubectl()
    for kind in ("full-h100", "full-a100"):
        rig.add_fake_nodes([kind], {"kind": kind}, {GPU: "8", "pods": "0"})
    try:
        kubectl("delete", "rayjobs", "--all", "--namespace=moving")  # of a run before this one
        with serving(cluster, CONFIG) as server:
            until("the tenant's queues", 60, lambda: len(kubectl.get("localqueues", "--namespace=moving")) == 2)
            yield server
    finally:
        kubectl("delete", "node", "full-h100", "full-a100")
        rig.stop("kwok")


@pytest.mark.cluster
def test_from_h100_to_a100_after_a_stock_out_and_to_tpu_with_rewritten_pods(
    cluster: Target, server: ServerProcess
) -> None:
    kubectl = cluster.kubectl()
    kubectl.apply(program("moving", "short", SHORT))
    manifest = driven(cluster.ray_image, "short", {GPU: 2})
    with (
        Client(server.address, token_file=server.token_file, timeout_s=30) as client,
        witness(kubectl, ["moving"]) as seen,
    ):
        job = client.submit(yaml.safe_dump(manifest), tenant="moving", time_limit="20m", options=OPTIONS).name
        for number, kind in ((1, "full-h100"), (2, "full-a100")):
            until(f"attempt {number} has a worker", LONG_S, partial(_has_worker, kubectl, number))
            [worker] = _workers(kubectl, number)
            assert worker["spec"]["nodeSelector"] == {"kind": kind}
            assert "nodeName" not in worker["spec"]
        until("attempt 3 has a worker", LONG_S, partial(_has_worker, kubectl, 3))
        client.apply_config(CONFIG.replace(READY, "ready_timeout: 10m"))  # real Ray takes its time
        [worker] = _workers(kubectl, 3)
        assert worker["spec"]["nodeSelector"] == {"cloud.google.com/gke-tpu-accelerator": "tpu-v5-lite-podslice"}
        [container] = worker["spec"]["containers"]
        assert container["resources"]["requests"] == {"cpu": "150m", "memory": "1Gi", TPU: "4"}
        assert {"name": "ON", "value": "TPU"} in container["env"]
        until("Kueue counts the TPU alone", 60, lambda: _reserved(kubectl) == {("v5e", TPU): 4})
        done = client.wait(job, timeout_s=LONG_S)
        assert done.state == "SUCCEEDED", done
        log = "\n".join(line.text for line in client.logs(job, follow=False))
        assert "done on None GPU 4.0 TPU" in log
    assert {name: len(uids) for name, uids in seen.uids.items()} == {
        f"moving/short-{number}": 1 for number in (1, 2, 3)
    }
    assert seen.most == {GPU: 2, TPU: 4}


def _workers(kubectl: Kubectl, number: int) -> list[Any]:
    selector = f"--selector=ray.io/node-type=worker,fairgate.internal/attempt={number}"
    found: list[Any] = kubectl.get("pods", "--namespace=moving", selector)
    return found


def _has_worker(kubectl: Kubectl, number: int) -> bool:
    return bool(_workers(kubectl, number))


def _reserved(kubectl: Kubectl) -> dict[tuple[str, str], int]:
    """The accelerators that Kueue counts for the tenant."""
    queue = kubectl.get("clusterqueue", "moving")
    return {
        (flavor["name"], one["name"]): int(one["total"])
        for flavor in queue["status"]["flavorsReservation"]
        for one in flavor["resources"]
        if "/" in one["name"] and one["total"] != "0"
    }
