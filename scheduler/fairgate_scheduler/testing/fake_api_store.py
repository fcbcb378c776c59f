"""Objects with versions, and the history that watches read: the part of an API server's twin that is its etcd."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Literal

from fairgate_scheduler.adapters.kube.api import GoneError, Kind, Manifest, UnavailableError, Watched
from fairgate_scheduler.testing.fake_api_owners import Owners

EventType = Literal["ADDED", "MODIFIED", "DELETED"]
Key = tuple[str, str]
"""Namespace and name."""


@dataclass(frozen=True, slots=True)
class Record:
    """One object and who owns its fields. The object is never changed in place."""

    object: dict[str, Any]
    owners: Owners


@dataclass(frozen=True, slots=True)
class Change:
    """One entry of the history."""

    version: int
    kind: Kind
    before: Manifest | None
    after: Manifest | None


@dataclass
class Objects:
    """All objects, and what happened to them since the last compaction."""

    version: int = 1
    compacted: int = 0
    history: deque[Change] = field(default_factory=deque)
    by_kind: dict[Kind, dict[Key, Record]] = field(default_factory=dict)
    changed: threading.Condition = field(default_factory=lambda: threading.Condition(threading.RLock()))
    drops: int = 0
    """How often all watches were cut off."""
    ends: int = 0
    """How often all watches were ended as if their time were over."""

    def find(self, kind: Kind, key: Key) -> Record | None:
        """An object, or None."""
        return self.by_kind.get(kind, {}).get(key)

    def records(self, kind: Kind) -> dict[Key, Record]:
        """All objects of a kind; a copy, to be changed under."""
        return dict(self.by_kind.get(kind, {}))

    def put(self, kind: Kind, key: Key, record: Record) -> dict[str, Any]:
        """Write an object with the next version and tell the watches."""
        before = self.find(kind, key)
        self.version += 1
        managed = record.owners.as_managed_fields(kind.api_version)
        versioned = {**record.object["metadata"], "resourceVersion": str(self.version), "managedFields": managed}
        written = {**record.object, "metadata": versioned}
        self.by_kind.setdefault(kind, {})[key] = Record(written, record.owners)
        self._tell(Change(self.version, kind, before.object if before else None, written))
        return written

    def remove(self, kind: Kind, key: Key) -> None:
        """Remove an object and tell the watches."""
        gone = self.by_kind[kind].pop(key).object
        self.version += 1
        last = {**gone, "metadata": {**gone["metadata"], "resourceVersion": str(self.version)}}
        self._tell(Change(self.version, kind, last, None))

    def compact(self) -> None:
        """Forget the history: who watches from before now has to list again."""
        with self.changed:
            self.history.clear()
            self.compacted = self.version

    def drop_watches(self) -> None:
        """Cut off all watches, as when the connection is lost."""
        with self.changed:
            self.drops += 1
            self.changed.notify_all()

    def end_watches(self) -> None:
        """End all watches as if their time were over, as a server does that is being restarted."""
        with self.changed:
            self.ends += 1
            self.changed.notify_all()

    def _tell(self, change: Change) -> None:
        self.history.append(change)
        self.changed.notify_all()


class FakeWatch:
    """``Watch`` on the history. ``selects`` says which objects are watched."""

    def __init__(
        self, objects: Objects, kind: Kind, version: int, selects: Callable[[Manifest], bool], timeout_s: float
    ) -> None:
        self._objects = objects
        self._kind = kind
        self._version = version
        self._selects = selects
        self._ends_at = time.monotonic() + timeout_s
        self._drops = objects.drops
        self._ends = objects.ends
        self._is_closed = False
        self._told = version
        self._check_version()

    def __iter__(self) -> Iterator[Watched]:
        return self

    def __next__(self) -> Watched:
        """See ``Watch``; at its end comes a bookmark, if there is anything to tell by it."""
        with self._objects.changed:
            while not self._is_closed:
                if self._drops != self._objects.drops:
                    raise UnavailableError(f"watch of {self._kind.plural} lost: connection reset by peer")
                self._check_version()
                if event := self._next_event():
                    return event
                left_s = self._ends_at - time.monotonic()
                if left_s <= 0 or self._ends != self._objects.ends:
                    return self._bookmark()
                self._objects.changed.wait(left_s)
            raise StopIteration

    def close(self) -> None:
        """See ``Watch``."""
        with self._objects.changed:
            self._is_closed = True
            self._objects.changed.notify_all()

    def _check_version(self) -> None:
        if self._version < self._objects.compacted:
            raise GoneError(f"too old resource version: {self._version} ({self._objects.compacted})", "Expired")

    def _next_event(self) -> Watched | None:
        for change in tuple(self._objects.history):
            if change.version > self._version:
                self._version = change.version
                if change.kind == self._kind and (event := self._event_of(change)):
                    self._told = change.version
                    return event
        return None

    def _event_of(self, change: Change) -> Watched | None:
        was = change.before is not None and self._selects(change.before)
        is_now = change.after is not None and self._selects(change.after)
        if not (was or is_now):
            return None
        seen = deepcopy(dict((change.after if is_now else change.before) or {}))
        seen["metadata"]["resourceVersion"] = str(change.version)
        return Watched("DELETED" if not is_now else "MODIFIED" if was else "ADDED", seen)

    def _bookmark(self) -> Watched:
        if self._told >= self._objects.version:
            raise StopIteration
        self._told = self._version = self._objects.version
        metadata: Mapping[str, Any] = {"resourceVersion": str(self._version)}
        return Watched(
            "BOOKMARK", {"apiVersion": self._kind.api_version, "kind": self._kind.kind, "metadata": metadata}
        )
