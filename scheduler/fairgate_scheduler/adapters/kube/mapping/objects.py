"""Objects that we want to be there: how they are marked as ours, and as what they were when we wrote them."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from fairgate_scheduler.adapters.kube import names
from fairgate_scheduler.adapters.kube.api import Kind, Manifest
from fairgate_scheduler.adapters.kube.api.paths import name_of, namespace_of
from fairgate_scheduler.core.manifests.plain import get_map
from fairgate_scheduler.documents.annotations import PREFIX

APPLIED: Final = f"{PREFIX}applied"
"""Annotation: a digest of what we applied, so that it is seen without a question whether that is still what we want."""
NAMESPACE_LABEL: Final = "kubernetes.io/metadata.name"
"""The label of each namespace that Kubernetes itself keeps on its name."""


@dataclass(frozen=True, slots=True)
class Key:
    """Which object."""

    kind: Kind
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Wanted:
    """One object as it is to be. ``is_shared``: it is not ours, only the fields that the manifest names are; where
    there is none it is made as ``first`` says. ``is_adoptable``: one of others, if it says the same, will do as it is.
    """

    key: Key
    manifest: Manifest
    is_shared: bool = False
    is_adoptable: bool = False
    first: Manifest | None = None


def key_of(kind: Kind, manifest: Manifest) -> Key:
    """The key of a manifest."""
    return Key(kind, namespace_of(manifest) if kind.is_namespaced else "", name_of(manifest))


def ours(
    kind: Kind, name: str, body: Mapping[str, Any], *, namespace: str = "", tenant: str = "", is_adoptable: bool = False
) -> Wanted:
    """An object that is all ours. ``body``: what it says beside its metadata."""
    labels = {names.MANAGED: names.FIELD_MANAGER, **({names.TENANT: tenant} if tenant else {})}
    metadata: dict[str, Any] = {"name": name, **({"namespace": namespace} if namespace else {}), "labels": labels}
    manifest = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **body}
    metadata["annotations"] = {APPLIED: _digest(manifest)}
    return Wanted(Key(kind, namespace, name), manifest, is_adoptable=is_adoptable)


def is_ours(manifest: Manifest) -> bool:
    """Whether an object in the cluster is one that we made, also after somebody took one of its two marks off."""
    is_labelled = get_map(manifest, "metadata", "labels").get(names.MANAGED) == names.FIELD_MANAGER
    return is_labelled or APPLIED in get_map(manifest, "metadata", "annotations")


def _digest(manifest: Manifest) -> str:
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
