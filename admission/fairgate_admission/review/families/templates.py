"""All kinds that make pods but those of Ray: devices are refused where they are first written, however few run now."""

from fairgate_scheduler.core.amounts import format_quantity
from fairgate_scheduler.core.manifests.findings import child
from fairgate_scheduler.core.manifests.workloads import PodSet, WorkloadDemand, workload_demand

from fairgate_admission.facts.identities import is_trusted
from fairgate_admission.facts.request import Request
from fairgate_admission.facts.verdict import SUBMIT, Denial
from fairgate_admission.facts.world import World
from fairgate_admission.review.families.pod_rules import check_always, check_unproven, denials
from fairgate_admission.review.lineage import prove
from fairgate_admission.review.shapes import check_pod_sets, group_of_job


def check(request: Request, world: World, tenant: str) -> list[Denial]:
    """Whether an object that can make pods may be made or changed so."""
    demand = workload_demand(request.object)
    out = denials("FG-TPL-002", demand.findings)
    if is_trusted(request.username):
        return [*out, *_check_trusted(request, demand, world, tenant)]
    for pods in demand.pod_sets:
        out += _check_template(pods, world)
    return out


def _check_template(pods: PodSet, world: World) -> list[Denial]:
    devices = pods.demand.accelerators
    asked = ", ".join(f"{name}={format_quantity(amount, name)}" for name, amount in devices.items())
    found = f"its pods ask for {asked} outside of an admitted RayJob"
    refused = [Denial("FG-TPL-001", child(pods.path, "spec"), found, SUBMIT)] if devices else []
    rest = [check(pods.template, pods.path, bool(devices), world.settings) for check in (check_always, check_unproven)]
    return [*refused, *rest[0], *rest[1]]


def _check_trusted(request: Request, demand: WorkloadDemand, world: World, tenant: str) -> list[Denial]:
    """A controller's work is as good as what it works for: an admitted attempt, or no more than there was before."""
    if not demand.accelerated or (request.is_update and not _has_grown(request, demand)):
        return []
    proof = prove(request, world, tenant)
    if isinstance(proof, Denial):
        return [proof]
    group = group_of_job(request.object)
    pod_sets = [PodSet(group, each.path, each.count, each.template, each.demand) for each in demand.pod_sets]
    return check_pod_sets(pod_sets, proof, "FG-TPL-003")


def _has_grown(request: Request, demand: WorkloadDemand) -> bool:
    old = workload_demand(request.old)
    before = {pods.path: pods for pods in old.pod_sets}
    for pods in demand.accelerated:
        was = before.get(pods.path)
        if was is None or pods.count > was.count:
            return True
        if any(amount > was.demand.accelerators.get(name, 0) for name, amount in pods.demand.accelerators.items()):
            return True
    return False
