"""The client of a real API server: manifests over HTTP."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from fairgate_scheduler.adapters.kube.api.connection import Connection, Patience
from fairgate_scheduler.adapters.kube.api.errors import GoneError, NotFoundError
from fairgate_scheduler.adapters.kube.api.kinds import POD, Kind
from fairgate_scheduler.adapters.kube.api.paths import check_namespace, name_of, namespace_of, path_of, with_kind
from fairgate_scheduler.adapters.kube.api.port import Listing, Manifest
from fairgate_scheduler.adapters.kube.api.streams import EventStream
from fairgate_scheduler.adapters.kube.names import FIELD_MANAGER

PAGE: Final = 500
_SILENCE_S: Final = 15.0
"""How much longer than its time a watch may be silent before the connection is taken for dead."""


class HttpApi:
    """``Api`` over a ``Connection``. ``manager`` is who writes; ``page`` how many objects are read at once."""

    def __init__(self, connection: Connection, manager: str = FIELD_MANAGER, page: int = PAGE) -> None:
        self._connection = connection
        self._manager = manager
        self._page = page

    @classmethod
    def load(
        cls, kubeconfig: Path | None = None, context: str | None = None, patience: Patience | None = None
    ) -> "HttpApi":
        """Of the cluster that a kubeconfig file names, or of the one whose pod we are; raises ForbiddenError."""
        return cls(Connection.load(kubeconfig, context, patience or Patience()))

    def close(self) -> None:
        """Close the connections that are not in use."""
        self._connection.close()

    def get(self, kind: Kind, name: str, namespace: str = "") -> Manifest:
        """See ``Api``."""
        return self._object(kind, "GET", path_of(kind, namespace, name))

    def list(self, kind: Kind, namespace: str = "", labels: str = "") -> Listing:
        """See ``Api``. Pages that are too old to be continued are read again as one: that can not become too old."""
        path = path_of(kind, namespace)
        query: dict[str, str | int] = {"labelSelector": labels} if labels else {}
        try:
            pages = list(self._pages(path, {**query, "limit": self._page}))
        except GoneError:
            pages = list(self._pages(path, query))
        items = tuple(with_kind(kind, item) for page in pages for item in page.get("items") or ())
        return Listing(items, str(pages[-1]["metadata"]["resourceVersion"]))

    def watch(
        self, kind: Kind, resource_version: str, namespace: str = "", labels: str = "", timeout_s: int = 300
    ) -> EventStream:
        """See ``Api``; the server knows no time under a second."""
        query: dict[str, str | int] = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": max(1, timeout_s),
        }
        if labels:
            query["labelSelector"] = labels
        silence_s = max(1, timeout_s) + _SILENCE_S
        return EventStream(kind, self._connection.stream(path_of(kind, namespace), query, silence_s))

    def create(self, kind: Kind, manifest: Manifest) -> Manifest:
        """See ``Api``."""
        namespace = namespace_of(manifest)
        check_namespace(kind, namespace)
        path = _with_query(path_of(kind, namespace), {"fieldManager": self._manager})
        return self._object(kind, "POST", path, with_kind(kind, manifest))

    def apply(self, kind: Kind, manifest: Manifest, *, force: bool = False, dry_run: bool = False) -> Manifest:
        """See ``Api``."""
        query = {"fieldManager": self._manager, "force": "true" if force else "false"}
        if dry_run:
            query["dryRun"] = "All"
        path = _with_query(path_of(kind, namespace_of(manifest), name_of(manifest)), query)
        return self._object(kind, "PATCH", path, with_kind(kind, manifest), "application/apply-patch+yaml")

    def patch(self, kind: Kind, name: str, patch: Manifest, namespace: str = "", *, subresource: str = "") -> Manifest:
        """See ``Api``."""
        path = _with_query(path_of(kind, namespace, name, subresource), {"fieldManager": self._manager})
        return self._object(kind, "PATCH", path, patch, "application/merge-patch+json")

    def delete(
        self, kind: Kind, name: str, namespace: str = "", *, uid: str = "", propagation: str = "Background"
    ) -> bool:
        """See ``Api``."""
        options: dict[str, Any] = {"propagationPolicy": propagation}
        if uid:
            options["preconditions"] = {"uid": uid}
        try:
            self._connection.send("DELETE", path_of(kind, namespace, name), body=options)
        except NotFoundError:
            return False
        return True

    def read_log(self, pod: str, namespace: str, container: str = "", limit_bytes: int | None = None) -> bytes:
        """See ``Api``."""
        query: dict[str, str | int] = {"container": container} if container else {}
        if limit_bytes is not None:
            query["limitBytes"] = limit_bytes
        return self._connection.send("GET", path_of(POD, namespace, pod, "log"), query)

    def _object(
        self, kind: Kind, method: str, path: str, body: Manifest | None = None, content: str = "application/json"
    ) -> Manifest:
        return with_kind(kind, self._connection.send_json(method, path, body=body, content=content))

    def _pages(self, path: str, query: Mapping[str, str | int]) -> Iterator[dict[str, Any]]:
        page = self._connection.send_json("GET", path, query)
        yield page
        while token := page["metadata"].get("continue"):
            page = self._connection.send_json("GET", path, {**query, "continue": token})
            yield page


def _with_query(path: str, query: Mapping[str, str]) -> str:
    return f"{path}?{urlencode(query)}"
