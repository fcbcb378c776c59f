"""``fairgate up``: run the server in the foreground until it is told to stop."""

import logging
import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Final

import typer

from fairgate_scheduler.adapters.local_ray.plan import unusable_python
from fairgate_scheduler.adapters.local_ray.planning import make_plan
from fairgate_scheduler.adapters.local_ray.runner import Planner
from fairgate_scheduler.documents.problems import DocumentError, Problem
from fairgate_scheduler.entrypoints.bootstrap import StartError, serve
from fairgate_scheduler.entrypoints.grpc.auth import TokenFileError
from fairgate_scheduler.entrypoints.grpc.server import AddressError
from fairgate_scheduler.entrypoints.settings import Settings
from fairgate_scheduler.ports import RunnerUnavailableError, StoreError
from fairgate_scheduler.service.errors import FairgateError
from fairgate_scheduler.service.quota import parse

LOOK_S: Final = 1.0
"""How often it is looked whether the state directory is still this server's."""
_LOST: Final = (
    "{} was removed or replaced while the server ran: another server may use the directory now. Stopping at once; "
    "do not remove a state directory before its server has stopped"
)


def run(settings: Settings, config: Path | None, planner: Planner = make_plan) -> int:
    """Serve until SIGINT or SIGTERM.

    0: stopped as told; 1: it could not start, or lost its state directory; 2: the configuration is refused.
    """
    problem = unusable_python(sys.executable, sys.prefix)
    if problem and planner is make_plan and settings.cluster is None:
        return _refuse(problem, 1)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)
    stopping = threading.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        stopping.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    try:
        source = None if config is None else _read(config)
    except DocumentError as error:
        return _refuse(str(error), 2)
    try:
        with serve(settings, source, planner) as running:
            typer.echo(f"Fairgate serves on {running.address}")
            typer.echo(f"State and token: {settings.state_dir}. Stop with Ctrl-C; running jobs go on.")
            while not stopping.wait(LOOK_S):
                if running.lock.is_lost():
                    return _refuse(_LOST.format(settings.lock_file), 1)
            typer.echo("Stopping; running jobs go on, start again to find them.")
    except (StartError, AddressError, TokenFileError, StoreError, RunnerUnavailableError) as error:
        return _refuse(str(error), 1)
    except FairgateError as error:
        return _refuse(f"{config}: {error}", 2)
    return 0


def _read(config: Path) -> str:
    """The text of a configuration. What is wrong with it is said before anything is begun. Raises DocumentError."""
    try:
        source = config.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        problem = Problem("", 1, f"it can not be read: {why}", "name a configuration file with --config", str(config))
        raise DocumentError([problem]) from error
    parse(source, str(config))
    return source


def _refuse(message: str, code: int) -> int:
    sys.stderr.writelines(f"error: {line}\n" for line in message.splitlines())
    return code
