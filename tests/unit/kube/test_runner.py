"""What becomes of attempts when others meddle, refuse, or are away: told once, ended once, never begun twice."""

from typing import Any

import pytest
from fairgate_scheduler.adapters.kube.api.errors import GoneError, UnavailableError
from fairgate_scheduler.adapters.kube.api.kinds import EVENT, NAMESPACE, POD, RAY_CLUSTER, RAY_JOB, WORKLOAD
from fairgate_scheduler.core.lifecycle import Observation, Phase
from fairgate_scheduler.ports import Launch
from fairgate_scheduler.testing.kube_rig import KubeRig
from fairgate_scheduler.testing.runner_contract import Kind


@pytest.fixture
def rig() -> KubeRig:
    return KubeRig()


def running(rig: KubeRig, kind: Kind = Kind.LONG) -> Launch:
    launch = rig.launch_of(kind, "train")
    rig.runner.launch(launch)
    wait_for(rig, Phase.RUNNING)
    return launch


def see(rig: KubeRig) -> Observation | None:
    seen = rig.runner.observe()
    assert len(seen) <= 1, seen
    return seen[0] if seen else None


def wait_for(rig: KubeRig, phase: Phase, *, is_gone: bool = False) -> Observation:
    rig.wait_until(lambda: (seen := see(rig)) is not None and (seen.phase, seen.is_gone) == (phase, is_gone))
    seen = see(rig)
    assert seen is not None
    return seen


def patch(rig: KubeRig, launch: Launch, status: dict[str, Any]) -> None:
    metadata = rig.ray_job(launch)["metadata"]
    rig.api.patch(RAY_JOB, metadata["name"], {"status": status}, "a", subresource="status")


def set_condition(rig: KubeRig, kind: str, status: str, message: str) -> None:
    [workload] = rig.api.list(WORKLOAD).items
    others = [each for each in workload["status"]["conditions"] if each["type"] != kind]
    conditions = [*others, {"type": kind, "status": status, "reason": "Test", "message": message}]
    name = workload["metadata"]["name"]
    rig.api.patch(WORKLOAD, name, {"status": {"conditions": conditions}}, "a", subresource="status")


def diverged(rig: KubeRig) -> list[str]:
    return [each["message"] for each in rig.api.list(EVENT).items if each["reason"] == "Diverged"]


def is_clean(rig: KubeRig) -> bool:
    rig.runner.observe()
    return not any(rig.api.list(kind).items for kind in (RAY_JOB, RAY_CLUSTER, WORKLOAD, POD))


@pytest.mark.parametrize(
    ("status", "message"),
    [
        ({"jobDeploymentStatus": "ValidationFailed", "message": "the name is too long"}, "the name is too long"),
        (
            {"jobDeploymentStatus": "Failed", "jobStatus": "", "reason": "SubmissionFailed", "message": "BackoffLimit"},
            "BackoffLimit",
        ),
        ({"jobDeploymentStatus": "Failed", "jobStatus": "FAILED", "reason": "DeadlineExceeded"}, "DeadlineExceeded"),
    ],
)
def test_what_kuberay_gives_up_has_failed_and_leaves_nothing(
    rig: KubeRig, status: dict[str, Any], message: str
) -> None:
    launch = running(rig)
    patch(rig, launch, status)
    for cluster in rig.api.list(RAY_CLUSTER).items:
        rig.api.delete(RAY_CLUSTER, cluster["metadata"]["name"], "a")
    for pod in rig.api.list(POD).items:
        if "ray.io/node-type" not in pod["metadata"]["labels"]:
            rig.api.patch(POD, pod["metadata"]["name"], {"status": {"phase": "Failed"}}, "a", subresource="status")
    if status["jobDeploymentStatus"] == "Failed":
        set_condition(rig, "Finished", "True", "")
    assert wait_for(rig, Phase.FAILED, is_gone=True).message == message
    rig.runner.forget(launch.job.id, 1)
    rig.wait_until(lambda: is_clean(rig))
    assert rig.count_starts(launch) == 1


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_notice_reaches_every_pod_though_we_die_while_it_is_given(rig: KubeRig, nth: int) -> None:
    launch = running(rig, Kind.STUBBORN)
    rig.api.faults.fail("patch", "pods", nth=nth)
    with pytest.raises(UnavailableError):
        rig.runner.stop(launch.job.id, 1, "preempted")
    rig.clock.advance(60_000)  # more than the grace period: it has not begun yet
    rig.restart()
    assert wait_for(rig, Phase.RUNNING).is_gone is False
    rig.runner.stop(launch.job.id, 1, "preempted")
    rig.runner.observe()
    notices = {pod["metadata"]["annotations"].get("fairgate.internal/notice") for pod in rig.api.list(POD).items}
    assert len(notices) == 1
    assert notices.pop()
    wait_for(rig, Phase.STOPPED, is_gone=True)


def test_kueue_evicts_an_attempt(rig: KubeRig) -> None:
    launch = running(rig)
    set_condition(rig, "Evicted", "True", "preempted by hand")
    wait_for(rig, Phase.LOST, is_gone=True)
    assert is_clean(rig)
    assert diverged(rig) == ["Kueue evicted it: Test: preempted by hand; the attempt is ended and its job waits again"]
    assert rig.count_starts(launch) == 1


def test_kueue_has_no_room_for_what_was_admitted(rig: KubeRig) -> None:
    rig.cluster.reserves = lambda _ray_job: False
    launch = rig.launch_of(Kind.LONG, "train")
    rig.runner.launch(launch)
    began_ms = rig.clock.now_ms()
    wait_for(rig, Phase.LOST, is_gone=True)
    assert 60_000 <= rig.clock.now_ms() - began_ms < 65_000
    [message] = diverged(rig)
    assert message.startswith("Kueue has not reserved it within 60 s: no room")
    assert rig.count_starts(launch) == 0


def test_it_is_suspended_by_hand(rig: KubeRig) -> None:
    """Kueue would begin it anew: KubeRay first ends the cluster that there is."""
    launch = running(rig)
    [cluster] = rig.api.list(RAY_CLUSTER).items
    patch(rig, launch, {"jobDeploymentStatus": "Suspending", "rayClusterName": cluster["metadata"]["name"]})
    wait_for(rig, Phase.LOST, is_gone=True)
    assert len(diverged(rig)) == 1
    assert rig.count_starts(launch) == 1


def test_it_was_suspended_and_begun_anew_before_we_looked(rig: KubeRig) -> None:
    """Kueue does that when its Workload is deleted by hand and there is room, in no time."""
    launch = running(rig)
    patch(rig, launch, {"jobDeploymentStatus": "Initializing", "jobStatus": "", "rayClusterName": "train-again"})
    wait_for(rig, Phase.LOST, is_gone=True)
    assert len(diverged(rig)) == 1
    assert is_clean(rig)


def test_its_workload_is_deleted_by_hand(rig: KubeRig) -> None:
    """Kueue makes another Workload that reserves nothing yet, and has the RayJob suspended."""
    launch = running(rig)
    [workload] = rig.api.list(WORKLOAD).items
    rig.cluster.reserves = lambda _ray_job: False
    rig.api.delete(WORKLOAD, workload["metadata"]["name"], "a")
    wait_for(rig, Phase.LOST, is_gone=True)
    assert len(diverged(rig)) == 1
    assert is_clean(rig)
    assert rig.count_starts(launch) == 1


def test_its_namespace_is_deleted(rig: KubeRig) -> None:
    running(rig)
    rig.api.delete(NAMESPACE, "a")
    wait_for(rig, Phase.LOST, is_gone=True)
    assert diverged(rig) == []


def test_a_retry_within_an_attempt_is_the_same_attempt_until_both_clusters_are_gone(rig: KubeRig) -> None:
    launch = running(rig)
    [first] = rig.api.list(RAY_CLUSTER).items
    uid = rig.ray_job(launch)["metadata"]["uid"]
    second = {**first, "metadata": {**first["metadata"], "name": "train-again"}}
    for name in ("uid", "resourceVersion", "creationTimestamp"):
        second["metadata"].pop(name, None)
    rig.api.create(RAY_CLUSTER, second)
    patch(rig, launch, {"jobDeploymentStatus": "Retrying", "failed": 1, "rayClusterName": "train-again"})
    assert wait_for(rig, Phase.STARTING).is_gone is False
    patch(rig, launch, {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"})
    set_condition(rig, "Finished", "True", "")
    rig.api.delete(RAY_CLUSTER, first["metadata"]["name"], "a")
    for _ in range(5):
        assert wait_for(rig, Phase.SUCCEEDED).is_gone is False
        rig.clock.advance(1_000)
    rig.api.delete(RAY_CLUSTER, "train-again", "a")
    for pod in rig.api.list(POD).items:
        rig.api.patch(POD, pod["metadata"]["name"], {"status": {"phase": "Succeeded"}}, "a", subresource="status")
    wait_for(rig, Phase.SUCCEEDED, is_gone=True)
    assert rig.ray_job(launch)["metadata"]["uid"] == uid
    assert diverged(rig) == []


def test_what_has_ended_and_is_deleted_before_we_looked_again_keeps_its_end(rig: KubeRig) -> None:
    launch = running(rig, Kind.SHORT)
    wait_for(rig, Phase.SUCCEEDED, is_gone=True)
    rig.kill(launch)
    assert wait_for(rig, Phase.SUCCEEDED, is_gone=True).exit_code == 0


def test_pods_that_can_not_be_seen_are_not_gone(rig: KubeRig) -> None:
    """The RayJob is deleted while the watch of pods is lost: what it had is given to nobody before we see again."""
    launch = rig.launch_of(Kind.LONG, "train")
    rig.runner.launch(launch)
    rig.api.faults.fail("watch", "pods")  # before the first pod is seen
    with pytest.raises(UnavailableError, match="the cluster can not be seen now: pods: connection refused"):
        wait_for(rig, Phase.RUNNING)
    rig.kill(launch)
    assert see(rig) is not None
    wait_for(rig, Phase.LOST, is_gone=True)


@pytest.mark.parametrize("plural", ["rayjobs", "rayclusters", "workloads", "pods", "nodes"])
def test_a_watch_that_is_lost_for_minutes_and_then_too_old_loses_nothing(rig: KubeRig, plural: str) -> None:
    launch = running(rig)
    rig.scene.is_behind = True
    for _ in range(20):
        rig.clock.advance(15_000)
        assert wait_for(rig, Phase.RUNNING).is_gone is False
    rig.scene.is_behind = False
    rig.api.faults.fail("watch", plural, error=GoneError("too old"))
    with pytest.raises(UnavailableError, match="too old"):
        see(rig)
    for _ in range(5):
        rig.clock.advance(1_000)
        assert wait_for(rig, Phase.RUNNING).is_gone is False
    rig.clock.advance(300_000)
    wait_for(rig, Phase.SUCCEEDED, is_gone=True)
    assert rig.count_starts(launch) == 1
    assert diverged(rig) == []
