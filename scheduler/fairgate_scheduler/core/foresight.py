"""What a plan knows of the time to come: claims, and which option of a job is the soonest; and forecasts to look at.

Each of these runs the core forward on a copy. The plans in a forecast know of claims, but what they look at to judge a
claim does not: there only the claimant waits.
"""

import heapq
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from fairgate_scheduler.core.budgets import Use
from fairgate_scheduler.core.claims import BackfillClaims
from fairgate_scheduler.core.contenders import Choice, Contender, Field, rank_of
from fairgate_scheduler.core.crowds import CrowdClaims, crowd_of
from fairgate_scheduler.core.forecast import Future, Scene, Start, started, waiting
from fairgate_scheduler.core.jobs import Fallback, Job
from fairgate_scheduler.core.ledger import Claims
from fairgate_scheduler.core.register import Register
from fairgate_scheduler.core.snapshot import Chosen, Running, Snapshot

MOST_AHEAD: Final = 1_000
"""Of the jobs that wait, so many are looked at to find the soonest option of a job: the first of each tenant."""

MOST_FORECAST: Final = 1_000
"""With more jobs times different claimants than this a plan does not forecast for each claimant alone."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """When a pending job starts, if nothing unforeseen comes. ``None``: not by anything that is known now.

    ``latest_ms`` if every job needs its time limit, ``earliest_ms`` if they run as long as is expected of them;
    ``option`` and ``latest_finish_ms`` belong to ``latest_ms``.
    """

    job: str
    earliest_ms: int | None
    latest_ms: int | None
    option: int | None = None
    latest_finish_ms: int | None = None


def forecast(snapshot: Snapshot, name: str, now_ms: int, run_ms: Mapping[str, int] | None = None) -> Forecast:
    """When this pending job would start. ``run_ms``: how long jobs are expected to run, at speed 1.

    Other jobs with ``fallback: soonest`` keep the option that they last chose.

    Raises:
        KeyError: no job of this name is pending.
    """
    job = next((each for each in snapshot.pending if each.id == name), None)
    if job is None:
        raise KeyError(name)
    late = _start(snapshot, name, now_ms, {})
    early = _start(snapshot, name, now_ms, run_ms) if run_ms else late
    if late is None:
        return Forecast(name, early and early.at_ms, None)
    finish = late.at_ms + _remaining_ms(job, late.option)
    instants = [late.at_ms] if early is None else [early.at_ms, late.at_ms]
    # More time for one job can let another one start sooner (Graham, 1969), so either may be the later one.
    return Forecast(name, min(instants), max(instants), late.option, -(-finish.numerator // finish.denominator))


def _start(snapshot: Snapshot, name: str, now_ms: int, run_ms: Mapping[str, int]) -> Start | None:
    now = Field(snapshot, now_ms)
    only = {each.id: snapshot.choices[each.id].option for each in snapshot.pending if each.id in snapshot.choices}
    only.pop(name, None)
    return Future(now, Scene(snapshot.running, snapshot.pending, (), only, run_ms), Claiming).start_of(name)


def _remaining_ms(job: Job, option: int) -> Fraction:
    return (job.time_limit_ms - job.done_ms) / job.options[option].speed


class Claiming:
    """Foresight that knows of claims only; nobody chooses."""

    def __init__(self, now: Field) -> None:
        self._field = now
        self._is_crowded: bool | None = None

    def claims(self, register: Register) -> Claims | None:
        """The claims of those that have waited too long; ``None``: there are none. Every round judges them alike."""
        claimants = register.claimants()
        if not claimants:
            return None
        if self._is_crowded is None:
            crowds = {crowd_of(next(iter(mates))) for mates in claimants}
            jobs = len(register.names) + sum(len(list(mates)) for mates in claimants)
            self._is_crowded = len(crowds) * jobs > MOST_FORECAST
        if self._is_crowded:
            return CrowdClaims(self._field, claimants)
        ended = _ended(register)

        def start(claimant: Contender, target: Mapping[Contender, Choice]) -> int | None:
            jobs = [waiting(claimant.job, claimant.since_ms)]
            scene = Scene(_running(target, self._field.now_ms), jobs, ended, self._field.only)
            found = Future(self._field, scene).start_of(claimant.job.id)
            return None if found is None else found.at_ms

        return BackfillClaims(self._field, claimants, start)

    def choose(self, register: Register) -> Sequence[tuple[Contender, Contender]]:
        """Nobody."""
        return ()


class Choosing(Claiming):
    """Foresight of a plan that is meant: jobs with ``fallback: soonest`` choose the option that finishes first."""

    def __init__(self, now: Field, choices: Mapping[str, Chosen]) -> None:
        super().__init__(now)
        self.choices: dict[str, Chosen] = {}
        self._last = dict(choices)
        self._seen: set[str] = set()
        self._runs: dict[Hashable, _Run] = {}

    def choose(self, register: Register) -> Sequence[tuple[Contender, Contender]]:
        """Those that have not done so in this plan choose, in their order. What was chosen at this instant stands."""
        singles = [each for each in register.singles.values() if each.job.fallback is Fallback.SOONEST]
        new = sorted((each for each in singles if each.job.id not in self._seen), key=lambda each: each.rank)
        now, scene = self._field, None
        self._runs.clear()  # what runs and waits may be different now
        for each in new:
            self._seen.add(each.job.id)
            usable = now.usable(each.job)
            if len(usable) > 1:
                option = self._standing(each.job, usable)
                if option is None:
                    scene = scene or _ahead(_scene(register))
                    option = self._soonest(each.job, usable, scene)
                self.choices[each.job.id] = self._last[each.job.id] = Chosen(option, now.now_ms)
                now.only[each.job.id] = option
        return [(each, now.pending(each.job, each.since_ms, past=each.past)) for each in new]

    def _standing(self, job: Job, usable: Sequence[Choice]) -> int | None:
        last = self._last.get(job.id)
        if last is None or last.at_ms != self._field.now_ms:
            return None
        return last.option if any(choice.option == last.option for choice in usable) else None

    def _soonest(self, job: Job, usable: Sequence[Choice], scene: Scene) -> int:
        """The option whose forecast finish is the earliest; of equals the first in the job's order.

        The runs forward of all options take turns: it is always the one that goes on that could still finish first.
        """
        left = {choice.option: _remaining_ms(job, choice.option) for choice in usable}
        last = {each.id: self._last[each.id].option for each in scene.pending if each.id in self._last}
        finishes = [(self._field.now_ms + left[option], option) for option in left]  # not before these
        while finishes:
            heapq.heapify(finishes)
            at, option = finishes[0]
            run = self._run(scene, {**last, job.id: option})
            start = run.starts.get(job.id)
            if start is not None and at == start.at_ms + left[option]:
                return option
            if start is None and not run.go_on():
                heapq.heappop(finishes)
                continue
            start = run.starts.get(job.id)
            begin_ms = run.reached_ms if start is None else start.at_ms
            finishes[0] = begin_ms + left[option], option
        return usable[0].option

    def _run(self, scene: Scene, only: Mapping[str, int]) -> "_Run":
        """The run forward in which these take only that option. Several jobs may ask for the same one."""
        key = frozenset(only.items())
        if key not in self._runs:
            self._runs[key] = _Run(Future(self._field, replace(scene, only=only), Claiming))
        return self._runs[key]


class _Run:
    """A run forward that goes as far as somebody wants to know. ``starts``: who has started in it until then."""

    def __init__(self, future: Future) -> None:
        self.starts = future.starts
        self.reached_ms = 0
        self._instants = future.run()

    def go_on(self) -> bool:
        """Go on to the next instant. Returns whether there was one."""
        reached_ms = next(self._instants, None)
        if reached_ms is None:
            return False
        self.reached_ms = reached_ms
        return True


def _scene(register: Register) -> Scene:
    """What runs and waits there, to begin a forecast with."""
    held = {each: each.held for each in register.all_running() if each.held is not None}
    jobs = [waiting(each.job, each.since_ms) for each in register.all_pending()]
    return Scene(_running(held, register.field.now_ms), jobs, _ended(register))


def _ahead(scene: Scene) -> Scene:
    """The same with at most about ``MOST_AHEAD`` jobs that wait: the first of each tenant, and all that choose."""
    if len(scene.pending) <= MOST_AHEAD:
        return scene
    lines: dict[str, list[Job]] = {}
    for job in scene.pending:
        lines.setdefault(job.tenant, []).append(job)
    each = max(1, MOST_AHEAD // len(lines))
    first = [job for line in lines.values() for job in heapq.nsmallest(each, line, key=rank_of)]
    shown = {job.id for job in first}
    choosing = [job for job in scene.pending if job.fallback is Fallback.SOONEST and job.id not in shown]
    return replace(scene, pending=first + choosing)


def _ended(register: Register) -> list[tuple[str, Use]]:
    """What attempts that the plan ends have used, by tenant."""
    return [(each.job.tenant, each.past) for each in register.pasts if each.past is not None]


def _running(placed: Mapping[Contender, Choice], now_ms: int) -> list[Running]:
    """These jobs as running, in the order of admission; what this plan has admitted, or is to, starts now."""
    there = [each.running for each in placed if each.running is not None]
    new = [each for each in placed if each.running is None]
    new.sort(key=lambda each: (each.held is None, each.admission))
    last = max((each.attempt.admission for each in there), default=0)
    return there + [
        started(waiting(each.job, now_ms), placed[each].option, last + place, now_ms)
        for place, each in enumerate(new, 1)
    ]
