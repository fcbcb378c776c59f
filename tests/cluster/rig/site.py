"""What every component needs to know of the cluster that it belongs to."""

import itertools
import json
import random
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Self

_PORTS: Final = (
    "etcd",
    "etcd-peer",
    "api",
    "controller-manager",
    "scheduler",
    "kueue-webhook",
    "kueue-health",
    "kueue-metrics",
    "kuberay-health",
    "kwok",
)

# Below the ports that clients get: a server that is down for a moment would find its own taken by a connection.
_CANDIDATES: Final = range(20_000, 30_000)


@dataclass(frozen=True)
class Site:
    """One cluster: its folder, the address that all of it listens on, and the ports.

    ``owner`` is the process that takes it down at its end, None for a cluster that was started by hand.
    """

    folder: Path
    address: str
    has_node: bool
    ports: Mapping[str, int]
    owner: tuple[int, str] | None

    @classmethod
    def new(cls, folder: Path, address: str, *, has_node: bool, owner: tuple[int, str] | None) -> Self:
        """A cluster that is not there yet, on ports that are free now."""
        candidates = random.sample(_CANDIDATES, len(_CANDIDATES))
        free = itertools.islice(filter(_is_free, candidates), len(_PORTS))
        return cls(folder, address, has_node, dict(zip(_PORTS, free, strict=True)), owner)

    @classmethod
    def load(cls, folder: Path) -> Self | None:
        """The cluster that was started in this folder, if one was."""
        try:
            kept = json.loads((folder / "site.json").read_text())
        except FileNotFoundError:
            return None
        owner = (kept["owner"][0], kept["owner"][1]) if kept["owner"] else None
        return cls(folder, kept["address"], kept["has_node"], kept["ports"], owner)

    def save(self) -> None:
        """Write it to its folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        (self.folder / "site.json").write_text(json.dumps(asdict(self) | {"folder": str(self.folder)}))

    def at(self, port: str) -> str:
        """``address:port`` by the port's name."""
        return f"{self.address}:{self.ports[port]}"

    def kubeconfig(self, identity: str) -> Path:
        """The kubeconfig of a user or component."""
        return self.folder / "kubeconfig" / identity

    @property
    def certificate(self) -> Path:
        """The one certificate of all servers, which is its own authority."""
        return self.folder / "pki" / "tls.crt"

    @property
    def key(self) -> Path:
        """Its private key; it also signs service accounts' tokens."""
        return self.folder / "pki" / "tls.key"

    def write(self, name: str, text: str) -> Path:
        """A configuration file of a component."""
        file = self.folder / "config" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file


@dataclass(frozen=True)
class Component:
    """One process. It is ready when the URL ``health`` answers 200, or that command succeeds; at once without one."""

    name: str
    command: tuple[str, ...]
    health: str | tuple[str, ...] = ()


def _is_free(port: int) -> bool:
    with socket.socket() as attempt:
        try:
            attempt.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
