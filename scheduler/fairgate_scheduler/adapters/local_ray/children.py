"""The supervisor's children: started in process groups of their own, reaped in one place, and interrupted by a stop."""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO, Final

from fairgate_scheduler.adapters.local_ray.processes import reap, signal_group

_LOOK_AGAIN_S: Final = 0.5
"""How long a stop that came without its signal may go unnoticed."""


class StopRequested(Exception):  # noqa: N818 - no error: somebody wants the attempt to end
    """The attempt is to end, and its driver does not run yet."""


class CommandError(Exception):
    """A command has failed or taken too long; the message says which way."""


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended: by itself with a code, or by a signal."""

    code: int
    signal: int | None = None

    @classmethod
    def of(cls, status: int) -> "Exit":
        """From a wait status. A signal's code is what shells make of it."""
        code = os.waitstatus_to_exitcode(status)
        return cls(128 - code, -code) if code < 0 else cls(code)

    def __str__(self) -> str:
        return f"killed by {signal.Signals(self.signal).name}" if self.signal else f"exit code {self.code}"


@dataclass(frozen=True, slots=True)
class Command:
    """A program to start. ``output``: the file that its output is added to; ``None``: where the supervisor's goes."""

    arguments: Sequence[str]
    env: Mapping[str, str]
    cwd: Path
    output: Path | None = None


class Children:
    """There may be one per process: it owns the process's signals and reaps whatever ends.

    Being told to stop is either SIGTERM or the attempt's stop file, whichever is seen first.
    """

    def __init__(self, stop_file: Path) -> None:
        self._stop_file = stop_file
        self._was_told = False
        self._open: dict[int, subprocess.Popen[bytes]] = {}
        self._ended: dict[int, int] = {}
        self._wakeup, writer = os.pipe()
        os.set_blocking(self._wakeup, False)
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        # Handlers, not SIG_IGN: what is ignored would stay ignored in every child.
        for number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGHUP):
            signal.signal(number, self._on_signal)

    @property
    def is_stop_requested(self) -> bool:
        """Whether somebody wants the attempt to end."""
        return self._was_told or self._stop_file.exists()

    def check_stop(self) -> None:
        """Raise StopRequested if somebody wants the attempt to end."""
        if self.is_stop_requested:
            raise StopRequested

    def spawn(self, command: Command) -> int:
        """Start a program as the leader of a new process group of the same session, and return its pid."""
        output: IO[bytes] | None = command.output.open("ab") if command.output else None
        try:
            process = subprocess.Popen(
                command.arguments,
                env=dict(command.env),
                cwd=command.cwd,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT if output else None,
                process_group=0,
            )
        finally:
            if output:
                output.close()
        self._open[process.pid] = process
        return process.pid

    def wait(self, timeout_s: float = _LOOK_AGAIN_S) -> None:
        """Wait for a signal, at most so long, and reap."""
        select.select([self._wakeup], [], [], min(max(timeout_s, 0), _LOOK_AGAIN_S))
        with contextlib.suppress(BlockingIOError):
            os.read(self._wakeup, 4096)
        for pid, status in reap().items():
            process = self._open.pop(pid, None)
            if process is not None:
                process.returncode = os.waitstatus_to_exitcode(status)
                self._ended[pid] = status

    def exit_of(self, pid: int) -> Exit | None:
        """How a spawned program ended; ``None`` while it runs."""
        status = self._ended.get(pid)
        return None if status is None else Exit.of(status)

    def run(self, command: Command, timeout_s: float) -> None:
        """Run a program to its end.

        Raises:
            StopRequested: the attempt is to end; the program was killed.
            CommandError: it failed, or was killed because it took too long.
        """
        pid = self.spawn(command)
        deadline = time.monotonic() + timeout_s
        while (ended := self.exit_of(pid)) is None:
            if self.is_stop_requested or time.monotonic() > deadline:
                signal_group(pid, signal.SIGKILL)
                self.check_stop()
                raise CommandError(f"took longer than {timeout_s:.0f} s")
            self.wait()
        if ended.code != 0:
            raise CommandError(str(ended))

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGTERM:
            self._was_told = True
