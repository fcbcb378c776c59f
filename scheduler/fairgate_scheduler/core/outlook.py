"""What people are told of the time to come: from when to when a pending job may start and finish, within bounded work.

Two runs of the core forward on a copy: one in which every job needs its whole time limit, one in which jobs run as
long as is typical. Neither looks at more than ``MOST_PENDING`` jobs that wait, and both end when the caller says so;
what was not found out by then is said to be so, never guessed.
"""

import heapq
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final

from fairgate_scheduler.core.contenders import Field, rank_of
from fairgate_scheduler.core.forecast import Future, Scene, Start
from fairgate_scheduler.core.foresight import Claiming
from fairgate_scheduler.core.jobs import Fallback, Job
from fairgate_scheduler.core.snapshot import Snapshot

MOST_PENDING: Final = 2_000
"""Of the jobs that wait, so many are looked at: the first of each tenant."""
MOST_SEEN: Final = 100_000
"""With more jobs waiting than this not even the first of each tenant are looked for."""

GoOn = Callable[[], bool]
"""Whether there is still time for more."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """When a pending job starts and finishes, as intervals. ``None``: not known.

    ``earliest…`` if jobs run as long as is typical, ``latest…`` if each needs its whole time limit; ``option`` and
    ``evicts`` (who gives way to it when it starts) belong to ``latest_start_ms``. ``is_cut``: there was more to look at
    than there was time for; then it does not start before ``reached_ms``, if that is given.
    """

    job: str
    earliest_start_ms: int | None = None
    latest_start_ms: int | None = None
    earliest_finish_ms: int | None = None
    latest_finish_ms: int | None = None
    option: int | None = None
    evicts: tuple[str, ...] = ()
    is_cut: bool = False
    reached_ms: int | None = None


def forecast_error(found: Outlook, started_ms: int) -> int | None:
    """How far a real start lies outside the interval that was told: 0 within it, negative before, positive after it.

    In milliseconds. ``None``: no interval was told. An interval without an end only has a begin to be missed.
    """
    if found.earliest_start_ms is None:
        return None
    if started_ms < found.earliest_start_ms:
        return started_ms - found.earliest_start_ms
    return 0 if found.latest_start_ms is None else max(0, started_ms - found.latest_start_ms)


@dataclass(frozen=True, slots=True)
class Sample:
    """The part of a snapshot that a forecast looks at. ``is_whole``: that is all of it."""

    snapshot: Snapshot
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class Typical:
    """How long jobs run compared with their time limit, by tenant; a tenant that is left out needs all of it."""

    parts: Mapping[str, Fraction] = field(default_factory=dict)

    def run_ms(self, jobs: Iterable[Job]) -> dict[str, int]:
        """How long each of these jobs is expected to run at speed 1; those that need all of it are left out."""
        return {
            job.id: max(1, int(job.time_limit_ms * self.parts[job.tenant])) for job in jobs if job.tenant in self.parts
        }


def sample(snapshot: Snapshot, name: str | None = None, most: int = MOST_PENDING) -> Sample | None:
    """At most ``most`` of the pending jobs: all that come before ``name`` in its tenant, and the first of each tenant.

    ``None``: that job would not be among them, or too many jobs wait to look for it.
    """
    if len(snapshot.pending) <= most:
        return Sample(snapshot)
    if len(snapshot.pending) > MOST_SEEN:
        return None
    by_tenant: dict[str, list[Job]] = {}
    for job in snapshot.pending:
        by_tenant.setdefault(job.tenant, []).append(job)
    chosen: list[Job] = []
    asked = next((job for job in snapshot.pending if job.id == name), None)
    if asked is not None:
        chosen = [job for job in by_tenant.pop(asked.tenant) if rank_of(job) <= rank_of(asked)]
    each = (most - len(chosen)) // max(1, len(by_tenant))
    if each < 0 or (name is not None and asked is None):
        return None
    for jobs in by_tenant.values():
        chosen += heapq.nsmallest(each, jobs, key=rank_of)
    return Sample(replace(snapshot, pending=tuple(chosen)), is_whole=False)


def outlook(snapshot: Snapshot, name: str, now_ms: int, typical: Typical, go_on: GoOn) -> Outlook:
    """What becomes of one pending job. Of a job with ``fallback: soonest``, on the option that finishes first.

    Raises:
        KeyError: no job of this name is pending.
    """
    job = next((each for each in snapshot.pending if each.id == name), None)
    if job is None:
        raise KeyError(name)
    found = sample(snapshot, name)
    if found is None:
        return Outlook(name, is_cut=True)
    usable = Field(found.snapshot, now_ms).usable(job)
    options = [each.option for each in usable] if job.fallback is Fallback.SOONEST else []
    if len(options) < 2:
        return _outlooks(found, [name], now_ms, typical, go_on)[name]
    several = [_outlooks(found, [name], now_ms, typical, go_on, {name: each})[name] for each in options]
    return min(several, key=lambda each: (each.latest_finish_ms is None, each.latest_finish_ms or 0))


def outlooks(
    snapshot: Snapshot, now_ms: int, typical: Typical, go_on: GoOn, wanted: Collection[str] | None = None
) -> Mapping[str, Outlook]:
    """What becomes of all pending jobs, or of those that are wanted, from one run each way. Jobs that were not looked
    at are left out.
    """
    found = sample(snapshot)
    if found is None:
        return {}
    names = [job.id for job in found.snapshot.pending if wanted is None or job.id in wanted]
    return _outlooks(found, names, now_ms, typical, go_on)


@dataclass(frozen=True, slots=True)
class _Run:
    """How far a forward run got, and who started in it. ``is_cut``: not to the end."""

    starts: Mapping[str, Start]
    reached_ms: int
    is_cut: bool


def _outlooks(
    found: Sample, names: list[str], now_ms: int, typical: Typical, go_on: GoOn, only: Mapping[str, int] | None = None
) -> dict[str, Outlook]:
    snapshot = found.snapshot
    jobs = {job.id: job for job in snapshot.pending}
    chosen = {each: snapshot.choices[each].option for each in jobs if each in snapshot.choices}
    if len(names) == 1:
        chosen.pop(names[0], None)
    scene = Scene(snapshot.running, snapshot.pending, (), chosen | dict(only or {}))
    run_ms = typical.run_ms([*(each.job for each in snapshot.running), *snapshot.pending])
    late = _run(snapshot, scene, names, now_ms, go_on)
    early = _run(snapshot, replace(scene, run_ms=run_ms), names, now_ms, go_on) if run_ms else late
    return {name: _told(jobs[name], run_ms.get(name), early, late, is_whole=found.is_whole) for name in names}


def _run(snapshot: Snapshot, scene: Scene, names: list[str], now_ms: int, go_on: GoOn) -> _Run:
    future = Future(Field(snapshot, now_ms), scene, Claiming)
    reached_ms = now_ms
    for reached_ms in future.run():
        if all(name in future.starts for name in names):
            return _Run(future.starts, reached_ms, is_cut=False)
        if not go_on():
            return _Run(future.starts, reached_ms, is_cut=True)
    return _Run(future.starts, reached_ms, is_cut=False)


def _told(job: Job, run_ms: int | None, early: _Run, late: _Run, *, is_whole: bool) -> Outlook:
    soon, last = early.starts.get(job.id), late.starts.get(job.id)
    is_cut = not is_whole or (soon is None and early.is_cut) or (last is None and late.is_cut)
    # More time for one job can let another one start sooner (Graham, 1969), so either run may be the later one.
    starts = sorted(each.at_ms for each in (soon, last) if each is not None)
    if soon is None and early.is_cut and starts:
        starts = [min(early.reached_ms, starts[0]), *starts]
    finishes = []
    if soon is not None:
        finishes.append(_finish_ms(job, soon, run_ms))
    if last is not None:
        finishes += [_finish_ms(job, last, None), *([_finish_ms(job, last, run_ms)] if soon is None else [])]
    return Outlook(
        job.id,
        starts[0] if starts else None,
        starts[-1] if last is not None else None,
        min(finishes, default=None),
        max(finishes) if last is not None else None,
        None if last is None else last.option,
        () if last is None else last.evicts,
        is_cut,
        min(early.reached_ms, late.reached_ms) if is_cut and not starts else None,
    )


def _finish_ms(job: Job, start: Start, run_ms: int | None) -> int:
    work_ms = max(1, min(run_ms or job.time_limit_ms, job.time_limit_ms) - job.done_ms)
    span = work_ms / job.options[start.option].speed
    return start.at_ms - (-span.numerator // span.denominator)
