"""What a plan knows of the time to come: claims, and which option of a job is the soonest; and forecasts to look at.

Each of these runs the core forward on a copy. The plans in a forecast know of claims, but what they look at to judge a
claim does not: there only the claimant waits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from fairgate_scheduler.core.claims import BackfillClaims
from fairgate_scheduler.core.contenders import Choice, Contender, Field
from fairgate_scheduler.core.forecast import Future, Scene, Start, started, waiting
from fairgate_scheduler.core.jobs import Fallback, Job
from fairgate_scheduler.core.snapshot import Chosen, Running, Snapshot


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

    def claims(self, pending: Sequence[Contender]) -> BackfillClaims | None:
        """The claims of those that have waited too long; ``None``: there can be none."""
        if self._field.policy.backfill_after_ms is None:
            return None
        ended = [(each.job.tenant, each.past) for each in pending if each.past is not None]

        def start(claimant: Contender, target: Mapping[Contender, Choice]) -> int | None:
            jobs = [waiting(claimant.job, claimant.since_ms)]
            scene = Scene(_running(target, self._field.now_ms), jobs, ended, self._field.only)
            found = Future(self._field, scene).start_of(claimant.job.id)
            return None if found is None else found.at_ms

        return BackfillClaims(self._field, pending, start)

    def choose(self, running: Sequence[Contender], pending: Sequence[Contender]) -> Sequence[Contender]:
        """The same pending jobs."""
        return pending


class Choosing(Claiming):
    """Foresight of a plan that is meant: jobs with ``fallback: soonest`` choose the option that finishes first."""

    def __init__(self, now: Field, choices: Mapping[str, Chosen]) -> None:
        super().__init__(now)
        self.choices: dict[str, Chosen] = {}
        self._last = dict(choices)
        self._seen: set[str] = set()

    def choose(self, running: Sequence[Contender], pending: Sequence[Contender]) -> Sequence[Contender]:
        """Those that have not done so in this plan choose, in their order. What was chosen at this instant stands."""
        new = [each for each in pending if each.job.fallback is Fallback.SOONEST and each.job.id not in self._seen]
        if not new:
            return pending
        now = self._field
        for each in sorted(new, key=lambda contender: contender.rank):
            self._seen.add(each.job.id)
            usable = now.usable(each.job)
            if len(usable) > 1:
                option = self._standing(each.job, usable)
                chosen = Chosen(self._soonest(each, usable, running, pending) if option is None else option, now.now_ms)
                self.choices[each.job.id] = self._last[each.job.id] = chosen
                now.only[each.job.id] = chosen.option
        names = {each.job.id for each in new}
        return [
            now.pending(each.job, each.since_ms, past=each.past) if each.job.id in names else each for each in pending
        ]

    def _standing(self, job: Job, usable: Sequence[Choice]) -> int | None:
        last = self._last.get(job.id)
        if last is None or last.at_ms != self._field.now_ms:
            return None
        return last.option if any(choice.option == last.option for choice in usable) else None

    def _soonest(
        self, contender: Contender, usable: Sequence[Choice], running: Sequence[Contender], pending: Sequence[Contender]
    ) -> int:
        """The option whose forecast finish is the earliest; of equals the first in the job's order."""
        job, now_ms = contender.job, self._field.now_ms
        bounds = sorted((now_ms + _remaining_ms(job, choice.option), choice.option) for choice in usable)
        scene = self._scene(running, pending)
        best: tuple[Fraction, int] | None = None
        for bound in bounds:  # what it would be if it could start at once
            if best is not None and best <= bound:
                break
            only = {**scene.only, job.id: bound[1]}
            start = Future(self._field, Scene(scene.running, scene.pending, scene.ended, only), Claiming).start_of(
                job.id
            )
            if start is not None:
                finish = start.at_ms + _remaining_ms(job, start.option)
                best = (finish, bound[1]) if best is None else min(best, (finish, bound[1]))
        return usable[0].option if best is None else best[1]

    def _scene(self, running: Sequence[Contender], pending: Sequence[Contender]) -> Scene:
        held = {each: each.held for each in running if each.held is not None}
        jobs = [waiting(each.job, each.since_ms) for each in pending]
        ended = [(each.job.tenant, each.past) for each in (*running, *pending) if each.past is not None]
        only = {job.id: self._last[job.id].option for job in jobs if job.id in self._last}
        return Scene(_running(held, self._field.now_ms), jobs, ended, only)


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
