"""The life of a job as pure functions: (job, its attempts, what happened) → a ``Change`` to write in one transaction.

Nothing here decides who runs: ``plan`` does. Nothing here does what it says: the service writes the change, the runner
carries the effects out, idempotently, and tells what became of them as ``Observation``s. Observations may come late,
twice or never; only one that says something new changes anything.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from fairgate_scheduler.core.jobs import TRANSITIONS, Attempt, AttemptState, Job, JobState, Option
from fairgate_scheduler.core.tenancy import Policy

MAX_LOSSES: Final = 5
"""An attempt that vanishes is tried again; a job whose attempts vanish this often has failed."""

LOSS_PAUSE_MS: Final = 1_000
"""How long a job rests after its first attempt that vanished; twice as long after each further one."""

NOT_READY: Final = "it did not get ready in time"
"""Why an attempt is evicted whose pods did not start within ``ready_timeout``."""


class EventKind(StrEnum):
    """What can happen to a job, as its watchers see it."""

    SUBMITTED = "SUBMITTED"
    UPDATED = "UPDATED"
    ADMITTED = "ADMITTED"
    LAUNCHED = "LAUNCHED"
    RUNNING = "RUNNING"
    EVICTED = "EVICTED"
    REQUEUED = "REQUEUED"
    STOPPING = "STOPPING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a job, told once. ``details`` holds words and numbers for machines."""

    job: str
    kind: EventKind
    at_ms: int
    message: str = ""
    attempt: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


class EffectKind(StrEnum):
    """What the runner is told to do."""

    LAUNCH = "LAUNCH"
    STOP = "STOP"


@dataclass(frozen=True, slots=True)
class Effect:
    """One order to the runner about one attempt; carrying it out twice is the same as once. ``reason``: of a STOP."""

    kind: EffectKind
    job: str
    attempt: int
    reason: str = ""


class Phase(StrEnum):
    """What the runner sees of an attempt."""

    STARTING = "STARTING"
    """It was launched and is not ready yet. Seen from the return of the launch on, so that no trace means lost."""
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    STOPPED = "STOPPED"
    """It ended because the runner was told to stop it."""
    LOST = "LOST"
    """It vanished: nobody ended it and it left no result."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What the runner knows of one attempt. ``is_gone``: no process or pod of it is left.

    ``at_ms`` is when it came into this phase, as well as the runner knows. ``started_at_ms``: when it became ready,
    where that is known; an attempt that was ready and ended between two looks is seen only with its end. ``uid``: that
    of the job that was launched; "" is not known.
    """

    job: str
    attempt: int
    phase: Phase
    at_ms: int
    is_gone: bool = False
    exit_code: int | None = None
    message: str = ""
    started_at_ms: int | None = None
    uid: str = ""

    def is_of(self, job: Job) -> bool:
        """Whether it is this job that was seen, not an earlier one that had the same id."""
        return not self.uid or self.uid == job.uid


@dataclass(frozen=True, slots=True)
class Change:
    """What must be written together: the job, the attempts that changed, events, and effects for the runner."""

    job: Job
    attempts: tuple[Attempt, ...] = ()
    events: tuple[Event, ...] = ()
    effects: tuple[Effect, ...] = ()


def admit(job: Job, option: int, admission: int, now_ms: int) -> Change:
    """Give a pending job a reservation: its next attempt, not launched yet. ``admission``: its place in that order."""
    chosen = job.options[option]
    number = job.attempts + 1
    attempt = Attempt(job.id, number, option, chosen.demand, admission, now_ms)
    event = Event(
        job.id,
        EventKind.ADMITTED,
        now_ms,
        f"admitted on {chosen.flavor} as attempt {number}",
        number,
        {"flavor": chosen.flavor, "option": option},
    )
    return Change(replace(_to(job, JobState.ADMITTED), attempts=number), (attempt,), (event,))


def launch(job: Job, attempt: Attempt, now_ms: int) -> Change:
    """Tell the runner to start a reserved attempt."""
    assert job.state is JobState.ADMITTED, job
    assert attempt.state is AttemptState.RESERVED, attempt
    event = Event(job.id, EventKind.LAUNCHED, now_ms, f"attempt {attempt.number} is being started", attempt.number)
    effect = Effect(EffectKind.LAUNCH, job.id, attempt.number)
    launched = replace(attempt, state=AttemptState.LAUNCHED, launched_at_ms=now_ms)
    return Change(_touch(job), (launched,), (event,), (effect,))


def preempt(job: Job, attempt: Attempt, reason: str, now_ms: int, done_ms: int | None = None) -> Change:
    """Take a job's reservation for others and put it back to its place in the queue, keeping its submit time.

    ``done_ms``: the work that its last checkpoint keeps, where that is known.
    """
    assert job.state in (JobState.ADMITTED, JobState.RUNNING), job
    assert attempt.holds_quota, attempt
    kept = job.done_ms if done_ms is None else done_ms
    requeued = replace(_to(job, JobState.PENDING), pending_since_ms=now_ms, evictions=job.evictions + 1, done_ms=kept)
    event = Event(job.id, EventKind.EVICTED, now_ms, reason, attempt.number)
    stopped, effects = _stop(attempt, reason, now_ms, holds_quota=False)
    return Change(requeued, (stopped,), (event,), effects)


def unready_at_ms(attempt: Attempt, policy: Policy) -> int | None:
    """When an attempt has been launched for too long without getting ready, whether it could not start or the runner
    could not be told; ``None``: it is not waited for, or it is ready."""
    if attempt.state is not AttemptState.LAUNCHED or not attempt.holds_quota or attempt.launched_at_ms is None:
        return None
    return attempt.launched_at_ms + policy.ready_timeout_ms


def give_up(job: Job, attempt: Attempt, policy: Policy, now_ms: int, done_ms: int | None = None) -> Change:
    """Evict an attempt that did not get ready in time. The job does not try this option again for a while."""
    change = preempt(job, attempt, NOT_READY, now_ms, done_ms)
    backoff = {**job.backoff, attempt.option: now_ms + policy.option_backoff_ms}
    return replace(change, job=replace(change.job, backoff=backoff))


def submit(job: Job, now_ms: int) -> Change:
    """Put a new job into the queue."""
    return Change(job, events=(Event(job.id, EventKind.SUBMITTED, now_ms, "submitted"),))


def update(
    job: Job, now_ms: int, priority: int | None = None, time_limit_ms: int | None = None, by: str = ""
) -> Change:
    """Change what may be changed of a job that has not ended; ``None`` leaves a field as it is. ``by``: who asked."""
    details: dict[str, Any] = {}
    if priority is not None and priority != job.priority:
        details["priority"] = priority
    if time_limit_ms is not None and time_limit_ms != job.time_limit_ms:
        details["time_limit_ms"] = time_limit_ms
    if not details:
        return Change(job)
    message = ", ".join(f"{name} is {value} now" for name, value in details.items()) + (f", by {by}" if by else "")
    event = Event(job.id, EventKind.UPDATED, now_ms, message, None, {**details, **_by(by)})
    return Change(replace(_touch(job), **details), events=(event,))


def revise(job: Job, asked: Job, now_ms: int, by: str = "") -> Change:
    """Have a pending job ask for what ``asked`` does. It keeps its place in the queue, and what a checkpoint kept."""
    assert job.state is JobState.PENDING, job.state
    revised = replace(
        _touch(job),
        options=asked.options,
        time_limit_ms=asked.time_limit_ms,
        priority=asked.priority,
        preemptible=asked.preemptible,
        fallback=asked.fallback,
        fallback_after_ms=asked.fallback_after_ms,
        backoff={},
    )
    message = "what it asks for was changed" + (f" by {by}" if by else "")
    return Change(revised, events=(Event(job.id, EventKind.UPDATED, now_ms, message, None, _by(by)),))


def cancel(job: Job, attempts: Sequence[Attempt], now_ms: int, reason: str = "", by: str = "") -> Change:
    """End a job because somebody asked for it. A job that is ending already, or has ended, is left as it is.

    ``reason``: what was said about it. ``by``: who asked.
    """
    told = "cancelled" + (f" by {by}" if by else "") + (f": {reason}" if reason else "")
    change = _end(job, attempts, JobState.CANCELLED, told, now_ms)
    return replace(change, events=tuple(replace(each, details=_by(by)) for each in change.events))


def expire(job: Job, attempts: Sequence[Attempt], now_ms: int) -> Change:
    """End a job as failed because an attempt has run for the job's time limit."""
    return _end(job, attempts, JobState.FAILED, "stopped at its time limit", now_ms)


def left_ms(job: Job, option: Option) -> int:
    """What is left of a job's time limit on this option: without the work that a checkpoint kept, divided by the
    option's speed, rounded up.
    """
    left = (job.time_limit_ms - job.done_ms) / option.speed
    return -(-left.numerator // left.denominator)


def expires_at_ms(job: Job, attempt: Attempt) -> int | None:
    """When an attempt reaches its job's time limit, counted from when it got ready; ``None``: it is not ready yet."""
    return None if attempt.ready_at_ms is None else attempt.ready_at_ms + left_ms(job, job.options[attempt.option])


def observe(job: Job, attempts: Sequence[Attempt], seen: Observation) -> Change | None:
    """What an observation changes; ``None``: nothing (it is old, repeated, or of an attempt that we gave up)."""
    attempt = next((each for each in attempts if each.number == seen.attempt), None)
    if attempt is None or not attempt.is_present or not seen.is_of(job):
        return None
    if seen.phase is Phase.RUNNING:
        return _running(job, attempt, seen)
    if not seen.is_gone:
        return None
    others = [each for each in attempts if each.number != attempt.number]
    gone = replace(
        attempt,
        state=AttemptState.GONE,
        holds_quota=False,
        ready_at_ms=_ready_at(attempt, seen),
        ended_at_ms=seen.at_ms,
        exit_code=seen.exit_code,
        reason=attempt.reason or seen.phase.value,
    )
    if job.started_at_ms is None:
        job = replace(job, started_at_ms=gone.ready_at_ms)
    if job.state is JobState.STOPPING:
        return _stopping_gone(job, gone, others, seen)
    if not attempt.holds_quota:
        return _evicted_gone(job, gone, others, seen)
    return _current_gone(job, gone, others, seen)


def _running(job: Job, attempt: Attempt, seen: Observation) -> Change | None:
    if attempt.state is not AttemptState.LAUNCHED:
        return None
    ready_at = _ready_at(attempt, seen)
    running = replace(attempt, state=AttemptState.RUNNING, ready_at_ms=ready_at)
    first = ready_at if job.started_at_ms is None else job.started_at_ms
    event = Event(job.id, EventKind.RUNNING, seen.at_ms, seen.message, attempt.number)
    return Change(replace(_to(job, JobState.RUNNING), started_at_ms=first), (running,), (event,))


def _ready_at(attempt: Attempt, seen: Observation) -> int | None:
    """When an attempt became ready, ``None`` if it never did. What succeeded between two looks was ready once."""
    if attempt.ready_at_ms is not None:
        return attempt.ready_at_ms
    if seen.started_at_ms is not None:
        return seen.started_at_ms
    return seen.at_ms if seen.phase in (Phase.RUNNING, Phase.SUCCEEDED) else None


def _stopping_gone(job: Job, gone: Attempt, others: Sequence[Attempt], seen: Observation) -> Change:
    if any(each.is_present for each in others):
        return Change(_touch(job), (gone,))
    assert job.outcome is not None, job
    return _final(job, job.outcome, job.message, seen, (gone,))


def _evicted_gone(job: Job, gone: Attempt, others: Sequence[Attempt], seen: Observation) -> Change:
    """An evicted attempt is gone. A driver that ended well within its grace period has finished the job."""
    if seen.phase is not Phase.SUCCEEDED or job.state.is_final:
        return Change(_touch(job), (gone,))
    released = tuple(
        replace(each, state=AttemptState.GONE, holds_quota=False, ended_at_ms=seen.at_ms, reason="not needed any more")
        for each in others
        if each.state is AttemptState.RESERVED
    )
    return _final(job, JobState.SUCCEEDED, "finished within its grace period", seen, (gone, *released))


def _current_gone(job: Job, gone: Attempt, others: Sequence[Attempt], seen: Observation) -> Change:
    if seen.phase is Phase.SUCCEEDED:
        return _final(job, JobState.SUCCEEDED, seen.message, seen, (gone,))
    if seen.phase is Phase.FAILED:
        return _final(job, JobState.FAILED, seen.message, seen, (gone,))
    losses = 1 + sum(each.reason == Phase.LOST.value for each in others)
    if losses >= MAX_LOSSES:
        message = f"{losses} attempts vanished without a result; the last one: {seen.message}"
        return _final(job, JobState.FAILED, message, seen, (gone,))
    lost = replace(gone, reason=Phase.LOST.value)
    event = Event(job.id, EventKind.REQUEUED, seen.at_ms, f"attempt lost: {seen.message}", gone.number)
    rested = replace(_to(job, JobState.PENDING), pending_since_ms=seen.at_ms, backoff=_rest(job, losses, seen.at_ms))
    return Change(rested, (lost,), (event,))


def _rest(job: Job, losses: int, now_ms: int) -> Mapping[int, int]:
    """No option is tried at once: what ended an attempt without a word would most likely end the next one too."""
    until_ms = now_ms + (LOSS_PAUSE_MS << (losses - 1))
    return {index: max(until_ms, job.backoff.get(index, 0)) for index in range(len(job.options))}


def _final(job: Job, state: JobState, message: str, seen: Observation, attempts: tuple[Attempt, ...]) -> Change:
    ended = replace(_to(job, state), finished_at_ms=seen.at_ms, message=message, outcome=state)
    details = {} if seen.exit_code is None else {"exit_code": seen.exit_code}
    event = Event(job.id, EventKind(state.value), seen.at_ms, message, attempts[0].number, details)
    return Change(ended, attempts, (event,))


def _end(job: Job, attempts: Sequence[Attempt], outcome: JobState, reason: str, now_ms: int) -> Change:
    if job.state.is_final or job.state is JobState.STOPPING:
        return Change(job)
    changed: list[Attempt] = []
    effects: list[Effect] = []
    for attempt in attempts:
        if attempt.state in (AttemptState.RESERVED, AttemptState.LAUNCHED, AttemptState.RUNNING):
            stopped, orders = _stop(attempt, reason, now_ms, holds_quota=True)
            changed.append(stopped)
            effects.extend(orders)
    left = {each.number: each for each in attempts} | {each.number: each for each in changed}
    if any(each.is_present for each in left.values()):
        stopping = replace(_to(job, JobState.STOPPING), outcome=outcome, message=reason)
        return Change(stopping, tuple(changed), (Event(job.id, EventKind.STOPPING, now_ms, reason),), tuple(effects))
    ended = replace(_to(job, outcome), finished_at_ms=now_ms, message=reason, outcome=outcome)
    return Change(ended, tuple(changed), (Event(job.id, EventKind(outcome.value), now_ms, reason),), tuple(effects))


def _by(name: str) -> dict[str, str]:
    return {"by": name} if name else {}


def _stop(attempt: Attempt, reason: str, now_ms: int, *, holds_quota: bool) -> tuple[Attempt, tuple[Effect, ...]]:
    """An attempt that was never launched is gone at once; any other holds what it has until the runner says so."""
    if attempt.state is AttemptState.RESERVED:
        gone = replace(attempt, state=AttemptState.GONE, holds_quota=False, ended_at_ms=now_ms, reason=reason)
        return gone, ()
    stopping = replace(attempt, state=AttemptState.STOPPING, holds_quota=holds_quota, reason=reason)
    return stopping, (Effect(EffectKind.STOP, attempt.job, attempt.number, reason),)


def _to(job: Job, state: JobState) -> Job:
    assert state in TRANSITIONS[job.state], f"{job.id}: {job.state} → {state} is no transition"
    return replace(job, state=state, version=job.version + 1)


def _touch(job: Job) -> Job:
    return replace(job, version=job.version + 1)
