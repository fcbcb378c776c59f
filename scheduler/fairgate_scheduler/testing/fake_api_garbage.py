"""What a cluster's controllers clear away: objects whose owners are gone, and what is in a namespace being deleted."""

from collections.abc import Callable, Iterator
from typing import Any

from fairgate_scheduler.adapters.kube.api import Kind
from fairgate_scheduler.adapters.kube.api.kinds import NAMESPACE
from fairgate_scheduler.testing.fake_api_store import Key, Objects

FOREGROUND = "foregroundDeletion"
Delete = Callable[[Kind, Key], bool]
"""Delete an object in the background; whether that changed anything."""
Drop = Callable[[Kind, Key, str], None]
"""Take a finalizer from an object."""


def collect(objects: Objects, delete: Delete, drop: Drop) -> int:
    """Clear away until nothing is left to do; how many objects were touched."""
    touched = 0
    while count := _collect_once(objects, delete, drop):
        touched += count
    return touched


def _collect_once(objects: Objects, delete: Delete, drop: Drop) -> int:
    there = {record.object["metadata"]["uid"]: record.object["metadata"] for _, _, record in _all(objects)}
    going = {uid for uid, metadata in there.items() if FOREGROUND in metadata.get("finalizers", ())}
    ending = {
        key[1]
        for kind, key, record in _all(objects)
        if kind == NAMESPACE and "deletionTimestamp" in record.object["metadata"]
    }
    touched = 0
    for kind, key, record in list(_all(objects)):
        metadata = record.object["metadata"]
        if _is_garbage(metadata, set(there) - going) or (kind.is_namespaced and key[0] in ending):
            touched += "deletionTimestamp" not in metadata and delete(kind, key)
        elif metadata["uid"] in going and not _dependents(objects, metadata["uid"]):
            drop(kind, key, FOREGROUND)
            touched += 1
        elif kind == NAMESPACE and key[1] in ending and not _content(objects, key[1]):
            objects.remove(kind, key)
            touched += 1
    return touched


def _all(objects: Objects) -> Iterator[tuple[Kind, Key, Any]]:
    for kind in list(objects.by_kind):
        for key, record in objects.records(kind).items():
            yield kind, key, record


def _is_garbage(metadata: dict[str, Any], staying: set[str]) -> bool:
    owners = metadata.get("ownerReferences", ())
    return bool(owners) and not any(owner["uid"] in staying for owner in owners)


def _dependents(objects: Objects, uid: str) -> bool:
    return any(
        owner["uid"] == uid and owner.get("blockOwnerDeletion")
        for _, _, record in _all(objects)
        for owner in record.object["metadata"].get("ownerReferences", ())
    )


def _content(objects: Objects, namespace: str) -> bool:
    return any(key[0] == namespace for _, key, _ in _all(objects))
