"""Requests that change nothing that matters, and those that only let an object go: allowed without any look-up.

Without them an object that is older than the gate could not even be deleted, and a gate that is slow or blind would
hold up the clean-up of everything.
"""

from typing import Any, Final

from fairgate_scheduler.core.manifests.plain import Plain, get_list, get_map

from fairgate_admission.facts import names
from fairgate_admission.facts.request import Request

DEVICE_ANNOTATIONS: Final = ("cdi.k8s.io/", "nvidia.cdi.k8s.io/", "kubernetes.io/config.mirror")
_FREE: Final = ("metadata", "status", "apiVersion", "kind")


def is_no_change(request: Request) -> bool:
    """An update that leaves all that the gate looks at as it is."""
    return request.is_update and _is_same_content(request) and _shrinks(request, is_strict=True)


def is_letting_go(request: Request) -> bool:
    """An update of an object that is being deleted, which takes away finalizers or owners and changes nothing else."""
    is_deleted = "deletionTimestamp" in request.metadata and "deletionTimestamp" in get_map(request.old, "metadata")
    return request.is_update and is_deleted and _is_same_content(request) and _shrinks(request, is_strict=False)


def _is_same_content(request: Request) -> bool:
    if _content(request.object) != _content(request.old):
        return False
    if request.labels() != request.old_labels():
        return False
    return _watched(request.labels("annotations")) == _watched(request.old_labels("annotations"))


def _content(manifest: Plain) -> dict[str, Any]:
    return {key: value for key, value in manifest.items() if key not in _FREE}


def _watched(annotations: Any) -> dict[str, Any]:
    prefixes = (*names.RESERVED, *DEVICE_ANNOTATIONS, "container.apparmor.security.beta.kubernetes.io/")
    return {key: value for key, value in annotations.items() if key.startswith(prefixes)}


def _shrinks(request: Request, *, is_strict: bool) -> bool:
    for key in ("finalizers", "ownerReferences"):
        new, old = get_list(request.metadata, key), get_list(get_map(request.old, "metadata"), key)
        if new != old if is_strict else any(item not in old for item in new):
            return False
    return True
