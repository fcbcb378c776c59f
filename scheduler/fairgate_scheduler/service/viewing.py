"""Builds what callers see of a job from what is stored and, for a job that waits, from the world in memory."""

from functools import cached_property

from fairgate_scheduler.core.holds import Waiting, explain
from fairgate_scheduler.core.jobs import Attempt, AttemptState, Job, JobState
from fairgate_scheduler.core.snapshot import Hold, HoldReason
from fairgate_scheduler.ports import Transaction
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.views import JobView, current_attempt


class Viewer:
    """Views of any number of jobs at one moment. Make it before a transaction is opened: it asks for the world."""

    def __init__(self, app: App) -> None:
        self._now_ms = app.clock.now_ms()
        with app.world() as world:
            self._snapshot = world.snapshot(self._now_ms)
            self._blocked = world.blocked()

    @cached_property
    def _waiting(self) -> Waiting:
        return Waiting(self._snapshot, self._now_ms)

    def view(self, transaction: Transaction, job: Job) -> JobView:
        """All about one job."""
        submission = transaction.get_submission(job.id)
        assert submission is not None, job.id
        attempts = tuple(transaction.get_attempts(job.id))
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

    def _reason(self, job: Job, attempt: Attempt | None) -> HoldReason | None:
        if job.state is JobState.ADMITTED and attempt and attempt.state is AttemptState.RESERVED:
            return HoldReason.WAITING_FOR_PREEMPTED if (job.id, attempt.number) in self._blocked else None
        if job.state is not JobState.PENDING or job.tenant not in self._snapshot.config.tenants:
            return None
        return self._waiting.reason(job)
