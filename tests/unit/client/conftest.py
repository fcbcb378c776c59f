"""A real service on a Unix socket over a store in memory, a fake runner and a clock that tests move; and its client."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fairgate
import pytest
from fairgate_scheduler.entrypoints.grpc import server
from fairgate_scheduler.ports import Launch
from fairgate_scheduler.testing.builders import ray_job
from fairgate_scheduler.testing.fake_runner import Script
from fairgate_scheduler.testing.fake_service import FakeService, SocketSettings

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


class Service(FakeService):
    """One service, which can be stopped and started again over the same store."""

    def __init__(self, folder: Path, config: str = CONFIG) -> None:
        super().__init__(config, self._script)
        self.settings = SocketSettings(folder, reflection=False)
        self.scripts: dict[str, Script] = {}
        self.start()

    def start(self) -> None:
        """Listen, on the same socket with the same token."""
        self.server = server.build(self.app, self.settings)
        self.server.start()

    def stop(self) -> None:
        """Cut all calls."""
        self.server.stop(0)

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
