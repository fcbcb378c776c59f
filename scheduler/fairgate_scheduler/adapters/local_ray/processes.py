"""Processes as they really are: who is who in spite of reused pids, what belongs to an attempt, and its end."""

import ctypes
import os
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import psutil

MARK: Final = "FAIRGATE_MARK"
"""The environment variable that every process of an attempt inherits; its value is ``AttemptDir.mark``."""

SUPERVISES: Final = "FAIRGATE_SUPERVISES"
"""The environment variable of an attempt's supervisor; its value is ``AttemptDir.mark``."""

_PR_SET_CHILD_SUBREAPER: Final = 36
_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_END_TIMEOUT_S: Final = 20.0


@dataclass(frozen=True, slots=True)
class Identity:
    """One process of one boot of the machine: a pid is used again, a pid with its start time is not."""

    pid: int
    start: str
    boot: str

    @classmethod
    def of(cls, pid: int) -> "Identity | None":
        """The identity of the process that has this pid now; ``None`` if there is none, or only a zombie."""
        start = _start_of(pid)
        return None if start is None else cls(pid, start, _boot())

    @classmethod
    def from_plain(cls, content: Mapping[str, Any]) -> "Identity":
        """The inverse of ``plain``; other keys are ignored."""
        return cls(int(content["pid"]), str(content["start"]), str(content["boot"]))

    def plain(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    @property
    def is_alive(self) -> bool:
        """Whether this very process still runs."""
        return Identity.of(self.pid) == self


def adopt_orphans() -> None:
    """Make orphaned descendants children of this process, where the system can do that (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def members(mark: str, session: int | None = None) -> list[psutil.Process]:
    """Every live process of an attempt but the calling one.

    A process belongs to it by its environment, by its session (Ray's agents overwrite their environment with their
    title), or by descending from one that does. Not seen: a process that shed all three, and those of other users.
    """
    found: dict[int, psutil.Process] = {}
    parents: dict[int, list[psutil.Process]] = {}
    for process in psutil.process_iter():
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                continue
            parents.setdefault(process.ppid(), []).append(process)
            if _session_of(process.pid) == session or process.environ().get(MARK) == mark:
                found[process.pid] = process
        except (psutil.Error, OSError):
            continue
    unvisited = list(found)
    while unvisited:
        for child in parents.get(unvisited.pop(), ()):
            if child.pid not in found:
                found[child.pid] = child
                unvisited.append(child.pid)
    found.pop(os.getpid(), None)
    return list(found.values())


def find_supervisor(mark: str) -> psutil.Process | None:
    """The live supervisor of an attempt, when its files can not say which process that is."""
    for process in psutil.process_iter():
        try:
            if process.environ().get(SUPERVISES) == mark and process.status() != psutil.STATUS_ZOMBIE:
                return process
        except (psutil.Error, OSError):
            continue
    return None


def end_all(mark: str, session: int | None = None) -> list[int]:
    """Kill every process of an attempt, again and again until none is left; return the pids of those that remain.

    Killing is repeated because what is about to be killed can still start others. Children of the caller are reaped.
    """
    deadline = time.monotonic() + _END_TIMEOUT_S
    while True:
        left = members(mark, session)
        if not left or time.monotonic() > deadline:
            return sorted(process.pid for process in left)
        for process in left:
            try:
                process.kill()
            except psutil.Error:
                continue
        time.sleep(0.02)
        reap()


def reap() -> dict[int, int]:
    """Collect children that have ended: pid → wait status. Adopted orphans are among them."""
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended[pid] = status


def has_ended(child: int) -> bool:
    """Whether a child of the caller has ended; then it is reaped."""
    try:
        return os.waitpid(child, os.WNOHANG)[0] == child
    except ChildProcessError:
        return True


def signal_group(group: int, number: signal.Signals) -> bool:
    """Send a signal to a process group; says whether the group exists."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:  # macOS says so of a group of zombies
        return False
    return True


def has_group(group: int) -> bool:
    """Whether a process of this group exists; unreaped children of the caller count."""
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _session_of(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return -1


def _boot() -> str:
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""


def _start_of(pid: int) -> str | None:
    """When a process started, in the system's own exact terms: on Linux in ticks since boot, which no clock moves."""
    if sys.platform == "linux":
        try:
            fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            return None
        return None if fields[0] in (b"Z", b"X") else fields[19].decode()
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else repr(process.create_time())
    except psutil.Error:
        return None
