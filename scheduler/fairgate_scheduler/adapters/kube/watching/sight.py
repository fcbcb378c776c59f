"""What the traces of an attempt mean: how it is, whether anything of it is left, and whether it has to be ended.

Pure. What KubeRay and Kueue write is read as KubeRay 1.5 and Kueue 0.17 write it.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from fairgate_scheduler.adapters.kube import names
from fairgate_scheduler.adapters.kube.api import Manifest
from fairgate_scheduler.adapters.kube.attempts import digest_of
from fairgate_scheduler.adapters.kube.watching.traces import Trace
from fairgate_scheduler.core.lifecycle import Observation, Phase
from fairgate_scheduler.core.manifests.plain import get_int, get_list, get_map, get_text, is_true

_EXIT_CODE: Final = re.compile(r"exit code (-?[0-9]{1,4})\b")
_ENDED: Final = ("Complete", "Failed")
_NEVER_BEGAN: Final = "ValidationFailed"
_LEAVING: Final = "Suspending"
_POD_ENDS: Final = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Sighting:
    """``diverged``: why the attempt is not what we admitted and has to be ended at once; "" it is. ``is_ended``: its
    RayJob has come to its end by itself.
    """

    observation: Observation
    diverged: str = ""
    is_ended: bool = False


@dataclass(frozen=True, slots=True)
class Patience:
    """``reserve_ms``: how long Kueue may take to reserve what we admitted."""

    reserve_ms: int = 60_000


def see(trace: Trace, lost_nodes: Collection[str], now_ms: int, patience: Patience) -> Sighting:
    """One attempt as it is now. ``lost_nodes``: nodes that are not Ready; what is to go there is as good as gone."""
    remains = any(_is_there(pod, lost_nodes) for pod in trace.pods)
    if trace.ray_job is None:
        return Sighting(_observation(trace, Phase.LOST, now_ms, not remains, "its RayJob was deleted"))
    status = get_map(trace.ray_job, "status")
    deployment = get_text(status, "jobDeploymentStatus")
    if deployment in _ENDED or deployment == _NEVER_BEGAN:
        is_gone = not remains and not trace.clusters and (deployment == _NEVER_BEGAN or not _holds(trace.workload))
        phase, message = _end(trace, lost_nodes)
        return Sighting(_observation(trace, phase, now_ms, is_gone, message), is_ended=True)
    if get_text(trace.ray_job["metadata"], "deletionTimestamp"):
        phase = Phase.STOPPED if noticed(trace.ray_job) else Phase.LOST
        return Sighting(_observation(trace, phase, now_ms, False, "its RayJob is being deleted"))
    phase = Phase.RUNNING if _is_running(status) else Phase.STARTING
    return Sighting(_observation(trace, phase, now_ms, False), diverged=_divergence(trace, now_ms, patience))


def noticed(ray_job: Manifest) -> str:
    """The notice that an attempt was given; "" none."""
    return get_text(get_map(ray_job, "metadata", "annotations"), names.NOTICE)


def instant_ms(text: str) -> int | None:
    """A time of the API server's in milliseconds since the epoch; ``None``: it is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return round(moment.astimezone(UTC).timestamp() * 1000)


def condition(manifest: Manifest | None, kind: str) -> tuple[bool, str, str]:
    """Whether a condition of an object holds, its reason and message."""
    for each in get_list(get_map(manifest, "status"), "conditions"):
        if get_text(each, "type") == kind:
            return get_text(each, "status") == "True", get_text(each, "reason"), get_text(each, "message")
    return False, "", ""


def _observation(trace: Trace, phase: Phase, now_ms: int, is_gone: bool, message: str = "") -> Observation:
    status = get_map(trace.ray_job, "status")
    started_ms = instant_ms(get_text(get_map(status, "rayJobInfo"), "startTime"))
    ended_ms = instant_ms(get_text(status, "endTime"))
    at_ms = started_ms if phase is Phase.RUNNING else ended_ms
    return Observation(
        trace.job,
        trace.number,
        phase,
        now_ms if at_ms is None else at_ms,
        is_gone=is_gone,
        exit_code=0 if phase is Phase.SUCCEEDED else _exit_code(get_text(status, "message")),
        message=message,
        started_at_ms=started_ms,
        uid=trace.uid,
    )


def _exit_code(message: str) -> int | None:
    """Of the driver, as Ray tells it when a job has failed."""
    found = _EXIT_CODE.search(message)
    return int(found[1]) if found else None


def _is_running(status: Manifest) -> bool:
    return get_text(status, "jobDeploymentStatus") == "Running" and get_text(status, "jobStatus") == "RUNNING"


def _end(trace: Trace, lost_nodes: Collection[str]) -> tuple[Phase, str]:
    """How it ended. A failure after notice, or of a pod that was taken away, is not the program's."""
    status = get_map(trace.ray_job, "status")
    word, message = get_text(status, "jobStatus"), get_text(status, "message") or get_text(status, "reason")
    if word == "SUCCEEDED":
        return Phase.SUCCEEDED, ""
    if trace.ray_job is not None and noticed(trace.ray_job):
        return Phase.STOPPED, message
    taken = next((pod for pod in trace.pods if _was_taken(pod, lost_nodes)), None)
    if taken is not None:
        return Phase.LOST, f"pod {taken['metadata']['name']} was taken away from its node"
    return Phase.FAILED, message or get_text(status, "jobDeploymentStatus")


def _was_taken(pod: Manifest, lost_nodes: Collection[str]) -> bool:
    return condition(pod, "DisruptionTarget")[0] or get_text(get_map(pod, "spec"), "nodeName") in lost_nodes


def _is_there(pod: Manifest, lost_nodes: Collection[str]) -> bool:
    """Whether a pod may hold anything: it has not ended, and is not waiting on a lost node for being deleted."""
    if get_text(get_map(pod, "status"), "phase") in _POD_ENDS:
        return False
    is_leaving = bool(get_text(pod["metadata"], "deletionTimestamp"))
    return not (is_leaving and get_text(get_map(pod, "spec"), "nodeName") in lost_nodes)


def _holds(workload: Manifest | None) -> bool:
    """Whether Kueue counts it."""
    return condition(workload, "QuotaReserved")[0] and not condition(workload, "Finished")[0]


def _is_taken_back(trace: Trace) -> bool:
    """Whether KubeRay ends what it had started, to begin anew later. A RayJob that was created suspended passes through
    the same words, but without a cluster.
    """
    status = get_map(trace.ray_job, "status")
    names_of_clusters = {get_text(each["metadata"], "name") for each in trace.clusters}
    return (
        get_text(status, "jobDeploymentStatus") == _LEAVING and get_text(status, "rayClusterName") in names_of_clusters
    )


def _is_begun_anew(trace: Trace) -> bool:
    """Whether it has another cluster than at first, and not because KubeRay tries again what has failed."""
    status = get_map(trace.ray_job, "status")
    cluster = get_text(status, "rayClusterName") or trace.first_cluster
    return bool(trace.first_cluster) and cluster != trace.first_cluster and get_int(status, "failed", 0) == 0


def _divergence(trace: Trace, now_ms: int, patience: Patience) -> str:
    """Why an attempt that lives is not what we admitted."""
    ray_job, workload = trace.ray_job, trace.workload
    assert ray_job is not None
    metadata = ray_job["metadata"]
    if get_text(get_map(metadata, "annotations"), names.DIGEST) != digest_of(ray_job):
        return "its RayJob was changed"
    if get_text(get_map(metadata, "labels"), names.QUEUE_LABEL) != names.LAUNCH_QUEUE:
        return "it was taken out of its queue"
    is_evicted, reason, message = condition(workload, "Evicted")
    if is_evicted:
        return f"Kueue evicted it: {reason}: {message}"
    if condition(workload, "QuotaReserved")[0]:
        return "its RayJob was suspended" if _is_taken_back(trace) or _is_begun_anew(trace) else ""
    created_ms = instant_ms(get_text(metadata, "creationTimestamp"))
    if created_ms is not None and now_ms - created_ms > patience.reserve_ms:
        what = condition(workload, "QuotaReserved")[2] if workload else "it has no Workload"
        return f"Kueue has not reserved it within {patience.reserve_ms // 1000} s: {what}"
    if not is_true(get_map(ray_job, "spec"), "suspend") and workload is not None:
        return "it was started without Kueue's reservation"
    return ""
