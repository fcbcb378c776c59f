"""Connections to an API server: where it is, who we are, and one HTTP request with its timeouts."""

import json
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import urllib3
import yaml
from kubernetes.client import ApiClient, Configuration
from kubernetes.client.exceptions import ApiException
from kubernetes.config import ConfigException, load_incluster_config, load_kube_config
from urllib3.exceptions import HTTPError

from fairgate_scheduler.adapters.kube.api.answers import error_of
from fairgate_scheduler.adapters.kube.api.errors import ForbiddenError, UnavailableError

CONNECT_S: Final = 5.0
READ_S: Final = 30.0
"""How long a server may be silent in an answer. Its own webhooks have 10 seconds each, 30 at the most."""
_CONNECTIONS: Final = 32
"""Kept open for the next call: some threads, and one for each watch."""

_INSIDE: Final = "KUBERNETES_SERVICE_HOST"
"""A kubelet sets this in every pod."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long we wait for a server, and how often a read that was not answered is tried again.

    Only reads are: of a write that was not answered nothing is known.
    """

    connect_s: float = CONNECT_S
    read_s: float = READ_S
    retries: int = 3


_USUAL: Final = Patience()


class Connection:
    """One API server, as somebody. May be used by several threads."""

    def __init__(self, configuration: Configuration, patience: Patience = _USUAL) -> None:
        self._patience = patience
        self._reads = urllib3.Retry(
            total=patience.retries, status=0, redirect=0, backoff_factor=0.2, allowed_methods={"GET"}
        )
        configuration.connection_pool_maxsize = _CONNECTIONS
        configuration.keep_alive = True  # a watch is silent for minutes: this notices that the other side is gone
        self._client = ApiClient(configuration)
        self._lock = threading.Lock()

    @classmethod
    def load(
        cls, kubeconfig: Path | None = None, context: str | None = None, patience: Patience = _USUAL
    ) -> "Connection":
        """By a kubeconfig file, its login plugin included. Without one: in a pod as its service account, elsewhere by
        the files that kubectl takes.

        Raises ForbiddenError when there is none or it can not be read; the text says which.
        """
        configuration = Configuration()
        is_inside = kubeconfig is None and _INSIDE in os.environ
        try:
            if is_inside:
                load_incluster_config(client_configuration=configuration)
            else:
                file = None if kubeconfig is None else str(kubeconfig)
                load_kube_config(file, context, configuration, persist_config=False)
        except (ConfigException, OSError, yaml.YAMLError, ValueError, TypeError, AttributeError) as error:
            where = "the pod's service account" if is_inside else f"kubeconfig {kubeconfig or 'of kubectl'}"
            raise ForbiddenError(f"{where}: {error}") from error
        return cls(configuration, patience)

    def send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str | int] | None = None,
        body: Mapping[str, Any] | None = None,
        content: str = "application/json",
    ) -> bytes:
        """The body of a successful answer. Raises the ``ApiError`` for any other, UnavailableError for none."""
        response = self._request(method, path, query or {}, body, content)
        return response.data

    def send_json(
        self,
        method: str,
        path: str,
        query: Mapping[str, str | int] | None = None,
        body: Mapping[str, Any] | None = None,
        content: str = "application/json",
    ) -> dict[str, Any]:
        """The same, read. What is no object is no answer of an API server but of something before it."""
        raw = self.send(method, path, query, body, content)
        try:
            answer = json.loads(raw)
        except ValueError as error:
            raise UnavailableError(f"{method} {path}: the answer is not JSON: {raw[:200]!r}") from error
        if not isinstance(answer, dict):
            raise UnavailableError(f"{method} {path}: the answer is no object: {raw[:200]!r}")
        return answer

    def stream(self, path: str, query: Mapping[str, str | int], silence_s: float) -> urllib3.BaseHTTPResponse:
        """An answer that is to be read as it comes; raises as ``send`` does. The caller closes it."""
        return self._request("GET", path, query, None, "", silence_s)

    def close(self) -> None:
        """Close what is open and unused."""
        self._client.close()

    def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str | int],
        body: Mapping[str, Any] | None,
        content: str,
        silence_s: float | None = None,
    ) -> urllib3.BaseHTTPResponse:
        headers = {"Accept": "application/json, */*", "User-Agent": "fairgate-scheduler"}
        if body is not None:
            headers["Content-Type"] = content
        try:
            self._authorize(headers)
            response = self._client.rest_client.pool_manager.request(
                method,
                self._client.configuration.host + path,
                fields={key: str(value) for key, value in query.items()} if method == "GET" else None,
                body=json.dumps(body) if body is not None else None,
                headers=headers,
                timeout=urllib3.Timeout(connect=self._patience.connect_s, read=silence_s or self._patience.read_s),
                retries=self._reads if method == "GET" else False,
                preload_content=silence_s is None,
                redirect=False,
            )
            if response.status >= 300:
                raise error_of(response.status, response.data)
        except (HTTPError, OSError, ApiException, ConfigException) as error:
            raise UnavailableError(f"{method} {path}: {error}") from error
        return response

    def _authorize(self, headers: dict[str, str]) -> None:
        """With a token that is renewed when it is over; not by two threads at once: a login plugin may ask a person."""
        with self._lock:
            for setting in self._client.configuration.auth_settings().values():
                headers[setting["key"]] = setting["value"] or ""
