"""RayJobs that are attempts: made by our scheduler for a reservation, started by Kueue, changed by nobody."""

from collections.abc import Iterator
from typing import Any, Final

from fairgate_scheduler.core.manifests.findings import child
from fairgate_scheduler.core.manifests.plain import Plain, get_list, get_map, get_text
from fairgate_scheduler.core.manifests.rewrite import DROPPED
from fairgate_scheduler.core.manifests.workloads import workload_demand

from fairgate_admission.facts import names
from fairgate_admission.facts.identities import KUEUE, SCHEDULER
from fairgate_admission.facts.request import Request
from fairgate_admission.facts.verdict import SUBMIT, Denial
from fairgate_admission.facts.world import Reservation, World
from fairgate_admission.review.families.pod_rules import check_always, denials
from fairgate_admission.review.families.ray_requests import changed_spec
from fairgate_admission.review.shapes import check_pod_sets

_OURS: Final = "cancel the job (`fairgate cancel`, or delete the request) and submit it anew"
_FORBIDDEN: Final = tuple(name for name in DROPPED if name not in ("suspend", "managedBy"))
_KUEUE_WRITES: Final = ("nodeSelector", "tolerations", "schedulingGates")


def is_attempt(request: Request, world: World) -> bool:
    """Whether what is there now is an attempt: in the launch queue, numbered as ours, or with a reservation."""
    labels = request.old_labels()
    uid = get_text(get_map(request.old, "metadata"), "uid")
    in_launch = labels.get(names.QUEUE) == world.settings.launch
    if in_launch or names.ATTEMPT in labels:
        return True
    return bool(uid) and world.reservation(uid, request.namespace, request.name) is not None


def check(request: Request, world: World, tenant: str) -> list[Denial]:
    """Whether a part of the system may make or change this RayJob so."""
    if request.username == SCHEDULER:
        return _check_ours(request, world, tenant)
    if not request.is_update:
        found = "only the scheduler makes attempts, and only people make requests"
        return [Denial("FG-RAY-008", "metadata", found, SUBMIT)]
    if request.username == KUEUE:
        return _check_kueue(request, world, tenant)
    if changed_spec(request):
        return [changed(request)]
    return []


def changed(request: Request) -> Denial:
    """What nobody may do to an attempt."""
    fields = list(changed_spec(request))
    field = f"spec.{fields[0]}" if fields else "metadata"
    return Denial("FG-RAY-005", field, "an attempt runs as it was admitted, and is not changed", _OURS)


def _check_ours(request: Request, world: World, tenant: str) -> list[Denial]:
    if request.is_update:
        if not changed_spec(request):
            return []
        if not is_attempt(request, world):
            return [changed(request)]
    reservation = world.reservation_named(tenant, request.name)
    if reservation is None:
        found = f"there is no reservation for the attempt {request.name!r}"
        return [Denial("FG-RAY-008", "metadata.name", found, "plan again: it was evicted or never admitted")]
    return [*_marks(request, reservation, world), *_shape(request, reservation, world)]


def _marks(request: Request, reservation: Reservation, world: World) -> Iterator[Denial]:
    if request.labels().get(names.QUEUE) != world.settings.launch:
        at = child("metadata.labels", names.QUEUE)
        yield Denial("FG-RAY-008", at, "an attempt is in the launch queue", f"label it {world.settings.launch}")
    digest = request.labels("annotations").get(names.DIGEST)
    if reservation.digest and digest != reservation.digest:
        at = child("metadata.annotations", names.DIGEST)
        yield Denial("FG-RAY-008", at, "is not what was reserved for this attempt", "render it again")


def _shape(request: Request, reservation: Reservation, world: World) -> Iterator[Denial]:
    spec = get_map(request.object, "spec")
    for key in _FORBIDDEN:
        if spec.get(key):
            yield Denial("FG-RAY-006", f"spec.{key}", "could keep pods when the job has ended", "remove it")
    if spec.get("shutdownAfterJobFinishes") is not True:
        found = "the cluster would keep its pods when the job has ended"
        yield Denial("FG-RAY-006", "spec.shutdownAfterJobFinishes", found, "write shutdownAfterJobFinishes: true")
    demand = workload_demand(request.object)
    yield from denials("FG-TPL-002", demand.findings)
    yield from check_pod_sets(demand.pod_sets, reservation, "FG-RAY-009")
    for pods in demand.pod_sets:
        yield from check_always(pods.template, pods.path, bool(pods.demand.accelerators), world.settings)


def _check_kueue(request: Request, world: World, tenant: str) -> list[Denial]:
    """Kueue starts an attempt and puts it on nodes; it changes nothing else, and starts no request."""
    out = []
    new, old = (_without_placement(get_map(of, "spec")) for of in (request.object, request.old))
    if new != old:
        found = "changes more than where the pods run"
        out.append(Denial("FG-RAY-011", "spec", found, "change node selectors, tolerations, gates, labels only"))
    is_started = get_map(request.object, "spec").get("suspend") is not True
    if is_started and get_map(request.old, "spec").get("suspend") is True:
        uid = get_text(request.metadata, "uid")
        place = (request.namespace, request.name)
        reservation = world.reservation(uid, *place) if uid else world.reservation_named(tenant, request.name)
        if reservation is None or reservation.tenant != tenant:
            found = "would start a RayJob that is no admitted attempt"
            out.append(Denial("FG-RAY-004", "spec.suspend", found, "leave it suspended"))
    return out


def _without_placement(value: Any) -> Any:
    """A RayJob's spec without what Kueue writes into it and into its pod templates."""
    if not isinstance(value, dict):
        return value
    out = {key: item for key, item in value.items() if key != "suspend"}
    cluster = get_map(out, "rayClusterSpec")
    if cluster:
        groups = [_placed_group(each) for each in get_list(cluster, "workerGroupSpecs")]
        out["rayClusterSpec"] = {**cluster, "headGroupSpec": _placed_group(get_map(cluster, "headGroupSpec"))}
        out["rayClusterSpec"]["workerGroupSpecs"] = groups
    if "submitterPodTemplate" in out:
        out["submitterPodTemplate"] = _placed_group({"template": out["submitterPodTemplate"]})["template"]
    return out


def _placed_group(group: Plain) -> Plain:
    template = get_map(group, "template")
    metadata = {
        key: item for key, item in get_map(template, "metadata").items() if key not in ("labels", "annotations")
    }
    pod = {key: item for key, item in get_map(template, "spec").items() if key not in _KUEUE_WRITES}
    rest = {key: item for key, item in template.items() if key not in ("metadata", "spec")}
    return {**group, "template": {**rest, "metadata": metadata, "spec": pod}}
