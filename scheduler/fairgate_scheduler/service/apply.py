"""Write a plan: one transaction that checks every decision again and drops what is stale. A drop is no error.

What is admitted and has nothing in its way is launched in the same transaction.

Between a plan and its writing, jobs may have been cancelled, have ended or been changed, and the configuration too.
The next cycle plans again from what is true then.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fairgate_scheduler.core import lifecycle
from fairgate_scheduler.core.amounts import Demand
from fairgate_scheduler.core.jobs import Attempt, Job, JobState
from fairgate_scheduler.core.launching import launchable
from fairgate_scheduler.core.lifecycle import Change
from fairgate_scheduler.core.limits import RunningCounts
from fairgate_scheduler.core.quota import quota_tree
from fairgate_scheduler.core.snapshot import Admit, Plan, Preempt, Snapshot
from fairgate_scheduler.core.usage import Bounds, Usage
from fairgate_scheduler.ports import Transaction
from fairgate_scheduler.service.app import App, Writing
from fairgate_scheduler.service.world import AttemptKey

_logger = logging.getLogger(__name__)
ADMISSIONS: Final = "admission"
"""The durable counter that gives every attempt its place in the order of admission."""


def apply_plan(app: App, snapshot: Snapshot, plan: Plan, now_ms: int) -> int:
    """Write what still holds of a plan made from a snapshot; return how many decisions that was."""
    with app.write() as writing:
        version = writing.transaction.get_config()
        if version is None or version.config != snapshot.config:
            _logger.info("the configuration was changed while a plan was made: planning again")
            return 0
        attempts = writing.transaction.live_attempts()
        tenants = _tenants(writing.transaction, attempts)
        room = Room(snapshot, attempts, tenants)
        planned = {each.job.id: each.job for each in snapshot.running} | {each.id: each for each in snapshot.pending}
        live = {(each.job, each.number): (tenants[each.job], each) for each in attempts}
        applying = _Applying(writing, room, planned, live, now_ms)
        written = sum([applying.preempt(each) for each in plan.preemptions])
        written += sum([applying.admit(each) for each in plan.admissions])
        applying.launch(snapshot)
    dropped = len(plan.preemptions) + len(plan.admissions) - written
    if dropped:
        _logger.info("%s of %s decisions were stale", dropped, dropped + written)
    return written


def _tenants(transaction: Transaction, attempts: Sequence[Attempt]) -> dict[str, str]:
    out = {}
    for attempt in attempts:
        job = transaction.get_job(attempt.job)
        assert job is not None, attempt
        out[job.id] = job.tenant
    return out


class Room:
    """What is reserved now, and whether one more admission keeps every quota, limit and capacity.

    Where more is used than a bound allows (a quota cut), nothing is added to it.
    """

    def __init__(self, snapshot: Snapshot, attempts: Sequence[Attempt], tenants: Mapping[str, str]) -> None:
        tree = quota_tree(snapshot.config)
        self._known = snapshot.config.tenants
        self._bounds = Bounds(tree, snapshot.capacity)
        self._usage = Usage(self._bounds)
        self._counts = RunningCounts(tree)
        for attempt in attempts:
            tenant = tenants[attempt.job]
            if attempt.holds_quota and tenant in self._known:
                self.take(tenant, attempt.demand)

    def has(self, tenant: str, demand: Demand) -> bool:
        """Whether a job of this tenant may take this much more."""
        if tenant not in self._known:
            return False
        charge = self._bounds.charge(tenant, demand)
        return self._usage.fits(charge) and self._counts.allows(charge.node)

    def take(self, tenant: str, demand: Demand) -> None:
        """Count it as reserved."""
        charge = self._bounds.charge(tenant, demand)
        self._usage.add(charge)
        self._counts.add(charge.node)

    def give_back(self, tenant: str, demand: Demand) -> None:
        """Count it as reserved no longer."""
        if tenant in self._known:
            charge = self._bounds.charge(tenant, demand)
            self._usage.remove(charge)
            self._counts.remove(charge.node)


@dataclass(frozen=True, slots=True)
class _Applying:
    """One transaction that writes a plan. ``planned``: the jobs as they were when the plan was made. ``live``: every
    attempt that may not be gone, with its tenant, as it is now."""

    writing: Writing
    room: Room
    planned: dict[str, Job]
    live: dict[AttemptKey, tuple[str, Attempt]]
    now_ms: int

    def preempt(self, decision: Preempt) -> bool:
        job = self._unchanged(decision.job)
        attempts = self.writing.transaction.get_attempts(decision.job)
        attempt = next((each for each in attempts if each.holds_quota), None)
        if job is None or attempt is None or job.state not in (JobState.ADMITTED, JobState.RUNNING):
            return False
        change = lifecycle.preempt(job, attempt, decision.reason, self.now_ms)
        self._write(change)
        self.planned[job.id] = change.job
        self.room.give_back(job.tenant, attempt.demand)
        return True

    def admit(self, decision: Admit) -> bool:
        job = self._unchanged(decision.job)
        if job is None or job.state is not JobState.PENDING:
            return False
        demand = job.options[decision.option].demand
        if not self.room.has(job.tenant, demand):
            return False
        admission = self.writing.transaction.next_number(ADMISSIONS)
        self._write(lifecycle.admit(job, decision.option, admission, self.now_ms))
        self.room.take(job.tenant, demand)
        return True

    def launch(self, snapshot: Snapshot) -> None:
        """Launch what nothing stands in the way of."""
        for attempt in launchable(snapshot.config, snapshot.capacity, tuple(self.live.values())):
            job = self.writing.transaction.get_job(attempt.job)
            if job is not None and job.state is JobState.ADMITTED:
                self._write(lifecycle.launch(job, attempt, self.now_ms))

    def _write(self, change: Change) -> None:
        self.writing.write(change)
        self.live.update({(each.job, each.number): (change.job.tenant, each) for each in change.attempts})

    def _unchanged(self, name: str) -> Job | None:
        """The job as it is stored, if nobody has changed it since the plan was made (but this plan itself)."""
        stored, planned = self.writing.transaction.get_job(name), self.planned.get(name)
        return stored if stored and planned and stored.version == planned.version else None
