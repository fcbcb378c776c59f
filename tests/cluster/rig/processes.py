"""Processes that outlive their starter, each with a pid file and a log, and never mistaken for somebody else's."""

import contextlib
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rig.errors import RigError

_LOG_LINES: Final = 15


class Processes:
    """The processes of one folder, by name. Pid files hold the start time too: a pid that is used again is not ours."""

    def __init__(self, folder: Path) -> None:
        self._run = folder / "run"
        self._logs = folder / "log"

    def spawn(self, name: str, command: tuple[str, ...], env: Mapping[str, str]) -> int:
        """Start it in a session of its own and return its pid. Its output is appended to its log."""
        if self.is_running(name):
            raise RigError(f"{name} is running already")
        for folder in (self._run, self._logs):
            folder.mkdir(parents=True, exist_ok=True)
        log = os.open(self.log(name), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            pid = os.posix_spawnp(
                command[0],
                command,
                os.environ | env,
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_DUP2, log, 1),
                    (os.POSIX_SPAWN_DUP2, log, 2),
                ],
                setsid=True,
            )
        finally:
            os.close(log)
        (self._run / f"{name}.pid").write_text(f"{pid} {started(pid)}")
        return pid

    def pid(self, name: str) -> int | None:
        """Its pid while it runs."""
        try:
            pid, began = (self._run / f"{name}.pid").read_text().split()
        except (FileNotFoundError, ValueError):
            return None
        # What we started ourselves stays a zombie until we ask.
        with contextlib.suppress(ChildProcessError):
            os.waitpid(int(pid), os.WNOHANG)
        return int(pid) if began == started(int(pid)) else None

    def is_running(self, name: str) -> bool:
        """Whether it runs."""
        return self.pid(name) is not None

    def names(self) -> list[str]:
        """All that were ever started here."""
        return sorted(file.stem for file in self._run.glob("*.pid"))

    def stop(self, name: str, signum: signal.Signals = signal.SIGKILL, longest_s: float = 30) -> None:
        """Send the signal and wait for the end. Nothing to do when it does not run; RigError when it stays."""
        pid = self.pid(name)
        if pid is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signum)
        ends_s = time.monotonic() + longest_s
        while self.is_running(name):
            if time.monotonic() > ends_s:
                raise RigError(f"{name} (pid {pid}) is still there {longest_s:g} s after {signum.name}")
            time.sleep(0.02)

    def log(self, name: str) -> Path:
        """The file that its output goes to."""
        return self._logs / f"{name}.log"

    def last_lines(self, name: str) -> str:
        """The end of its log, for an error message."""
        try:
            lines = self.log(name).read_text(errors="replace").splitlines()
        except FileNotFoundError:
            return ""
        return "\n".join(line[:400] for line in lines[-_LOG_LINES:])


def started(pid: int) -> str | None:
    """When a process was started, in ticks since boot; None when it has ended."""
    try:
        # The name may hold spaces and brackets; the state and the rest come after the last bracket.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # A zombie whose other threads are still on their way out holds its ports until the last one has gone.
    has_ended = fields[0] in ("Z", "X") and int(fields[17]) <= 1
    return None if has_ended else fields[19]
