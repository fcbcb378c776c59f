"""Whether what would be made belongs to an admitted attempt: from owner to owner, each looked up as it is now.

What an object says of its owner proves nothing. What counts: the caller is the controller of that kind of owner, each
owner exists with the very uid that is named, and the last one is a RayJob for which there is a reservation.
"""

from fairgate_scheduler.core.manifests.plain import get_map, get_text

from fairgate_admission.facts import names
from fairgate_admission.facts.identities import CHILDREN, CONTROLLERS, RAY_JOB
from fairgate_admission.facts.owners import Reference, controller_of
from fairgate_admission.facts.request import Request
from fairgate_admission.facts.verdict import SUBMIT, Denial
from fairgate_admission.facts.world import Reservation, World


def prove(request: Request, world: World, tenant: str) -> Reservation | Denial:
    """The reservation of the attempt that the request's object belongs to, or why it belongs to none.

    Raises:
        LookupFailedError: an owner could not be read.
    """
    claimed = controller_of(request.object)
    if claimed is None:
        return Denial("FG-LIN-001", "metadata.ownerReferences", "it belongs to no admitted RayJob", SUBMIT)
    makers = CONTROLLERS.get(claimed.owner, frozenset())
    if claimed.owner not in CHILDREN.get(request.kind, frozenset()) or request.username not in makers:
        found = f"{request.username} is not the controller that makes a {request.kind} for a {claimed.kind}"
        return Denial("FG-LIN-002", claimed.field, found, SUBMIT)
    refused = _check_namespace(request, world, tenant)
    return refused or _walk(claimed, request.namespace, world, tenant)


def _check_namespace(request: Request, world: World, tenant: str) -> Denial | None:
    namespace = world.get("v1", "Namespace", "", request.namespace)
    label = get_text(get_map(namespace, "metadata", "labels"), names.TENANT)
    if label in ("", tenant):
        return None
    found = "the namespace is labelled for another tenant than the configuration says"
    return Denial("FG-LIN-005", "metadata.namespace", found, "ask the admins to put it right")


def _walk(claimed: Reference, namespace: str, world: World, tenant: str) -> Reservation | Denial:
    """Up from the owner that is claimed. It ends: of the kinds in ``CHILDREN`` none is above itself."""
    at = claimed
    while at.owner != RAY_JOB:
        live = world.get(at.api_version, at.kind, namespace, at.name)
        if live is None:
            return Denial("FG-LIN-003", claimed.field, f"there is no {at.kind} {at.name!r}", SUBMIT)
        if not at.uid or get_text(get_map(live, "metadata"), "uid") != at.uid:
            found = f"{at.kind} {at.name!r} has another uid than {at.uid!r}"
            return Denial("FG-LIN-004", claimed.field, found, SUBMIT)
        parent = controller_of(live)
        if parent is None or parent.owner not in CHILDREN.get(at.kind, frozenset()):
            found = f"{at.kind} {at.name!r} belongs to no admitted RayJob"
            return Denial("FG-LIN-005", claimed.field, found, SUBMIT)
        at = parent
    reservation = world.reservation(at.uid, namespace, at.name)
    if reservation is None or reservation.tenant != tenant:
        found = f"RayJob {at.name!r} with uid {at.uid!r} is no admitted attempt"
        return Denial("FG-LIN-005", claimed.field, found, SUBMIT)
    return reservation
