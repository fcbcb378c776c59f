"""Where the rig keeps its things: what is built stays, the state of the running cluster goes with it."""

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def home() -> Path:
    """The folder of everything that is kept: ``$FAIRGATE_RIG``, else ``~/.cache/fairgate-rig``."""
    return Path(os.environ.get("FAIRGATE_RIG") or Path.home() / ".cache" / "fairgate-rig").resolve()


def binaries() -> Path:
    """Built programs, each beside the key of what it was built from."""
    return home() / "bin"


def images() -> Path:
    """Container images as docker-archives, each beside its key."""
    return home() / "images"


def state() -> Path:
    """Everything of the running cluster; absent while there is none."""
    return home() / "state"


def say(line: str) -> None:
    """Tell the person who waits what is being done."""
    sys.stderr.write(f"rig: {line}\n")
    sys.stderr.flush()


@contextmanager
def lock(name: str, waiting: str) -> Iterator[None]:
    """Hold a lock until the end of the block, or of this process; ``waiting`` is told when somebody else has it."""
    home().mkdir(parents=True, exist_ok=True)
    with (home() / f"{name}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(waiting)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
