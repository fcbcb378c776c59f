"""Where an API server serves an object, and what a manifest must say of itself before it is sent there."""

from urllib.parse import quote

from fairgate_scheduler.adapters.kube.api.kinds import Kind
from fairgate_scheduler.adapters.kube.api.port import Manifest


def path_of(kind: Kind, namespace: str = "", name: str = "", subresource: str = "") -> str:
    """The path of an object, or of all of a kind. Raises ValueError for an object whose namespace is not said."""
    if name:
        check_namespace(kind, namespace)
    parts = ["apis", kind.group, kind.version] if kind.group else ["api", kind.version]
    if namespace and kind.is_namespaced:
        parts += ["namespaces", namespace]
    parts += [kind.plural, name, subresource]
    return "/" + "/".join(quote(part, safe="") for part in parts if part)


def check_namespace(kind: Kind, namespace: str) -> None:
    """Raises ValueError if an object of this kind can not be in this namespace."""
    if kind.is_namespaced and not namespace:
        raise ValueError(f"a {kind.kind} has a namespace: say metadata.namespace")


def name_of(manifest: Manifest) -> str:
    """The name that a manifest says; "" where the server is to make one."""
    return str(manifest.get("metadata", {}).get("name", ""))


def namespace_of(manifest: Manifest) -> str:
    """The namespace that a manifest says, or ""."""
    return str(manifest.get("metadata", {}).get("namespace", ""))


def with_kind(kind: Kind, manifest: Manifest) -> Manifest:
    """The manifest with its ``apiVersion`` and ``kind``: servers leave them out in lists."""
    return {**manifest, "apiVersion": kind.api_version, "kind": kind.kind}
