"""Real servers in processes of their own, in folders with short paths, and nothing left of them after each test."""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import fairgate
import pytest
from fairgate_scheduler.testing.server_process import ServerProcess, environment

PLAIN_SERVER = Path(__file__).with_name("plain_server.py")

CONFIG = """\
version: 1
flavors:
  h100: {resource: nvidia.com/gpu, capacity: {nvidia.com/gpu: 4}}
  v5e: {resource: google.com/tpu, capacity: {google.com/tpu: 4}}
  cpu: {default_for_cpu_pods: true}
tenants:
  - {id: org}
  - {id: a, parent: org, quota: {h100: {nvidia.com/gpu: {nominal: 2}}}}
  - {id: b, parent: org, quota: {h100: {nvidia.com/gpu: {nominal: 2}}}}
  - {id: c, parent: org, quota: {v5e: {google.com/tpu: {nominal: 4}}}}
"""


@dataclass
class Place:
    """A folder with a configuration, and the servers that are started in it."""

    folder: Path

    @property
    def state_dir(self) -> Path:
        """Where the server keeps everything."""
        return self.folder / "state"

    @property
    def config(self) -> Path:
        """The configuration file."""
        return self.folder / "fairgate.yaml"

    @property
    def plain(self) -> list[str]:
        """The command of a server whose attempts are plain processes."""
        return [sys.executable, str(PLAIN_SERVER), str(self.state_dir), str(self.config)]

    def client(self, **settings: float) -> fairgate.Client:
        """A client of the server here."""
        return fairgate.Client(f"unix:{self.state_dir}/fairgate.sock", token_file=self.state_dir / "token", **settings)

    def run(self, *arguments: object, stdin: str = "", **env: str) -> "subprocess.CompletedProcess[str]":
        """Run ``fairgate ARGUMENTS`` in the folder, as a person does."""
        return subprocess.run(
            [sys.executable, "-m", "fairgate", *map(str, arguments)],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            cwd=self.folder,
            env=environment(self.state_dir) | env,
        )


@pytest.fixture
def place() -> Iterator[Place]:
    with tempfile.TemporaryDirectory(prefix="fg-e2e-") as name:
        made = Place(Path(name).resolve())
        made.config.write_text(CONFIG)
        yield made


@pytest.fixture
def make_server(place: Place) -> Iterator[Callable[..., ServerProcess]]:
    """Make a server here; whatever it started is ended after the test."""
    made: list[ServerProcess] = []

    def make(command: list[str]) -> ServerProcess:
        made.append(ServerProcess(place.state_dir, command))
        return made[-1]

    yield make
    for server in made:
        server.end_everything()
        assert server.leftovers() == []


@pytest.fixture
def server(place: Place, make_server: Callable[..., ServerProcess]) -> ServerProcess:
    """A server that runs, whose attempts are plain processes."""
    started = make_server(place.plain)
    started.start()
    started.await_ready()
    return started
