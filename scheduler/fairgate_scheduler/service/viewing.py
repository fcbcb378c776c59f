"""Builds what callers see of a job from what is stored and, for a job that waits, from the world in memory."""

from fairgate_scheduler.core.jobs import Attempt, AttemptState, Job, JobState
from fairgate_scheduler.core.snapshot import Hold, HoldReason
from fairgate_scheduler.ports import Transaction
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.views import JobView, current_attempt


class Viewer:
    """Views of any number of jobs at one moment. Make it before a transaction is opened: it asks for the world."""

    def __init__(self, app: App) -> None:
        self._snapshot = app.snapshot()
        self._now_ms = app.clock.now_ms()

    def view(self, transaction: Transaction, job: Job) -> JobView:
        """All about one job."""
        submission = transaction.get_submission(job.id)
        assert submission is not None, job.id
        attempts = tuple(transaction.get_attempts(job.id))
        attempt = current_attempt(attempts)
        hold = self.hold(job, attempt)
        return JobView(job, submission, attempt, attempts, hold.reason if hold else None)

    def hold(self, job: Job, attempt: Attempt | None) -> Hold | None:
        """Why a job that waits does not run; ``None`` for one that does not wait."""
        if job.state is JobState.ADMITTED and attempt and attempt.state is AttemptState.RESERVED:
            message = "it is admitted; what was evicted for it, or its own last attempt, is not gone yet"
            return Hold(job.id, HoldReason.WAITING_FOR_PREEMPTED, message)
        return None
