"""A service on fakes: a store in memory, a runner on virtual time, and a configuration of two tenants."""

from dataclasses import dataclass

import pytest
from fairgate_scheduler.core.jobs import JobState
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.cycle import Scheduler
from fairgate_scheduler.service.query import get_job
from fairgate_scheduler.service.quota import apply_config
from fairgate_scheduler.service.submit import JobSpec, SubmitRequest, submit
from fairgate_scheduler.testing.builders import ray_job
from fairgate_scheduler.testing.fake_runner import FakeRunner, Script
from fairgate_scheduler.testing.memory_store import MemoryStore
from fairgate_scheduler.testing.sim_clock import SimClock

CONFIG = """
version: 1
flavors:
  h100: {resource: nvidia.com/gpu}
  a100: {resource: nvidia.com/gpu}
  cpu: {default_for_cpu_pods: true}
tenants:
  - id: org
  - {id: a, parent: org, quota: {h100: {nvidia.com/gpu: {nominal: 2}}}, max_priority: 100}
  - {id: b, parent: org, quota: {h100: {nvidia.com/gpu: {nominal: 2}}}}
priorities: {production: 50}
"""


@dataclass
class Rig:
    """One service with its fakes, and short ways to use it."""

    app: App
    runner: FakeRunner
    clock: SimClock
    scheduler: Scheduler

    def submit(self, name="train", tenant="a", **spec):
        return submit(self.app, self.request(name, tenant, **spec))

    def request(self, name="train", tenant="a", *, gpus=1, request_id="", job_id=None, options=(), **spec):
        options = options or [{"flavor": "h100"}]
        spec = JobSpec(**{"time_limit_ms": 3_600_000, "options": options, **spec})
        return SubmitRequest(tenant, job_id, ray_job(name, gpus=gpus), spec, request_id, submitted_by="user:me")

    def turn(self, times=1):
        for _ in range(times):
            self.scheduler.turn()

    def run_until(self, name, state, step_ms=500, most=2_000):
        for _ in range(most):
            self.turn()
            view = get_job(self.app, name)
            if view.job.state is JobState(state):
                return view
            self.clock.advance(step_ms)
        pytest.fail(f"{name} is {view.job.state} and never {state}")

    def events(self, name):
        with self.app.read() as transaction:
            return [each.event.kind.value for each in transaction.list_events(0, 1000, job=name)]


@pytest.fixture
def rig():
    clock = SimClock(1_000_000)
    runner = FakeRunner(clock, lambda _launch: Script(start_ms=1_000, run_ms=60_000))
    app = App(MemoryStore(), runner, clock)
    apply_config(app, CONFIG, by="admin")
    return Rig(app, runner, clock, Scheduler(app))
