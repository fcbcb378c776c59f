"""An API server's twin in memory, for tests: ``Api`` with versions, watches, owners of fields, finalizers and faults.

It knows no schema, fills in no defaults and runs no controller but ``collect_garbage``. It is held to the contract of
``api_contract``, as the real server is.
"""

import json
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from fairgate_scheduler.adapters.kube.api import (
    ConflictError,
    ForbiddenError,
    InvalidError,
    Kind,
    Listing,
    Manifest,
    NotFoundError,
    kinds,
)
from fairgate_scheduler.adapters.kube.api.kinds import NAMESPACE, POD
from fairgate_scheduler.adapters.kube.api.paths import check_namespace, name_of, namespace_of, with_kind
from fairgate_scheduler.adapters.kube.names import FIELD_MANAGER
from fairgate_scheduler.ports import Clock
from fairgate_scheduler.testing.fake_api_faults import Faults
from fairgate_scheduler.testing.fake_api_fields import leaves
from fairgate_scheduler.testing.fake_api_garbage import FOREGROUND, collect
from fairgate_scheduler.testing.fake_api_labels import selects
from fairgate_scheduler.testing.fake_api_owners import UPDATE, Manager, Owners
from fairgate_scheduler.testing.fake_api_rules import GENERATION_KINDS, STATUS_KINDS
from fairgate_scheduler.testing.fake_api_store import FakeWatch, Key, Objects, Record
from fairgate_scheduler.testing.sim_clock import SimClock

Admission = Callable[[Kind, Manifest | None, dict[str, Any]], None]
"""Sees each object before it is written, with what was there; may change it, or raise an error of ``Api``."""

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_RBAC_GROUP: Final = "rbac.authorization.k8s.io"
_FIXED: Final = ("uid", "name", "namespace", "creationTimestamp", "generation", "deletionTimestamp")


@dataclass
class FakeApi:
    """The twin. ``manager`` is who writes; ``acting_as`` gives the same cluster to somebody else."""

    clock: Clock = field(default_factory=SimClock)
    manager: str = FIELD_MANAGER
    objects: Objects = field(default_factory=Objects)
    faults: Faults = field(default_factory=Faults)
    admission: list[Admission] = field(default_factory=list)
    served: set[Kind] = field(default_factory=lambda: {each for each in vars(kinds).values() if isinstance(each, Kind)})
    """The kinds that this cluster has; of any other it knows nothing."""
    logs: dict[tuple[str, str, str], bytes] = field(default_factory=dict)
    """What containers have written, by namespace, pod and container."""
    calls: list[tuple[str, str, str, str]] = field(default_factory=list)
    """Each call: verb, plural, namespace, name."""

    def acting_as(self, manager: str) -> "FakeApi":
        """The same cluster, written to by another field manager."""
        return replace(self, manager=manager)

    def get(self, kind: Kind, name: str, namespace: str = "") -> Manifest:
        """See ``Api``."""
        with self._call("get", kind, namespace, name) as key:
            return self._answer(self._found(kind, key).object)

    def list(self, kind: Kind, namespace: str = "", labels: str = "") -> Listing:
        """See ``Api``."""
        with self._call("list", kind, namespace):
            is_wanted = _selector(namespace, labels)
            records = sorted(self.objects.records(kind).items())
            items = tuple(self._answer(record.object) for _, record in records if is_wanted(record.object))
            return Listing(items, str(self.objects.version))

    def watch(
        self, kind: Kind, resource_version: str, namespace: str = "", labels: str = "", timeout_s: int = 300
    ) -> FakeWatch:
        """See ``Api``; the time is that of the machine, whatever ``clock`` says."""
        with self._call("watch", kind, namespace):
            return FakeWatch(self.objects, kind, int(resource_version), _selector(namespace, labels), timeout_s)

    def create(self, kind: Kind, manifest: Manifest) -> Manifest:
        """See ``Api``."""
        namespace, name = namespace_of(manifest), name_of(manifest)
        check_namespace(kind, namespace)
        with self._call("create", kind, namespace, name):
            asked = deepcopy(dict(with_kind(kind, manifest)))
            if not name and (prefix := asked["metadata"].get("generateName")):
                name = asked["metadata"]["name"] = f"{prefix}{self.objects.version:05x}"
            if self.objects.find(kind, (namespace, name)):
                raise ConflictError(f'{kind.plural} "{name}" already exists', "AlreadyExists")
            owners = Owners(kind.kind).after_update(Manager(self.manager, UPDATE), {}, asked)
            return self._answer(self._create(kind, (namespace, name), Record(asked, owners)))

    def apply(self, kind: Kind, manifest: Manifest, *, force: bool = False, dry_run: bool = False) -> Manifest:
        """See ``Api``."""
        namespace, name = namespace_of(manifest), name_of(manifest)
        with self._call("apply", kind, namespace, name) as key:
            found = self.objects.find(kind, key)
            applied = deepcopy(dict(with_kind(kind, manifest)))
            _check_precondition(kind, name, applied["metadata"], found)
            if "managedFields" in applied["metadata"]:
                raise InvalidError("metadata.managedFields must be nil", "BadRequest")
            applied["metadata"].pop("resourceVersion", None)
            live, owners = (found.object, found.owners) if found else ({"metadata": {}}, Owners(kind.kind))
            if kind.kind in STATUS_KINDS:
                applied.pop("status", None)
            merged, after = owners.apply(self.manager, live, applied, force)
            record = Record(merged, after)
            if found is None:
                return self._answer(self._create(kind, key, record, dry_run))
            return self._answer(self._update(kind, key, found, record, dry_run=dry_run))

    def patch(self, kind: Kind, name: str, patch: Manifest, namespace: str = "", *, subresource: str = "") -> Manifest:
        """See ``Api``."""
        with self._call("patch", kind, namespace, name) as key:
            found = self._found(kind, key)
            _check_precondition(kind, name, patch.get("metadata", {}), found)
            merged = _merge_patch(found.object, patch)
            if subresource:
                merged = {**found.object, "status": merged.get("status", {})}
            elif kind.kind in STATUS_KINDS:
                merged = _with_status_of(merged, found.object)
            merged["metadata"]["resourceVersion"] = found.object["metadata"]["resourceVersion"]
            owners = found.owners.after_update(Manager(self.manager, UPDATE, subresource), found.object, merged)
            return self._answer(self._update(kind, key, found, Record(merged, owners)))

    def delete(
        self, kind: Kind, name: str, namespace: str = "", *, uid: str = "", propagation: str = "Background"
    ) -> bool:
        """See ``Api``; knows the propagations Background and Foreground."""
        with self._call("delete", kind, namespace, name) as key:
            found = self.objects.find(kind, key)
            if found is None:
                return False
            if uid and found.object["metadata"]["uid"] != uid:
                raise ConflictError(f'{kind.kind} "{name}" has another uid than {uid}', "Conflict")
            self._delete(kind, key, propagation)
            return True

    def read_log(self, pod: str, namespace: str, container: str = "", limit_bytes: int | None = None) -> bytes:
        """See ``Api``; of ``logs``."""
        with self._call("read_log", POD, namespace, pod) as key:
            spec = self._found(POD, key).object.get("spec", {})
            names = [each["name"] for each in spec.get("containers", ())]
            if not container and len(names) > 1:
                raise InvalidError(f"a container name must be specified for pod {pod}, one of {names}", "BadRequest")
            if "nodeName" not in spec:
                return b""
            written = self.logs.get((namespace, pod, container or names[0]))
            if written is None:
                raise InvalidError(f'container in pod "{pod}" is waiting to start: ContainerCreating', "BadRequest")
            return written[:limit_bytes]

    def collect_garbage(self) -> int:
        """Do what the cluster's garbage collector and namespace controller would; how many objects that touched."""
        with self.objects.changed:
            return collect(self.objects, self._delete, self._drop_finalizer)

    def finish_pod(self, namespace: str, name: str) -> None:
        """Let a pod that is being deleted go, as its kubelet does once the containers have ended."""
        with self.objects.changed:
            record = self._found(POD, (namespace, name))
            ended = deepcopy(record.object)
            ended["metadata"]["deletionGracePeriodSeconds"] = 0
            ended["status"] = {**ended.get("status", {}), "phase": "Succeeded"}
            self.objects.put(POD, (namespace, name), Record(ended, record.owners))
            self._remove_if_over(POD, (namespace, name))

    @contextmanager
    def _call(self, verb: str, kind: Kind, namespace: str, name: str = "") -> Iterator[Key]:
        if verb not in ("list", "watch"):
            check_namespace(kind, namespace)
        key = (namespace if kind.is_namespaced else "", name)
        with self.objects.changed:
            self.calls.append((verb, kind.plural, key[0], name))
            with self.faults.around(verb, kind.plural):
                if kind not in self.served:
                    raise NotFoundError("the server could not find the requested resource", "NotFound")
                yield key

    def _found(self, kind: Kind, key: Key) -> Record:
        found = self.objects.find(kind, key)
        if found is None:
            raise NotFoundError(f'{kind.plural} "{key[1]}" not found', "NotFound")
        return found

    def _create(self, kind: Kind, key: Key, record: Record, dry_run: bool = False) -> Manifest:
        namespace, name = key
        if kind.group != _RBAC_GROUP and not _NAME.fullmatch(name):
            raise InvalidError(f'{kind.kind} "{name}" is invalid: metadata.name: not a DNS name', "Invalid")
        self._check_home(namespace)
        made = {**record.object, "apiVersion": kind.api_version, "kind": kind.kind}
        if kind.kind in STATUS_KINDS and kind.kind != "Node":
            made.pop("status", None)
        if kind == NAMESPACE:
            made = {**made, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
            labels = made["metadata"].get("labels", {})
            made["metadata"]["labels"] = {**labels, "kubernetes.io/metadata.name": name}
        if kind == POD:
            made["status"] = {"phase": "Pending"}
        for admit in self.admission:
            admit(kind, None, made)
        made["metadata"].update(uid=str(uuid.UUID(int=self.objects.version)), creationTimestamp=self._now())
        if kind.kind in GENERATION_KINDS:
            made["metadata"]["generation"] = 1
        return made if dry_run else self.objects.put(kind, key, Record(made, record.owners))

    def _update(self, kind: Kind, key: Key, found: Record, record: Record, *, dry_run: bool = False) -> Manifest:
        old, new = found.object, deepcopy(record.object)
        for name in _FIXED:
            new["metadata"].pop(name, None)
            if name in old["metadata"]:
                new["metadata"][name] = old["metadata"][name]
        added = set(new["metadata"].get("finalizers", ())) - set(old["metadata"].get("finalizers", ()))
        if added and "deletionTimestamp" in old["metadata"]:
            raise InvalidError(f"metadata.finalizers: {sorted(added)} added to what is being deleted", "Invalid")
        for admit in self.admission:
            admit(kind, old, new)
        if _without_metadata(new) != _without_metadata(old) and "generation" in old["metadata"]:
            new["metadata"]["generation"] = old["metadata"]["generation"] + 1
        if dry_run or (leaves(kind.kind, new) == leaves(kind.kind, old) and record.owners == found.owners):
            return new
        written = self.objects.put(kind, key, Record(new, record.owners))
        self._remove_if_over(kind, key)
        return written

    def _delete(self, kind: Kind, key: Key, propagation: str = "Background") -> bool:
        """Whether that changed anything."""
        if propagation not in ("Background", "Foreground"):
            raise InvalidError(f"propagationPolicy {propagation}: the twin does not know it", "Invalid")
        record = self._found(kind, key)
        if "deletionTimestamp" in record.object["metadata"]:
            return False
        marked = deepcopy(record.object)
        marked["metadata"].update(deletionTimestamp=self._now(), deletionGracePeriodSeconds=0)
        if "generation" in marked["metadata"]:
            marked["metadata"]["generation"] += 1
        if kind == POD and not _is_pod_over(marked):
            marked["metadata"]["deletionGracePeriodSeconds"] = marked["spec"].get("terminationGracePeriodSeconds", 30)
        if propagation == "Foreground":
            marked["metadata"].setdefault("finalizers", []).append(FOREGROUND)
        if kind == NAMESPACE:
            marked["status"] = {**marked["status"], "phase": "Terminating"}
        if _is_over(kind, marked):
            self.objects.remove(kind, key)
        else:
            self.objects.put(kind, key, Record(marked, record.owners))
        return True

    def _drop_finalizer(self, kind: Kind, key: Key, finalizer: str) -> None:
        record = self._found(kind, key)
        left = deepcopy(record.object)
        left["metadata"]["finalizers"].remove(finalizer)
        self.objects.put(kind, key, Record(left, record.owners))
        self._remove_if_over(kind, key)

    def _remove_if_over(self, kind: Kind, key: Key) -> None:
        metadata = self._found(kind, key).object["metadata"]
        if "deletionTimestamp" in metadata and _is_over(kind, self._found(kind, key).object):
            self.objects.remove(kind, key)

    def _check_home(self, namespace: str) -> None:
        if not namespace:
            return
        home = self._found(NAMESPACE, ("", namespace)).object
        if "deletionTimestamp" in home["metadata"]:
            raise ForbiddenError(f"namespace {namespace} is being terminated: no new content", "Forbidden")

    def _now(self) -> str:
        return f"{datetime.fromtimestamp(self.clock.now_ms() // 1000, UTC):%Y-%m-%dT%H:%M:%SZ}"

    def _answer(self, manifest: Manifest) -> Manifest:
        return json.loads(json.dumps(manifest))  # type: ignore[no-any-return]


def _selector(namespace: str, labels: str) -> Callable[[Manifest], bool]:
    is_selected = selects(labels)

    def is_wanted(manifest: Manifest) -> bool:
        metadata = manifest["metadata"]
        return namespace in ("", metadata.get("namespace", "")) and is_selected(metadata.get("labels") or {})

    return is_wanted


def _check_precondition(kind: Kind, name: str, metadata: Mapping[str, Any], found: Record | None) -> None:
    uid, version = metadata.get("uid"), metadata.get("resourceVersion")
    if uid is not None and (found is None or found.object["metadata"]["uid"] != uid):
        raise ConflictError(f'{kind.kind} "{name}" is not the one of uid {uid}', "Conflict")
    if version is not None and found is not None and found.object["metadata"]["resourceVersion"] != version:
        raise ConflictError(f'{kind.kind} "{name}": the object has been modified', "Conflict")


def _merge_patch(target: Any, patch: Any) -> Any:
    """By RFC 7386."""
    if not isinstance(patch, Mapping):
        return deepcopy(patch)
    merged = dict(target) if isinstance(target, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merge_patch(merged.get(name), value)
    return merged


def _with_status_of(manifest: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    left = {name: value for name, value in manifest.items() if name != "status"}
    return {**left, "status": other["status"]} if "status" in other else left


def _without_metadata(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What ``metadata.generation`` counts the changes of."""
    return {name: value for name, value in manifest.items() if name not in ("metadata", "status")}


def _is_over(kind: Kind, manifest: Mapping[str, Any]) -> bool:
    """Whether nothing keeps an object that is being deleted."""
    metadata = manifest["metadata"]
    return kind != NAMESPACE and not metadata["deletionGracePeriodSeconds"] and not metadata.get("finalizers")


def _is_pod_over(manifest: Mapping[str, Any]) -> bool:
    is_ended = manifest.get("status", {}).get("phase") in ("Succeeded", "Failed")
    return is_ended or "nodeName" not in manifest.get("spec", {})
