"""What the next cycle would do under another configuration, to the jobs as they are now. Writes nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from fairgate_scheduler.core import lifecycle
from fairgate_scheduler.core.holds import Waiting
from fairgate_scheduler.core.plan import plan_cycle
from fairgate_scheduler.core.snapshot import HoldReason, Plan, Preempt, Running, Snapshot
from fairgate_scheduler.core.tenancy import Config
from fairgate_scheduler.service.planning import plan_carefully

MOST_REASONS: Final = 100
"""Of so many jobs that would wait it is said why."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What the next cycle would do under a configuration, to the jobs as they are now.

    ``flavors``: what each job that starts would start on, and what each that is evicted would lose. ``reasons``: why
    the first ``MOST_REASONS`` of those that wait would wait. ``after``: the jobs as that cycle would leave them;
    ``latest_starts``: of those that wait, where that was looked for, when they start as it is and as it would be.
    """

    starts: tuple[str, ...]
    evicts: tuple[Preempt, ...]
    waits: tuple[str, ...]
    flavors: Mapping[str, str] = field(default_factory=dict)
    reasons: Mapping[str, HoldReason] = field(default_factory=dict)
    after: Snapshot = field(default_factory=lambda: Snapshot(Config()))
    latest_starts: Mapping[str, "Moved"] = field(default_factory=dict)


class Moved(NamedTuple):
    """When a job starts at the latest as it is, and as it would be; ``None``: it runs, or that is not known."""

    before_ms: int | None
    after_ms: int | None


def preview(snapshot: Snapshot, config: Config, now_ms: int) -> Preview:
    """What would become of the jobs of a snapshot."""
    snapshot = replace(snapshot, config=config)
    plan = plan_carefully(snapshot, now_ms, plan_cycle).plan
    after = _after(snapshot, plan, now_ms)
    starts = tuple(each.job for each in plan.admissions)
    waiting = Waiting(after, now_ms)
    return Preview(
        starts,
        plan.preemptions,
        tuple(job.id for job in after.pending),
        _flavors(snapshot, plan),
        {job.id: waiting.reason(job) for job in after.pending[:MOST_REASONS]},
        after,
    )


def _flavors(snapshot: Snapshot, plan: Plan) -> Mapping[str, str]:
    options = {job.id: job.options for job in (*snapshot.pending, *(each.job for each in snapshot.running))}
    evicted = {each.job for each in plan.preemptions}
    chosen = {each.job.id: each.attempt.option for each in snapshot.running if each.job.id in evicted}
    chosen |= {each.job: each.option for each in plan.admissions}
    return {job: options[job][option].flavor for job, option in chosen.items()}


def _after(snapshot: Snapshot, plan: Plan, now_ms: int) -> Snapshot:
    """The snapshot with the plan carried out: those that waited before first, then those that are evicted."""
    reasons = {each.job: each.reason for each in plan.preemptions}
    running = [each for each in snapshot.running if each.job.id not in reasons]
    pending = {job.id: job for job in snapshot.pending}
    for each in snapshot.running:
        if each.job.id in reasons:
            pending[each.job.id] = lifecycle.preempt(each.job, each.attempt, reasons[each.job.id], now_ms).job
    last = max((each.attempt.admission for each in snapshot.running), default=0)
    for place, admission in enumerate(plan.admissions, last + 1):
        change = lifecycle.admit(pending.pop(admission.job), admission.option, place, now_ms)
        running.append(Running(change.job, change.attempts[0]))
    return replace(snapshot, running=tuple(running), pending=tuple(pending.values()))
