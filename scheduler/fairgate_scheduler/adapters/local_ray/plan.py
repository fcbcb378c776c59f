"""What the supervisor of an attempt is to do, as plain data, and how a machine runs attempts."""

import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fairgate_scheduler.adapters.local_ray.layout import AttemptDir
from fairgate_scheduler.adapters.local_ray.runtime_env import RuntimeEnv


def unusable_python(*paths: str) -> str:
    """Why Ray can not run from an interpreter with these paths; empty if it can.

    Ray's raylet starts workers by a shell command in which it does not quote the interpreter and its own files.
    """
    spaced = next((path for path in paths if any(each.isspace() for each in path)), None)
    if spaced is None:
        return ""
    return f"{spaced}: Ray can not start workers from a path with spaces; move the checkout, or its virtual environment"


@dataclass(frozen=True, slots=True)
class Settings:
    """How a machine runs attempts.

    ``base_dir`` is what relative paths in a ``runtimeEnvYAML`` count from. ``grace_s`` is the time between notice and
    kill. ``temp_root`` holds the attempts' temporary directories; it must be short, as Ray puts Unix sockets, whose
    paths may have 103 bytes, deep below it. ``pass_env`` names variables of the server that jobs may see, such as
    HTTPS_PROXY.
    """

    state_dir: Path
    base_dir: Path
    grace_s: float = 30.0
    object_store_mib: int = 256
    temp_root: Path = Path("/tmp")
    pass_env: tuple[str, ...] = ()
    python: str = sys.executable


@dataclass(frozen=True, slots=True)
class Plan:
    """What the supervisor of one attempt is to do; it is kept as ``launch.json``.

    ``resources`` are the Ray resources of the attempt's own instance; ``None``: the command runs without Ray.
    ``problem`` says why it can not run at all. ``admitted_at_ms`` tells the attempt from one of the same number before
    a restore.
    """

    job: str
    attempt: int
    entrypoint: str
    driver_env: Mapping[str, str]
    ray_env: Mapping[str, str]
    resources: Mapping[str, float] | None
    temp_dir: str
    python: str
    grace_s: float
    object_store_bytes: int
    runtime_env: RuntimeEnv = field(default_factory=RuntimeEnv)
    metadata: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    problem: str = ""
    admitted_at_ms: int = 0

    def plain(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    @classmethod
    def from_plain(cls, content: Mapping[str, Any]) -> "Plan":
        """The inverse of ``plain``."""
        parts = {"runtime_env": RuntimeEnv.from_plain(content["runtime_env"]), "warnings": tuple(content["warnings"])}
        return cls(**{**content, **parts})


def temp_dir_of(directory: AttemptDir, settings: Settings) -> Path:
    """The attempt's temporary directory; it is gone when the attempt is."""
    return settings.temp_root / f"fg-{directory.mark[:12]}"


def clean_env(settings: Settings, temp_dir: str) -> dict[str, str]:
    """The environment that every job starts from: of the server's only where programs and files are."""
    bin_dir = str(Path(settings.python).parent)
    path = [bin_dir, *(each for each in os.environ.get("PATH", os.defpath).split(os.pathsep) if each != bin_dir)]
    passed = {name: os.environ[name] for name in settings.pass_env if name in os.environ}
    return {
        "PATH": os.pathsep.join(path),
        "HOME": os.environ.get("HOME", "/"),
        "LANG": os.environ.get("LANG", "C.UTF-8"),
        "TMPDIR": temp_dir,
        **passed,
    }
