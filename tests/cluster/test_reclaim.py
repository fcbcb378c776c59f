"""Who borrows gives way to who owns, on a real kubelet, whatever dies meanwhile."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml
from driving import SHORT, TRAINING, checkpoint, driven, program
from fairgate import Client
from fairgate_scheduler.testing.server_process import ServerProcess
from rig.kubectl import Kubectl
from rig.target import Target
from rig.waiting import until
from serving import serving
from witness import GPU, Witness, witness

CONFIG = """
version: 1
flavors:
  h100:
    resource: nvidia.com/gpu
    node_labels: {cloud.google.com/gke-accelerator: nvidia-h100-80gb}
  cpu: {node_labels: {pool: cpu}, default_for_cpu_pods: true}
tenants:
  - {id: firm}
  - {id: lab, parent: firm, quota: {h100: {nvidia.com/gpu: {nominal: 0}}}}
  - {id: owner-a, parent: firm, quota: {h100: {nvidia.com/gpu: {nominal: 2}}}}
  - {id: owner-b, parent: firm, quota: {h100: {nvidia.com/gpu: {nominal: 2}}}}
"""
NAMESPACES = ("lab", "owner-a", "owner-b")
LONG_S = 300

pytestmark = pytest.mark.timeout(1500)  # real Ray on two cores that others use, too


@pytest.fixture
def server(cluster: Target) -> Iterator[ServerProcess]:
    kubectl = cluster.kubectl()
    for namespace in NAMESPACES:
        kubectl("delete", "rayjobs", "--all", f"--namespace={namespace}")  # of a run before this one
    with serving(cluster, CONFIG) as server:
        until("the tenants' queues", 60, lambda: len(_queues(kubectl)) == 2 * len(NAMESPACES))
        yield server


def _queues(kubectl: Kubectl) -> list[Any]:
    found = kubectl.get("localqueues", "--all-namespaces")
    return [each for each in found if each["metadata"]["namespace"] in NAMESPACES]


def _submit(client: Client, image: str, tenant: str, name: str, gpus: int, claim: str = "") -> str:
    manifest = driven(image, name, {GPU: gpus}, claim)
    return client.submit(yaml.safe_dump(manifest), tenant=tenant, time_limit="20m").name


def _agree(kubectl: Kubectl, client: Client, expected: dict[str, int]) -> None:
    """Wait until Kueue counts these GPUs for each tenant; we count the same."""

    def counted() -> dict[str, int]:
        queues = {each["metadata"]["name"]: each for each in kubectl.get("clusterqueues")}
        return {tenant: _gpus(queues[tenant]) for tenant in expected}

    until(f"Kueue counts {expected}", LONG_S, lambda: counted() == expected, lambda: str(counted()))
    ours = {
        tenant: sum(int(row.usage) for row in client.usage(tenant).rows if row.resource == GPU) for tenant in expected
    }
    assert ours == expected


def _gpus(queue: Any) -> int:
    flavors = queue.get("status", {}).get("flavorsReservation", ())
    return sum(int(one["total"]) for each in flavors for one in each["resources"] if one["name"] == GPU)


def _log(client: Client, job: str, attempt: int) -> str:
    return "\n".join(line.text for line in client.logs(job, attempt=attempt, follow=False))


def _bystanders(kubectl: Kubectl, image: str) -> None:
    """An ordinary Job and Deployment of a tenant's namespace."""
    container = {"name": "c", "image": image, "resources": {"requests": {"cpu": "10m", "memory": "10Mi"}}}

    def pod(command: str, **spec: Any) -> dict[str, Any]:
        made = {"containers": [{**container, "command": ["sh", "-c", command]}], "terminationGracePeriodSeconds": 1}
        return {"metadata": {"labels": {"app": "bystander"}}, "spec": made | spec}

    head = {"name": "bystander", "namespace": "owner-a"}
    kubectl.apply(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": head,
            "spec": {"template": pod("sleep 1", restartPolicy="Never")},
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": head,
            "spec": {"selector": {"matchLabels": {"app": "bystander"}}, "template": pod("sleep 100000")},
        },
    )


def _reclaim(cluster: Target, server: ServerProcess, disturb: Callable[[], None]) -> None:
    """The whole story. ``disturb`` is called while the borrower is on its way out."""
    kubectl, image = cluster.kubectl(), cluster.ray_image
    claim = f"checkpoint-{time.time_ns()}"
    kubectl.apply(program("lab", "train", TRAINING), *checkpoint("lab", claim))
    for owner in ("owner-a", "owner-b"):
        kubectl.apply(program(owner, "short", SHORT))
    gives_way = {"owner-a/short-1": "lab/train-1", "owner-b/short-1": "lab/train-1"}
    with (
        Client(server.address, token_file=server.token_file, timeout_s=60, patience_s=60) as client,
        witness(kubectl, NAMESPACES, gives_way) as seen,
    ):
        train = _submit(client, image, "lab", "train", 4, claim)
        until("the borrower runs", LONG_S, lambda: client.get(train).state == "RUNNING")
        until("it does something", LONG_S, lambda: "begins at 0" in _log(client, train, 1))
        _agree(kubectl, client, {"lab": 4, "owner-a": 0, "owner-b": 0})
        owners = [_submit(client, image, tenant, "short", 2) for tenant in ("owner-a", "owner-b")]
        until("the borrower is asked to end", LONG_S, lambda: client.get(train).state == "PENDING")
        disturb()
        _agree(kubectl, client, {"lab": 0, "owner-a": 2, "owner-b": 2})
        for job in owners:
            assert client.wait(job, timeout_s=LONG_S).state == "SUCCEEDED"
            assert "done on 2.0 GPU" in _log(client, job, 1)
        done = client.wait(train, timeout_s=LONG_S)
        assert done.state == "SUCCEEDED", done
        notice = next(line for line in _log(client, train, 1).splitlines() if line.startswith("notice:"))
        assert '"reason"' in notice
        step = int(notice.rpartition(" ")[2])
        assert f"begins at {step}" in _log(client, train, 2)
        assert f"done at {step + 5}" in _log(client, train, 2)
        _agree(kubectl, client, {"lab": 0, "owner-a": 0, "owner-b": 0})
    _check(seen)


def _check(seen: Witness) -> None:
    assert seen.most == {GPU: 4}
    assert seen.overlaps == set()
    started = {name: len(uids) for name, uids in seen.uids.items()}
    assert started == {"lab/train-1": 1, "lab/train-2": 1, "owner-a/short-1": 1, "owner-b/short-1": 1}


@pytest.mark.cluster
def test_a_borrower_gives_way_and_resumes_though_the_service_is_killed(cluster: Target, server: ServerProcess) -> None:
    kubectl = cluster.kubectl()
    _bystanders(kubectl, cluster.ray_image)
    kubectl.wait("deployment/bystander", "condition=Available", "--namespace=owner-a", longest_s=120)
    pods = ("pods", "--namespace=owner-a", "--selector=app=bystander")
    before = {each["metadata"]["uid"]: each["spec"] for each in kubectl.get(*pods)}

    def kill() -> None:
        server.kill()
        time.sleep(1)
        server.start()
        server.await_ready()

    _reclaim(cluster, server, kill)
    kubectl.wait("job/bystander", "condition=Complete", "--namespace=owner-a", longest_s=60)
    assert {each["metadata"]["uid"]: each["spec"] for each in kubectl.get(*pods)} == before
    kubectl("delete", "job/bystander", "deployment/bystander", "--namespace=owner-a")


@pytest.mark.cluster_full
@pytest.mark.parametrize("victim", ["kueue", "kuberay", "kube-apiserver"])
def test_a_borrower_gives_way_and_resumes_though_a_component_is_killed(
    cluster: Target, server: ServerProcess, victim: str
) -> None:
    rig = cluster.own()

    def kill() -> None:
        rig.stop(victim)
        time.sleep(5)
        rig.start(victim)

    _reclaim(cluster, server, kill)
