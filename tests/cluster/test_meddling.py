"""Whatever people change by hand, nothing starts that was not admitted, and every attempt starts once."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from driving import driven, program
from fairgate import Client
from fairgate_scheduler.testing.server_process import ServerProcess
from rig.kubectl import Kubectl
from rig.target import Target
from rig.waiting import until
from serving import serving
from witness import GPU, witness

CONFIG = """
version: 1
flavors:
  h100:
    resource: nvidia.com/gpu
    node_labels: {cloud.google.com/gke-accelerator: nvidia-h100-80gb}
  cpu: {node_labels: {pool: cpu}, default_for_cpu_pods: true}
tenants:
  - {id: mill}
  - {id: meddled, parent: mill, quota: {h100: {nvidia.com/gpu: {nominal: 2}}}}
"""
NAMESPACE = "--namespace=meddled"
NAMES = ("asked", "direct")
LONG = "import ray, time\nray.init()\ntime.sleep(1000)"
LONG_S = 200

pytestmark = pytest.mark.timeout(1500)  # real Ray on two cores that others use, too


@pytest.fixture
def server(cluster: Target) -> Iterator[ServerProcess]:
    kubectl = cluster.kubectl()
    kubectl("delete", "rayjobs", "--all", NAMESPACE)  # of a run before this one
    with serving(cluster, CONFIG) as server:
        until("the tenant's queues", 60, lambda: len(kubectl.get("localqueues", NAMESPACE)) == 2)
        yield server


@pytest.mark.cluster
def test_what_is_changed_by_hand_converges_and_starts_nothing(cluster: Target, server: ServerProcess) -> None:
    kubectl = cluster.kubectl()
    kubectl.apply(program("meddled", "asked", LONG))
    request = driven(cluster.ray_image, "asked", {GPU: 1})
    request["metadata"] |= {"namespace": "meddled", "labels": {"kueue.x-k8s.io/queue-name": "inbox"}}
    direct = yaml.safe_dump(driven(cluster.ray_image, "direct", {GPU: 1}))
    with (
        Client(server.address, token_file=server.token_file, timeout_s=30) as client,
        witness(kubectl, ["meddled"]) as seen,
    ):
        kubectl.apply(request)
        job = client.submit(direct, tenant="meddled", time_limit="20m").name
        until("both have a cluster", LONG_S, lambda: all(seen.clusters[f"meddled/{name}-1"] for name in NAMES))

        kubectl(
            "patch", "rayjob", "asked", NAMESPACE, "--type=merge", f"--patch={json.dumps({'spec': {'suspend': False}})}"
        )
        until("the request is suspended again", 60, lambda: bool(_get(kubectl, "rayjobs", "asked")["spec"]["suspend"]))
        _delete_workload(kubectl, "asked")

        _delete_workload(kubectl, "direct-1")
        until("attempt 2 has a cluster", LONG_S, lambda: bool(seen.clusters["meddled/direct-2"]))
        assert "Diverged" in _reasons(kubectl, "direct-1")
        for name in ("asked", "direct-1"):
            assert "CreatedRayJobSubmitter" not in _reasons(kubectl, name)

        kubectl("delete", "rayjob", "asked-1", NAMESPACE, "--wait=false")
        until("attempt 2 has a cluster", LONG_S, lambda: bool(seen.clusters["meddled/asked-2"]))

        kubectl("delete", "namespace", "meddled", longest_s=180)
        until("the queues are there again", LONG_S, lambda: len(kubectl.get("localqueues", NAMESPACE)) == 2)
        until("the request counts as deleted", LONG_S, lambda: client.get("meddled/asked").state == "CANCELLED")
        kubectl.apply(program("meddled", "direct", LONG))
        until("the other job goes on", LONG_S, lambda: bool(seen.clusters["meddled/direct-3"]))
        client.cancel(job)
        assert client.wait(job, timeout_s=LONG_S).state == "CANCELLED"
        until("all is gone", LONG_S, lambda: not kubectl.get("rayjobs,workloads,pods", NAMESPACE))
    attempts = {f"meddled/{name}" for name in ("asked-1", "asked-2", "direct-1", "direct-2", "direct-3")}
    assert {name: len(uids) for name, uids in seen.uids.items()} == dict.fromkeys(attempts, 1)
    # Kueue takes back what was started by hand and lets what has lost its Workload begin anew, both within a second or
    # two (the gate refuses the first altogether): a cluster may come, and goes before its program starts.
    brief = {"meddled/asked", "meddled/direct-1"}
    others = {name: len(clusters) for name, clusters in seen.clusters.items() if clusters and name not in brief}
    assert others == dict.fromkeys(attempts - brief, 1)
    assert seen.most == {GPU: 2}


def _get(kubectl: Kubectl, kind: str, name: str) -> Any:
    return kubectl.get(kind, name, NAMESPACE)


def _reasons(kubectl: Kubectl, ray_job: str) -> set[str]:
    """Of the events of a RayJob."""
    selector = f"--field-selector=involvedObject.kind=RayJob,involvedObject.name={ray_job}"
    return {each["reason"] for each in kubectl.get("events", NAMESPACE, selector)}


def _delete_workload(kubectl: Kubectl, ray_job: str) -> None:
    """Delete the Workload of a RayJob, and wait until it has gone; Kueue may make another one."""
    uid = _get(kubectl, "rayjobs", ray_job)["metadata"]["uid"]
    mine = ("workloads", NAMESPACE, f"--selector=kueue.x-k8s.io/job-uid={uid}")
    [workload] = kubectl.get(*mine)
    kubectl("delete", "workload", workload["metadata"]["name"], NAMESPACE, "--wait=false")

    def is_gone() -> bool:
        return workload["metadata"]["uid"] not in {each["metadata"]["uid"] for each in kubectl.get(*mine)}

    until(f"Kueue lets the Workload of {ray_job} go", 60, is_gone, lambda: json.dumps(kubectl.get(*mine)))
