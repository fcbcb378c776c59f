"""Virtual time over the real core: what ends, what is submitted, then a cycle if anybody waits. No decision.

Launching and evicting take no time. What happens at one instant, and in which order, is as in a scenario file.
"""

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from fairgate_scheduler.core.admissible import SubmitRefused, check_submit, limited_subtrees
from fairgate_scheduler.core.tenancy import Config
from fairgate_scheduler.replay.books import Books
from fairgate_scheduler.replay.forecasts import Forecaster
from fairgate_scheduler.replay.load import Arrival

PROGRESS_EVERY: Final = 512
IN_VAIN_MIN: Final = 1_000
IN_VAIN_PER_JOB: Final = 20
"""After so many evictions in a row, and so many for each job that is there, in which no job finished or kept any work,
and if nobody has run all the while, none ever will: jobs take turns and begin anew. No plan should do that."""
IN_VAIN: Final = "EVICTED_IN_VAIN"
NOT_REACHED: Final = "NOT_REACHED"


@dataclass(frozen=True, slots=True)
class Run:
    """One attempt of a job, from its start to its end. ``kept_ms``: of its work, what later attempts need not redo."""

    option: int
    begin_ms: int
    end_ms: int
    kept_ms: int


@dataclass(slots=True)
class Outcome:
    """What became of one job. ``runs``: its attempts; only the last may have finished it.

    ``hold``: why it has not finished, if it was refused or waits for ever.
    """

    arrival: Arrival
    runs: list[Run] = field(default_factory=list)
    finished_at_ms: int | None = None
    hold: str = ""

    @property
    def evictions(self) -> int:
        """How often it gave way."""
        return len(self.runs) - (self.finished_at_ms is not None)


@dataclass(frozen=True, slots=True)
class Replayed:
    """A replay that has come to its end. ``outcomes`` in the order of the submits."""

    outcomes: tuple[Outcome, ...]
    cycles: int


Progress = Callable[[int, int], None]
"""Told now and then how many jobs have finished, and of how many."""


def replay(
    config: Config,
    arrivals: Sequence[Arrival],
    checkpoint_every_ms: int | None = None,
    progress: Progress | None = None,
    forecaster: Forecaster | None = None,
) -> Replayed:
    """Run every job of a log. Each checkpoints every ``checkpoint_every_ms`` of its work, or never. ``forecaster``: is
    told who comes in and who ends.

    Raises:
        AssertionError: the core has found that it would break one of its own laws.
    """
    engine = _Engine(config, arrivals, checkpoint_every_ms, forecaster)
    engine.run(progress)
    return Replayed(tuple(engine.outcomes.values()), engine.cycles)


class _Engine:
    def __init__(
        self,
        config: Config,
        arrivals: Sequence[Arrival],
        checkpoint_every_ms: int | None,
        forecaster: Forecaster | None,
    ) -> None:
        self.outcomes = {each.job.id: Outcome(each) for each in arrivals}
        self.cycles = 0
        self.now_ms = 0
        self._config = config
        self._checkpoint_every_ms = checkpoint_every_ms
        self._forecaster = forecaster
        self._books = Books(config)
        self._arrivals = sorted(arrivals, key=lambda each: (each.job.submitted_at_ms, each.job.sequence))[::-1]
        self._ends: list[tuple[int, int, str]] = []
        self._wakes: list[int] = []
        self._in_vain = 0
        self._in_vain_since_ms = 0
        self._limited = any(tenant.max_pending_jobs is not None for tenant in config.tenants.values())

    def run(self, progress: Progress | None) -> None:
        finished = instants = 0
        while (instant := self._next()) is not None and not self._is_in_vain():
            self.now_ms = instant
            self._books.settle(instant)
            while self._ends and self._ends[0][0] == instant:
                finished += self._end(*heapq.heappop(self._ends)[1:])
            new = []
            while self._arrivals and self._arrivals[-1].job.submitted_at_ms == instant:
                new.append(self._arrivals.pop())
                self._submit(new[-1])
            if self._forecaster is not None:
                names = [each.job.id for each in new]
                self._forecaster.submitted(names, lambda: self._books.snapshot(self.now_ms), instant)
            self._settle()
            instants += 1
            if progress is not None and instants % PROGRESS_EVERY == 0:
                progress(finished, len(self.outcomes))
        for name, reason in self._books.reasons(self.now_ms).items():
            self.outcomes[name].hold = IN_VAIN if self._is_in_vain() else reason
        for name in self._books.running:
            self.outcomes[name].hold = IN_VAIN
        for arrival in self._arrivals:
            self.outcomes[arrival.job.id].hold = NOT_REACHED

    def _is_in_vain(self) -> bool:
        """Whether jobs only take turns, and none will ever finish."""
        there = len(self._books.pending) + len(self._books.running)
        if self._in_vain <= IN_VAIN_MIN or self._in_vain <= IN_VAIN_PER_JOB * there:
            return False
        return all(each.attempt.admitted_at_ms >= self._in_vain_since_ms for each in self._books.running.values())

    def _next(self) -> int | None:
        """The next instant at which something may change; ``None``: nothing will any more."""
        while self._wakes and self._wakes[0] <= self.now_ms:
            heapq.heappop(self._wakes)
        while self._ends and not self._books.is_current(*self._ends[0][1:]):
            heapq.heappop(self._ends)
        found = [self._arrivals[-1].job.submitted_at_ms] if self._arrivals else []
        found += [self._ends[0][0]] if self._ends else []
        if self._books.pending:
            found += self._wakes[:1]
            found += self._books.next_periods_ms(self.now_ms)
        return min(found, default=None)

    def _settle(self) -> None:
        """Plan and apply until nobody is evicted: what a checkpoint kept is known only then, and may make room in a
        budget. A plan that evicts nobody changes nothing when it is made again."""
        while self._books.pending:
            self.cycles += 1
            plan = self._books.plan(self.now_ms)
            for each in plan.preemptions:
                self._preempt(each.job)
            for admission in plan.admissions:
                self._admit(admission.job, admission.option)
            if not plan.preemptions or self._is_in_vain():
                return

    def _submit(self, arrival: Arrival) -> None:
        job, outcome = arrival.job, self.outcomes[arrival.job.id]
        if self._limited:
            try:
                check_submit(self._config, job.tenant, job.priority, self._pending_counts(job.tenant))
            except SubmitRefused as refused:
                outcome.hold = refused.code
                return
        self._books.submit(job)
        self._wake_when_pending(job.pending_since_ms, job.fallback_after_ms)

    def _pending_counts(self, tenant: str) -> Mapping[str, int]:
        subtrees = limited_subtrees(self._config, tenant)
        return {
            node: sum(job.tenant in below for job in self._books.pending.values()) for node, below in subtrees.items()
        }

    def _admit(self, name: str, option: int) -> None:
        job = self._books.pending[name]
        attempt = self._books.admit(job, option, self.now_ms)
        speed = job.options[option].speed
        left_ms = -(-(self.outcomes[name].arrival.run_ms - job.done_ms) * speed.denominator // speed.numerator)
        heapq.heappush(self._ends, (self.now_ms + left_ms, attempt, name))
        if self._config.policy.min_runtime_ms:
            heapq.heappush(self._wakes, self.now_ms + self._config.policy.min_runtime_ms)

    def _preempt(self, name: str) -> None:
        running = self._books.running[name]
        job, attempt = running.job, running.attempt
        begin_ms = attempt.admitted_at_ms
        kept_ms = job.done_ms
        if self._checkpoint_every_ms is not None:
            speed = job.options[attempt.option].speed
            work_ms = job.done_ms + (self.now_ms - begin_ms) * speed.numerator // speed.denominator
            kept_ms = work_ms // self._checkpoint_every_ms * self._checkpoint_every_ms
        self._in_vain = self._in_vain + 1 if kept_ms == job.done_ms else 0
        if self._in_vain <= 1:
            self._in_vain_since_ms = self.now_ms
        self._books.preempt(running, kept_ms, self.now_ms)
        self.outcomes[name].runs.append(Run(attempt.option, begin_ms, self.now_ms, kept_ms - job.done_ms))
        self._wake_when_pending(self.now_ms, job.fallback_after_ms)

    def _end(self, attempt: int, name: str) -> bool:
        if not self._books.is_current(attempt, name):
            return False
        self._in_vain = 0
        running = self._books.running[name]
        self._books.end(running, self.now_ms)
        outcome = self.outcomes[name]
        kept_ms = outcome.arrival.run_ms - running.job.done_ms
        outcome.runs.append(Run(running.attempt.option, running.attempt.admitted_at_ms, self.now_ms, kept_ms))
        outcome.finished_at_ms = self.now_ms
        if self._forecaster is not None:
            self._forecaster.finished(running.job, outcome.arrival.run_ms)
        return True

    def _wake_when_pending(self, since_ms: int, fallback_after_ms: int) -> None:
        if fallback_after_ms:
            heapq.heappush(self._wakes, since_ms + fallback_after_ms)
        if self._config.policy.backfill_after_ms is not None:
            heapq.heappush(self._wakes, since_ms + self._config.policy.backfill_after_ms)
