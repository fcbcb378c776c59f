"""A real gRPC server on a Unix socket over a store in memory, a fake runner and a clock that stands still."""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
from fairgate_api.v1 import job_service_pb2 as wire_pb2
from fairgate_api.v1 import job_service_pb2_grpc, jobs_pb2, quota_service_pb2_grpc
from fairgate_scheduler.entrypoints.grpc import server
from fairgate_scheduler.testing.builders import ray_job
from fairgate_scheduler.testing.fake_service import FakeService, SocketSettings
from google.rpc import error_details_pb2 as details_pb2
from google.rpc.status_pb2 import Status

CONFIG = """\
version: 1
flavors:
  h100: {price: 3, resource: nvidia.com/gpu, capacity: {nvidia.com/gpu: 8}, node_labels: {gpu: h100}}
  cpu: {default_for_cpu_pods: true}
tenants:
  - {id: org}
  - id: a
    parent: org
    weight: 2
    max_priority: 10
    max_pending_jobs: 3
    quota: {h100: {nvidia.com/gpu: {nominal: 4, lending_limit: 2}}}
  - {id: b, parent: org, quota: {h100: {nvidia.com/gpu: {nominal: 4}}}}
priorities: {urgent: 7}
speeds: [{workload: llm, h100: 1/2}]
"""


class Calls:
    """The methods of a stub, with a token and a deadline."""

    def __init__(self, stub: Any, metadata: list[tuple[str, str]]) -> None:
        self._stub = stub
        self._metadata = metadata

    def __getattr__(self, method: str) -> Any:
        return lambda request: getattr(self._stub, method)(request, timeout=10, metadata=self._metadata)


class Wire(FakeService):
    """One running service and a caller of it."""

    def __init__(self, settings: SocketSettings, config: str = CONFIG) -> None:
        super().__init__(config)
        self.settings = settings
        self.server = server.build(self.app, settings)
        self.server.start()
        self.token = settings.token_file.read_text().strip()
        self.channel = grpc.insecure_channel(self.server.address)
        self.metadata = [("authorization", f"Bearer {self.token}")]
        self.jobs = Calls(job_service_pb2_grpc.JobServiceStub(self.channel), self.metadata)
        self.quotas = Calls(quota_service_pb2_grpc.QuotaServiceStub(self.channel), self.metadata)

    def submit(self, job_id: str = "train", tenant: str = "a", gpus: int = 1, **fields: Any) -> jobs_pb2.Job:
        """Submit a job of one worker."""
        return self.jobs.SubmitJob(self.request(job_id, tenant, gpus, **fields))

    @staticmethod
    def request(job_id: str = "train", tenant: str = "a", gpus: int = 1, **fields: Any) -> wire_pb2.SubmitJobRequest:
        """A request to submit a job; ``fields`` are those of the job."""
        job = jobs_pb2.Job(**{"manifest": ray_job(job_id or "train", gpus=gpus)} | fields)
        return wire_pb2.SubmitJobRequest(parent=f"tenants/{tenant}", job_id=job_id, job=job)

    @staticmethod
    def wait_for(holds: Callable[[], bool]) -> None:
        """Wait until something holds."""
        for _ in range(200):
            if holds():
                return
            time.sleep(0.05)
        pytest.fail("it never came")

    def close(self) -> None:
        """Stop all of it."""
        self.channel.close()
        self.server.stop(0)


@pytest.fixture
def settings(folder: Path) -> SocketSettings:
    return SocketSettings(folder)


@pytest.fixture
def make_wire() -> Iterator[Callable[..., Wire]]:
    """Start services that end with the test."""
    with contextlib.ExitStack() as stack:

        def make(settings: SocketSettings, config: str = CONFIG) -> Wire:
            made = Wire(settings, config)
            stack.callback(made.close)
            return made

        yield make


@pytest.fixture
def wire(settings: SocketSettings, make_wire: Callable[..., Wire]) -> Wire:
    return make_wire(settings)


@dataclass(frozen=True)
class Refused:
    """How a call was refused. ``details`` by the name of their message."""

    code: grpc.StatusCode
    text: str
    details: dict[str, Any]

    @property
    def fields(self) -> list[str]:
        """The fields that were wrong."""
        return [each.field for each in self.details["BadRequest"].field_violations]


@pytest.fixture
def refused():
    """Make a call that must be refused, and say how it was."""

    def make(call: Any, request: Any) -> Refused:
        with pytest.raises(grpc.RpcError) as caught:
            _exhaust(call(request))
        error = caught.value
        packed = next((value for key, value in error.trailing_metadata() if key == "grpc-status-details-bin"), b"")
        return Refused(error.code(), error.details(), _unpack(Status.FromString(packed)))

    return make


@pytest.fixture
def details_of():
    """Read the details of a ``google.rpc.Status``."""
    return _unpack


def _exhaust(answer: Any) -> None:
    """A stream is refused when it is read."""
    if hasattr(answer, "__next__"):
        list(answer)


def _unpack(status: Status) -> dict[str, Any]:
    """Details by the name of their message."""
    found = {}
    for each in status.details:
        kind = getattr(details_pb2, each.TypeName().rpartition(".")[2])
        found[kind.__name__] = kind.FromString(each.value)
    return found
