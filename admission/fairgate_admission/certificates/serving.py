"""What is served now: loaded while connections go on, and tried as the API server would try it."""

import os
import socket
import ssl
import tempfile
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Protocol

from fairgate_scheduler.adapters.kube.api import Api, ApiError

from fairgate_admission.certificates.authority import Pair
from fairgate_admission.certificates.secret import Place, bundle_of, keep_keys

_TRY_S: Final = 2.0


class Source(Protocol):
    """Where the certificate comes from."""

    def step(self) -> Pair:
        """The pair to serve now. Raises ApiError, OSError, ValueError."""


class SecretSource:
    """Our own authority, in a Secret."""

    def __init__(self, api: Api, place: Place, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._api, self._place, self._now = api, place, now

    def step(self) -> Pair:
        """See ``Source``."""
        return keep_keys(self._api, self._place, self._now).leaf


class FolderSource:
    """``tls.crt`` and ``tls.key`` in a folder, as cert-manager and a mounted Secret keep them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def step(self) -> Pair:
        """See ``Source``."""
        return Pair(*((self._folder / name).read_text(encoding="utf-8") for name in ("tls.crt", "tls.key")))


class Serving:
    """A TLS context that changes its certificate, and whether the API server would trust it."""

    def __init__(self, source: Source, api: Api, webhooks: str, name: str) -> None:
        """``webhooks``: the configuration whose trust counts. ``name``: whom the API server wants to speak to."""
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.trouble = "has no certificate yet"
        self._source, self._api, self._webhooks, self._name = source, api, webhooks, name
        self._served: Pair | None = None

    def step(self, address: tuple[str, int] | None) -> None:
        """Load what is new, and try it if there is a server at the address; ``trouble`` tells what is wrong.

        What was served before goes on being served when there is nothing new to be had.
        """
        self.trouble = self._step(address)

    def _step(self, address: tuple[str, int] | None) -> str:
        try:
            pair = self._source.step()
            if pair != self._served:
                load(self.context, pair)
                self._served = pair
        except (ApiError, OSError, ValueError) as error:
            if self._served is None:
                return f"has no certificate: {error}"
        try:
            bundle = bundle_of(self._api, self._webhooks)
        except ApiError as error:
            return f"can not read the webhook configuration: {error}"
        if not bundle:
            return f"{self._webhooks} trusts no certificate yet, or is not there"
        return "" if address is None else _try(address, self._name, bundle)


def keep_serving(serving: Serving, address: tuple[str, int], stopping: threading.Event, every_s: float) -> None:
    """Go on with the steps until it is to stop."""
    while not stopping.wait(every_s if not serving.trouble else 1.0):
        serving.step(address)


def load(context: ssl.SSLContext, pair: Pair) -> None:
    """Python loads keys from files only: they are there for a moment, for this user alone."""
    descriptor, name = tempfile.mkstemp()
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(pair.certificate + pair.key)
        context.load_cert_chain(name)
    finally:
        Path(name).unlink()


def _try(address: tuple[str, int], name: str, bundle: str) -> str:
    try:
        context = ssl.create_default_context(cadata=bundle)
        with (
            socket.create_connection(address, _TRY_S) as connection,
            context.wrap_socket(connection, server_hostname=name),
        ):
            return ""
    except (OSError, ValueError) as error:
        return f"serves what the API server does not trust: {error}"
