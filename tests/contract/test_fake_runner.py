"""The fake runner keeps the promises that every runner gives, so that what is tested on it holds elsewhere."""

import pytest
from fairgate_scheduler.testing.fake_runner import FakeRunner, Script
from fairgate_scheduler.testing.runner_contract import Kind, RunnerContract, make_launch
from fairgate_scheduler.testing.sim_clock import SimClock

MINUTES = 10 * 60_000
SCRIPTS = {
    Kind.SHORT: Script(run_ms=1_000, output=b"hello\ndone\n"),
    Kind.LONG: Script(run_ms=MINUTES, output=b"hello\n"),
    Kind.STUBBORN: Script(run_ms=MINUTES, stop_ms=MINUTES, output=b"hello\n"),
    Kind.FAILING: Script(run_ms=1_000, exit_code=3, output=b"hello\n"),
}


class FakeRig:
    def __init__(self):
        self.clock = SimClock()
        self.runner = FakeRunner(self.clock, lambda launch: SCRIPTS[Kind[launch.spec["kind"]]])

    def launch_of(self, kind, name):
        return make_launch(name, {}, kind=kind.name)

    def wait_until(self, holds):
        for _ in range(1_000):
            if holds():
                return
            self.clock.advance(100)
        pytest.fail("it did not become true within 100 virtual seconds")

    def restart(self):
        """It has no memory of its own to lose."""

    def kill(self, launch):
        self.runner.kill(launch.attempt.job, launch.attempt.number)

    def count_starts(self, launch):
        key = (launch.attempt.job, launch.attempt.number)
        return sum((each.job, each.attempt) == key for each in self.runner.history)


class TestFakeRunner(RunnerContract):
    @pytest.fixture
    def rig(self):
        return FakeRig()
