"""RayClusters of attempts: made by KubeRay within the reservation, scaled by their autoscaler within its bounds."""

from collections.abc import Iterator
from typing import Any, Final

from fairgate_scheduler.core.manifests.plain import Plain, get_int, get_list, get_map, get_text
from fairgate_scheduler.core.manifests.workloads import workload_demand

from fairgate_admission.facts.identities import KUBERAY, KUEUE, RAY_JOB, autoscaler_of, is_trusted
from fairgate_admission.facts.owners import controller_of
from fairgate_admission.facts.request import Request
from fairgate_admission.facts.verdict import SUBMIT, Denial
from fairgate_admission.facts.world import Reservation, World
from fairgate_admission.review.families.pod_rules import denials
from fairgate_admission.review.lineage import prove
from fairgate_admission.review.shapes import CHANGE, check_pod_sets

_AUTOSCALED: Final = ("replicas", "scaleStrategy")


def check(request: Request, world: World, tenant: str) -> list[Denial]:
    """Whether this RayCluster (or RayService, RayCronJob) may be made or changed so."""
    if request.is_update and request.kind == "RayCluster" and _is_autoscaler(request):
        return list(_autoscaled(request, world, tenant))
    if not is_trusted(request.username):
        return [Denial("FG-RAY-002", "kind", f"a {request.kind} is not for users to make or change", SUBMIT)]
    demand, known = workload_demand(request.object), workload_demand(request.old).findings
    uncounted = denials("FG-TPL-002", tuple(each for each in demand.findings if each not in known))
    if request.is_update and not _has_grown(request):
        return uncounted
    if request.kind != "RayCluster" or request.username not in (KUBERAY, KUEUE):
        found = f"a {request.kind} would run outside of an admitted RayJob"
        return [Denial("FG-RAY-002", "kind", found, SUBMIT)]
    proof = _root(request, world, tenant) if request.is_update else prove(request, world, tenant)
    if isinstance(proof, Denial):
        return [proof]
    return [*uncounted, *check_pod_sets(demand.pod_sets, proof, "FG-RAY-009")]


def _is_autoscaler(request: Request) -> bool:
    return request.username == autoscaler_of(request.namespace, request.name)


def _root(request: Request, world: World, tenant: str) -> Reservation | Denial:
    """The reservation of the RayJob that a cluster which is there belongs to; its owner was proven when it came."""
    owner = controller_of(request.old)
    is_of_job = owner is not None and owner.owner == RAY_JOB
    reservation = world.reservation(owner.uid, request.namespace, owner.name) if owner and is_of_job else None
    if reservation is None or reservation.tenant != tenant:
        return Denial("FG-LIN-005", "metadata.ownerReferences", "it belongs to no admitted RayJob", SUBMIT)
    return reservation


def _has_grown(request: Request) -> bool:
    new, old = (get_map(of, "spec") for of in (request.object, request.old))
    if new.get("suspend") is not True and old.get("suspend") is True:
        return True
    before = {pods.path: pods for pods in workload_demand(request.old).pod_sets}
    for pods in workload_demand(request.object).pod_sets:
        was = before.get(pods.path)
        if was is None or pods.count > was.count:
            return True
        if any(amount > was.demand.requests.get(name, 0) for name, amount in pods.demand.requests.items()):
            return True
    return False


def _autoscaled(request: Request, world: World, tenant: str) -> Iterator[Denial]:
    new, old = (_without_scale(of) for of in (request.object, request.old))
    if new != old or request.labels() != request.old_labels():
        found = "an autoscaler changes replicas and scaleStrategy, and nothing else"
        yield Denial("FG-RAY-010", "spec", found, "leave the rest as it is")
        return
    proof = _root(request, world, tenant)
    if isinstance(proof, Denial):
        yield proof
        return
    before = {get_text(each, "groupName"): each for each in _groups(request.old)}
    for index, group in enumerate(_groups(request.object)):
        name = get_text(group, "groupName")
        pods = _pods(group)
        admitted = next((each for key, each in proof.groups.items() if key.lower() == name.lower()), None)
        most = max(admitted.count, admitted.max) if admitted else 0
        if pods > most and pods > _pods(before.get(name, {})):
            found = f"{pods} pods of {name}; {most} were admitted"
            yield Denial("FG-RAY-010", f"spec.workerGroupSpecs[{index}].replicas", found, CHANGE)


def _pods(group: Plain) -> int:
    return max(get_int(group, "replicas", 0), 0) * max(get_int(group, "numOfHosts", 1), 1)


def _groups(cluster: Plain) -> list[Any]:
    return get_list(get_map(cluster, "spec"), "workerGroupSpecs")


def _without_scale(cluster: Plain) -> Plain:
    groups = [
        {key: item for key, item in group.items() if key not in _AUTOSCALED} if isinstance(group, dict) else group
        for group in _groups(cluster)
    ]
    return {**get_map(cluster, "spec"), "workerGroupSpecs": groups}
