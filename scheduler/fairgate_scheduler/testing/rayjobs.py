"""RayJob manifests and a configuration for tests: small, right, and easy to change in one place."""

import copy
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from fairgate_scheduler.core.tenancy import Config, Flavor, Quota, Tenant

GPU = "nvidia.com/gpu"
TPU = "google.com/tpu"


def container(name: str = "ray", limits: Mapping[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """A container with these limits (and no requests, which then are the same)."""
    resources = {"resources": {"limits": dict(limits)}} if limits is not None else {}
    return {"name": name, "image": "rayproject/ray:2.52.0", **resources, **fields}


def template(*containers: Mapping[str, Any], **pod: Any) -> dict[str, Any]:
    """A pod template of these containers."""
    return {"spec": {"containers": [dict(each) for each in containers], **pod}}


def group(
    name: str = "workers", replicas: int | None = 1, limits: Mapping[str, Any] | None = None, **fields: Any
) -> Any:
    """A worker group. ``limits``: cpu 4 and memory 8Gi unless said."""
    limits = {"cpu": 4, "memory": "8Gi"} if limits is None else limits
    counts = {} if replicas is None else {"replicas": replicas}
    pods = fields.pop("template", None) or template(container("ray-worker", limits))
    return {"groupName": name, **counts, "rayStartParams": {}, "template": pods, **fields}


def ray_job(*groups: Mapping[str, Any], head: Mapping[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """A RayJob of these worker groups that needs no warning; ``cluster`` holds more fields of its cluster."""
    cluster: dict[str, Any] = {
        "rayVersion": "2.52.0",
        "headGroupSpec": head or head_group(),
        "workerGroupSpecs": [dict(each) for each in groups],
        **spec.pop("cluster", {}),
    }
    job = {"entrypoint": "python main.py", "shutdownAfterJobFinishes": True, "rayClusterSpec": cluster, **spec}
    manifest = {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "job"}, "spec": job}
    return copy.deepcopy(manifest)


def head_group(limits: Mapping[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """A head group with cpu 2 and memory 4Gi unless said."""
    limits = {"cpu": 2, "memory": "4Gi"} if limits is None else limits
    return {"rayStartParams": {}, "template": template(container("ray-head", limits)), **fields}


def fleet(**changes: Any) -> Config:
    """h100 and a100 (GPU), v5e (TPU) and cpu, with node labels; ``changes`` replace or add flavors by name."""
    flavors = {
        "h100": Flavor("h100", Fraction(3), GPU, node_labels={"accelerator": "h100"}, tolerations=({"key": GPU},)),
        "a100": Flavor("a100", Fraction(2), GPU, node_labels={"accelerator": "a100"}),
        "v5e": Flavor("v5e", Fraction(1), TPU, node_labels={"tpu": "v5e"}),
        "cpu": Flavor("cpu", default_for_cpu_pods=True),
        **changes,
    }
    return Config(
        flavors={name: flavor for name, flavor in flavors.items() if flavor is not None},
        tenants={
            "org": Tenant("org"),
            "vision": Tenant("vision", "org", quota={("h100", GPU): Quota(8)}),
            "nlp": Tenant("nlp", "org", allowed_flavors=frozenset({"a100", "v5e", "cpu"})),
        },
        speeds={"finetune": {"h100": Fraction(1), "a100": Fraction(9, 20), "v5e": Fraction(0)}},
    )
