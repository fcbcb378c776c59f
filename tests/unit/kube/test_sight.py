"""What the objects of an attempt mean: phases, ends, what is gone, and what has diverged."""

from typing import Any

import pytest
from fairgate_scheduler.adapters.kube.attempts import digest_of
from fairgate_scheduler.adapters.kube.watching.sight import Patience, Sighting, see
from fairgate_scheduler.adapters.kube.watching.traces import Objects, Trace, collect
from fairgate_scheduler.core.lifecycle import Phase

JOB, UID, NOW = "tenants/vision/jobs/train", "u1", 1_764_590_400_000  # 2025-12-01T12:00:00Z
MARKS = {
    "app.kubernetes.io/managed-by": "fairgate",
    "fairgate.internal/attempt": "1",
    "fairgate.internal/job-uid": UID,
}


def attempt(suspend: bool = False, notice: str = "", **status: Any) -> dict[str, Any]:
    manifest: dict[str, Any] = {
        "metadata": {
            "name": "train-1",
            "namespace": "vision",
            "uid": "rj",
            "creationTimestamp": "2025-12-01T11:59:30Z",
            "labels": {**MARKS, "kueue.x-k8s.io/queue-name": "fairgate"},
            "annotations": {"fairgate.internal/job": JOB},
        },
        "spec": {"entrypoint": "python main.py", "suspend": suspend},
        "status": status,
    }
    manifest["metadata"]["annotations"]["fairgate.internal/digest"] = digest_of(manifest)
    if notice:
        manifest["metadata"]["annotations"]["fairgate.internal/notice"] = notice
    return manifest


def pod(phase: str = "Running", node: str = "n1", leaving: bool = False, *conditions: str) -> dict[str, Any]:
    leaves = {"deletionTimestamp": "2025-12-01T12:00:00Z"} if leaving else {}
    return {
        "metadata": {
            "name": "p",
            "namespace": "vision",
            "labels": MARKS,
            "annotations": {"fairgate.internal/job": JOB},
            **leaves,
        },
        "spec": {"nodeName": node},
        "status": {"phase": phase, "conditions": [{"type": each, "status": "True"} for each in conditions]},
    }


def workload(*true: str, **messages: str) -> dict[str, Any]:
    return {
        "metadata": {"name": "w", "ownerReferences": [{"uid": "rj"}]},
        "status": {
            "conditions": [
                *({"type": each, "status": "True", "reason": "R", "message": "m"} for each in true),
                *({"type": key, "status": "False", "message": text} for key, text in messages.items()),
            ]
        },
    }


CLUSTER = {
    "metadata": {
        "name": "train-1-x",
        "namespace": "vision",
        "labels": {"ray.io/originated-from-cr-name": "train-1"},
        "ownerReferences": [{"uid": "rj"}],
    }
}


def trace_of(objects: Objects) -> Trace:
    (trace,) = collect(objects).values()
    return trace


def look(
    ray_job: Any, *, work: Any = None, clusters: Any = (), pods: Any = (), lost: Any = (), at: int = NOW
) -> Sighting:
    objects = Objects([ray_job] if ray_job else [], [work] if work else [], clusters, pods)
    return see(trace_of(objects), lost, at, Patience(60_000))


def test_it_starts_until_ray_runs_the_job() -> None:
    reserved = workload("QuotaReserved")
    for status in ({}, {"jobDeploymentStatus": "Initializing"}, {"jobDeploymentStatus": "Running"}):
        sighting = look(attempt(**status), work=reserved)
        assert (sighting.observation.phase, sighting.diverged) == (Phase.STARTING, "")
    running = attempt(
        jobDeploymentStatus="Running", jobStatus="RUNNING", rayJobInfo={"startTime": "2025-12-01T11:59:50Z"}
    )
    seen = look(running, work=reserved, pods=[pod()]).observation
    assert (seen.phase, seen.at_ms, seen.started_at_ms, seen.uid) == (Phase.RUNNING, NOW - 10_000, NOW - 10_000, UID)
    assert not seen.is_gone


def test_it_has_ended_but_is_not_gone_before_pods_cluster_and_reservation_are() -> None:
    done = attempt(jobDeploymentStatus="Complete", jobStatus="SUCCEEDED", endTime="2025-12-01T12:00:00Z")
    finished = workload("QuotaReserved", "Finished")
    held = [
        {"work": workload("QuotaReserved")},
        {"work": finished, "clusters": [CLUSTER]},
        {"work": finished, "pods": [pod("Succeeded"), pod("Running")]},
    ]
    for traces in held:
        seen = look(done, **traces).observation
        assert (seen.phase, seen.is_gone) == (Phase.SUCCEEDED, False)
    seen = look(done, work=finished, pods=[pod("Succeeded")]).observation
    assert (seen.phase, seen.is_gone, seen.exit_code, seen.at_ms) == (Phase.SUCCEEDED, True, 0, NOW)


@pytest.mark.parametrize(
    ("ray_job", "pods", "phase", "message"),
    [
        ({"jobStatus": "FAILED", "message": "boom"}, [], Phase.FAILED, "boom"),
        ({"jobStatus": "FAILED", "reason": "DeadlineExceeded"}, [], Phase.FAILED, "DeadlineExceeded"),
        ({"jobStatus": "FAILED"}, [pod("Failed", "n1", False, "DisruptionTarget")], Phase.LOST, "pod p was taken"),
        ({"jobStatus": "FAILED"}, [pod("Failed", "n9")], Phase.LOST, "pod p was taken"),
    ],
)
def test_failures(ray_job: dict[str, Any], pods: list[Any], phase: Phase, message: str) -> None:
    seen = look(attempt(jobDeploymentStatus="Failed", **ray_job), pods=pods, lost={"n9"}).observation
    assert (seen.phase, seen.is_gone) == (phase, True)
    assert seen.message.startswith(message)


def test_after_notice_a_failure_is_a_stop_and_a_success_is_a_success() -> None:
    failed = attempt(notice="preempted", jobDeploymentStatus="Failed", jobStatus="FAILED")
    assert look(failed).observation.phase is Phase.STOPPED
    done = attempt(notice="preempted", jobDeploymentStatus="Complete", jobStatus="SUCCEEDED")
    assert look(done).observation.phase is Phase.SUCCEEDED


def test_what_kuberay_refuses_has_failed_and_holds_nothing_to_wait_for() -> None:
    refused = attempt(jobDeploymentStatus="ValidationFailed", message="the name is too long")
    seen = look(refused, work=workload("QuotaReserved")).observation
    assert (seen.phase, seen.is_gone, seen.message) == (Phase.FAILED, True, "the name is too long")


def test_deleted_by_hand_it_is_lost_and_gone_with_its_pods() -> None:
    seen = look(None, pods=[pod(leaving=True)]).observation
    assert (seen.phase, seen.is_gone, seen.uid) == (Phase.LOST, False, UID)
    assert look(None, pods=[pod("Failed")]).observation.is_gone
    deleting = attempt(jobDeploymentStatus="Running")
    deleting["metadata"]["deletionTimestamp"] = "2025-12-01T12:00:00Z"
    assert look(deleting).observation.phase is Phase.LOST
    deleting["metadata"]["annotations"]["fairgate.internal/notice"] = "preempted"
    sighting = look(deleting)
    assert (sighting.observation.phase, sighting.observation.is_gone) == (Phase.STOPPED, False)


def test_a_pod_that_is_to_leave_a_lost_node_holds_nothing() -> None:
    assert not look(None, pods=[pod("Running", "n9", leaving=True)]).observation.is_gone
    assert look(None, pods=[pod("Running", "n9", leaving=True)], lost={"n9"}).observation.is_gone
    assert not look(None, pods=[pod("Running", "n9")], lost={"n9"}).observation.is_gone


def test_divergence() -> None:
    reserved = workload("QuotaReserved")
    assert look(attempt(suspend=True)).diverged == ""
    late = look(attempt(suspend=True), work=workload(QuotaReserved="no quota"), at=NOW + 31_000)
    assert late.diverged == "Kueue has not reserved it within 60 s: no quota"
    assert look(attempt(suspend=True), at=NOW + 31_000).diverged == (
        "Kueue has not reserved it within 60 s: it has no Workload"
    )
    assert look(attempt(), work=workload("QuotaReserved", "Evicted")).diverged == "Kueue evicted it: R: m"
    halted = attempt(suspend=True, jobDeploymentStatus="Suspending", rayClusterName="train-1-x")
    assert look(halted, work=reserved, clusters=[CLUSTER]).diverged == "its RayJob was suspended"
    changed = attempt()
    changed["spec"]["entrypoint"] = "python miner.py"
    assert look(changed, work=reserved).diverged == "its RayJob was changed"
    moved = attempt()
    del moved["metadata"]["labels"]["kueue.x-k8s.io/queue-name"]
    assert look(moved, work=reserved).diverged == "it was taken out of its queue"
    started = look(attempt(), work=workload(QuotaReserved="no quota"))
    assert started.diverged == "it was started without Kueue's reservation"


@pytest.mark.parametrize("word", ["Initializing", "Suspending", "Suspended"])
def test_what_kuberay_says_of_a_new_rayjob_that_waits_for_kueue_is_no_divergence(word: str) -> None:
    """It gives a new RayJob a start time and the name of a cluster before it looks whether it is suspended."""
    new = {"jobDeploymentStatus": word, "startTime": "2025-12-01T11:59:40Z", "rayClusterName": "train-1-x"}
    for suspend in (True, False):
        assert look(attempt(suspend=suspend, **new), work=workload("QuotaReserved")).diverged == ""


def test_what_an_earlier_job_of_the_same_name_has_left_gives_way_to_the_newer_ones() -> None:
    old = pod()
    old["metadata"] = {**old["metadata"], "labels": {**MARKS, "fairgate.internal/job-uid": "u0"}}
    assert trace_of(Objects([attempt()], pods=[old, pod()])).uid == UID
    assert trace_of(Objects(pods=[old])).uid == "u0"


def test_what_is_not_ours_is_no_trace() -> None:
    foreign = pod()
    foreign["metadata"] = {**foreign["metadata"], "labels": {"fairgate.internal/attempt": "1"}}
    assert collect(Objects(pods=[foreign])) == {}
