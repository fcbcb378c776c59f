"""The local runner keeps the contract of runners; its programs are shell commands here."""

import os
import signal

import pytest
from fairgate_scheduler.testing.runner_contract import Kind, RunnerContract

COMMANDS = {
    Kind.SHORT: "echo hello; sleep 0.1; echo done",
    Kind.LONG: "echo hello; exec sleep 300",
    Kind.STUBBORN: "trap '' TERM; echo hello; sleep 300; sleep 300",
    Kind.FAILING: "echo hello; exit 3",
}


class ShellRig:
    def __init__(self, machine) -> None:
        self._machine = machine
        self.restart = machine.restart
        self.wait_until = machine.wait_until

    @property
    def runner(self):
        return self._machine.runner

    def launch_of(self, kind, name):
        return self._machine.launch_of(COMMANDS[kind], name)

    def count_starts(self, launch) -> int:
        """A driver is ready before its shell has written the first line."""
        ready = self._machine.directory(launch).ready
        self.wait_until(lambda: self._machine.count_starts(launch) > 0 or not ready.exists())
        return self._machine.count_starts(launch)

    def kill(self, launch) -> None:
        os.kill(self._machine.supervisor(launch), signal.SIGKILL)


class TestLocalRayRunner(RunnerContract):
    @pytest.fixture
    def rig(self, machine):
        return ShellRig(machine)
