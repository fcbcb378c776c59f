"""What the service would have stored of a replay at some instant, and the core's plan for it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from fairgate_scheduler.core import lifecycle
from fairgate_scheduler.core.budgets import Spending, next_periods_ms, used_by
from fairgate_scheduler.core.engine import Engine
from fairgate_scheduler.core.history import settle
from fairgate_scheduler.core.holds import reasons
from fairgate_scheduler.core.jobs import Attempt, AttemptState, Job, JobState
from fairgate_scheduler.core.snapshot import Chosen, History, Plan, Running, Snapshot
from fairgate_scheduler.core.tenancy import Config


class Books:
    """Jobs that are pending and running, what tenants used before, and what jobs chose last. Changed job by job."""

    def __init__(self, config: Config) -> None:
        self.pending: dict[str, Job] = {}
        self.running: dict[str, Running] = {}
        self._config = config
        self._admissions = 0
        self._history: Mapping[str, History] = {}
        self._spending = Spending(config)
        self._choices: dict[str, Chosen] = {}
        self._engine = Engine(config)

    def settle(self, now_ms: int) -> None:
        """Reckon the history until now, before anything happens."""
        self._history = settle(self._config, self.running.values(), self._history, now_ms)

    def plan(self, now_ms: int) -> Plan:
        """What is to be done now."""
        plan = self._engine.plan(now_ms, self._history, self._spending.at(now_ms), self._choices)
        self._choices.update(plan.choices)
        return plan

    def reasons(self, now_ms: int) -> Mapping[str, str]:
        """Why each pending job waits now."""
        return reasons(self.snapshot(now_ms), now_ms)

    def submit(self, job: Job) -> None:
        """A job comes in."""
        self._wait(job)

    def admit(self, job: Job, option: int, now_ms: int) -> int:
        """A job starts, and runs at once. Returns the number of its attempt."""
        self._admissions += 1
        change = lifecycle.admit(self.pending.pop(job.id), option, self._admissions, now_ms)
        attempt = replace(change.attempts[0], state=AttemptState.RUNNING, launched_at_ms=now_ms, ready_at_ms=now_ms)
        running = self.running[job.id] = Running(replace(change.job, state=JobState.RUNNING), attempt)
        self._engine.put_running(running)
        return attempt.number

    def preempt(self, running: Running, done_ms: int, now_ms: int) -> None:
        """A running job gives way; what it held is free at once. ``done_ms``: the work that it keeps."""
        change = lifecycle.preempt(running.job, running.attempt, "", now_ms, done_ms)
        self._release(running, now_ms)
        self._wait(change.job)

    def end(self, running: Running, now_ms: int) -> None:
        """A running job has succeeded."""
        self._release(running, now_ms)
        self._engine.remove(running.job.id)

    def is_current(self, attempt: int, name: str) -> bool:
        """Whether this attempt of a job still runs."""
        running = self.running.get(name)
        return running is not None and running.attempt.number == attempt

    def next_periods_ms(self, now_ms: int) -> Iterator[int]:
        """When budgets of which something is spent begin anew."""
        return next_periods_ms(self._config, self._spending.at(now_ms), now_ms) if self._spending else iter(())

    def _wait(self, job: Job) -> None:
        self.pending[job.id] = job
        self._engine.put_pending(job)

    def _release(self, running: Running, now_ms: int) -> None:
        del self.running[running.job.id]
        if self._spending:
            path = self._config.paths[running.job.tenant]
            self._spending.add(path, used_by(self._config, _ended(running.attempt, now_ms), now_ms))

    def snapshot(self, now_ms: int) -> Snapshot:
        """What a plan would be made from now."""
        return Snapshot(
            self._config,
            tuple(self.running.values()),
            tuple(self.pending.values()),
            {},
            self._history,
            self._spending.at(now_ms),
            self._choices,
        )


def _ended(attempt: Attempt, now_ms: int) -> Attempt:
    return replace(attempt, state=AttemptState.GONE, holds_quota=False, ended_at_ms=now_ms)
