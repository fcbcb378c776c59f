"""The same core run forward on a copy: who would start when, if nothing unforeseen comes.

Every job runs for as long as its time limit says (or a shorter time that the caller expects), nobody submits, nothing
is cancelled or changed, and what is not ready yet is ready at once.
"""

import heapq
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from fairgate_scheduler.core.budgets import Spending, Use, next_periods_ms, used_by
from fairgate_scheduler.core.contenders import Choice, Contender, Field, held_by
from fairgate_scheduler.core.history import settle
from fairgate_scheduler.core.jobs import Attempt, AttemptState, Job, JobState
from fairgate_scheduler.core.kinds import Kind
from fairgate_scheduler.core.register import Register
from fairgate_scheduler.core.roster import Roster
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
        self._roster = Roster(self._field, pending=scene.pending)
        self._ends: list[tuple[int, str, int]] = []
        self._admissions = max((each.attempt.admission for each in scene.running), default=0)
        self._possible: dict[Hashable, tuple[Choice, ...]] = {}
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
        register = self._roster.at(self._field.now_ms, self._field.spent, self._field.past)
        self._plan(register)
        for _ in range(MAX_INSTANTS):
            yield self._field.now_ms
            instant_ms = min(self._instants(), default=None)
            if instant_ms is None:
                return
            register = self._pass(instant_ms)
            if not self._is_calm or _somebody_fits(register):
                self._plan(register)

    def _pass(self, instant_ms: int) -> Register:
        """Let time pass: the history is settled, and what ends by then ends."""
        history = settle(self._config, self._roster.running.values(), self._field.past, instant_ms)
        while self._ends and self._ends[0][0] <= instant_ms:
            end_ms, name, number = heapq.heappop(self._ends)
            if not self._is_over(name, number):
                self._leave(name, end_ms)
        return self._roster.at(instant_ms, self._spending.at(instant_ms), history)

    def _plan(self, register: Register) -> None:
        now_ms = self._field.now_ms
        rounds = Rounds(register, self._sight and self._sight(self._field))
        rounds.repeat()
        evicted, new = rounds.changes()
        rounds.take_back()
        evicts: dict[str, list[str]] = {}
        for each in evicted:
            for newcomer in rounds.reasons[each.job.id].for_jobs:
                evicts.setdefault(newcomer, []).append(each.job.id)
            self._leave(each.job.id, now_ms)
            self._roster.put_pending(waiting(each.job, now_ms))
        for each in new:
            self._admit(each, tuple(evicts.get(each.job.id, ())))
        register = self._roster.at(now_ms, self._field.spent, self._field.past)
        self._is_calm = self._nobody_gives_way(register)

    def _admit(self, contender: Contender, evicts: tuple[str, ...]) -> None:
        job, option = self._roster.pending[contender.job.id], held_by(contender).option
        self._admissions += 1
        self.starts.setdefault(job.id, Start(self._field.now_ms, option, evicts))
        self._enter(started(job, option, self._admissions, self._field.now_ms))

    def _enter(self, running: Running) -> None:
        self._roster.put_running(running)
        heapq.heappush(self._ends, (self._end_ms(running), running.job.id, running.attempt.number))

    def _leave(self, name: str, at_ms: int) -> None:
        running = self._roster.running[name]
        self._roster.remove(name)
        self._spending.add(self._config.paths[running.job.tenant], used_by(self._config, running.attempt, at_ms))

    def _end_ms(self, running: Running) -> int:
        expected_ms = self._run_ms.get(running.job.id)
        return _end_of(running, self._field.now_ms, expected_ms)

    def _instants(self) -> Iterator[int]:
        """The later instants at which something may change."""
        while self._ends and self._is_over(*self._ends[0][1:]):
            heapq.heappop(self._ends)
        if self._ends:
            yield self._ends[0][0]
        due_ms = self._roster.next_ms()
        if due_ms is not None:
            yield due_ms
        yield from next_periods_ms(self._config, self._field.spent, self._field.now_ms)

    def _is_over(self, name: str, number: int) -> bool:
        running = self._roster.running.get(name)
        return running is None or running.attempt.number != number

    def _nobody_gives_way(self, register: Register) -> bool:
        """Whether no running job could give way to what waits: then only what fits beside all that runs can start."""
        policy, usage = self._config.policy, Usage(self._field.bounds)
        if policy.rebalance or policy.quota_cut is QuotaCut.RECLAIM:
            return False
        least = {leaf: min(each.priority for each in running) for leaf, running in register.running.items() if running}
        for head in register.heads():
            if policy.priority_preemption and least.get(head.leaf, head.priority) < head.priority:
                return False
            for choice in self._possible_for(head):
                if any(usage.is_within(node, choice.charge) for node in choice.charge.path[:-1]):
                    return False
        return True

    def _possible_for(self, head: Contender) -> tuple[Choice, ...]:
        """The options that it could take, now or later, found out once for all of its kind."""
        key = head.group if isinstance(head.group, Kind) else head.job.id
        known = self._possible.get(key)
        if known is None:
            known = self._possible[key] = self._field.possible(head.job)
        return known


def _somebody_fits(register: Register) -> bool:
    return any(register.present.fits(choice.charge) for head in register.heads() for choice in head.choices)


def _ready(running: Running, now_ms: int) -> Running:
    if running.attempt.ready_at_ms is not None:
        return running
    return replace(running, attempt=replace(running.attempt, ready_at_ms=now_ms))


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
