"""Real servers in processes of their own whose attempts are plain processes; nothing is left of them."""

import sys
from collections.abc import Iterator
from pathlib import Path

import fairgate
import pytest
from fairgate_scheduler.testing.server_process import ServerProcess, temporary_server

PLAIN_SERVER = (sys.executable, str(Path(__file__).with_name("plain_server.py")))

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


@pytest.fixture
def server() -> Iterator[ServerProcess]:
    """A server that is not started yet."""
    with temporary_server(CONFIG, PLAIN_SERVER) as made:
        yield made


@pytest.fixture(scope="module")
def lasting_server() -> Iterator[ServerProcess]:
    """A server that runs while the tests of a module do."""
    with temporary_server(CONFIG, PLAIN_SERVER) as made:
        made.start()
        made.await_ready()
        yield made


@pytest.fixture(scope="session")
def client_of():
    """Make a client of a server."""

    def make(server: ServerProcess, **settings: float) -> fairgate.Client:
        return fairgate.Client(server.address, token_file=server.token_file, **settings)

    return make
