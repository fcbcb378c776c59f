"""What a simulation leaves behind, and the laws that every such history must keep. The laws are pure."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from fairgate_scheduler.core.jobs import Attempt, Job, JobState
from fairgate_scheduler.core.lifecycle import MAX_LOSSES, EventKind, Phase
from fairgate_scheduler.core.quota import quota_tree
from fairgate_scheduler.core.tenancy import Config
from fairgate_scheduler.core.usage import Bounds, Usage
from fairgate_scheduler.ports import StoredEvent
from fairgate_scheduler.testing.fake_runner import Process

SLACK_MS: Final = 120_000
"""How late a time limit may come: a runner or a store that does not answer, the grace period."""
_FINAL: Final = {EventKind.SUCCEEDED, EventKind.FAILED, EventKind.CANCELLED}


@dataclass(frozen=True)
class History:
    """One simulated story from begin to end, as the store and the world outside saw it.

    ``submitted``: every job that a client was told to be there, as it was told. ``configs``: from when each
    configuration was in force. ``cancelled``: the jobs that somebody asked to end. ``ends``: when and how each process
    really ended, in the order of ``processes``. ``is_over``: nothing runs, nothing is left to do or to forget.
    """

    submitted: Mapping[str, Job]
    cancelled: frozenset[str]
    jobs: Mapping[str, Job]
    attempts: Mapping[str, Sequence[Attempt]]
    events: Sequence[StoredEvent]
    processes: Sequence[Process]
    ends: Sequence[tuple[int, Phase]]
    configs: Sequence[tuple[int, Config]]
    crashes: int = 0
    is_over: bool = True

    def spans(self) -> Mapping[str, list[tuple[Process, int, Phase]]]:
        """The processes of each job with their ends, in the order of their launch."""
        out: dict[str, list[tuple[Process, int, Phase]]] = defaultdict(list)
        for process, (end_ms, phase) in zip(self.processes, self.ends, strict=True):
            out[process.job].append((process, end_ms, phase))
        return out


def broken_laws(history: History) -> list[str]:
    """Every law that the history breaks, in words; empty for a good one."""
    return [f"{law.__name__.removeprefix('_')}: {each}" for law in LAWS for each in law(history)]


def _everything_comes_to_rest(history: History) -> Iterator[str]:
    if not history.is_over:
        yield "something still runs, waits in the outbox, or was never forgotten"


def _no_job_is_lost(history: History) -> Iterator[str]:
    for name, job in history.submitted.items():
        stored = history.jobs.get(name)
        if stored is None:
            yield f"{name} was taken and is not there"
        elif (stored.submitted_at_ms, stored.sequence) != (job.submitted_at_ms, job.sequence):
            yield f"{name} was submitted at {job.submitted_at_ms} and is said to be of {stored.submitted_at_ms}"
    for name in history.jobs.keys() - history.submitted.keys():
        yield f"{name} is there and nobody submitted it"


def _every_job_ends(history: History) -> Iterator[str]:
    for name, job in history.jobs.items():
        if not job.state.is_final or job.finished_at_ms is None:
            yield f"{name} is {job.state}"
        if any(each.is_present or each.holds_quota for each in history.attempts[name]):
            yield f"{name} has ended and still has an attempt"


def _ends_are_true(history: History) -> Iterator[str]:
    spans = history.spans()
    for name, job in history.jobs.items():
        phases = [phase for _process, _end, phase in spans.get(name, [])]
        if job.state is JobState.SUCCEEDED and phases.count(Phase.SUCCEEDED) != 1:
            yield f"{name} has succeeded, its processes say {phases}"
        if Phase.SUCCEEDED in phases[:-1]:
            yield f"{name} was started again after it had succeeded: {phases}"
        if job.state is JobState.CANCELLED and name not in history.cancelled:
            yield f"{name} was cancelled by nobody"
        lost = phases.count(Phase.LOST) >= MAX_LOSSES
        at_limit = job.message == "stopped at its time limit"
        if job.state is JobState.FAILED and not (Phase.FAILED in phases or at_limit or lost):
            yield f"{name} has failed ({job.message}), its processes say {phases}"


def _losses_are_true(history: History) -> Iterator[str]:
    lost = {
        (each.job, each.attempt) for each, end in zip(history.processes, history.ends, strict=True) if _is_lost(end)
    }
    for attempts in history.attempts.values():
        for attempt in attempts:
            if attempt.reason == Phase.LOST.value and (attempt.job, attempt.number) not in lost:
                yield f"attempt {attempt.number} of {attempt.job} counts as lost, and nothing befell it"


def _is_lost(end: tuple[int, Phase]) -> bool:
    return end[1] is Phase.LOST


def _nothing_outruns_its_time_limit(history: History) -> Iterator[str]:
    if history.crashes:
        return  # a server that crashes in every turn comes to it late, or never
    updated = {stored.event.job for stored in history.events if stored.event.kind is EventKind.UPDATED}
    for name, spans in history.spans().items():
        limit_ms = history.jobs[name].time_limit_ms + SLACK_MS
        for process, end_ms, _phase in spans:
            if end_ms - process.ready_at_ms > limit_ms and name not in updated:
                yield f"attempt {process.attempt} of {name} ran for {end_ms - process.ready_at_ms} ms"


def _nothing_is_waited_for_without_end(history: History) -> Iterator[str]:
    """What does not get ready is ended soon after the time that the configuration gives it."""
    if history.crashes:
        return
    longest_ms = max(config.policy.ready_timeout_ms for _, config in history.configs) + SLACK_MS
    for process, (end_ms, _phase) in zip(history.processes, history.ends, strict=True):
        waited_ms = min(end_ms, process.ready_at_ms) - process.launched_at_ms
        if waited_ms > longest_ms:
            yield f"attempt {process.attempt} of {process.job} was not ready after {waited_ms} ms"


def _attempts_never_overlap(history: History) -> Iterator[str]:
    for name, spans in history.spans().items():
        for (first, end_ms, phase), (second, _end, _second_phase) in pairwise(spans):
            if second.launched_at_ms < end_ms:
                yield f"{name}: attempt {second.attempt} began before attempt {first.attempt} was gone"
            if second.attempt == first.attempt and phase is not Phase.LOST:  # who left no trace may start again
                yield f"{name}: attempt {first.attempt} was started twice"


def _attempts_have_no_gaps(history: History) -> Iterator[str]:
    for name, attempts in history.attempts.items():
        numbers = [each.number for each in attempts]
        if numbers != list(range(1, history.jobs[name].attempts + 1)):
            yield f"{name} has attempts {numbers}, and says {history.jobs[name].attempts}"


def _nothing_starts_above_quota(history: History) -> Iterator[str]:
    """At each start, with what really ran then. A quota that was cut after the admission explains what is above."""
    tenants = {name: job.tenant for name, job in history.jobs.items()}
    admitted = {(each.job, each.number): each.admitted_at_ms for group in history.attempts.values() for each in group}
    for at, process in enumerate(history.processes):
        start_ms = process.launched_at_ms
        (_since, config), *_older = [each for each in reversed(history.configs) if each[0] <= start_ms]
        began_ms = admitted.get((process.job, process.attempt))
        if began_ms is None:
            yield f"attempt {process.attempt} of {process.job} was started and never admitted"
            continue
        if any(began_ms <= since_ms <= start_ms for since_ms, _config in history.configs[1:]):
            continue
        bounds = Bounds(quota_tree(config), {})
        usage = Usage(bounds)
        for other, (end_ms, _phase) in zip(history.processes[:at], history.ends[:at], strict=True):
            if end_ms > start_ms:
                usage.add(bounds.charge(tenants[other.job], other.demand))
        if not usage.fits(bounds.charge(tenants[process.job], process.demand)):
            yield f"attempt {process.attempt} of {process.job} began at {start_ms} and did not fit"


def _events_tell_one_story(history: History) -> Iterator[str]:
    told: dict[str, list[EventKind]] = defaultdict(list)
    for stored in history.events:
        told[stored.event.job].append(stored.event.kind)
    if [each.sequence for each in history.events] != list(range(1, len(history.events) + 1)):
        yield "events are not numbered from 1 without gaps"
    for name, job in history.jobs.items():
        kinds = told[name]
        if kinds[:1] != [EventKind.SUBMITTED] or kinds.count(EventKind.SUBMITTED) != 1:
            yield f"{name} begins with {kinds[:2]}"
        ends = [kind for kind in kinds if kind in _FINAL]
        if kinds[-1:] != ends or ends != [EventKind(job.state.value)]:
            yield f"{name} is {job.state} and its events end with {kinds[-3:]}"
        if kinds.count(EventKind.ADMITTED) != job.attempts or kinds.count(EventKind.EVICTED) != job.evictions:
            yield f"{name} has {job.attempts} attempts and {job.evictions} evictions; events say {kinds}"


def _equals_start_in_order(history: History) -> Iterator[str]:
    """Of jobs of one tenant that ask for the same with the same priority, the older one never waits for the younger.

    But a plan that takes an option from the older one may give another option to the younger, and an older one that was
    evicted waits for its first option again while the younger may take a later one already; options rest that did not
    get ready in time, and all of a job do after an attempt that vanished.
    """
    waiting: dict[str, tuple[Job, int]] = {}
    updated = {stored.event.job for stored in history.events if stored.event.kind is EventKind.UPDATED}
    for stored in history.events:
        name, kind = stored.event.job, stored.event.kind
        job = history.jobs[name]
        if kind is EventKind.ADMITTED:
            at_ms = stored.event.at_ms
            _, since_ms = waiting.pop(name, (job, at_ms))
            for other, other_since_ms in (each for each in waiting.values() if not each[0].backoff):
                is_older = _are_equal(job, other) and other.sequence < job.sequence and other_since_ms < at_ms
                may_be_chosen = _may_fall_back(other, other_since_ms, at_ms) or not _may_fall_back(job, since_ms, at_ms)
                if is_older and may_be_chosen and not updated & {name, other.id}:
                    yield f"{name} was admitted at {at_ms} while {other.id}, its older equal, waited"
        elif kind in (EventKind.SUBMITTED, EventKind.EVICTED, EventKind.REQUEUED):
            waiting[name] = job, stored.event.at_ms
        elif kind in _FINAL or kind is EventKind.STOPPING:
            waiting.pop(name, None)


def _may_fall_back(job: Job, since_ms: int, at_ms: int) -> bool:
    return at_ms - since_ms >= job.fallback_after_ms


def _are_equal(one: Job, other: Job) -> bool:
    return (one.tenant, one.priority, one.options) == (other.tenant, other.priority, other.options) and (
        one.fallback_after_ms == other.fallback_after_ms
    )


LAWS: Final[Sequence[Callable[[History], Iterator[str]]]] = (
    _everything_comes_to_rest,
    _no_job_is_lost,
    _every_job_ends,
    _ends_are_true,
    _losses_are_true,
    _nothing_outruns_its_time_limit,
    _nothing_is_waited_for_without_end,
    _attempts_never_overlap,
    _attempts_have_no_gaps,
    _nothing_starts_above_quota,
    _events_tell_one_story,
    _equals_start_in_order,
)
