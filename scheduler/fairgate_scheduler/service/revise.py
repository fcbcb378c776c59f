"""Take what was submitted as a job anew, as long as it waits."""

from fairgate_scheduler.core import lifecycle
from fairgate_scheduler.core.jobs import JobState
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.errors import FailedPrecondition, NotFound, Unavailable
from fairgate_scheduler.service.query import get_job
from fairgate_scheduler.service.reading import SubmitRequest
from fairgate_scheduler.service.submit import check
from fairgate_scheduler.service.views import JobView


def revise(app: App, name: str, request: SubmitRequest) -> JobView:
    """Have a job that waits ask for something else; it keeps its name and its place in the queue.

    Raises:
        NotFound: no such job.
        FailedPrecondition: it does not wait: what was admitted stands.
        InvalidArgument: as for a submit.
        Unavailable: its last attempt is not gone yet, or the configuration was changed meanwhile; try again.
    """
    version, now_ms = app.config_version(), app.clock.now_ms()
    prepared = check(app, request, version, now_ms)
    with app.write() as writing:
        stored = writing.transaction.get_config()
        if stored is None or version is None or stored.etag != version.etag:
            raise Unavailable("the configuration was changed meanwhile", remedy="try again")
        job = writing.transaction.get_job(name)
        if job is None:
            raise NotFound(f"there is no job {name}", field="name", remedy="see: fairgate get jobs")
        if job.state is not JobState.PENDING:
            remedy = "cancel it and submit it again" if not job.state.is_final else "submit it as a new job"
            message = f"{name} is {job.state.lower()}: it can not be changed"
            raise FailedPrecondition(message, field="name", remedy=remedy)
        if any((name, number + 1) in writing.world.attempts for number in range(job.attempts)):
            raise Unavailable(f"the last attempt of {name} is not gone yet", remedy="try again in a moment")
        writing.write(lifecycle.revise(job, prepared.job, now_ms, request.submitted_by))
        writing.transaction.replace_submission(name, prepared.submission)
    return get_job(app, name)
