"""A server in a process of its own, as a person starts it: started, killed, stopped, and what it leaves behind."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fairgate_scheduler.adapters.local_ray import processes
from fairgate_scheduler.adapters.local_ray.layout import AttemptDir, read_json
from fairgate_scheduler.adapters.local_ray.plan import Settings, temp_dir_of

_SOCKET: Final = "fairgate.sock"
UP: Final = (sys.executable, "-m", "fairgate", "up", "--config", "fairgate.yaml")
"""What a person types in the folder of a configuration."""

_START_S: Final = 60
_STOP_S: Final = 30


@dataclass
class ServerProcess:
    """A folder with a configuration, and the server that works there; it may be started as often as it was ended.

    ``command``: what runs it, in that folder and with the state directory in its environment.
    """

    folder: Path
    command: Sequence[str] = UP
    process: "subprocess.Popen[bytes] | None" = field(default=None, init=False)

    @property
    def state_dir(self) -> Path:
        """Where it keeps everything."""
        return self.folder / "state"

    @property
    def config(self) -> Path:
        """The configuration file."""
        return self.folder / "fairgate.yaml"

    @property
    def log(self) -> Path:
        """All that it printed, over all starts."""
        return self.folder / "server.log"

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

    @property
    def environment(self) -> dict[str, str]:
        """What a command needs to find this server and no other one."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("FAIRGATE_", "RAY_"))}
        return clean | {"FAIRGATE_STATE_DIR": str(self.state_dir), "PYTHONUNBUFFERED": "1"}

    def start(self) -> None:
        """Start it and return at once."""
        assert not self.is_alive
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=self.environment,
            )

    def run(self, *arguments: object, stdin: str = "", **env: str) -> "subprocess.CompletedProcess[str]":
        """Run ``fairgate ARGUMENTS`` beside it, as a person does."""
        return subprocess.run(
            [sys.executable, "-m", "fairgate", *map(str, arguments)],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=_START_S,
            check=False,
            cwd=self.folder,
            env=self.environment | env,
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
        folders = sorted(each for each in self.state_dir.glob("attempts/*/*/*") if each.name.isdigit())
        return [AttemptDir(each) for each in folders]  # beside them lies whose they are

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
        """Leave nothing behind, however a test ended: the server, then what it ran, even if its files are damaged."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        try:
            self._end_supervised()
        finally:
            self._end_marked()

    def _end_supervised(self) -> None:
        """Let the supervisors end their attempts; which ones there are is what the files say."""
        for pid in self.supervisors():
            os.kill(pid, signal.SIGTERM)
        for attempt in self.attempts():
            deadline = time.monotonic() + _STOP_S
            while attempt.started.exists() and not attempt.exit.exists() and time.monotonic() < deadline:
                time.sleep(0.05)

    def _end_marked(self) -> None:
        """Kill what is left of any attempt, without reading a file: the path of an attempt is enough."""
        for each in self.state_dir.glob("attempts/*/*/*"):
            attempt = AttemptDir(each)
            supervisor = processes.find_supervisor(attempt.mark)
            if supervisor is not None:
                os.kill(supervisor.pid, signal.SIGKILL)
            processes.end_all(attempt.mark, supervisor.pid if supervisor else None)
            shutil.rmtree(temp_dir_of(attempt, Settings(self.state_dir, self.folder)), ignore_errors=True)

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(str(self.state_dir / _SOCKET)) == 0


@contextmanager
def temporary_server(config: str, command: Sequence[str] = UP) -> Iterator[ServerProcess]:
    """A server that is not started yet, in a new folder whose path is short enough for a socket.

    Whatever it started is ended after the block.
    """
    with tempfile.TemporaryDirectory(prefix="fg-") as name:
        server = ServerProcess(Path(name).resolve(), command)
        server.config.write_text(config)
        try:
            yield server
        finally:
            server.end_everything()
        assert server.leftovers() == []
