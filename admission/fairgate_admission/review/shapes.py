"""Whether pods keep within what was reserved for their group: what each takes, and how many there are."""

from collections.abc import Mapping, Sequence
from typing import Final

from fairgate_scheduler.core.amounts import Amount, format_quantity, is_accelerator
from fairgate_scheduler.core.manifests.anypods import group_of_pod, pod_demand
from fairgate_scheduler.core.manifests.charge import REDIS_CLEANUP
from fairgate_scheduler.core.manifests.options import SUBMITTER
from fairgate_scheduler.core.manifests.plain import Plain, get_map, get_text
from fairgate_scheduler.core.manifests.workloads import PodSet

from fairgate_admission.facts.identities import RAY_JOB
from fairgate_admission.facts.owners import controller_of
from fairgate_admission.facts.request import Request
from fairgate_admission.facts.verdict import Denial
from fairgate_admission.facts.world import AdmittedGroup, Reservation, World

_ENDED: Final = ("Succeeded", "Failed")
_NOTHING: Final = AdmittedGroup(0, 0, {})
CHANGE: Final = "submit the job anew with what it needs; what was admitted does not grow"


def check_pod_sets(pod_sets: Sequence[PodSet], reservation: Reservation, rule: str) -> list[Denial]:
    """What of these pods was not reserved. Groups without devices that the reservation does not name are let be."""
    out = []
    counts: dict[str, int] = {}
    for pods in pod_sets:
        admitted = _admitted(reservation, pods.name)
        if admitted is None and not pods.demand.accelerators:
            continue
        admitted = admitted or _NOTHING
        out += _too_much(pods.demand.requests, admitted, (rule, f"{pods.path}.spec", pods.name))
        name, most = pods.name.lower(), max(admitted.count, admitted.max)
        counts[name] = counts.get(name, 0) + pods.count  # two groups of one name share what it has
        if counts[name] > most:
            found = f"{counts[name]} pods of {pods.name}; {most} were admitted"
            out.append(Denial(rule, pods.path, found, CHANGE))
    return out


def check_pod(request: Request, reservation: Reservation, world: World) -> list[Denial]:
    """Whether one more pod is within its group's reservation: in what it takes, and with those that live already."""
    requests = pod_demand(request.object, "").requests
    name = _group_of(request.object)
    candidates = [name] if name else list(reservation.groups)
    groups = [(each, _admitted(reservation, each) or _NOTHING) for each in candidates]
    fitting = [
        (each, admitted) for each, admitted in groups if not _too_much(requests, admitted, ("FG-POD-003", "spec", each))
    ]
    if not fitting:
        if len(groups) == 1:
            return _too_much(requests, groups[0][1], ("FG-POD-003", "spec", groups[0][0]))
        return [Denial("FG-POD-003", "metadata.labels", "no pod group was admitted that it could be of", CHANGE)]
    living = _living(request, reservation, world)
    if any(sum(name in ("", each) for name in living) < max(group.count, group.max) for each, group in fitting):
        return []
    found = f"{len(living)} pods of the job live, and no more of {fitting[0][0]} were admitted"
    return [Denial("FG-POD-004", "metadata.labels[ray.io/group]", found, CHANGE)]


def _living(request: Request, reservation: Reservation, world: World) -> list[str]:
    """The group of every live pod of the attempt but this one; "" where no label says it: it counts for each."""
    jobs = world.owned("batch/v1", "Job", request.namespace, reservation.uid)
    clusters = world.owned("ray.io/v1", "RayCluster", request.namespace, reservation.uid)
    claimed = controller_of(request.object)
    owners = {get_text(get_map(each, "metadata"), "uid") for each in (*jobs, *clusters)}
    owners |= {claimed.uid} if claimed else set()
    pods = [pod for uid in sorted(owners) for pod in world.owned("v1", "Pod", request.namespace, uid)]
    return [
        _group_of(pod)
        for pod in pods
        if get_text(get_map(pod, "status"), "phase") not in _ENDED and not _is_same(pod, request)
    ]


def _is_same(pod: Plain, request: Request) -> bool:
    return bool(request.name) and get_text(get_map(pod, "metadata"), "name") == request.name


def _group_of(pod: Plain) -> str:
    group = group_of_pod(get_map(pod, "metadata", "labels"))
    if group:
        return group
    owner = controller_of(pod)
    return SUBMITTER if owner and owner.kind == "Job" else ""


def group_of_job(manifest: Plain) -> str:
    """The pod group of a Job that KubeRay makes: what submits for a RayJob, or what cleans up after a RayCluster."""
    owner = controller_of(manifest)
    return SUBMITTER if owner and owner.owner == RAY_JOB else REDIS_CLEANUP


def _admitted(reservation: Reservation, name: str) -> AdmittedGroup | None:
    by_lower = {key.lower(): group for key, group in reservation.groups.items()}
    return by_lower.get(name.lower())


def _too_much(requests: Mapping[str, Amount], admitted: AdmittedGroup, place: tuple[str, str, str]) -> list[Denial]:
    rule, field, name = place
    out = []
    for resource, amount in requests.items():
        most = admitted.requests.get(resource, 0 if is_accelerator(resource) else amount)
        if amount > most:
            wanted, had = format_quantity(amount, resource), format_quantity(most, resource)
            found = f"a pod of {name} asks for {resource}={wanted}; {had} was admitted"
            out.append(Denial(rule, field, found, CHANGE))
    return out
