"""One request to the API server, as plain data. Read once: what can not be read is refused, never passed on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from fairgate_scheduler.core.manifests.findings import Finding, ManifestError
from fairgate_scheduler.core.manifests.plain import Plain, get_list, get_map, get_text, normalize

OPERATIONS: Final = ("CREATE", "UPDATE", "DELETE", "CONNECT")


@dataclass(frozen=True)
class Request:
    """Who wants to do what. ``object`` is what would be stored, ``old`` what is; normalized, {} where there is none.

    ``resource`` is the plural that the request was made to; "" if it is not known, as in an attack file. ``name`` is ""
    while ``generateName`` has not been filled in. ``options``: those of the operation, such as ``propagationPolicy``.
    """

    operation: str
    username: str
    object: Plain
    old: Plain = field(default_factory=dict)
    groups: tuple[str, ...] = ()
    subresource: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    options: Plain = field(default_factory=dict)

    @property
    def current(self) -> Plain:
        """The object, or what is deleted."""
        return self.object or self.old

    @property
    def kind(self) -> str:
        """The kind of the object; of some subresources that is another one than its parent's."""
        return get_text(self.current, "kind")

    @property
    def group(self) -> str:
        """The API group of the object; "" is the core group."""
        return get_text(self.current, "apiVersion").rpartition("/")[0]

    @property
    def metadata(self) -> Plain:
        """The object's metadata."""
        return get_map(self.object, "metadata")

    @property
    def is_update(self) -> bool:
        """Whether something that is there would change."""
        return self.operation == "UPDATE"

    @property
    def subject(self) -> str:
        """What it is about, for people."""
        name = self.name or get_text(self.metadata, "generateName")
        where = f"{self.kind}/{self.subresource}" if self.subresource else self.kind
        return f'{where} "{name}"'

    def labels(self, of: str = "labels") -> Mapping[str, Any]:
        """The labels (or annotations) of the object."""
        return get_map(self.metadata, of)

    def old_labels(self, of: str = "labels") -> Mapping[str, Any]:
        """Those that it has now."""
        return get_map(self.old, "metadata", of)


def read_request(fields: Mapping[str, Any]) -> Request:
    """The request of a map with ``operation``, ``username``, ``groups``, ``subresource``, ``resource``, ``object``,
    ``old`` and ``options``, and with ``namespace`` and ``name`` where the object does not say them.

    Raises:
        ManifestError: it is no request that could be judged: nested too deep, not an object, an unknown operation.
    """
    operation = str(fields.get("operation", ""))
    found, old = normalize(fields.get("object") or {}), normalize(fields.get("old") or {})
    current = found or old
    wrong = []
    if operation not in OPERATIONS:
        wrong.append(Finding("operation", f"is {operation!r}", f"write one of {', '.join(OPERATIONS)}"))
    if not isinstance(found, dict) or not isinstance(old, dict) or not get_text(current, "kind"):
        wrong.append(Finding("object", "is no object of Kubernetes", "give a map with apiVersion and kind"))
    elif operation == "UPDATE" and not old:
        wrong.append(Finding("old", "is missing", "an update needs the object as it is now"))
    if wrong:
        raise ManifestError(wrong)
    metadata = get_map(current, "metadata")
    return Request(
        operation=operation,
        username=str(fields.get("username", "")),
        object=found if operation != "DELETE" else {},
        old=old if old or operation != "DELETE" else found,
        groups=tuple(map(str, get_list(dict(fields), "groups"))),
        subresource=str(fields.get("subresource") or ""),
        resource=str(fields.get("resource") or ""),
        namespace=str(fields.get("namespace") or get_text(metadata, "namespace")),
        name=str(fields.get("name") or get_text(metadata, "name")),
        options=get_map(dict(fields), "options"),
    )
