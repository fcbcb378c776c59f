"""Requests to a part of an object that have rules of their own: scale, in-place resize, ephemeral containers."""

from typing import Any, Final

from fairgate_scheduler.core.manifests.anypods import pod_demand
from fairgate_scheduler.core.manifests.plain import Plain, get_int, get_list, get_map
from fairgate_scheduler.core.manifests.podsecurity import check_template as check_baseline
from fairgate_scheduler.core.manifests.workloads import workload_demand

from fairgate_admission.facts.request import Request
from fairgate_admission.facts.verdict import SUBMIT, Denial
from fairgate_admission.facts.world import World
from fairgate_admission.review.families.pod_rules import check_joining, denials

_SCALABLE: Final = (
    ("deployments", "apps/v1", "Deployment"),
    ("replicasets", "apps/v1", "ReplicaSet"),
    ("statefulsets", "apps/v1", "StatefulSet"),
    ("replicationcontrollers", "v1", "ReplicationController"),
    ("leaderworkersets", "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"),
)


def check_scale(request: Request, world: World) -> list[Denial]:
    """More replicas of something whose pods ask for devices. A Scale has no template, so its parent is looked up."""
    wanted, had = (get_int(get_map(of, "spec"), "replicas", 0) for of in (request.object, request.old))
    if wanted <= had:
        return []
    kinds = [each for each in _SCALABLE if request.resource in ("", each[0])]
    parents = [world.get(version, kind, request.namespace, request.name) for _, version, kind in kinds]
    found = [parent for parent in parents if parent is not None]
    if not found:
        message = "what would be scaled was not found"
        return [Denial("FG-SCALE-002", "metadata.name", message, "create it first; if it is a custom kind, edit it")]
    return [
        Denial("FG-SCALE-001", "spec.replicas", "its pods ask for devices outside of an admitted RayJob", SUBMIT)
        for parent in found
        if (demand := workload_demand(parent)).accelerated or demand.findings
    ]


def check_resize(request: Request) -> list[Denial]:
    """What a running pod takes was admitted with it."""
    if _resources(request.object) == _resources(request.old):
        return []
    found = "changes what a running pod takes, which was admitted with it"
    return [Denial("FG-RESIZE-001", "spec.containers", found, "make a new pod; for a job, submit it anew")]


def check_ephemeral(request: Request) -> list[Denial]:
    """A container that joins a pod later may reach no more than the pod's own."""
    template = request.object
    added = pod_demand({"spec": {"containers": get_list(get_map(template, "spec"), "ephemeralContainers")}}, "")
    out = denials("FG-EPH-001", added.findings)
    out += [
        Denial("FG-EPH-001", "spec.ephemeralContainers", f"asks for {name}={amount}", "an ephemeral container has none")
        for name, amount in added.accelerators.items()
    ]
    new = {"spec": {"ephemeralContainers": _new(request)}}
    baseline: list[Any] = []
    check_baseline(new, "", baseline)
    out += [*check_joining(new), *denials("FG-SEC-001", baseline)]
    if get_map(template, "spec").get("nodeName") != get_map(request.old, "spec").get("nodeName"):
        found = "moves the pod to a node"
        out.append(Denial("FG-PLACE-001", "spec.nodeName", found, "leave it"))
    return out


def _new(request: Request) -> list[Any]:
    old = get_list(get_map(request.old, "spec"), "ephemeralContainers")
    return [each for each in get_list(get_map(request.object, "spec"), "ephemeralContainers") if each not in old]


def _resources(pod: Plain) -> list[Any]:
    spec = get_map(pod, "spec")
    each = [
        [get_map(container, "resources") for container in get_list(spec, kind)]
        for kind in ("initContainers", "containers")
    ]
    return [*each, get_map(spec, "resources")]
