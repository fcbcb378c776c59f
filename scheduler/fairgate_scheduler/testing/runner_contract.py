"""What every runner must do, as one suite: subclass ``RunnerContract`` in a test module and give it a ``rig``."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from itertools import count
from typing import Any, Protocol

import pytest

from fairgate_scheduler.core import lifecycle
from fairgate_scheduler.core.lifecycle import Observation, Phase
from fairgate_scheduler.ports import Launch, Runner
from fairgate_scheduler.testing.builders import job, two_tenants

_NUMBERS = count(1)


class Kind(Enum):
    """How the program of an attempt behaves, once it is ready."""

    SHORT = "prints 'hello' and 'done', one a line, and ends well after a moment"
    LONG = "prints 'hello' and works for minutes; ends at once when given notice"
    STUBBORN = "prints 'hello', works for minutes and ignores notice: only the end of the grace period ends it"
    FAILING = "prints 'hello' and ends with exit code 3"


class Rig(Protocol):
    """What the suite needs to know of the runner under test."""

    runner: Runner

    def launch_of(self, kind: Kind, name: str) -> Launch:
        """A launch of attempt 1 of a job of this name that behaves like this and asks for one GPU."""

    def wait_until(self, holds: Callable[[], bool]) -> None:
        """Let time pass until something holds; fail when it does not within a reasonable time."""

    def restart(self) -> None:
        """Replace ``runner`` by one that has only what a new process of the server would find."""

    def kill(self, launch: Launch) -> None:
        """End an attempt from outside so that it leaves no result."""

    def count_starts(self, launch: Launch) -> int:
        """How many times the program of this attempt was started."""


@dataclass
class Watched:
    """One launched attempt, seen through the rig."""

    rig: Any
    launch: Launch

    def see(self) -> Observation | None:
        """What the runner says of it now."""
        attempt = self.launch.attempt
        seen = [each for each in self.rig.runner.observe() if (each.job, each.attempt) == (attempt.job, attempt.number)]
        assert len(seen) <= 1, seen
        return seen[0] if seen else None

    def wait_for(self, phase: Phase) -> Observation:
        """Wait until it is in this phase, and gone if the phase is an end."""
        self.rig.wait_until(lambda: (seen := self.see()) is not None and _is_settled(seen, phase))
        seen = self.see()
        assert seen is not None
        return seen

    def stop(self, reason: str = "preempted") -> None:
        """Give it notice."""
        self.rig.runner.stop(self.launch.attempt.job, self.launch.attempt.number, reason)

    def read(self, offset: int = 0, limit: int = 10_000) -> tuple[bytes, int, bool]:
        """A piece of its log."""
        attempt, uid = self.launch.attempt, self.launch.job.uid
        chunk = self.rig.runner.read_log(attempt.job, attempt.number, offset, limit, uid)
        return chunk.data, chunk.next_offset, chunk.is_end


def _is_settled(seen: Observation, phase: Phase) -> bool:
    is_end = phase not in (Phase.STARTING, Phase.RUNNING)
    return seen.phase is phase and seen.is_gone is is_end


def make_launch(name: str, manifest: dict[str, Any], **spec: Any) -> Launch:
    """A launch of attempt 1 of a job of one H100; rigs put their program into the manifest."""
    record = job(name)
    change = lifecycle.admit(record, 0, 1, record.submitted_at_ms)
    change = lifecycle.launch(change.job, change.attempts[0], record.submitted_at_ms)
    return Launch(change.job, change.attempts[0], manifest, spec, two_tenants())


class RunnerContract:
    """The suite. Names of jobs are unique in one process, so that one rig may serve all tests."""

    @pytest.fixture
    def rig(self) -> Rig:
        """The runner under test; every subclass brings its own."""
        raise NotImplementedError("a fixture named rig")

    def _start(self, rig: Rig, kind: Kind) -> Watched:
        watched = Watched(rig, rig.launch_of(kind, f"{kind.name.lower()}-{next(_NUMBERS)}"))
        rig.runner.launch(watched.launch)
        return watched

    def test_an_attempt_is_seen_from_the_return_of_the_launch_on(self, rig: Rig) -> None:
        seen = self._start(rig, Kind.LONG).see()
        assert seen is not None
        assert seen.phase in (Phase.STARTING, Phase.RUNNING)
        assert not seen.is_gone

    def test_an_attempt_runs_and_succeeds(self, rig: Rig) -> None:
        seen = self._start(rig, Kind.SHORT).wait_for(Phase.SUCCEEDED)
        assert seen.exit_code == 0
        assert seen.started_at_ms is not None
        assert seen.started_at_ms <= seen.at_ms

    def test_a_failing_program_has_failed_with_its_exit_code(self, rig: Rig) -> None:
        seen = self._start(rig, Kind.FAILING).wait_for(Phase.FAILED)
        assert seen.exit_code == 3
        assert seen.message

    def test_launched_twice_it_starts_once(self, rig: Rig) -> None:
        watched = self._start(rig, Kind.LONG)
        rig.runner.launch(watched.launch)
        watched.wait_for(Phase.RUNNING)
        rig.runner.launch(watched.launch)
        assert rig.count_starts(watched.launch) == 1

    def test_launched_again_after_a_restart_it_starts_once(self, rig: Rig) -> None:
        watched = self._start(rig, Kind.LONG)
        rig.restart()
        rig.runner.launch(watched.launch)
        watched.wait_for(Phase.RUNNING)
        assert rig.count_starts(watched.launch) == 1

    def test_launched_again_after_its_end_it_does_not_run_again(self, rig: Rig) -> None:
        watched = self._start(rig, Kind.SHORT)
        watched.wait_for(Phase.SUCCEEDED)
        rig.runner.launch(watched.launch)
        assert watched.wait_for(Phase.SUCCEEDED).is_gone
        assert rig.count_starts(watched.launch) == 1

    def test_observed_again_it_says_the_same(self, rig: Rig) -> None:
        watched = self._start(rig, Kind.LONG)
        first = watched.wait_for(Phase.RUNNING)
        assert watched.see() == first
        watched.stop()
        end = watched.wait_for(Phase.STOPPED)
        assert watched.see() == end

    def test_an_end_is_seen_after_a_restart(self, rig: Rig) -> None:
        watched = self._start(rig, Kind.FAILING)
        watched.wait_for(Phase.FAILED)
        rig.restart()
        seen = watched.wait_for(Phase.FAILED)
        assert seen.exit_code == 3

    def test_stopped_it_is_gone(self, rig: Rig) -> None:
        watched = self._start(rig, Kind.LONG)
        watched.wait_for(Phase.RUNNING)
        watched.stop()
        assert watched.wait_for(Phase.STOPPED).is_gone

    def test_stopped_twice_is_like_once(self, rig: Rig) -> None:
        watched = self._start(rig, Kind.STUBBORN)
        watched.wait_for(Phase.RUNNING)
        watched.stop()
        watched.stop("again")
        assert watched.wait_for(Phase.STOPPED).is_gone
        watched.stop("after its end")
        assert watched.wait_for(Phase.STOPPED).is_gone

    def test_stopped_before_it_is_ready_it_goes_as_well(self, rig: Rig) -> None:
        watched = self._start(rig, Kind.LONG)
        watched.stop()
        assert watched.wait_for(Phase.STOPPED).is_gone

    def test_a_stop_survives_a_restart(self, rig: Rig) -> None:
        watched = self._start(rig, Kind.STUBBORN)
        watched.wait_for(Phase.RUNNING)
        watched.stop()
        rig.restart()
        watched.stop()
        assert watched.wait_for(Phase.STOPPED).is_gone

    def test_stopping_the_unknown_is_no_error(self, rig: Rig) -> None:
        rig.runner.stop("tenants/a/jobs/nobody", 1, "preempted")
        assert all(each.job != "tenants/a/jobs/nobody" for each in rig.runner.observe())

    def test_killed_from_outside_it_is_lost(self, rig: Rig) -> None:
        watched = self._start(rig, Kind.LONG)
        watched.wait_for(Phase.RUNNING)
        rig.kill(watched.launch)
        assert watched.wait_for(Phase.LOST).is_gone

    def test_forgotten_it_is_not_seen_any_more_and_its_log_stays(self, rig: Rig) -> None:
        watched = self._start(rig, Kind.SHORT)
        watched.wait_for(Phase.SUCCEEDED)
        rig.runner.forget(watched.launch.attempt.job, watched.launch.attempt.number)
        assert watched.see() is None
        rig.restart()
        assert watched.see() is None
        assert b"hello" in watched.read()[0]

    def test_forgetting_the_unknown_is_no_error(self, rig: Rig) -> None:
        rig.runner.forget("tenants/a/jobs/nobody", 1)

    def test_attempts_of_a_job_are_told_apart(self, rig: Rig) -> None:
        first = self._start(rig, Kind.SHORT)
        first.wait_for(Phase.SUCCEEDED)
        second = Watched(rig, replace(first.launch, attempt=replace(first.launch.attempt, number=2)))
        rig.runner.launch(second.launch)
        second.wait_for(Phase.SUCCEEDED)
        assert first.see() is not None
        assert rig.count_starts(first.launch) == rig.count_starts(second.launch) == 1

    def test_an_id_that_is_given_again_is_another_job(self, rig: Rig) -> None:
        before = self._again(rig, rig.launch_of(Kind.SHORT, f"short-{next(_NUMBERS)}"), "11")
        rig.runner.launch(before.launch)
        assert before.wait_for(Phase.SUCCEEDED).uid == "11"
        for is_forgotten in (False, True):
            if is_forgotten:
                rig.runner.forget(before.launch.attempt.job, before.launch.attempt.number)
            after = self._again(rig, before.launch, "22" if is_forgotten else "33")
            rig.runner.launch(after.launch)
            assert after.see() is not None
            assert after.wait_for(Phase.SUCCEEDED).uid == after.launch.job.uid
            assert after.read()[0].count(b"hello") == 1
            before = after

    def test_an_id_that_is_given_again_while_the_earlier_job_runs_waits_for_its_end(self, rig: Rig) -> None:
        before = self._again(rig, rig.launch_of(Kind.LONG, f"long-{next(_NUMBERS)}"), "11")
        rig.runner.launch(before.launch)
        before.wait_for(Phase.RUNNING)
        rig.wait_until(lambda: b"hello" in before.read()[0])
        after = self._again(rig, before.launch, "22")
        for _ in range(2):
            with pytest.raises(Exception, match="an earlier job"):
                rig.runner.launch(after.launch)
            seen = after.see()
            assert (seen and seen.phase, seen and seen.uid) == (Phase.RUNNING, "11")
            assert after.read() == (b"", 0, False)
            rig.restart()
        before.stop()
        before.wait_for(Phase.STOPPED)
        rig.runner.launch(after.launch)
        assert after.wait_for(Phase.RUNNING).uid == "22"

    def _again(self, rig: Rig, launch: Launch, uid: str) -> Watched:
        return Watched(rig, replace(launch, job=replace(launch.job, uid=uid)))

    def test_a_log_is_read_piece_by_piece(self, rig: Rig) -> None:
        watched = self._start(rig, Kind.SHORT)
        watched.wait_for(Phase.SUCCEEDED)
        whole, end, is_end = watched.read()
        assert is_end
        assert b"hello" in whole
        pieces, offset, is_end = b"", 0, False
        while not is_end:
            piece, offset, is_end = watched.read(offset, 3)
            assert len(piece) <= 3
            pieces += piece
        assert (pieces, offset) == (whole, end)

    def test_the_log_of_what_still_runs_has_no_end(self, rig: Rig) -> None:
        watched = self._start(rig, Kind.LONG)
        rig.wait_until(lambda: b"hello" in watched.read()[0])
        _data, offset, is_end = watched.read()
        assert not is_end
        assert watched.read(offset) == (b"", offset, False)

    def test_the_log_of_the_unknown_is_empty(self, rig: Rig) -> None:
        assert rig.runner.read_log("tenants/a/jobs/nobody", 1, 0, 100).data == b""
