"""Jobs from the submit to the end on a real kubelet, by real Kueue and KubeRay."""

import json
from collections.abc import Iterator

import pytest
import yaml
from fairgate import Client
from fairgate_scheduler.testing.server_process import ServerProcess
from rig.kubectl import Kubectl
from rig.target import Target
from rig.waiting import until
from serving import ray_job, serving

pytestmark = pytest.mark.cluster

SQUARES = (
    "import ray; ray.init(); f = ray.remote(num_gpus=1)(lambda x: x * x); "
    "print('squares', ray.get([f.remote(i) for i in range(4)]))"
)


@pytest.fixture(scope="module")
def server(cluster: Target) -> Iterator[ServerProcess]:
    with serving(cluster) as server:
        kubectl = cluster.kubectl()
        until("the queues of both tenants", 60, lambda: len(kubectl.get("localqueues", "--all-namespaces")) == 4)
        yield server


@pytest.fixture
def client(server: ServerProcess) -> Iterator[Client]:
    with Client(server.address, token_file=server.token_file, timeout_s=30) as client:
        yield client


def _log(client: Client, job: str) -> str:
    return "\n".join(line.text for line in client.logs(job, follow=False))


def test_a_job_submitted_over_grpc_runs_real_ray_to_success(cluster: Target, client: Client) -> None:
    manifest = yaml.safe_dump(ray_job(cluster.ray_image, SQUARES, {"nvidia.com/gpu": 1}, "over-grpc"))
    job = client.submit(manifest, tenant="vision", time_limit="10m")
    done = client.wait(job.name, timeout_s=240)
    assert done.state == "SUCCEEDED", f"{done.message}\n{_log(client, job.name)}"
    assert "squares [0, 1, 4, 9]" in _log(client, job.name)
    until("the attempt to be cleaned up", 60, lambda: not cluster.kubectl().get("rayjobs", "--namespace=vision"))
    assert "squares [0, 1, 4, 9]" in _log(client, job.name)


def _user(kubectl: Kubectl) -> None:
    """What an ordinary user of a tenant has: the stock role, and RayJobs."""
    kubectl("create", "rolebinding", "edit", "--clusterrole=edit", "--user=user-a", "--namespace=nlp")
    kubectl("create", "role", "ray", "--verb=*", "--resource=rayjobs.ray.io", "--namespace=nlp")
    kubectl("create", "rolebinding", "ray", "--role=ray", "--user=user-a", "--namespace=nlp")


def test_a_request_applied_by_an_ordinary_user_runs_to_success(
    cluster: Target, server: ServerProcess, client: Client
) -> None:
    admin = cluster.kubectl()
    _user(admin)
    user = cluster.kubectl("user-a")
    request = ray_job(cluster.ray_image, SQUARES, {"nvidia.com/gpu": 1}, "train")
    request["metadata"] |= {"namespace": "nlp", "labels": {"kueue.x-k8s.io/queue-name": "inbox"}}
    user.apply(request)
    done = "jsonpath={.status.jobDeploymentStatus}=Complete"
    user.wait("rayjob/train", done, "--namespace=nlp", longest_s=240)
    user.apply(request)
    [shown] = [each for each in admin.get("rayjobs", "--namespace=nlp") if each["metadata"]["name"] == "train"]
    assert shown["status"]["jobStatus"] == "SUCCEEDED"
    assert shown["spec"]["suspend"] is True
    assert "squares [0, 1, 4, 9]" in _log(client, "tenants/nlp/jobs/train")
    events = [each for each in admin.get("events", "--namespace=nlp") if each["source"].get("component") == "fairgate"]
    reasons = {each["reason"] for each in events}
    assert {"Admitted", "Succeeded"} <= reasons, json.dumps(sorted(reasons))  # KubeRay may never show that it ran
    assert "EditIgnored" not in reasons
