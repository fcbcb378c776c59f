"""A server in a process of its own: all the parts that ``fairgate up`` has, but attempts run as timers.

``python served.py STATE_DIR CONFIG`` is that process; ``Served`` is how the benchmarks handle it.
"""

import logging
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Final

import psutil
from fairgate import Client, FairgateError
from fairgate_scheduler.entrypoints import bootstrap
from fairgate_scheduler.entrypoints.settings import Settings
from fairgate_scheduler.testing.timer_runner import TimerRunner

_START_S: Final = 120
POLL_MS: Final = 1_000
"""Timers ring by themselves; the look in between is only for what gets lost."""


def serve(folder: Path, config: Path) -> None:
    """Run the server until SIGTERM."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    runner = TimerRunner()
    source = config.read_text() if config.name != "-" else None
    settings = Settings(folder, poll_ms=POLL_MS)
    with bootstrap.serve_with(settings, bootstrap.Parts(lambda *_: runner), source) as running:
        runner.on_change = running.app.changes.notify
        stopping.wait()


class Served:
    """The server of one state directory."""

    def __init__(self, folder: Path) -> None:
        self.settings = Settings(folder / "state")
        self._log = folder / "server.log"
        self._process: psutil.Popen | None = None

    def start(self, config: str | None = None) -> None:
        """Start it and wait until it answers."""
        self.start_at_once(config)
        deadline = time.monotonic() + _START_S
        while True:
            assert self._process is not None
            assert self._process.poll() is None, self._log.read_text()
            try:
                with self.client(timeout_s=2) as client:
                    client.get_config()
                return
            except FairgateError:
                assert time.monotonic() < deadline, self._log.read_text()
                time.sleep(0.02)

    def start_at_once(self, config: str | None = None) -> None:
        """Start it and do not wait."""
        path = Path("-")
        if config is not None:
            path = self._log.with_name("config.json")
            path.write_text(config)
        with self._log.open("ab") as log:
            command = [sys.executable, __file__, str(self.settings.state_dir), str(path)]
            self._process = psutil.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def client(self, timeout_s: float = 60) -> Client:
        """A connection to it."""
        return Client(self.settings.address, token_file=self.settings.token_file, timeout_s=timeout_s)

    def cpu_s(self) -> float:
        """The processor time that it has used."""
        assert self._process is not None
        times = self._process.cpu_times()
        return float(times.user + times.system)

    def memory_mb(self) -> float:
        """What it holds in memory."""
        assert self._process is not None
        return float(self._process.memory_info().rss / 1e6)

    def kill(self) -> None:
        """SIGKILL."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """SIGTERM, and whatever it logged besides goes to stderr."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait(60)
        sys.stderr.write(self._log.read_text()[-4_000:])


if __name__ == "__main__":
    serve(Path(sys.argv[1]), Path(sys.argv[2]))
