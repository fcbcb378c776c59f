"""How one server runs on one machine: few settings, each with a default that a newcomer wants."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

SOCKET: Final = "fairgate.sock"


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """Which cluster attempts run in. ``kubeconfig`` ``None``: where kubectl would look, else the pod that this is."""

    kubeconfig: Path | None = None
    context: str | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """``state_dir`` holds all that the server keeps; no two servers share one.

    ``listen`` is ``unix:PATH`` or ``HOST:PORT`` on loopback, "" for a socket in the state directory. ``job_dir`` is
    what relative paths in jobs' runtime environments count from. ``grace_ms`` lies between an eviction's notice and
    the kill, ``poll_ms`` between two looks at the attempts. ``cluster`` ``None``: attempts run on this machine.
    """

    state_dir: Path
    listen: str = ""
    job_dir: Path = Path()
    grace_ms: int = 30_000
    poll_ms: int = 500
    reflection: bool = True
    cluster: ClusterSettings | None = None

    @property
    def address(self) -> str:
        """Where to listen, as gRPC writes it."""
        return self.listen or f"unix:{self.state_dir / SOCKET}"

    @property
    def token_file(self) -> Path:
        """The private file with the token that every call has to carry."""
        return self.state_dir / "token"

    @property
    def database(self) -> Path:
        """The SQLite file."""
        return self.state_dir / "fairgate.db"

    @property
    def lock_file(self) -> Path:
        """Held by the one server of this directory for as long as it runs."""
        return self.state_dir / "lock"
