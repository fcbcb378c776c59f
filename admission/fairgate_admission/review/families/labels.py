"""Labels, annotations, owners and finalizers by which Kueue, KubeRay and we tell things apart: not users' to write."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fairgate_scheduler.core.manifests.findings import child
from fairgate_scheduler.core.manifests.marks import is_reserved, not_for_users
from fairgate_scheduler.core.manifests.plain import Plain, get_list, get_map
from fairgate_scheduler.core.manifests.podrules import check_kept
from fairgate_scheduler.core.manifests.workloads import workload_demand

from fairgate_admission.facts import names
from fairgate_admission.facts.identities import CONTROLLERS, is_trusted
from fairgate_admission.facts.owners import Reference, references
from fairgate_admission.facts.request import Request
from fairgate_admission.facts.verdict import Denial
from fairgate_admission.facts.world import World
from fairgate_admission.review.families.pod_rules import named

_RAY: Final = "ray.io"
_QUEUE: Final = "the queue of an object is set when it is made, and only RayJobs have one: inbox"
_LEAVE: Final = "leave it as it is"
_REMOVE: Final = "remove it"


def check(request: Request, world: World) -> list[Denial]:
    """What somebody who is no part of the system changes in an object of his."""
    if is_trusted(request.username):
        return []
    return [*_reserved(request, world), *_in_templates(request), *_owners(request), *_finalizers(request)]


def _reserved(request: Request, world: World) -> Iterator[Denial]:
    for kind in ("labels", "annotations"):
        new, old = request.labels(kind), request.old_labels(kind)
        for key in _changed(new, old):
            if not _is_of_request(request, kind, key, world):
                rule = "FG-LABEL-002" if key == names.QUEUE else "FG-LABEL-001"
                remedy = _LEAVE if key in old else _REMOVE
                found = _QUEUE if key == names.QUEUE else _found(key, new, old)
                yield Denial(rule, child(f"metadata.{kind}", key), found, remedy)


def _is_of_request(request: Request, kind: str, key: str, world: World) -> bool:
    """What a RayJob that is a request may say; its own annotations are read by ``ray_requests``."""
    if (request.group, request.kind) != (_RAY, "RayJob"):
        return False
    if kind == "annotations":
        return key in request.labels(kind) and (key.startswith(names.FAIRGATE) or key in names.RAY_OPTIONS)
    return key == names.QUEUE and not request.is_update and request.labels().get(key) == world.settings.inbox


def _found(key: str, new: Mapping[str, Any], old: Mapping[str, Any]) -> str:
    done = "sets" if key not in old else "changes" if key in new else "removes"
    return not_for_users(done, key)


def _changed(new: Mapping[str, Any], old: Mapping[str, Any]) -> list[str]:
    keys = dict.fromkeys([*new, *old])
    return [key for key in keys if is_reserved(key) and new.get(key) != old.get(key)]


def _in_templates(request: Request) -> Iterator[Denial]:
    old = {pods.path: pods.template for pods in workload_demand(request.old).pod_sets}
    for pods in workload_demand(request.object).pod_sets:
        if not pods.path:
            continue  # a pod's metadata is the object's own
        if request.group == _RAY:
            yield from named(check_kept(pods.template, pods.path))
        for kind in ("labels", "annotations"):
            new = get_map(pods.template, "metadata", kind)
            was = get_map(old.get(pods.path, {}), "metadata", kind)
            for key in _changed(new, was):
                at = child(f"{pods.path}.metadata.{kind}", key)
                yield Denial("FG-LABEL-001", at, _found(key, new, was), _REMOVE)


def _owners(request: Request) -> Iterator[Denial]:
    """A reference to something that is managed makes others take the object for a part of it."""
    new, old = references(request.object), references(request.old)
    known = {_identity(each) for each in old}
    for each in new:
        if each.owner in CONTROLLERS and _identity(each) not in known:
            found = f"says that it belongs to {each.kind} {each.name!r}, which is for its controller to say"
            yield Denial("FG-OWNER-001", each.field, found, _REMOVE)
    left = {_identity(each) for each in new}
    for each in old:
        if each.owner in CONTROLLERS and _identity(each) not in left:
            found = f"takes the object away from {each.kind} {each.name!r}, which would replace it"
            yield Denial("FG-OWNER-001", "metadata.ownerReferences", found, _LEAVE)


def _identity(each: Reference) -> tuple[object, ...]:
    return each.owner, each.name, each.uid, each.is_controller


def _finalizers(request: Request) -> Iterator[Denial]:
    """A finalizer keeps what has ended: its quota would be free while its pods still run."""
    if not _holds_capacity(request):
        return
    old = get_list(get_map(request.old, "metadata"), "finalizers")
    new = get_list(request.metadata, "finalizers")
    for index, name in enumerate(new):
        if name not in old:
            found = f"the finalizer {name!r} would keep it, or what it has made, after it has ended"
            yield Denial("FG-FIN-001", f"metadata.finalizers[{index}]", found, _REMOVE)
    for name in old:
        if name not in new and str(name).startswith(names.RESERVED):
            yield Denial("FG-FIN-001", "metadata.finalizers", f"removes {name}, which is not for users", _LEAVE)


def _holds_capacity(request: Request) -> bool:
    if request.group == _RAY:
        return True
    return _asks_for_devices(request.object) or _asks_for_devices(request.old)


def _asks_for_devices(manifest: Plain) -> bool:
    return bool(manifest and workload_demand(manifest).accelerated)
