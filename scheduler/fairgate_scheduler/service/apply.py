"""Write a plan: one transaction that checks every decision again and drops what is stale. A drop is no error.

What is admitted and has nothing in its way is launched in the same transaction.

Between a plan and its writing, jobs may have been cancelled, have ended or been changed, and the configuration too.
The next cycle plans again from what is true then.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from fairgate_scheduler.core import lifecycle
from fairgate_scheduler.core.jobs import Attempt, Job, JobState
from fairgate_scheduler.core.launching import Books
from fairgate_scheduler.core.lifecycle import Change
from fairgate_scheduler.core.snapshot import Admit, Plan, Preempt, Snapshot
from fairgate_scheduler.service.app import App, Writing
from fairgate_scheduler.service.world import AttemptKey

_logger = logging.getLogger(__name__)
ADMISSIONS: Final = "admission"
"""The durable counter that gives every attempt its place in the order of admission."""


Versions = Callable[[Iterable[str]], Mapping[str, int]]


def apply_plan(app: App, snapshot: Snapshot, plan: Plan, now_ms: int, versions: Versions | None = None) -> int:
    """Write what still holds of a plan made from a snapshot; return how many decisions that was.

    ``versions``: in which the plan saw the jobs, if that need not be looked up in the snapshot.
    """
    decided = {each.job for each in plan.preemptions} | {each.job for each in plan.admissions}
    with app.write() as writing:
        if not _is_in_force(writing, snapshot):
            _logger.info("the configuration was changed while a plan was made: planning again")
            return 0
        writing.look_at(decided)
        planned = _planned(snapshot, decided) if versions is None else dict(versions(decided))
        applying = _Applying(writing, writing.world.books().copy(), planned, now_ms)
        written = sum([applying.preempt(each) for each in plan.preemptions])
        written += sum([applying.admit(each) for each in plan.admissions])
        applying.launch()
    dropped = len(plan.preemptions) + len(plan.admissions) - written
    if dropped:
        _logger.info("%s of %s decisions were stale", dropped, dropped + written)
    return written


def _is_in_force(writing: Writing, snapshot: Snapshot) -> bool:
    stored, known = writing.transaction.get_config(), writing.world.version
    if stored is None or known is None or stored.etag != known.etag:
        return False
    return known.config is snapshot.config or known.config == snapshot.config


def _planned(snapshot: Snapshot, decided: set[str]) -> dict[str, int]:
    """The version in which the plan saw each job that it decided about."""
    running = (each.job for each in snapshot.running)
    return {job.id: job.version for jobs in (running, snapshot.pending) for job in jobs if job.id in decided}


@dataclass(frozen=True, slots=True)
class _Applying:
    """One transaction that writes a plan. ``books`` follow each write. ``planned``: the versions that were seen."""

    writing: Writing
    books: Books
    planned: dict[str, int]
    now_ms: int

    def preempt(self, decision: Preempt) -> bool:
        job = self._unchanged(decision.job)
        attempt = self._current(job) if job else None
        if job is None or attempt is None or job.state not in (JobState.ADMITTED, JobState.RUNNING):
            return False
        change = lifecycle.preempt(job, attempt, decision.reason, self.now_ms)
        self._write(change, {(attempt.job, attempt.number): attempt})
        self.planned[job.id] = change.job.version
        return True

    def admit(self, decision: Admit) -> bool:
        job = self._unchanged(decision.job)
        if job is None or job.state is not JobState.PENDING:
            return False
        if not self.books.has_room(job.tenant, job.options[decision.option].demand):
            return False
        admission = self.writing.transaction.next_number(ADMISSIONS)
        self._write(lifecycle.admit(job, decision.option, admission, self.now_ms), {})
        return True

    def launch(self) -> None:
        """Launch what nothing stands in the way of."""
        for attempt in self.books.launchable():
            job = self.writing.transaction.get_job(attempt.job)
            if job is not None and job.state is JobState.ADMITTED:
                change = lifecycle.launch(job, attempt, self.now_ms)
                self._write(change, {(attempt.job, attempt.number): attempt})

    def _write(self, change: Change, before: Mapping[AttemptKey, Attempt]) -> None:
        self.writing.write(change)
        for each in change.attempts:
            self.books.put(change.job.tenant, before.get((each.job, each.number)), each)

    def _current(self, job: Job) -> Attempt | None:
        """The attempt that holds the job's reservation."""
        attempt = self.writing.world.attempts.get((job.id, job.attempts))
        return attempt if attempt is not None and attempt.holds_quota else None

    def _unchanged(self, name: str) -> Job | None:
        """The job as it is stored, if nobody has changed it since the plan was made (but this plan itself)."""
        stored = self.writing.transaction.get_job(name)
        return stored if stored and stored.version == self.planned.get(name) else None
