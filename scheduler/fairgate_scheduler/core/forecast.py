"""The same core run forward on a copy: who would start when, if nothing unforeseen comes.

Every job runs for as long as its time limit says (or a shorter time that the caller expects), nobody submits, nothing
is cancelled or changed, and what is not ready yet is ready at once.
"""

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from fairgate_scheduler.core.budgets import Spending, Use, next_periods_ms, used_by
from fairgate_scheduler.core.contenders import Choice, Contender, Field, charge_of, held_by
from fairgate_scheduler.core.history import settle
from fairgate_scheduler.core.jobs import Attempt, AttemptState, Job, JobState
from fairgate_scheduler.core.register import Register
from fairgate_scheduler.core.rounds import Foresight, Rounds
from fairgate_scheduler.core.snapshot import Running
from fairgate_scheduler.core.tenancy import QuotaCut
from fairgate_scheduler.core.usage import Usage

MAX_INSTANTS: Final = 10_000
"""A forecast that has not found its job started after so many instants says that it does not know."""


class Start(NamedTuple):
    """That a job starts: when, and on which option."""

    at_ms: int
    option: int
    evicts: tuple[str, ...] = ()
    """The running jobs that give way to it then, by id."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What a forecast begins with. ``ended``: what attempts that the plan ends have used, by tenant.

    ``only``: the single option that a pending job may take. ``run_ms``: how long jobs are expected to run, at speed 1,
    where that is known.
    """

    running: Sequence[Running]
    pending: Sequence[Job]
    ended: Sequence[tuple[str, Use]] = ()
    only: Mapping[str, int] = field(default_factory=dict)
    run_ms: Mapping[str, int] = field(default_factory=dict)


Sight = Callable[[Field], Foresight]
"""Makes what the plans in a forecast know of their own time to come."""


class Future:
    """Virtual time over the core. ``sight`` ``None``: the plans in it know of no claims.

    ``starts``: the first start of each job that has started in it, by id.
    """

    def __init__(self, now: Field, scene: Scene, sight: Sight | None = None) -> None:
        self._config = now.config
        self._sight = sight
        self._run_ms = scene.run_ms
        self._spending = Spending(now.config).resume(now.spent, now.now_ms)
        for tenant, use in scene.ended:
            self._spending.add(now.config.paths[tenant], use)
        self._field = now.at(now.now_ms, self._spending.at(now.now_ms), now.past)
        self._field.only = dict(scene.only)
        self._pending = {job.id: job for job in scene.pending}
        self._running: dict[str, Contender] = {}
        self._present = Usage(now.bounds)
        self._ends: list[tuple[int, str, int]] = []
        self._admissions = max((each.attempt.admission for each in scene.running), default=0)
        self._is_calm = False
        self.starts: dict[str, Start] = {}
        for each in scene.running:
            self._enter(_ready(each, now.now_ms))

    def start_of(self, name: str) -> Start | None:
        """When a pending job starts; ``None``: not by anything that is known."""
        for _ in self.run():
            if name in self.starts:
                return self.starts[name]
        return None

    def run(self) -> Iterator[int]:
        """Go forward from instant to instant, to be called once; each is given when it is known who starts at it.

        It ends when nothing is known to change any more, or after ``MAX_INSTANTS``.
        """
        self._plan()
        for _ in range(MAX_INSTANTS):
            yield self._field.now_ms
            instant_ms = min(self._instants(), default=None)
            if instant_ms is None:
                return
            self._pass(instant_ms)
            if not self._is_calm or self._somebody_fits():
                self._plan()

    def _pass(self, instant_ms: int) -> None:
        """Let time pass: the history is settled, and what ends by then ends."""
        ran = [each.running for each in self._running.values() if each.running is not None]
        history = settle(self._config, ran, self._field.past, instant_ms)
        while self._ends and self._ends[0][0] <= instant_ms:
            end_ms, name, number = heapq.heappop(self._ends)
            contender = self._running.get(name)
            if contender is not None and _attempt_of(contender).number == number:
                self._leave(contender, end_ms)
        self._field = self._field.at(instant_ms, self._spending.at(instant_ms), history)

    def _plan(self) -> None:
        now_ms = self._field.now_ms
        running = [_running_of(each) for each in self._running.values()]
        register = Register.of(self._field, running, self._pending.values())
        rounds = Rounds(register, self._sight and self._sight(self._field))
        rounds.repeat()
        evicts: dict[str, list[str]] = {}
        for name in rounds.gone:
            for newcomer in rounds.reasons[name].for_jobs:
                evicts.setdefault(newcomer, []).append(name)
            evicted = self._running[name]
            self._leave(evicted, now_ms)
            self._pending[name] = waiting(evicted.job, now_ms)
        for each in rounds.new.values():
            self._admit(each, tuple(evicts.get(each.job.id, ())))
        self._is_calm = self._nobody_gives_way()

    def _admit(self, contender: Contender, evicts: tuple[str, ...]) -> None:
        job, option = self._pending.pop(contender.job.id), held_by(contender).option
        self._admissions += 1
        self.starts.setdefault(job.id, Start(self._field.now_ms, option, evicts))
        self._enter(started(job, option, self._admissions, self._field.now_ms))

    def _enter(self, running: Running) -> None:
        contender = self._field.running(running)
        self._running[running.job.id] = contender
        self._present.add(charge_of(contender))
        heapq.heappush(self._ends, (self._end_ms(running), running.job.id, running.attempt.number))

    def _leave(self, contender: Contender, at_ms: int) -> None:
        job = contender.job
        del self._running[job.id]
        self._present.remove(charge_of(contender))
        self._spending.add(self._config.paths[job.tenant], used_by(self._config, _attempt_of(contender), at_ms))

    def _end_ms(self, running: Running) -> int:
        expected_ms = self._run_ms.get(running.job.id)
        return _end_of(running, self._field.now_ms, expected_ms)

    def _instants(self) -> Iterator[int]:
        """The later instants at which something may change."""
        now_ms, policy = self._field.now_ms, self._config.policy
        while self._ends and self._is_over(*self._ends[0][1:]):
            heapq.heappop(self._ends)
        if self._ends:
            yield self._ends[0][0]
        found: list[int] = []
        if policy.min_runtime_ms:
            ready_ms = (_attempt_of(each).ready_at_ms for each in self._running.values())
            found += [at_ms + policy.min_runtime_ms for at_ms in ready_ms if at_ms is not None]
        for job in self._pending.values():
            found += [job.pending_since_ms + job.fallback_after_ms, *job.backoff.values()]
            if policy.backfill_after_ms is not None and self._sight is not None:
                found.append(job.pending_since_ms + policy.backfill_after_ms)
        found += next_periods_ms(self._config, self._spending.at(now_ms), now_ms)
        yield from (instant for instant in found if instant > now_ms)

    def _is_over(self, name: str, number: int) -> bool:
        contender = self._running.get(name)
        return contender is None or _attempt_of(contender).number != number

    def _nobody_gives_way(self) -> bool:
        """Whether no running job could give way to what waits: then only what fits beside all that runs can start."""
        policy, usage = self._config.policy, Usage(self._field.bounds)
        if policy.rebalance or policy.quota_cut is QuotaCut.RECLAIM:
            return False
        least = dict[int, int]()
        for each in self._running.values() if policy.priority_preemption else ():
            least[each.leaf] = min(each.priority, least.get(each.leaf, each.priority))
        seen = set()
        for job in self._pending.values():
            leaf = self._field.tree.index[job.tenant]
            if least.get(leaf, job.priority) < job.priority:
                return False
            for choice in self._field.possible(job):
                if choice.charge not in seen:
                    seen.add(choice.charge)
                    if any(usage.is_within(node, choice.charge) for node in choice.charge.path[:-1]):
                        return False
        return True

    def _somebody_fits(self) -> bool:
        return any(
            self._present.fits(choice.charge) for job in self._pending.values() for choice in self._field.usable(job)
        )


def _ready(running: Running, now_ms: int) -> Running:
    if running.attempt.ready_at_ms is not None:
        return running
    return replace(running, attempt=replace(running.attempt, ready_at_ms=now_ms))


def _running_of(contender: Contender) -> Running:
    assert contender.running is not None, contender.job.id
    return contender.running


def _attempt_of(contender: Contender) -> Attempt:
    return _running_of(contender).attempt


def started(job: Job, option: int, admission: int, now_ms: int) -> Running:
    """A pending job that starts at once."""
    number, state = job.attempts + 1, AttemptState.RUNNING
    demand = job.options[option].demand
    attempt = Attempt(job.id, number, option, demand, admission, now_ms, state, ready_at_ms=now_ms)
    return Running(replace(job, state=JobState.RUNNING, attempts=number), attempt)


def waiting(job: Job, since_ms: int) -> Job:
    """A job that has been pending since then."""
    if job.state is JobState.PENDING and job.pending_since_ms == since_ms:
        return job
    return replace(job, state=JobState.PENDING, pending_since_ms=since_ms)


def end_ms(field: Field, contender: Contender, choice: Choice) -> int:
    """When a job ends that runs, or starts now, by its time limit."""
    if contender.running is None:
        left = _left_ms(contender.job, choice.option, contender.job.time_limit_ms)
        return max(field.now_ms + left, field.now_ms + 1)
    return _end_of(_ready(contender.running, field.now_ms), field.now_ms)


def _end_of(running: Running, now_ms: int, expected_ms: int | None = None) -> int:
    """When a job ends; one that should have ended, or is stopping, very soon."""
    job, attempt = running.job, running.attempt
    if running.leaving:
        return now_ms + 1
    assert attempt.ready_at_ms is not None, attempt
    run_ms = job.time_limit_ms if expected_ms is None else min(expected_ms, job.time_limit_ms)
    return max(attempt.ready_at_ms + _left_ms(job, attempt.option, run_ms), now_ms + 1)


def _left_ms(job: Job, option: int, run_ms: int) -> int:
    """How long the work takes there that is left of ``run_ms`` at speed 1, rounded up."""
    left = (run_ms - job.done_ms) / job.options[option].speed
    return -(-left.numerator // left.denominator)
