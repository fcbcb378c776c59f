"""Every pod that an object can make, of whatever kind it is: built in, of a known operator, or never heard of.

A kind's own fields say how often a template is run (replicas, parallelism, hosts). An unknown kind is searched through
and through for what looks like a pod or asks for devices; it is counted once where nothing says how often.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fairgate_scheduler.core.amounts import UNLIMITED, Amount, add, is_accelerator, scale
from fairgate_scheduler.core.manifests.anypods import PodDemand, pod_demand
from fairgate_scheduler.core.manifests.charge import CLUSTER, SUBMITTER_PATH, gangs
from fairgate_scheduler.core.manifests.fields import TYPES
from fairgate_scheduler.core.manifests.findings import Finding, child
from fairgate_scheduler.core.manifests.plain import Plain, get_int, get_map, get_text

RAY: Final = "ray.io"
_TIMES: Final = ("replicas", "parallelism", "numOfHosts", "numNodes", "size", "instances")
"""Fields that say how many times what lies beside or below them is run."""
_UNBOUNDED: Final = ("DaemonSet", "CronJob")
"""Kinds whose number of pods is not in the object: one a node, or one more at each turn of the clock."""
_AMOUNTS: Final = ("limits", "requests")
_POD_FIELDS: Final = TYPES["PodSpec"]
_OUTSIDE: Final = "asks for devices outside of a pod, where they can not be counted"
_INSTEAD: Final = "ask for them in a RayJob"


@dataclass(frozen=True, slots=True)
class PodSet:
    """Equal pods of one template. ``path`` is the template's; ``count`` ``UNLIMITED``: as many as there may be."""

    name: str
    path: str
    count: int
    template: Plain
    demand: PodDemand


@dataclass(frozen=True, slots=True)
class WorkloadDemand:
    """All that an object can run. ``findings``: amounts that can not be counted, devices asked for outside of a pod."""

    pod_sets: tuple[PodSet, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def total(self) -> Mapping[str, Amount]:
        """The sum over all pods, saturating at ``UNLIMITED``."""
        out: dict[str, Amount] = {}
        for pods in self.pod_sets:
            for resource, amount in pods.demand.requests.items():
                out[resource] = add(out.get(resource, 0), scale(amount, pods.count))
        return {resource: amount for resource, amount in out.items() if amount}

    @property
    def accelerated(self) -> tuple[PodSet, ...]:
        """The pod sets whose pods ask for devices, also those that have no pods now: they can be scaled."""
        return tuple(pods for pods in self.pod_sets if pods.demand.accelerators)


def workload_demand(manifest: Mapping[str, Any]) -> WorkloadDemand:
    """What a (normalized) object of any kind can run."""
    kind, group = get_text(manifest, "kind"), get_text(manifest, "apiVersion").rpartition("/")[0]
    if group == RAY and (cluster := ray_cluster_of(manifest)) is not None:
        return _ray_demand(manifest, *cluster)
    times = UNLIMITED if kind in _UNBOUNDED else 1
    pod_sets = tuple(_pod_sets(manifest, "", times))
    findings = [finding for pods in pod_sets for finding in pods.demand.findings]
    findings += _loose(manifest, "")
    return WorkloadDemand(pod_sets, tuple(dict.fromkeys(findings)))


def ray_cluster_of(manifest: Mapping[str, Any]) -> tuple[Plain, str] | None:
    """The RayJob that a Ray object is, or would be, and the path at which its cluster lies in the object."""
    kind, spec = get_text(manifest, "kind"), get_map(manifest, "spec")
    if kind == "RayJob":
        return dict(manifest), CLUSTER
    if kind == "RayCronJob":
        return {"spec": get_map(spec, "jobTemplate")}, "spec.jobTemplate.rayClusterSpec"
    if kind == "RayService":
        return _as_job(manifest, get_map(spec, "rayClusterConfig")), "spec.rayClusterConfig"
    if kind == "RayCluster":
        return _as_job(manifest, spec), "spec"
    return None


def _as_job(manifest: Mapping[str, Any], cluster: Plain) -> Plain:
    """A cluster as a RayJob without a submitter: what submits is in the cluster's head already, or beside it."""
    spec = {"submissionMode": "HTTPMode", "rayClusterSpec": cluster}
    return {"metadata": get_map(manifest, "metadata"), "spec": spec}


def _ray_demand(manifest: Mapping[str, Any], job: Plain, at: str) -> WorkloadDemand:
    """The pods that KubeRay is known to make, and whatever else looks like one: a later version may make it."""
    pod_sets = []
    for gang in gangs(job, []):
        path = gang.template_path.replace(CLUSTER, at, 1)
        demand = PodDemand(gang.requests, pod_demand(gang.template, path).findings)
        pod_sets.append(PodSet(gang.name, path, gang.count, gang.template, demand))
    known = {pods.path for pods in pod_sets} | {SUBMITTER_PATH}
    pod_sets += [pods for pods in _pod_sets(manifest, "", 1) if pods.path not in known]
    found = [finding for pods in pod_sets for finding in pods.demand.findings]
    return WorkloadDemand(tuple(pod_sets), tuple(dict.fromkeys([*found, *_loose(manifest, "")])))


def _pod_sets(value: Any, path: str, times: int) -> Iterator[PodSet]:
    """Every pod below a value, with the product of the counts on the way to it."""
    if isinstance(value, dict):
        if "leaderWorkerTemplate" in value:
            yield from _leader_worker(value, path, times)
            return
        if _is_pod(value.get("spec")):
            name = get_text(get_map(value, "metadata"), "name") or path.rpartition(".")[2] or "pod"
            yield PodSet(name, path, times, value, pod_demand(value, path))
        elif _is_pod(value):  # a pod's fields without a template around them
            holder = path.rpartition(".")[0] if path.endswith(".spec") else path
            template = {"spec": value}
            yield PodSet(path.rpartition(".")[2] or "pod", holder, times, template, pod_demand(template, holder))
        else:
            times = scale(times, _own_times(value))
    for at, item in _beside_pods(value, path):
        yield from _pod_sets(item, at, times)


def _beside_pods(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """What lies directly below a value, without what is part of a pod there."""
    if isinstance(value, list):
        yield from ((f"{path}[{index}]", item) for index, item in enumerate(value))
    if not isinstance(value, dict):
        return
    for key, item in value.items():
        if key == "spec" and _is_pod(item):
            at = child(path, key)
            yield from ((child(at, name), each) for name, each in item.items() if name not in _POD_FIELDS)
        elif key != "status" and not (_is_pod(value) and key in _POD_FIELDS):
            yield child(path, key), item


def _own_times(value: Plain) -> int:
    product = 1
    for key in _TIMES:
        count = max(get_int(value, key, 1), 0)
        if key == "parallelism" and "completions" in value:
            count = min(count, max(get_int(value, "completions", count), 0))
        product = scale(product, count)
    return product


def _leader_worker(value: Plain, path: str, times: int) -> Iterator[PodSet]:
    """A LeaderWorkerSet: in each replica one leader, and workers for the rest of its size."""
    inner, at = get_map(value, "leaderWorkerTemplate"), child(path, "leaderWorkerTemplate")
    replicas = scale(times, max(get_int(value, "replicas", 1), 0))
    size = max(get_int(inner, "size", 1), 1)
    workers, leader = get_map(inner, "workerTemplate"), get_map(inner, "leaderTemplate")
    followers = size - 1 if leader else size
    for name, template, count in (("leaderTemplate", leader, 1), ("workerTemplate", workers, followers)):
        if template:
            where = child(at, name)
            yield PodSet(
                name.removesuffix("Template"), where, scale(replicas, count), template, pod_demand(template, where)
            )


def _is_pod(value: Any) -> bool:
    """Whether it looks like the fields of a pod: a list of containers that are maps."""
    return isinstance(value, dict) and any(
        isinstance(value.get(kind), list) and all(isinstance(item, dict) for item in value[kind]) and value[kind]
        for kind in ("containers", "initContainers")
    )


def _loose(value: Any, path: str) -> Iterator[Finding]:
    """Devices that are asked for outside of a pod, such as ``trainer.resourcesPerNode`` or ``executor.gpu``."""
    if isinstance(value, dict):
        for key in _AMOUNTS:
            for name, amount in get_map(value, key).items():
                if _is_device(name) and str(amount) != "0":
                    yield Finding(child(child(path, key), name), _OUTSIDE, _INSTEAD)
        if "quantity" in value and _is_device(value.get("name")) and str(value["quantity"]) != "0":
            yield Finding(child(path, "name"), _OUTSIDE, _INSTEAD)
    for at, item in _beside_pods(value, path):
        yield from _loose(item, at)


def _is_device(name: object) -> bool:
    return isinstance(name, str) and "/" in name and is_accelerator(name)
