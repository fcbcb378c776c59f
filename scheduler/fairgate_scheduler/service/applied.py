"""Jobs that were applied as objects elsewhere: found again by what they were applied as."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairgate_scheduler.core.jobs import Job
from fairgate_scheduler.ports import Submission
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.reading import ORIGIN


@dataclass(frozen=True, slots=True)
class Applied:
    """A job and the object that it was applied as: ``apiVersion``, ``kind``, ``metadata`` with ``name`` and ``uid``."""

    job: str
    tenant: str
    origin: Mapping[str, Any]

    @property
    def uid(self) -> str:
        """That of the object."""
        return str(self.origin["metadata"]["uid"])


def find(app: App, tenant: str, uid: str) -> str | None:
    """The name of the job that was made of this object of a tenant's, ``None`` if none was."""
    with app.read() as transaction:
        record = transaction.get_request(tenant, uid)
    return record.job if record else None


def live(app: App) -> Sequence[Applied]:
    """All jobs that were applied as objects and have not ended, in the order of their submits."""
    with app.read() as transaction:
        jobs = transaction.live_jobs()
        submissions = transaction.get_submissions(job.id for job in jobs)
    return [each for job in jobs if (each := _applied(job, submissions[job.id])) is not None]


def _applied(job: Job, submission: Submission) -> Applied | None:
    origin = submission.spec.get(ORIGIN)
    return Applied(job.id, job.tenant, origin) if origin else None
