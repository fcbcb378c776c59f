"""Builds what callers see of a job from what is stored and, for a job that waits, from the world in memory."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from fairgate_scheduler.core.holds import Held, Waiting, explain
from fairgate_scheduler.core.jobs import Attempt, AttemptState, Job, JobState
from fairgate_scheduler.core.outlook import Outlook
from fairgate_scheduler.core.snapshot import Hold, HoldReason
from fairgate_scheduler.ports import Submission, Transaction
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.views import JobView, Prospect, current_attempt


class Viewer:
    """Views of any number of jobs at one moment. Make it before a transaction is opened: it asks for the world."""

    def __init__(self, app: App) -> None:
        self._prospects = app.prospects
        self._now_ms = app.clock.now_ms()
        with app.world() as world:
            self._snapshot = world.snapshot(self._now_ms)
            self._blocked = world.blocked()
            self._held = Held(*world.books().holding())
            self._leaving = [each for each in world.present().values() if not each.holds_quota]

    @cached_property
    def _waiting(self) -> Waiting:
        return Waiting(self._snapshot, self._now_ms, self._held)

    def view(self, transaction: Transaction, job: Job) -> JobView:
        """All about one job."""
        submission = transaction.get_submission(job.id)
        assert submission is not None, job.id
        return self._view(transaction, job, submission)

    def view_all(self, transaction: Transaction, jobs: Sequence[Job]) -> list[JobView]:
        """All about each of some jobs, with fewer looks into the store than one by one."""
        submissions = transaction.get_submissions(job.id for job in jobs)
        return [self._view(transaction, job, submissions[job.id]) for job in jobs]

    def _view(self, transaction: Transaction, job: Job, submission: Submission) -> JobView:
        attempts = tuple(transaction.get_attempts(job.id)) if job.attempts else ()
        attempt = current_attempt(attempts)
        return JobView(job, submission, attempt, attempts, self._reason(job, attempt))

    def hold(self, view: JobView) -> Hold | None:
        """Why a job that waits does not run, in full; ``None`` for one that does not wait."""
        if view.hold is None:
            return None
        try:
            return explain(self._snapshot, view.job.id, self._now_ms)
        except KeyError:  # it was submitted, or its state has changed, since the world was looked at
            return Hold(view.job.id, view.hold, "it has only just got there")

    def leaving(self, view: JobView) -> tuple[str, ...]:
        """Of an admitted job that waits for what was evicted: whose attempts, of those on their way out, use something
        that it takes too.
        """
        if view.hold is not HoldReason.WAITING_FOR_PREEMPTED or view.attempt is None:
            return ()
        rows = {row for row, amount in view.attempt.demand.items() if amount}
        found = (
            each.job for each in self._leaving if any(each.demand.get(row) for row in rows) or each.job == view.job.id
        )
        return tuple(sorted(set(found)))

    def with_prospect(self, view: JobView) -> JobView:
        """With what becomes of a job that waits. Not inside a transaction, as is the next one."""
        return replace(view, prospect=self._prospects.of(self._snapshot, view.job.id, self._now_ms))

    def with_outlooks(self, views: Sequence[JobView]) -> list[JobView]:
        """With the forecasts of those that wait, as far as one look at all of them finds them."""
        if not any(view.job.state is JobState.PENDING for view in views):
            return list(views)
        found = self._prospects.of_all(self._snapshot, self._now_ms)
        return [
            replace(view, prospect=Prospect(found.get(view.job.id, Outlook(view.job.id, is_cut=True))))
            if view.job.state is JobState.PENDING
            else view
            for view in views
        ]

    def would_be(self, view: JobView) -> JobView:
        """A job that was checked and not submitted, with what would become of it."""
        if view.job.sequence:
            return self.with_prospect(view)  # its request id has found one that was
        prospect, hold = self._prospects.of_new(self._snapshot, view.job, self._now_ms)
        return replace(view, prospect=prospect, hold=hold)

    def would_all_be(self, views: Sequence[JobView]) -> list[JobView]:
        """The same of several jobs, as if all of them were submitted together, in this order."""
        told = iter(self._prospects.of_these_new(self._snapshot, [view.job for view in views], self._now_ms))
        return [replace(view, prospect=prospect, hold=hold) for view, (prospect, hold) in zip(views, told, strict=True)]

    def _reason(self, job: Job, attempt: Attempt | None) -> HoldReason | None:
        if job.state is JobState.ADMITTED and attempt and attempt.state is AttemptState.RESERVED:
            return HoldReason.WAITING_FOR_PREEMPTED if (job.id, attempt.number) in self._blocked else None
        if job.state is not JobState.PENDING or job.tenant not in self._snapshot.config.tenants:
            return None
        return self._waiting.reason(job)
