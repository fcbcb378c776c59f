"""The files of attempts: where they are, and how they are written so that a crash leaves all of one or nothing."""

import contextlib
import fcntl
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote

_JOB_NAME: Final = re.compile(r"tenants/([a-z0-9][a-z0-9._-]*)/jobs/([a-z0-9][a-z0-9._-]*)")
_MARKER: Final = re.compile(rf"({_JOB_NAME.pattern.replace('(', '(?:')})/([0-9]{{1,9}})")


@dataclass(frozen=True, slots=True)
class AttemptDir:
    """The directory of one attempt. Each fact about it is one file, written once.

    ``launch.json`` what to run; ``started.json`` the supervisor's identity; ``ready.json`` the driver runs;
    ``stop.json`` it is to end; ``exit.json`` its end, nothing of it is left; ``forgotten`` its end is known.
    """

    path: Path

    @property
    def mark(self) -> str:
        """A name that no other attempt on this machine has: it marks the attempt's processes and temporary files."""
        return hashlib.sha256(str(self.path).encode()).hexdigest()[:16]

    @property
    def lock(self) -> Path:
        """Whoever holds this file's lock is, or makes, the supervisor."""
        return self.path / "lock"

    @property
    def launch(self) -> Path:
        """What to run, as ``plan.Plan`` writes it."""
        return self.path / "launch.json"

    @property
    def started(self) -> Path:
        """Which process supervises, and since when."""
        return self.path / "started.json"

    @property
    def ready(self) -> Path:
        """Since when the driver runs."""
        return self.path / "ready.json"

    @property
    def stop(self) -> Path:
        """Why, and since when, the attempt is to end."""
        return self.path / "stop.json"

    @property
    def exit(self) -> Path:
        """How it ended."""
        return self.path / "exit.json"

    @property
    def forgotten(self) -> Path:
        """Exists when the attempt is not to be observed again."""
        return self.path / "forgotten"

    @property
    def log(self) -> Path:
        """What the driver printed, and what went wrong before it ran."""
        return self.path / "attempt.log"

    @property
    def scratch(self) -> Path:
        """The attempt's copy of the code and its Python environment; gone when the attempt is."""
        return self.path / "scratch"

    @property
    def notice(self) -> Path:
        """Exists from the moment that the driver is told to end."""
        return self.path / "notice"


class State:
    """The state directory of a runner. Attempts that may still be observed have a marker in ``active/``."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._active = self.root / "active"
        self._active.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name in ("attempts", "checkpoints"):
            (self.root / name).mkdir(exist_ok=True, mode=0o700)

    def attempt(self, job: str, number: int) -> AttemptDir:
        """The directory of an attempt, whether it exists or not.

        Raises:
            ValueError: not the resource name of a job.
        """
        return AttemptDir(self.attempts(job) / str(number))

    def attempts(self, job: str) -> Path:
        """The folder of all attempts of a job. Raises ValueError: not the resource name of a job."""
        tenant, name = split_job(job)
        return self.root / "attempts" / tenant / name

    def owner(self, job: str) -> Path:
        """The file that says which job, by its uid, the files of this id belong to."""
        return self.attempts(job) / "owner.json"

    def replaced(self, job: str, turn: int) -> Path:
        """Where the files of an earlier job of this id are moved when a later one needs the room."""
        tenant, name = split_job(job)
        return self.root / "replaced" / tenant / f"{name}-{turn}"

    def checkpoints(self, job: str) -> Path:
        """The folder that all attempts of a job share."""
        tenant, name = split_job(job)
        return self.root / "checkpoints" / tenant / name

    def mark_active(self, job: str, number: int) -> None:
        """From now on ``active`` lists this attempt."""
        self._marker(job, number).touch()

    def unmark_active(self, job: str, number: int) -> None:
        """``active`` does not list this attempt any more."""
        self._marker(job, number).unlink(missing_ok=True)

    def active(self) -> list[tuple[str, int]]:
        """The attempts that may still be observed, by name. Reads one directory, not all history."""
        names = (_MARKER.fullmatch(unquote(entry.name)) for entry in os.scandir(self._active))
        return sorted((name[1], int(name[2])) for name in names if name)

    def _marker(self, job: str, number: int) -> Path:
        return self._active / quote(f"{job}/{number}", safe="")


def split_job(job: str) -> tuple[str, str]:
    """The tenant's and the job's id in ``tenants/{tenant}/jobs/{job}``.

    Raises:
        ValueError: it is no such name.
    """
    match = _JOB_NAME.fullmatch(job)
    if match is None:
        raise ValueError(f"{job!r} is not the name of a job; expected tenants/TENANT/jobs/JOB")
    return match[1], match[2]


def make_folder(path: Path) -> None:
    """Make a folder for its owner only, with those above it, unless it is there."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a file whole, durably, readable for its owner only."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with open(draft, "w", encoding="utf-8", opener=_open_private) as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read_json(path: Path) -> dict[str, Any] | None:
    """The content of a file written by ``write_json``, ``None`` if there is none.

    Raises:
        ValueError: something else has written it, or the disk has lost a part of it.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise ValueError(f"{path.name} is damaged: {error}") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path.name} is damaged: it holds no object")
    return content


def take_lock(directory: AttemptDir) -> int | None:
    """Take the attempt's lock and return its descriptor; ``None`` if somebody else has it.

    The lock belongs to the descriptor: a child that inherits it holds the lock until the child, too, is gone.
    """
    descriptor = os.open(directory.lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


@contextlib.contextmanager
def locked(directory: AttemptDir) -> Iterator[bool]:
    """Hold the attempt's lock during the block, if nobody else holds it; says whether it does."""
    descriptor = take_lock(directory)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
