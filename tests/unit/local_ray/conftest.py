"""A machine that runs attempts as plain shell commands, without Ray, and checks that nothing is left at the end."""

import json
import time
from dataclasses import dataclass, replace

import pytest
from fairgate_scheduler.adapters.local_ray import processes
from fairgate_scheduler.adapters.local_ray.layout import State
from fairgate_scheduler.adapters.local_ray.plan import Plan, Settings
from fairgate_scheduler.adapters.local_ray.planning import make_plan
from fairgate_scheduler.adapters.local_ray.runner import LocalRayRunner
from fairgate_scheduler.testing.runner_contract import make_launch

PATIENCE_S = 30
COUNT_STARTS = 'echo "$FAIRGATE_JOB $FAIRGATE_ATTEMPT" >> "$FAIRGATE_CHECKPOINT_DIR/starts-$FAIRGATE_ATTEMPT"; '


def plan_without_ray(launch, settings, state) -> Plan:
    return replace(make_plan(launch, settings, state), resources=None)


@dataclass
class Machine:
    """A runner on a directory of its own; ``restart`` makes a new one, as a new server does."""

    settings: Settings
    runner: LocalRayRunner

    def restart(self) -> None:
        self.runner = LocalRayRunner(self.settings, plan_without_ray)

    @property
    def state(self) -> State:
        return State(self.settings.state_dir)

    def directory(self, launch):
        return self.state.attempt(launch.attempt.job, launch.attempt.number)

    def launch_of(self, command: str, name: str = "train", **spec):
        return make_launch(name, {"spec": {"entrypoint": COUNT_STARTS + command, **spec}})

    def start(self, command: str, name: str = "train", **spec):
        launch = self.launch_of(command, name, **spec)
        self.runner.launch(launch)
        return launch

    def start_simple(self, command: str):
        """Without counting, so that the command is a simple one."""
        launch = make_launch("train", {"spec": {"entrypoint": command}})
        self.runner.launch(launch)
        return launch

    def stop(self, launch, reason: str = "preempted") -> None:
        self.runner.stop(launch.attempt.job, launch.attempt.number, reason)

    def see(self, launch):
        key = (launch.attempt.job, launch.attempt.number)
        return next((seen for seen in self.runner.observe() if (seen.job, seen.attempt) == key), None)

    def wait_for(self, launch, phase):
        self.wait_until(lambda: (seen := self.see(launch)) is not None and (seen.phase is phase or seen.is_gone))
        seen = self.see(launch)
        assert seen.phase is phase, (seen, self.log(launch))
        return seen

    def wait_for_log(self, launch, text: str) -> None:
        self.wait_until(lambda: text in self.log(launch))

    def log(self, launch) -> str:
        return self.runner.read_log(launch.attempt.job, launch.attempt.number, 0, 100_000).data.decode()

    def count_starts(self, launch) -> int:
        starts = self.state.checkpoints(launch.attempt.job) / f"starts-{launch.attempt.number}"
        return len(starts.read_text().splitlines()) if starts.exists() else 0

    def supervisor(self, launch) -> int:
        return json.loads(self.directory(launch).started.read_text())["pid"]

    def members(self, launch) -> list[int]:
        return [process.pid for process in processes.members(self.directory(launch).mark)]

    @staticmethod
    def wait_until(holds) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < deadline, "it takes too long"
            time.sleep(0.02)


@pytest.fixture
def machine(tmp_path):
    settings = Settings(tmp_path / "state", tmp_path, grace_s=0.4, temp_root=tmp_path / "t")
    found = Machine(settings, LocalRayRunner(settings, plan_without_ray))
    yield found
    for job, attempt in found.state.active():
        found.runner.stop(job, attempt, "the test is over")
    found.wait_until(lambda: all(seen.is_gone for seen in found.runner.observe()))
    marks = [found.state.attempt(job, attempt).mark for job, attempt in found.state.active()]
    assert [member for mark in marks for member in processes.members(mark)] == []
    assert not settings.temp_root.exists() or list(settings.temp_root.iterdir()) == []
