"""The one server of a state directory: it holds the lock file, and notices when that is not the one there any more."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fairgate_scheduler.entrypoints.settings import Settings


class StartError(Exception):
    """The server can not start; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class StateLock:
    """A lock that is held. ``descriptor`` is its open file, ``path`` where it lay when it was taken."""

    path: Path
    descriptor: int

    def is_lost(self) -> bool:
        """Whether the file was removed or replaced, so that another server could use the directory beside this one."""
        try:
            there = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError:
            return False  # it can not be told now
        return not os.path.samestat(there, os.fstat(self.descriptor))


@contextmanager
def hold_state_directory(settings: Settings) -> Iterator[StateLock]:
    """The state directory, made private, and held against a second server for as long as the block lasts.

    Raises:
        StartError: another server uses it, or it can not be used.
    """
    folder = settings.state_dir
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(settings.lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        message = f"the state directory {folder} can not be used: {error.strerror}; choose another with --state-dir"
        raise StartError(message) from error
    try:
        _take(descriptor, folder)
        yield StateLock(settings.lock_file, descriptor)
    finally:
        os.close(descriptor)


def _take(descriptor: int, folder: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        pid = os.pread(descriptor, 32, 0).decode(errors="replace").strip() or "unknown"
        message = f"another server (process {pid}) uses {folder}; stop it, or choose another directory with --state-dir"
        raise StartError(message) from error
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
