"""The objects that a mirror holds, and what each new sight of them changes."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from fairgate_scheduler.adapters.kube.api import Manifest

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Change:
    """One object came (``before`` is None), changed, or went (``after`` is None)."""

    before: Manifest | None
    after: Manifest | None


class Shelf:
    """Objects of one kind by namespace and name, and by the value of one label. May be used by several threads."""

    def __init__(self, index: str = "") -> None:
        self._index = index
        self._lock = threading.Lock()
        self._objects: dict[Key, Manifest] = {}
        self._by_value: dict[str, dict[Key, Manifest]] = {}
        self._snapshot: tuple[Manifest, ...] | None = ()

    def items(self) -> Sequence[Manifest]:
        """All objects; the same tuple until something changes."""
        with self._lock:
            if self._snapshot is None:
                self._snapshot = tuple(self._objects.values())
            return self._snapshot

    def get(self, namespace: str, name: str) -> Manifest | None:
        """One object, or None."""
        with self._lock:
            return self._objects.get((namespace, name))

    def labelled(self, value: str) -> Sequence[Manifest]:
        """The objects of this value of the index's label."""
        with self._lock:
            return tuple(self._by_value.get(value, {}).values())

    def replace(self, manifests: Sequence[Manifest]) -> Sequence[Change]:
        """Hold these and no others: what is gone, and then what is new or another."""
        with self._lock:
            there = {_key(manifest) for manifest in manifests}
            changes = [change for key in [*self._objects] if key not in there for change in self._take(key)]
            return changes + [change for manifest in manifests for change in self._put(manifest)]

    def put(self, manifest: Manifest) -> Sequence[Change]:
        """An object as it is now. One that took the name of another is two changes."""
        with self._lock:
            return self._put(manifest)

    def take(self, manifest: Manifest) -> Sequence[Change]:
        """An object is gone."""
        with self._lock:
            return self._take(_key(manifest))

    def _put(self, manifest: Manifest) -> list[Change]:
        key, changes = _key(manifest), []
        before = self._objects.get(key)
        if before is not None and _uid(before) != _uid(manifest):
            changes, before = self._take(key), None
        if before is not None and _version(before) == _version(manifest):
            return []
        if before is not None:
            self._unfile(key, before)
        self._objects[key] = manifest
        if (value := self._value(manifest)) is not None:
            self._by_value.setdefault(value, {})[key] = manifest
        self._snapshot = None
        return [*changes, Change(before, manifest)]

    def _take(self, key: Key) -> list[Change]:
        before = self._objects.pop(key, None)
        if before is None:
            return []
        self._unfile(key, before)
        self._snapshot = None
        return [Change(before, None)]

    def _unfile(self, key: Key, manifest: Manifest) -> None:
        value = self._value(manifest)
        if value is not None:
            of_value = self._by_value[value]
            del of_value[key]
            if not of_value:
                del self._by_value[value]

    def _value(self, manifest: Manifest) -> str | None:
        labels = manifest["metadata"].get("labels") or {}
        return labels.get(self._index) if self._index else None


def _key(manifest: Manifest) -> Key:
    return manifest["metadata"].get("namespace", ""), manifest["metadata"]["name"]


def _uid(manifest: Manifest) -> str:
    return str(manifest["metadata"]["uid"])


def _version(manifest: Manifest) -> str:
    return str(manifest["metadata"]["resourceVersion"])
