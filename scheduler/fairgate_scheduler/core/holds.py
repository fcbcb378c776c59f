"""Why pending jobs wait: a reason for each, cheaply, and for one job everything that there is to say."""

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Final, NamedTuple

from fairgate_scheduler.core.budgets import HOUR_MS, BudgetBooks, Lack
from fairgate_scheduler.core.contenders import Choice, Contender, Field, Obstacle, held_by, rank_of
from fairgate_scheduler.core.foresight import Claiming
from fairgate_scheduler.core.jobs import AttemptState, Job, Option
from fairgate_scheduler.core.kinds import Kinds
from fairgate_scheduler.core.limits import RunningCounts
from fairgate_scheduler.core.needs import Holders, needs_of
from fairgate_scheduler.core.refill import refill
from fairgate_scheduler.core.register import Register
from fairgate_scheduler.core.snapshot import Hold, HoldReason, OptionReport, Snapshot
from fairgate_scheduler.core.usage import Usage

NEVER: Final = frozenset({Obstacle.UNKNOWN_FLAVOR, Obstacle.NOT_ALLOWED, Obstacle.DOES_NOT_RUN})
"""Obstacles that no other use of quota would remove."""

MESSAGES: Final[Mapping[HoldReason, str]] = {
    HoldReason.NO_MATCHING_FLAVOR: "none of its options runs on a flavor that exists and that its tenant may use",
    HoldReason.EXCEEDS_MAX_QUOTA: "no option fits today's quotas and capacity, even if nothing else ran",
    HoldReason.TENANT_LIMIT: "the tenant runs as many jobs as its max_running_jobs allows",
    HoldReason.BACKOFF: "every option is skipped for a while, because an attempt did not get ready in time or vanished",
    HoldReason.WAITING_FOR_PREFERRED: "another option could start now, but it waits for one that it prefers",
    HoldReason.BUDGET_EXHAUSTED: "its time limit does not fit what is left of a budget",
    HoldReason.WAITING_FOR_QUOTA: "there is not enough free for it now",
    HoldReason.BACKFILL_CLAIM: "it would fit, but would delay a job before it that has waited too long already",
    HoldReason.WAITING_FOR_PREEMPTED: "it is admitted and waits until the jobs that gave way to it are gone",
    HoldReason.SUSPENDED: "it is suspended",
}
"""Each reason in one sentence, for people."""


class Held(NamedTuple):
    """What is used by all that holds quota, and how many jobs that are."""

    present: Usage
    limits: RunningCounts


class Waiting:
    """Says of the pending jobs of one snapshot why they wait. Meant for a settled snapshot: one without a plan.

    ``held``: what runs in the snapshot, by somebody who has kept count.
    """

    def __init__(self, snapshot: Snapshot, now_ms: int, held: Held | None = None) -> None:
        self._snapshot = snapshot
        self.field = Field(snapshot, now_ms)
        for job in snapshot.pending if snapshot.choices else ():
            if job.id in snapshot.choices and len(self.field.usable(job)) > 1:
                self.field.only[job.id] = snapshot.choices[job.id].option
        self.present, self.limits = held or self._held()
        self._could_start: dict[tuple[int, Hashable], bool] = {}

    @cached_property
    def pending(self) -> Mapping[str, Job]:
        """The pending jobs, by id."""
        return {job.id: job for job in self._snapshot.pending}

    @cached_property
    def running(self) -> Sequence[Contender]:
        """What runs, in the order of admission."""
        return sorted(map(self.field.running, self._snapshot.running), key=lambda each: each.admission)

    @cached_property
    def budgets(self) -> BudgetBooks:
        """What is left of the budgets beside all that runs."""
        budgets = self.field.budget_books()
        for each in self.running if budgets else ():
            budgets.reserve(each.leaf, held_by(each).cost)
        return budgets

    def _held(self) -> Held:
        bounds, tree = self.field.bounds, self.field.tree
        held = Held(Usage(bounds), RunningCounts(tree))
        for each in self._snapshot.running:
            held.present.add(bounds.charge(each.job.tenant, each.attempt.demand))
            held.limits.add(tree.index[each.job.tenant])
        return held

    def reason(self, job: Job) -> HoldReason:
        """The first reason, in the order of ``HoldReason``, that holds for a pending job."""
        obstacles = [self.field.obstacle(job, index, option) for index, option in enumerate(job.options)]
        if all(each in NEVER for each in obstacles):
            return HoldReason.NO_MATCHING_FLAVOR
        if all(each in NEVER or each is Obstacle.NEVER_FITS for each in obstacles):
            return HoldReason.EXCEEDS_MAX_QUOTA
        if not self.limits.allows(self.field.tree.index[job.tenant]):
            return HoldReason.TENANT_LIMIT
        if None not in obstacles:
            return HoldReason.BACKOFF
        if (self.waits_for_earlier(job) or job.id in self.field.only) and self._another_could_start(job):
            return HoldReason.WAITING_FOR_PREFERRED
        if self.budget_lack(job) is not None:
            return HoldReason.BUDGET_EXHAUSTED
        first = self._first(job) if self.field.policy.backfill_after_ms is not None else None
        if first is not None and self.present.fits(first.charge):
            return HoldReason.BACKFILL_CLAIM
        return HoldReason.WAITING_FOR_QUOTA

    def budget_lack(self, job: Job) -> Lack | None:
        """The budget into which the first of its options that is open does not fit."""
        first = self._first(job) if self.budgets else None
        return None if first is None else self.budgets.lack(self.field.tree.index[job.tenant], first.cost)

    def _first(self, job: Job) -> Choice | None:
        """The first of its options that is open."""
        choices = self.field.pending(job, job.pending_since_ms).choices
        return choices[0] if choices else None

    def waits_for_earlier(self, job: Job) -> bool:
        """Whether its ``fallback_after`` is not over."""
        return self.field.now_ms - job.pending_since_ms < job.fallback_after_ms

    def _another_could_start(self, job: Job) -> bool:
        """Whether it would start now if all of its options were open to it."""
        opened = self.field.pending(job, job.pending_since_ms, ignore_fallback_after=True)
        now = {choice.option for choice in self.field.pending(job, job.pending_since_ms).choices}
        closed = [choice for choice in opened.choices if choice.option not in now]
        if not closed:
            return False
        has_claims = self.field.policy.backfill_after_ms is not None
        if not has_claims and any(
            self.present.fits(choice.charge) and self.budgets.allows(opened.leaf, choice.cost) for choice in closed
        ):
            return True
        key = (opened.leaf, job.id) if has_claims else (opened.leaf, opened.group)
        if key not in self._could_start:
            # Only an eviction could make room for it, and who would be evicted only the refill can say.
            self._could_start[key] = self._is_placed(job, opened)
        return self._could_start[key]

    def _is_placed(self, job: Job, opened: Contender) -> bool:
        """Whether a pending job would be placed if it were open to other options than it is."""
        register, contender = self._register, self._contender(job)
        register.drop(contender)
        register.put(opened)
        is_placed = opened in refill(register, Claiming(self.field).claims(register)).placed
        register.drop(opened)
        register.put(contender)
        return is_placed

    @cached_property
    def _kinds(self) -> Kinds:
        return Kinds(self.field)

    @cached_property
    def _register(self) -> Register:
        """All that runs and waits: only for what nothing less can say."""
        register = Register.of(self.field, self._snapshot.running, ())
        for each in self.pending.values():
            register.put(self._kinds.contender(each))
        return register

    def _contender(self, job: Job) -> Contender:
        """The job as it is in the register."""
        return self._register.singles.get(job.id) or self._kinds.contender(job)


def reasons(snapshot: Snapshot, now_ms: int) -> Mapping[str, HoldReason]:
    """Why each pending job waits, by job id, in the order of the snapshot."""
    waiting = Waiting(snapshot, now_ms)
    return {job.id: waiting.reason(job) for job in snapshot.pending}


def explain(snapshot: Snapshot, job_id: str, now_ms: int) -> Hold:
    """Everything about why one job does not run.

    Raises:
        KeyError: no job of this id is pending, or admitted and not launched yet.
    """
    reserved = {each.job.id for each in snapshot.running if each.attempt.state is AttemptState.RESERVED}
    if job_id in reserved:
        return Hold(job_id, HoldReason.WAITING_FOR_PREEMPTED, MESSAGES[HoldReason.WAITING_FOR_PREEMPTED])
    waiting = Waiting(snapshot, now_ms)
    job = waiting.pending[job_id]
    reason = waiting.reason(job)
    holders = Holders(waiting.field.bounds, waiting.running)
    waits = waiting.waits_for_earlier(job)
    reports: list[OptionReport] = []
    is_first = True
    for index, option in enumerate(job.options):
        obstacle = waiting.field.obstacle(job, index, option)
        if obstacle is None and waits and not is_first:
            obstacle = Obstacle.WAITS_FOR_EARLIER
        is_first = is_first and obstacle is not None
        reports.append(_report(waiting, holders, job, index, obstacle))
    mates = sorted(rank_of(each) for each in waiting.pending.values() if each.tenant == job.tenant)
    return Hold(job_id, reason, _message(waiting, job, reason), tuple(reports), mates.index(rank_of(job)) + 1)


def _report(waiting: Waiting, holders: Holders, job: Job, index: int, obstacle: Obstacle | None) -> OptionReport:
    option, field = job.options[index], waiting.field
    if obstacle in NEVER:
        return OptionReport(index, option.flavor, _obstacle_text(waiting, job, option, obstacle))
    charge = field.bounds.charge(job.tenant, option.demand)
    if obstacle is Obstacle.NEVER_FITS:
        return OptionReport(
            index,
            option.flavor,
            "could never fit at today's quotas and capacity",
            needs_of(Usage(field.bounds), charge),
        )
    needs = needs_of(waiting.present, charge, holders)
    if obstacle is Obstacle.BACKOFF:
        left_ms = job.backoff[index] - field.now_ms
        return OptionReport(index, option.flavor, f"skipped for another {_seconds(left_ms)}", needs)
    if obstacle is Obstacle.WAITS_FOR_EARLIER:
        left_ms = job.fallback_after_ms - (field.now_ms - job.pending_since_ms)
        text = f"not before it has waited another {_seconds(left_ms)} for earlier options"
        return OptionReport(index, option.flavor, text, needs)
    return OptionReport(index, option.flavor, "not enough is free" if needs else "fits beside all that runs", needs)


def _obstacle_text(waiting: Waiting, job: Job, option: Option, obstacle: Obstacle | None) -> str:
    config = waiting.field.config
    flavors = sorted({option.flavor, *(group.flavor for group in option.groups), *(row[0] for row in option.demand)})
    if obstacle is Obstacle.UNKNOWN_FLAVOR:
        return f"no such flavor: {', '.join(each for each in flavors if each not in config.flavors)}"
    if obstacle is Obstacle.DOES_NOT_RUN:
        return "its speed there is 0: it does not run there"
    for tenant in config.paths[job.tenant]:
        allowed = config.tenants[tenant].allowed_flavors
        refused = [each for each in flavors if allowed is not None and each not in allowed]
        if refused:
            return f"tenant {tenant} may not use {', '.join(refused)}"
    raise AssertionError(f"{job.id} may use {flavors}")


def _message(waiting: Waiting, job: Job, reason: HoldReason) -> str:
    tree = waiting.field.tree
    full = waiting.limits.first_full(tree.index[job.tenant])
    if reason is HoldReason.TENANT_LIMIT and full is not None:
        return f"tenant {tree.ids[full[0]]} runs as many jobs as its max_running_jobs allows: {full[1]}"
    lack = waiting.budget_lack(job) if reason is HoldReason.BUDGET_EXHAUSTED else None
    if lack is not None:
        return (
            f"its time limit would reserve {_hours(lack.cost)} priced accelerator-hours; "
            f"{_hours(lack.left)} are left of the budget of tenant {tree.ids[lack.node]} in this period"
        )
    return MESSAGES[reason]


def _hours(amount: Fraction) -> str:
    """Priced accelerator-milliseconds as hours, rounded to hundredths."""
    hundredths = round(amount * 100 / HOUR_MS)
    return f"{hundredths // 100}.{hundredths % 100:02}".rstrip("0").rstrip(".")


def _seconds(duration_ms: int) -> str:
    return f"{-(-duration_ms // 1000)}s"
