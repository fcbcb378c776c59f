"""A server in a process of its own, as a person starts it: started, killed, stopped, and what it leaves behind."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fairgate_scheduler.adapters.local_ray import processes
from fairgate_scheduler.adapters.local_ray.layout import AttemptDir, read_json

_SOCKET: Final = "fairgate.sock"
_START_S: Final = 60
_STOP_S: Final = 30


def environment(state_dir: Path) -> dict[str, str]:
    """What a command needs to find the server of a state directory, and no other one."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("FAIRGATE_", "RAY_"))}
    return clean | {"FAIRGATE_STATE_DIR": str(state_dir), "PYTHONUNBUFFERED": "1"}


@dataclass
class ServerProcess:
    """The server of one state directory; it may be started as often as it was ended.

    ``command``: what runs it. What it prints is added to ``log``.
    """

    state_dir: Path
    command: Sequence[str]
    process: "subprocess.Popen[bytes] | None" = field(default=None, init=False)

    @classmethod
    def up(cls, state_dir: Path, config: Path, *options: str) -> "ServerProcess":
        """What ``fairgate up`` with these options runs."""
        command = [sys.executable, "-m", "fairgate", "up", "--config", str(config), *options]
        return cls(state_dir, command)

    @property
    def log(self) -> Path:
        """All that it printed, over all starts."""
        return self.state_dir.with_name(f"{self.state_dir.name}.log")

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"unix:{self.state_dir / _SOCKET}"

    @property
    def token_file(self) -> Path:
        """The file of its token."""
        return self.state_dir / "token"

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        return self.process is not None and self.process.poll() is None

    def start(self) -> None:
        """Start it and return at once."""
        assert not self.is_alive
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment(self.state_dir)
            )

    def await_ready(self) -> None:
        """Wait until it takes calls."""
        deadline = time.monotonic() + _START_S
        while not self._answers():
            assert self.is_alive, f"the server ended: {self.log.read_text()}"
            assert time.monotonic() < deadline, f"the server does not answer: {self.log.read_text()}"
            time.sleep(0.02)

    def kill(self) -> None:
        """SIGKILL."""
        assert self.process is not None
        assert self.process.poll() is None, f"the server ended by itself: {self.log.read_text()}"
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """SIGTERM; returns its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(_STOP_S)

    def attempts(self) -> list[AttemptDir]:
        """Every attempt that was ever launched, or was to be."""
        return sorted(map(AttemptDir, self.state_dir.glob("attempts/*/*/*")), key=lambda each: each.path)

    def leftovers(self) -> list[str]:
        """Processes and temporary folders of attempts."""
        plans = [plan for each in self.attempts() if (plan := read_json(each.launch))]
        folders = [plan["temp_dir"] for plan in plans if Path(plan["temp_dir"]).exists()]
        members = [process.pid for each in self.attempts() for process in processes.members(each.mark)]
        return [f"process {pid}" for pid in [*self.supervisors(), *members]] + folders

    def supervisors(self) -> list[int]:
        """The pids of the supervisors that are alive."""
        started = [content for each in self.attempts() if (content := read_json(each.started))]
        found = map(processes.Identity.from_plain, started)
        return [each.pid for each in found if each.is_alive]

    def end_everything(self) -> None:
        """Leave nothing behind, however a test ended: the server, then what it ran."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for pid in self.supervisors():
            os.kill(pid, signal.SIGTERM)
        for attempt in self.attempts():
            deadline = time.monotonic() + _STOP_S
            while attempt.started.exists() and not attempt.exit.exists() and time.monotonic() < deadline:
                time.sleep(0.05)

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(str(self.state_dir / _SOCKET)) == 0
