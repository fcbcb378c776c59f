"""``fairgate simulate --trace FILE``: opens the files, replays the log, prints and draws what came of it."""

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Final, Protocol, cast

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from fairgate_scheduler.core.tenancy import Config
from fairgate_scheduler.documents.config_file import read_config
from fairgate_scheduler.documents.problems import DocumentError, Problem
from fairgate_scheduler.documents.render import render_config
from fairgate_scheduler.entrypoints import collecting
from fairgate_scheduler.replay.readers import read_trace
from fairgate_scheduler.replay.report import render_json, render_text
from fairgate_scheduler.replay.study import Study, Wish, study

IMAGES: Final = (".svg", ".png")


class Plotter(Protocol):
    """What draws a replay: ``fairgate_scheduler.replay.plot``, loaded only where a picture is asked for."""

    def draw(self, study: Study, image: str) -> bytes:
        """The picture as a file; ``image``: svg or png."""


@dataclass(frozen=True, slots=True)
class Replaying:
    """What to replay, how, and where to put what comes of it. ``zone``: of instants without an offset."""

    trace: Path
    format: str
    config: Path | None = None
    plot: Path | None = None
    write_config: Path | None = None
    zone: tzinfo = UTC
    wish: Wish = field(default_factory=Wish)
    as_json: bool = False


def run(asked: Replaying) -> int:
    """Replay a log and print the outcome. 0: done; 1: a promise of the scheduler is broken; 2: wrong input."""
    try:
        plotter = _plotter(asked.plot)
        config = None if asked.config is None else _config(asked.config)
        trace = read_trace(_text(asked.trace), asked.format, str(asked.trace), asked.zone)
        with collecting.seldom(), _progress() as tell:
            done = study(trace, _with(asked.wish, config), tell)
        _write(done, asked, plotter)
    except DocumentError as error:
        for problem in error.problems:
            sys.stderr.write(f"error: {problem}\n")
        return 2
    except AssertionError as error:
        sys.stderr.write(f"error: a promise of the scheduler is broken, please report it: {error}\n")
        return 1
    sys.stdout.write((render_json(done) if asked.as_json else render_text(done)) + "\n")
    return 0


def _with(wish: Wish, config: Config | None) -> Wish:
    return replace(wish, config=config)


def _write(done: Study, asked: Replaying, plotter: Plotter | None) -> None:
    if asked.write_config is not None:
        _save(asked.write_config, render_config(done.config).encode())
    if asked.plot is not None and plotter is not None:
        _save(asked.plot, plotter.draw(done, asked.plot.suffix.lower().removeprefix(".")))


def _plotter(plot: Path | None) -> Plotter | None:
    """What draws, before anything takes time."""
    if plot is None:
        return None
    if plot.suffix.lower() not in IMAGES:
        raise _problem(plot, "not a picture that can be drawn", f"name a file that ends in {' or '.join(IMAGES)}")
    try:
        return cast("Plotter", importlib.import_module("fairgate_scheduler.replay.plot"))
    except ModuleNotFoundError:
        raise _problem(plot, "matplotlib is not installed", "run pip install 'fairgate[server,plot]'") from None


def _config(path: Path) -> Config:
    return read_config(_text(path), str(path))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise _problem(path, f"it cannot be read: {error.strerror}", "check the path") from error
    except UnicodeDecodeError as error:
        raise _problem(path, "it is not text", "write it as UTF-8") from error


def _save(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise _problem(path, f"it cannot be written: {error.strerror}", "name another file") from error


def _problem(path: Path, message: str, remedy: str) -> DocumentError:
    return DocumentError([Problem("", 1, message, remedy, str(path))])


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None] | None]:
    """On a terminal, how many jobs have finished."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (SpinnerColumn(), TextColumn("replaying: {task.completed:,.0f} of {task.total:,.0f} jobs finished"))
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        bar = progress.add_task("")
        yield lambda finished, total: progress.update(bar, completed=finished, total=total)
