"""How an attempt ended, and the one way to end it: kill what is left, remove its temporary files, write it down."""

import re
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fairgate_scheduler.adapters.local_ray import layout, processes
from fairgate_scheduler.adapters.local_ray.layout import AttemptDir
from fairgate_scheduler.core.lifecycle import Phase

_TAIL_BYTES: Final = 8192
_MESSAGE_MAX: Final = 300
_COLORS: Final = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class Result:
    """The end of an attempt. ``exit_code`` and ``signal`` are the driver's; it has none if it never ran."""

    phase: Phase
    exit_code: int | None = None
    signal: int | None = None
    message: str = ""


def end_attempt(directory: AttemptDir, temp_dir: Path, result: Result, session: int | None) -> list[int]:
    """End all that is left of an attempt and write its result; the caller holds the attempt's lock.

    Returns the pids of processes that withstand; then nothing is written, and it can be repeated.
    """
    left = processes.end_all(directory.mark, session)
    if left:
        return left
    for folder in (temp_dir, directory.scratch):
        shutil.rmtree(folder, ignore_errors=True)
    layout.write_json(
        directory.exit,
        {
            "phase": result.phase.value,
            "exit_code": result.exit_code,
            "signal": result.signal,
            "was_stopped": directory.stop.exists(),
            "at_ms": time.time_ns() // 1_000_000,
            "started_at_ms": _started_at_ms(directory),
            "message": result.message,
        },
    )
    return []


def _started_at_ms(directory: AttemptDir) -> int | None:
    """Since when the driver ran, if it did and can be told: a damaged file must not keep an attempt from its end."""
    try:
        ready = layout.read_json(directory.ready)
        return int(ready["at_ms"]) if ready else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def read_result(directory: AttemptDir) -> Mapping[str, Any] | None:
    """What ``end_attempt`` wrote."""
    return layout.read_json(directory.exit)


def last_line(log: Path) -> str:
    """The last line of a log that is not empty, without colors, cut to the length of a message; "" if there is none."""
    try:
        with log.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    lines = [line.strip() for line in _COLORS.sub("", text).splitlines() if line.strip()]
    return lines[-1][:_MESSAGE_MAX] if lines else ""
