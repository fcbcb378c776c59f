"""What a request shows of its job: a status as KubeRay would write it, so that kubectl and dashboards understand it.

Pure. Facts about KubeRay 1.5: it leaves the status of a suspended RayJob alone; one that has ended must have an
``endTime`` and a ``rayClusterName``, or KubeRay fails at every look; and it deletes the RayCluster of that name.
"""

from collections.abc import Mapping
from typing import Any, Final

from fairgate_scheduler.adapters.kube.instants import timestamp
from fairgate_scheduler.core.jobs import Job, JobState
from fairgate_scheduler.core.snapshot import HoldReason
from fairgate_scheduler.service.views import JobView

_NO_CLUSTER: Final = "fairgate-no-cluster"
REFUSED: Final = "ValidationFailed"
"""The reason that a request shows which can not be a job."""
_WORDS: Final = {
    JobState.PENDING: "PENDING",
    JobState.ADMITTED: "PENDING",
    JobState.RUNNING: "RUNNING",
    JobState.STOPPING: "RUNNING",
    JobState.SUCCEEDED: "SUCCEEDED",
    JobState.FAILED: "FAILED",
    JobState.CANCELLED: "STOPPED",
}


def status_of(view: JobView, uid: str) -> dict[str, Any]:
    """The fields of the request's status that are ours, as the job is now. ``uid``: the request's."""
    job = view.job
    status: dict[str, Any] = {"jobStatus": _WORDS[job.state], "message": message_of(view)}
    if not job.state.is_final:
        return {**status, "jobDeploymentStatus": "Suspended", "endTime": None, "reason": None}
    is_well = job.state is JobState.SUCCEEDED
    return {
        **status,
        "jobDeploymentStatus": "Complete" if is_well else "Failed",
        "reason": None if is_well else "AppFailed",
        "rayClusterName": f"{_NO_CLUSTER}-{uid}",
        "endTime": timestamp(job.finished_at_ms or 0),
    }


def refusal(message: str, uid: str, now_ms: int) -> dict[str, Any]:
    """The status of a request that can not be a job."""
    return {
        "jobStatus": "FAILED",
        "jobDeploymentStatus": "Failed",
        "reason": REFUSED,
        "message": message,
        "rayClusterName": f"{_NO_CLUSTER}-{uid}",
        "endTime": timestamp(now_ms),
    }


def message_of(view: JobView) -> str:
    """One sentence on how the job stands."""
    job = view.job
    match job.state:
        case JobState.PENDING:
            why = f" ({view.hold})" if view.hold else ""
            return f"{_evictions(job)}Waiting{why}; fairgate explain {_short(job)} says why"
        case JobState.ADMITTED if view.hold is HoldReason.WAITING_FOR_PREEMPTED:
            return f"Admitted on {_flavor(view)}; it starts when what gives way to it is gone"
        case JobState.ADMITTED:
            return f"Admitted on {_flavor(view)} as attempt {job.attempts}; it gets ready"
        case JobState.RUNNING:
            return f"Running on {_flavor(view)} as attempt {job.attempts}"
        case JobState.STOPPING:
            return f"Stopping: {job.message}" if job.message else "Stopping"
        case _:
            return job.message or job.state.capitalize()


def differs(status: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a request does not show this yet."""
    return any(status.get(key) != value for key, value in wanted.items())


def _short(job: Job) -> str:
    return f"{job.tenant}/{job.id.rpartition('/')[2]}"


def _flavor(view: JobView) -> str:
    return view.job.options[view.attempt.option].flavor if view.attempt else "its flavor"


def _evictions(job: Job) -> str:
    return "" if not job.evictions else f"Evicted {job.evictions} {'time' if job.evictions == 1 else 'times'}. "
