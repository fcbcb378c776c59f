"""Pods: the one place that every way to a device ends in.

A pod without devices, and without a way round asking for them, needs nobody's leave. Every other belongs to an admitted
attempt, or is refused.
"""

from fairgate_scheduler.core.manifests.anypods import pod_demand
from fairgate_scheduler.core.manifests.plain import get_list, get_map, get_text

from fairgate_admission.facts.identities import KUEUE, is_trusted
from fairgate_admission.facts.names import KUEUE as KUEUE_PREFIX
from fairgate_admission.facts.request import Request
from fairgate_admission.facts.verdict import SUBMIT, Denial
from fairgate_admission.facts.world import Reservation, World
from fairgate_admission.review.families.pod_rules import check_always, check_unproven, denials
from fairgate_admission.review.lineage import prove
from fairgate_admission.review.shapes import check_pod


def check(request: Request, world: World, tenant: str) -> list[Denial]:
    """Whether this pod may be made or changed so."""
    demand = pod_demand(request.object, "")
    has_devices, settings = bool(demand.accelerators), world.settings
    out = denials("FG-POD-002", demand.findings)
    out += _without_default(check_always(request.object, "", has_devices, settings), request, world)
    if request.is_update:
        out += _check_update(request)
        out += _new_concerns(request, check_unproven(request.object, "", has_devices, settings), world, tenant)
        return out
    concerns = check_unproven(request.object, "", has_devices, settings)
    if has_devices:
        proof = _prove(request, world, tenant)
        return [*out, *(check_pod(request, proof, world) if isinstance(proof, Reservation) else [proof])]
    if concerns and is_trusted(request.username) and isinstance(prove(request, world, tenant), Reservation):
        return out
    return [*out, *concerns]


def _without_default(found: list[Denial], request: Request, world: World) -> list[Denial]:
    """The cluster's own default priority class is written into every pod before it gets here."""
    name = get_text(get_map(request.object, "spec"), "priorityClassName")
    if all(denial.rule != "FG-PRIO-001" for denial in found) or name.startswith("system-"):
        return found
    priority_class = world.get("scheduling.k8s.io/v1", "PriorityClass", "", name)
    is_default = (priority_class or {}).get("globalDefault") is True
    return [denial for denial in found if not is_default or denial.rule != "FG-PRIO-001"]


def _prove(request: Request, world: World, tenant: str) -> Reservation | Denial:
    if not is_trusted(request.username):
        asked = ", ".join(f"{name}={amount}" for name, amount in pod_demand(request.object, "").accelerators.items())
        found = f"asks for {asked} outside of an admitted RayJob"
        return Denial("FG-POD-001", _field(request), found, SUBMIT)
    return prove(request, world, tenant)


def _field(request: Request) -> str:
    """Where the first device is asked for."""
    spec = get_map(request.object, "spec")
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(get_list(spec, kind)):
            single = {"spec": {"containers": [container]}}
            if pod_demand(single, "").accelerators:
                return f"spec.{kind}[{index}].resources"
    return "spec"


def _check_update(request: Request) -> list[Denial]:
    """What a pod takes never grows, its labels stay while it has devices, and gates are Kueue's to open."""
    new, old = pod_demand(request.object, "").accelerators, pod_demand(request.old, "").accelerators
    out = [
        Denial("FG-POD-005", "spec", f"asks for {name}={amount}, and had {old.get(name, 0)}", SUBMIT)
        for name, amount in new.items()
        if amount > old.get(name, 0)
    ]
    if (new or old) and request.labels() != request.old_labels() and not is_trusted(request.username):
        found = "the labels of a pod with devices are what it is counted by"
        out.append(Denial("FG-LABEL-003", "metadata.labels", found, "leave them as they are"))
    return [*out, *_gates(request)]


def _gates(request: Request) -> list[Denial]:
    gates = [
        {get_text(gate, "name") for gate in get_list(get_map(of, "spec"), "schedulingGates")}
        for of in (request.object, request.old)
    ]
    removed = sorted(name for name in gates[1] - gates[0] if name.startswith(KUEUE_PREFIX))
    if not removed or request.username == KUEUE:
        return []
    found = f"removes the gate {removed[0]}, which only Kueue opens"
    return [Denial("FG-GATE-001", "spec.schedulingGates", found, "leave it; the pod starts when it is admitted")]


def _new_concerns(request: Request, concerns: list[Denial], world: World, tenant: str) -> list[Denial]:
    """Those that the pod has not got already: what is there was judged when it came."""
    has_devices = bool(pod_demand(request.old, "").accelerators)
    old = check_unproven(request.old, "", has_devices, world.settings)
    return concerns if len(concerns) > len(old) and not _is_proven(request, world, tenant) else []


def _is_proven(request: Request, world: World, tenant: str) -> bool:
    return is_trusted(request.username) and isinstance(prove(request, world, tenant), Reservation)
