"""One HTTP call to an API server, as anybody: what kubectl does not say, and what it would not send."""

import json
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from kubernetes.client import ApiClient
from kubernetes.config import new_client_from_config
from urllib3 import HTTPHeaderDict

MERGE_PATCH: Final = "application/merge-patch+json"
_RULE: Final = re.compile(r"\[(FG-[A-Z]+-[0-9]{3})\]")


@dataclass(frozen=True)
class Reply:
    """What the API server said."""

    status: int
    body: Mapping[str, Any]
    warnings: str = ""

    @property
    def is_allowed(self) -> bool:
        """Whether it was done, or would have been."""
        return self.status < HTTPStatus.BAD_REQUEST

    @property
    def message(self) -> str:
        """Why not."""
        return str(self.body.get("message", ""))

    @property
    def rules(self) -> set[str]:
        """The rules of the gate that it names."""
        return set(_RULE.findall(self.message))


class Caller:
    """Calls an API server with the rights of a kubeconfig, or as somebody else. May be used by several threads."""

    def __init__(self, kubeconfig: Path) -> None:
        self._client: ApiClient = new_client_from_config(str(kubeconfig))
        self._client.configuration.connection_pool_maxsize = 64
        self._plurals: dict[str, dict[str, tuple[str, bool]]] = {}
        self._lock = threading.Lock()

    def __call__(
        self, method: str, path: str, body: Any = None, who: tuple[str, tuple[str, ...]] = ("", ()), content: str = ""
    ) -> Reply:
        """``who``: a user and groups to be instead."""
        headers: HTTPHeaderDict = HTTPHeaderDict({"Accept": "application/json"})
        headers.add("Content-Type", content or "application/json")
        for setting in self._client.configuration.auth_settings().values():
            headers.add(setting["key"], setting["value"])
        user, groups = who
        if user:
            headers.add("Impersonate-User", user)
        for group in groups:
            headers.add("Impersonate-Group", group)
        answer = self._client.rest_client.pool_manager.request(
            method,
            self._client.configuration.host + path,
            body=None if body is None else json.dumps(body),
            headers=headers,
        )
        try:
            found = json.loads(answer.data)
        except ValueError:
            found = {"message": answer.data.decode(errors="replace")}
        return Reply(answer.status, found if isinstance(found, dict) else {}, answer.headers.get("Warning", ""))

    def close(self) -> None:
        """Close its connections."""
        self._client.close()

    def path(self, manifest: Mapping[str, Any], namespace: str = "", name: str = "") -> str | None:
        """Where objects of this kind are, or the one of this name; ``None``: the kind is not served."""
        version, kind = str(manifest["apiVersion"]), str(manifest["kind"])
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        with self._lock:
            if version not in self._plurals:
                found = self("GET", root).body.get("resources", ())
                self._plurals[version] = {
                    each["kind"]: (each["name"], each["namespaced"]) for each in found if "/" not in each["name"]
                }
        if kind not in self._plurals[version]:
            return None
        plural, is_namespaced = self._plurals[version][kind]
        place = f"/namespaces/{namespace}" if is_namespaced and namespace else ""
        return f"{root}{place}/{plural}" + (f"/{name}" if name else "")
