"""Change the priority or the time limit of a job that has not ended."""

from fairgate_scheduler.core import lifecycle
from fairgate_scheduler.core.admissible import SubmitRefused, check_priority
from fairgate_scheduler.core.jobs import Job
from fairgate_scheduler.core.tenancy import Config
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.errors import Aborted, FailedPrecondition, InvalidArgument, NotFound, Violation
from fairgate_scheduler.service.query import get_job
from fairgate_scheduler.service.views import JobView


def update(
    app: App,
    name: str,
    priority: int | None = None,
    time_limit_ms: int | None = None,
    etag: str | None = None,
    by: str = "",
) -> JobView:
    """Change what is not ``None``; ``by`` is recorded. With ``etag``, only if nobody has changed the job since it was
    read.

    Raises:
        NotFound: no such job.
        Aborted: the etag is stale.
        FailedPrecondition: it has ended.
        InvalidArgument: a priority above what the tenant may use, a time limit that is not above 0.
    """
    now_ms = app.clock.now_ms()
    version = app.config_version()
    with app.write() as writing:
        job = writing.transaction.get_job(name)
        if job is None:
            raise NotFound(f"there is no job {name}", field="name", remedy="see: fairgate get jobs")
        _check(job, version.config if version else Config(), priority, time_limit_ms)
        if etag is not None and etag != str(job.version):
            raise Aborted(f"{name} was changed since it was read", field="etag", remedy="read it again, then update it")
        writing.write(lifecycle.update(job, now_ms, priority, time_limit_ms, by))
    return get_job(app, name)


def _check(job: Job, config: Config, priority: int | None, time_limit_ms: int | None) -> None:
    if job.state.is_final:
        raise FailedPrecondition(f"{job.id} has ended", field="name", remedy="submit it again as a new job")
    if time_limit_ms is not None and time_limit_ms <= 0:
        raise InvalidArgument([Violation("time_limit", "it is not above 0", "write a duration such as 30m")])
    if priority is not None and job.tenant in config.tenants:
        try:
            check_priority(config, job.tenant, priority)
        except SubmitRefused as refused:
            raise InvalidArgument([Violation(refused.field, refused.message, refused.remedy)]) from refused
