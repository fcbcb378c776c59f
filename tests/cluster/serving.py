"""The real service beside a real cluster: ``fairgate up --runner kube`` in a process of its own."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fairgate_scheduler.testing.server_process import ServerProcess, temporary_server
from rig.target import Target

CONFIG = """
version: 1
flavors:
  h100:
    price: 3
    resource: nvidia.com/gpu
    node_labels: {cloud.google.com/gke-accelerator: nvidia-h100-80gb}
  v5e:
    resource: google.com/tpu
    node_labels: {cloud.google.com/gke-tpu-accelerator: tpu-v5-lite-podslice}
  cpu: {node_labels: {pool: cpu}, default_for_cpu_pods: true}
tenants:
  - {id: org}
  - {id: vision, parent: org, quota: {h100: {nvidia.com/gpu: {nominal: 2}}}}
  - {id: nlp, parent: org, quota: {h100: {nvidia.com/gpu: {nominal: 2}}, v5e: {google.com/tpu: {nominal: 4}}}}
"""


@contextmanager
def serving(target: Target, config: str = CONFIG) -> Iterator[ServerProcess]:
    """The service, from its start to its end; what it made in the cluster stays."""
    command = (
        *(sys.executable, "-m", "fairgate", "up", "--config", "fairgate.yaml", "--grace-period", "10s"),
        *("--runner", "kube", "--kubeconfig", str(target.kubeconfig)),
    )
    with temporary_server(config, command) as server:
        server.start()
        server.await_ready()
        yield server


def ray_job(image: str, program: str, resources: dict[str, Any], name: str = "job") -> dict[str, Any]:
    """A RayJob of one worker that runs a line of Python (without double quotes), small enough for two cores."""

    def container(role: str, requests: dict[str, Any]) -> dict[str, Any]:
        limits = {**requests, "cpu": "2", "memory": "3Gi"}
        return {"name": role, "image": image, "resources": {"requests": requests, "limits": limits}}

    small = {"object-store-memory": "100000000"}
    worker = {"cpu": "200m", "memory": "1Gi", **resources}
    submitter = {"requests": {"cpu": "100m", "memory": "200Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": name},
        "spec": {
            "entrypoint": f'python3 -u -c "{program}"',
            "shutdownAfterJobFinishes": True,
            "rayClusterSpec": {
                "rayVersion": "2.60.0",
                "headGroupSpec": {
                    "rayStartParams": {"num-cpus": "1", **small},
                    "template": {"spec": {"containers": [container("ray-head", {"cpu": "300m", "memory": "1Gi"})]}},
                },
                "workerGroupSpecs": [
                    {
                        "groupName": "workers",
                        "replicas": 1,
                        "minReplicas": 1,
                        "maxReplicas": 1,
                        "rayStartParams": dict(small),
                        "template": {"spec": {"containers": [container("ray-worker", worker)]}},
                    }
                ],
            },
            "submitterPodTemplate": {
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "submitter", "image": image, "resources": submitter}],
                }
            },
        },
    }
