"""End a job because somebody asked for it."""

from fairgate_scheduler.core import lifecycle
from fairgate_scheduler.core.jobs import JobState
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.errors import FailedPrecondition, NotFound
from fairgate_scheduler.service.query import get_job
from fairgate_scheduler.service.views import JobView


def cancel(app: App, name: str, reason: str = "", by: str = "") -> JobView:
    """Stop a job; asked again while it is stopping, or when it was cancelled, it changes nothing.

    ``by``: who asked for it; it is recorded, like the reason.

    Raises:
        NotFound: no such job.
        FailedPrecondition: it has ended by itself.
    """
    now_ms = app.clock.now_ms()
    with app.write() as writing:
        job = writing.transaction.get_job(name)
        if job is None:
            raise NotFound(f"there is no job {name}", field="name", remedy="see: fairgate get jobs")
        if job.state.is_final and job.state is not JobState.CANCELLED:
            raise FailedPrecondition(
                f"{name} has {job.state.lower()} already", field="name", remedy="nothing is left to do"
            )
        attempts = writing.transaction.get_attempts(name)
        writing.write(lifecycle.cancel(job, attempts, now_ms, reason, by))
    return get_job(app, name)
