"""The order of the rules: what the API server could refuse alone, then what changes nothing, then each kind's own."""

from collections.abc import Mapping
from typing import Any

from fairgate_scheduler.core.manifests.findings import ManifestError
from fairgate_scheduler.core.manifests.plain import get_map

from fairgate_admission.facts.identities import is_trusted
from fairgate_admission.facts.request import Request, read_request
from fairgate_admission.facts.verdict import Denial, Verdict, verdict
from fairgate_admission.facts.world import LookupFailedError, World
from fairgate_admission.policy.backstop import check_backstop
from fairgate_admission.review import carveouts
from fairgate_admission.review.families import (
    labels,
    pods,
    ray_attempts,
    ray_clusters,
    ray_requests,
    subresources,
    templates,
)


def review(request: Request, world: World) -> Verdict:
    """The verdict on one request. Never raises for what a look-up does: one that fails is a refusal."""
    try:
        return verdict(request.subject, _review(request, world))
    except LookupFailedError as error:
        found = f"{error.what} could not be read, so nothing can be said for it"
        return verdict(request.subject, [Denial("FG-LOOK-001", "", found, "try again")])


def review_fields(fields: Mapping[str, Any], world: World) -> Verdict:
    """As ``review``, for a request as ``read_request`` takes it. One that can not be read is refused."""
    try:
        request = read_request(fields)
    except ManifestError as error:
        wrong = [Denial("FG-REQ-001", each.field, each.message, each.remedy) for each in error.findings]
        return verdict("The request", wrong)
    return review(request, world)


def backstop(request: Request, world: World) -> Verdict:
    """The verdict of the API server alone, by the policies."""
    return verdict(request.subject, check_backstop(request, _tenant(request, world)))


def _review(request: Request, world: World) -> list[Denial]:
    tenant = _tenant(request, world)
    refused = check_backstop(request, tenant)
    if tenant is None or not request.namespace or request.operation not in ("CREATE", "UPDATE"):
        return refused
    closer = _look_closer(request, world, tenant)
    told = {denial.rule for denial in closer}
    return [*(denial for denial in refused if denial.rule not in told), *closer]


def _tenant(request: Request, world: World) -> str | None:
    is_namespace = (request.group, request.kind) == ("", "Namespace")
    return world.tenant_of(request.name if is_namespace else request.namespace)


def _look_closer(request: Request, world: World, tenant: str) -> list[Denial]:
    if request.subresource:
        return _subresource(request, world)
    if carveouts.is_no_change(request) or carveouts.is_letting_go(request):
        return []
    return [*_deleted(request), *labels.check(request, world), *_by_kind(request, world, tenant)]


def _subresource(request: Request, world: World) -> list[Denial]:
    if request.subresource == "scale":
        return subresources.check_scale(request, world)
    if request.subresource == "resize":
        return subresources.check_resize(request)
    if request.subresource == "ephemeralcontainers":
        return subresources.check_ephemeral(request)
    return []


def _by_kind(request: Request, world: World, tenant: str) -> list[Denial]:
    kind = (request.group, request.kind)
    if kind == ("", "Pod"):
        return pods.check(request, world, tenant)
    if request.group != "ray.io":
        return templates.check(request, world, tenant)
    if request.kind != "RayJob":
        return ray_clusters.check(request, world, tenant)
    if is_trusted(request.username):
        return ray_attempts.check(request, world, tenant)
    if request.is_update and ray_attempts.is_attempt(request, world):
        return [ray_attempts.changed(request)]
    return ray_requests.check(request, world, tenant)


def _deleted(request: Request) -> list[Denial]:
    """What is being deleted only gets smaller: its checks must not be skipped, and it has no future to change for."""
    if is_trusted(request.username) or "deletionTimestamp" not in request.metadata:
        return []
    if get_map(request.object, "spec") == get_map(request.old, "spec"):
        return []
    found = "it is being deleted, so its spec can not be changed"
    return [Denial("FG-DEL-001", "spec", found, "wait until it is gone and make it anew")]
