"""What an attempt's pods are: every pod group that KubeRay makes of a manifest, how many pods, and what each asks for.

Counted as KubeRay 1.5 really runs it, so that nothing runs uncharged: replicas clamped to their bounds × hosts, or the
most that the autoscaler may reach; the sidecars of the autoscaler and of SidecarMode in the head; the init container
that waits for the head in every worker; the submitter; the job that cleans up Redis.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from fairgate_scheduler.core.amounts import Amount, is_accelerator
from fairgate_scheduler.core.manifests.findings import Finding
from fairgate_scheduler.core.manifests.options import HEAD, SUBMITTER
from fairgate_scheduler.core.manifests.plain import Plain, get_int, get_list, get_map, get_text, is_true
from fairgate_scheduler.core.manifests.pods import pod_requests

SUBMISSION_MODES: Final = ("K8sJobMode", "HTTPMode", "SidecarMode", "InteractiveMode")
UNBOUNDED: Final = 2**31 - 1
"""KubeRay's default of ``maxReplicas``, which means no bound."""
REDIS_CLEANUP: Final = "redis-cleanup"

CLUSTER: Final = "spec.rayClusterSpec"
HEAD_PATH: Final = f"{CLUSTER}.headGroupSpec"
SUBMITTER_PATH: Final = "spec.submitterPodTemplate"

SUBMITTER_RESOURCES: Final[Mapping[str, Mapping[str, str]]] = {
    "requests": {"cpu": "500m", "memory": "200Mi"},
    "limits": {"cpu": "1", "memory": "1Gi"},
}
_AUTOSCALER_RESOURCES: Final[Mapping[str, Mapping[str, str]]] = {"limits": {"cpu": "500m", "memory": "512Mi"}}
_SMALL_RESOURCES: Final[Mapping[str, Mapping[str, str]]] = {"limits": {"cpu": "200m", "memory": "256Mi"}}


@dataclass(frozen=True, slots=True)
class Gang:
    """One pod group before it has a flavor. ``path`` and ``template_path``: where the manifest has it."""

    name: str
    path: str
    template_path: str
    count: int
    requests: Mapping[str, Amount]
    node_selector: Mapping[str, str] = field(default_factory=dict)
    template: Plain = field(default_factory=dict)

    @property
    def accelerators(self) -> tuple[str, ...]:
        """The accelerators that a pod of it asks for, in the order of the manifest."""
        return tuple(name for name in self.requests if is_accelerator(name))


def submission_mode(manifest: Mapping[str, Any]) -> str:
    """How the entrypoint gets to the cluster; KubeRay's default if the manifest does not say."""
    return get_text(get_map(manifest, "spec"), "submissionMode") or "K8sJobMode"


def is_autoscaled(manifest: Mapping[str, Any]) -> bool:
    """Whether Ray's autoscaler changes the number of workers."""
    return is_true(get_map(manifest, "spec", "rayClusterSpec"), "enableInTreeAutoscaling")


def has_redis(manifest: Mapping[str, Any]) -> bool:
    """Whether the control store is kept in Redis, which a job of KubeRay's cleans up when the cluster is deleted."""
    options = get_map(manifest, "spec", "rayClusterSpec").get("gcsFaultToleranceOptions")
    if isinstance(options, dict):
        return (get_text(options, "backend") or "redis") == "redis"
    return get_text(get_map(manifest, "metadata", "annotations"), "ray.io/ft-enabled").lower() == "true"


def pods_of_group(group: Mapping[str, Any], autoscaled: bool) -> int:
    """How many pods a worker group can have: KubeRay's clamped replicas, or the autoscaler's bound, × hosts.

    Unset replicas are 0 (the CRD's default), and a minimum above the maximum yields to it.
    """
    if is_true(group, "suspend"):
        return 0
    least = max(get_int(group, "minReplicas", 0), 0)
    most = max(get_int(group, "maxReplicas", UNBOUNDED), 0)
    wanted = most if autoscaled else max(get_int(group, "replicas", 0), least)
    return min(wanted, most) * max(get_int(group, "numOfHosts", 1), 1)


def count_fields(group: Mapping[str, Any], autoscaled: bool) -> tuple[str, str]:
    """The field that ``pods_of_group`` takes the replicas from, and that of the pods a replica; "" where it is 1."""
    least = max(get_int(group, "minReplicas", 0), 0)
    wanted = max(get_int(group, "replicas", 0), 0)
    hosts = "numOfHosts" if get_int(group, "numOfHosts", 1) > 1 else ""
    if autoscaled or max(wanted, least) > max(get_int(group, "maxReplicas", UNBOUNDED), 0):
        return "maxReplicas", hosts
    return ("replicas" if wanted >= least else "minReplicas"), hosts


def gangs(manifest: Mapping[str, Any], findings: list[Finding]) -> tuple[Gang, ...]:
    """Every pod group of a (normalized) manifest: head, worker groups in order, submitter, Redis cleanup.

    What is wrong with a pod template is appended to ``findings``.
    """
    cluster = get_map(manifest, "spec", "rayClusterSpec")
    out = [_head(manifest, findings)]
    autoscaled = is_autoscaled(manifest)
    for index, group in enumerate(get_list(cluster, "workerGroupSpecs")):
        path = f"{CLUSTER}.workerGroupSpecs[{index}]"
        template = _with_init_container(get_map(group, "template"))
        place = (get_text(group, "groupName"), path, f"{path}.template")
        out.append(_gang(place, pods_of_group(group, autoscaled), template, findings))
    if submission_mode(manifest) == "K8sJobMode":
        template = submitter_template(manifest)
        out.append(_gang((SUBMITTER, SUBMITTER_PATH, SUBMITTER_PATH), 1, template, findings))
    if has_redis(manifest):
        template = {"spec": {"containers": [{"name": REDIS_CLEANUP, "resources": _SMALL_RESOURCES}]}}
        out.append(_gang((REDIS_CLEANUP, CLUSTER, CLUSTER), 1, template, findings))
    return tuple(out)


def submitter_template(manifest: Mapping[str, Any]) -> Plain:
    """The pod that submits in K8sJobMode: the manifest's, or KubeRay's. One that asks for nothing gets its requests."""
    spec = get_map(manifest, "spec")
    own = get_map(spec, "submitterPodTemplate")
    if not own:
        image = get_text(_ray_container(get_map(spec, "rayClusterSpec", "headGroupSpec")), "image")
        container = {"name": "ray-job-submitter", "image": image, "resources": SUBMITTER_RESOURCES}
        return {"spec": {"containers": [container], "restartPolicy": "Never"}}
    if pod_requests(own, "", []):
        return own
    containers = get_list(get_map(own, "spec"), "containers")
    first = {**get_map({"first": containers[0] if containers else None}, "first"), "resources": SUBMITTER_RESOURCES}
    return {**own, "spec": {**get_map(own, "spec"), "containers": [first, *containers[1:]]}}


def _head(manifest: Mapping[str, Any], findings: list[Finding]) -> Gang:
    head = get_map(manifest, "spec", "rayClusterSpec", "headGroupSpec")
    sidecars: list[Plain] = []
    if submission_mode(manifest) == "SidecarMode":
        sidecars.append({"name": "ray-job-submitter", "resources": SUBMITTER_RESOURCES})
    if is_autoscaled(manifest):
        options = get_map(manifest, "spec", "rayClusterSpec", "autoscalerOptions")
        sidecars.append({"name": "autoscaler", "resources": options.get("resources", _AUTOSCALER_RESOURCES)})
    template = _with_containers(get_map(head, "template"), "containers", sidecars)
    return _gang((HEAD, HEAD_PATH, f"{HEAD_PATH}.template"), 1, template, findings)


def _with_init_container(template: Plain) -> Plain:
    wait = {"name": "wait-gcs-ready", "resources": _SMALL_RESOURCES}
    return _with_containers(template, "initContainers", [wait])


def _with_containers(template: Plain, kind: str, more: Iterable[Plain]) -> Plain:
    spec = get_map(template, "spec")
    return {**template, "spec": {**spec, kind: [*get_list(spec, kind), *more]}}


def _gang(place: tuple[str, str, str], count: int, template: Plain, findings: list[Finding]) -> Gang:
    name, path, template_path = place
    requests = pod_requests(template, template_path, findings)
    selector = get_map(template, "spec", "nodeSelector")
    return Gang(name, path, template_path, count, requests, selector, template)


def _ray_container(group: Mapping[str, Any]) -> Plain:
    containers = get_list(get_map(group, "template", "spec"), "containers")
    return containers[0] if containers and isinstance(containers[0], dict) else {}
