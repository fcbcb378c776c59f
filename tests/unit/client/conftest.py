"""A real service on a Unix socket over a store in memory, a fake runner and a clock that tests move; and its client."""

import contextlib
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fairgate
import pytest
from fairgate_scheduler.entrypoints.grpc import server
from fairgate_scheduler.ports import Launch
from fairgate_scheduler.service import quota
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.cycle import Scheduler
from fairgate_scheduler.testing.builders import ray_job
from fairgate_scheduler.testing.fake_runner import FakeRunner, Script
from fairgate_scheduler.testing.memory_store import MemoryStore
from fairgate_scheduler.testing.sim_clock import SimClock

CONFIG = """\
version: 1
flavors:
  h100: {price: 3, resource: nvidia.com/gpu, capacity: {nvidia.com/gpu: 8}}
  v5e: {price: 1, resource: google.com/tpu, capacity: {google.com/tpu: 4}}
  cpu: {default_for_cpu_pods: true}
tenants:
  - {id: org}
  - id: a
    parent: org
    weight: 2
    max_priority: 10
    max_pending_jobs: 3
    quota: {h100: {nvidia.com/gpu: {nominal: 4}}}
  - {id: b, parent: org, quota: {h100: {nvidia.com/gpu: {nominal: 4}}, v5e: {google.com/tpu: {nominal: 4}}}}
priorities: {urgent: 7}
"""


@dataclass
class Settings:
    """What ``server.build`` wants to know."""

    folder: Path
    reflection: bool = False
    address: str = field(init=False)
    token_file: Path = field(init=False)

    def __post_init__(self) -> None:
        self.address = f"unix:{self.folder}/fairgate.sock"
        self.token_file = self.folder / "token"


class Service:
    """One service, which can be stopped and started again over the same store."""

    def __init__(self, folder: Path, config: str = CONFIG) -> None:
        self.settings = Settings(folder)
        self.clock = SimClock()
        self.scripts: dict[str, Script] = {}
        self.runner = FakeRunner(self.clock, self._script)
        self.app = App(MemoryStore(), self.runner, self.clock)
        self.scheduler = Scheduler(self.app)
        if config:
            quota.apply_config(self.app, config)
        self.start()

    def start(self) -> None:
        """Listen, on the same socket with the same token."""
        self.server = server.build(self.app, self.settings)
        self.server.start()

    def stop(self) -> None:
        """Cut all calls."""
        self.server.stop(0)

    def turn(self, after_ms: int = 0) -> None:
        """Let some time pass, then do all that the scheduler does."""
        self.clock.advance(after_ms)
        self.scheduler.turn()

    @contextlib.contextmanager
    def running(self, step_ms: int = 1000) -> Iterator[None]:
        """Let time pass quickly while the block lasts."""
        is_over = threading.Event()

        def run() -> None:
            while not is_over.wait(0.02):
                self.turn(step_ms)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()

    def client(self, **settings: Any) -> fairgate.Client:
        """A client of this service."""
        return fairgate.Client(self.settings.address, token_file=self.settings.token_file, **settings)

    def _script(self, launch: Launch) -> Script:
        return self.scripts.get(launch.job.id.rpartition("/")[2], Script())


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a path that is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="fg-") as path:
        yield Path(path)


@pytest.fixture
def service(folder: Path) -> Iterator[Service]:
    made = Service(folder)
    yield made
    made.stop()


@pytest.fixture
def make_service(folder: Path) -> Iterator[Callable[..., Service]]:
    """Start a service with another configuration."""
    with contextlib.ExitStack() as stack:

        def make(config: str) -> Service:
            made = Service(folder, config)
            stack.callback(made.stop)
            return made

        yield make


@pytest.fixture
def client(service: Service) -> Iterator[fairgate.Client]:
    with service.client(timeout_s=10) as made:
        yield made


@pytest.fixture
def manifest() -> Callable[..., str]:
    """Make a RayJob manifest: name, then ``gpus``, ``workers``, ``resource``."""
    return ray_job
