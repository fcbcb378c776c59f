"""Short ways to make configurations, options, jobs and submissions for tests."""

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from fairgate_scheduler.core.amounts import Amount, Demand, Row, scale
from fairgate_scheduler.core.jobs import Job, Option, PodGroup
from fairgate_scheduler.core.tenancy import Config, Flavor, Policy, Quota, Tenant
from fairgate_scheduler.ports import Submission

GPU = "nvidia.com/gpu"
H100: Row = ("h100", GPU)


def option(
    flavor: str = "h100", gpus: int = 1, *, pods: int = 1, speed: Fraction = Fraction(1), resource: str = GPU
) -> Option:
    """An option of one group: ``pods`` pods with ``gpus`` devices each."""
    group = PodGroup("workers", flavor, pods, {resource: gpus})
    return Option(flavor, speed, (group,), {(flavor, resource): scale(gpus, pods)})


def tenant(tenant_id: str, nominal: Mapping[Row, Amount] | None = None, **settings: Any) -> Tenant:
    """A tenant that owns these amounts and borrows and lends without limit."""
    quota = {row: Quota(amount) for row, amount in (nominal or {}).items()}
    return Tenant(tenant_id, quota=quota, **settings)


def config(*tenants: Tenant, flavors: Mapping[str, Demand] | None = None, policy: Policy | None = None) -> Config:
    """A configuration. ``flavors`` maps a name to its capacity; without it, one flavor for each that has quota."""
    capacities = flavors or {flavor: {} for each in tenants for flavor, _resource in each.quota}
    made = {
        name: Flavor(name, resource=_accelerator(name, tenants), capacity=_resources(capacity) or None)
        for name, capacity in capacities.items()
    }
    return Config(made, {each.id: each for each in tenants}, policy or Policy())


def two_tenants(gpus_each: int = 4, policy: Policy | None = None) -> Config:
    """``a`` and ``b`` below ``org``, each with so many H100 of its own; both may borrow all of it."""
    return config(
        tenant("org"),
        tenant("a", {H100: gpus_each}, parent="org"),
        tenant("b", {H100: gpus_each}, parent="org"),
        policy=policy,
    )


def job(name: str = "train", tenant_id: str = "a", *options: Option, sequence: int = 1, **settings: Any) -> Job:
    """A pending job of one GPU with a time limit of an hour, unless said otherwise."""
    defaults: dict[str, Any] = {
        "submitted_at_ms": 1_000 * sequence,
        "pending_since_ms": 1_000 * sequence,
        "time_limit_ms": 3_600_000,
    }
    return Job(
        id=f"tenants/{tenant_id}/jobs/{name}",
        tenant=tenant_id,
        sequence=sequence,
        options=options or (option(),),
        **(defaults | settings),
    )


def submission(name: str = "train") -> Submission:
    """What was submitted as a job, with a manifest that only has a name."""
    return Submission(json.dumps({"metadata": {"name": name}}), {}, "user:test")


def ray_job(name: str = "train", *, gpus: int = 1, workers: int = 1, resource: str = GPU, **spec: Any) -> str:
    """A RayJob manifest as people write it: a head on CPU and one group of workers, as YAML (JSON is YAML)."""

    def pod(container: str, resources: Mapping[str, str]) -> dict[str, Any]:
        limits = {"requests": dict(resources), "limits": dict(resources)}
        return {"spec": {"containers": [{"name": container, "image": "rayproject/ray:2.46.0", "resources": limits}]}}

    head = {"rayStartParams": {}, "template": pod("ray-head", {"cpu": "1", "memory": "2Gi"})}
    group = {
        "groupName": "gpu",
        "replicas": workers,
        "minReplicas": workers,
        "maxReplicas": workers,
        "rayStartParams": {},
        "template": pod("ray-worker", {"cpu": "1", "memory": "2Gi", resource: str(gpus)}),
    }
    cluster = {"rayVersion": "2.46.0", "headGroupSpec": head, "workerGroupSpecs": [group]}
    body = {"entrypoint": "python train.py", "shutdownAfterJobFinishes": True, "rayClusterSpec": cluster, **spec}
    manifest = {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": name}, "spec": body}
    return json.dumps(manifest, indent=2)


def _resources(capacity: Mapping[Any, Amount]) -> dict[str, Amount]:
    return {key[1] if isinstance(key, tuple) else key: amount for key, amount in capacity.items()}


def _accelerator(flavor: str, tenants: tuple[Tenant, ...]) -> str | None:
    offered = {resource for each in tenants for name, resource in each.quota if name == flavor}
    return next(iter(sorted(offered - {"cpu", "memory"})), None)
