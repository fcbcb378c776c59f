"""RayJobs applied with kubectl become jobs, show how they get on, and can be edited and deleted."""

from typing import Any

import pytest
from fairgate_scheduler.adapters.kube.api.kinds import EVENT, NAMESPACE, RAY_JOB
from fairgate_scheduler.adapters.kube.reports import Reports
from fairgate_scheduler.adapters.kube.watching.mirror import Mirror, Selection
from fairgate_scheduler.entrypoints.requests.inbox import Inbox
from fairgate_scheduler.service.query import get_job
from fairgate_scheduler.testing.fake_api import FakeApi
from fairgate_scheduler.testing.fake_runner import Script
from fairgate_scheduler.testing.fake_service import FakeService
from fairgate_scheduler.testing.rayjobs import GPU, group, ray_job

CONFIG = """
version: 1
flavors:
  h100: {resource: nvidia.com/gpu}
  cpu: {default_for_cpu_pods: true}
tenants:
  - {id: org}
  - {id: vision, parent: org, namespace: team-vision, quota: {h100: {nvidia.com/gpu: {nominal: 4}}}}
"""


class World:
    def __init__(self) -> None:
        self.service = FakeService(CONFIG, lambda _launch: Script(run_ms=60_000))
        self.api = FakeApi(self.service.clock)
        self.api.create(NAMESPACE, {"metadata": {"name": "team-vision"}})
        self.api.create(NAMESPACE, {"metadata": {"name": "elsewhere"}})
        self.restart()

    def restart(self) -> None:
        api = self.api
        selection = Selection(labels="kueue.x-k8s.io/queue-name=inbox", watch_s=0)
        self.mirror = Mirror(api, RAY_JOB, self.service.clock, selection)
        self.inbox = Inbox(self.service.app, api, self.mirror, Reports(api, self.service.clock))

    def step(self, turns: int = 1) -> None:
        for _ in range(turns):
            self.mirror.step()
            self.inbox.step()
            self.service.turn(1_000)
            self.mirror.step()
            self.inbox.step()

    def apply(self, name: str = "train", gpus: Any = 1, namespace: str = "team-vision", **annotations: str) -> None:
        manifest = ray_job(group("gpu", 1, {"cpu": 1, "memory": "1Gi", GPU: gpus}))
        manifest["metadata"] = {
            "name": name,
            "namespace": namespace,
            "labels": {"kueue.x-k8s.io/queue-name": "inbox"},
            "annotations": {"note": "x", **{f"fairgate.internal/{key}": value for key, value in annotations.items()}},
        }
        manifest["spec"]["suspend"] = True  # as Kueue's webhook does
        self.api.acting_as("kubectl").apply(RAY_JOB, manifest)

    def status(self, name: str = "train", namespace: str = "team-vision") -> Any:
        return self.api.get(RAY_JOB, name, namespace).get("status", {})

    def job(self, name: str = "train") -> Any:
        return get_job(self.service.app, f"tenants/vision/jobs/{name}")

    def events(self) -> list[tuple[str, str]]:
        return [(each["reason"], each["message"]) for each in self.api.list(EVENT).items]


@pytest.fixture
def world() -> World:
    return World()


def test_a_request_becomes_a_job_and_shows_its_way_to_the_end(world: World) -> None:
    world.apply()
    world.step(3)
    assert world.job().job.state.value == "RUNNING"
    origin = world.job().submission.spec["request"]
    assert origin["metadata"] == {
        "name": "train",
        "uid": world.api.get(RAY_JOB, "train", "team-vision")["metadata"]["uid"],
    }
    assert world.status()["jobStatus"] == "RUNNING"
    assert world.status()["jobDeploymentStatus"] == "Suspended"
    assert world.status()["message"] == "Running on h100 as attempt 1"
    world.service.clock.advance(60_000)
    world.step(3)
    status = world.status()
    assert (status["jobStatus"], status["jobDeploymentStatus"]) == ("SUCCEEDED", "Complete")
    assert status["endTime"].endswith("Z")
    assert status["rayClusterName"].startswith("fairgate-no-cluster-")
    reasons = [reason for reason, _ in world.events() if reason != "Noticed"]
    assert reasons == ["Pending", "Admitted", "Running", "Succeeded"]


def test_applied_again_at_any_time_it_changes_nothing(world: World) -> None:
    world.apply()
    world.step(2)
    version = world.job().job.version
    world.apply()
    world.step(1)
    assert world.job().job.attempts == 1
    assert world.job().job.version >= version
    world.service.clock.advance(60_000)
    world.step(3)
    before = world.api.get(RAY_JOB, "train", "team-vision")["metadata"]["resourceVersion"]
    world.apply()
    world.step(2)
    world.restart()
    world.step(2)
    assert world.job().job.state.value == "SUCCEEDED"
    assert world.api.get(RAY_JOB, "train", "team-vision")["metadata"]["resourceVersion"] == before


def test_what_kuberay_and_the_server_write_into_a_request_is_no_edit(world: World) -> None:
    """KubeRay writes it back as Go has it when it adds its finalizer, at any time, also after the job was admitted."""
    world.apply()
    world.step(2)
    assert world.job().job.state.value == "RUNNING"
    there = world.api.get(RAY_JOB, "train", "team-vision")
    spec = there["spec"]
    [worker_group] = spec["rayClusterSpec"]["workerGroupSpecs"]
    worker_group |= {"numOfHosts": 1, "rayStartParams": {}}
    worker_group["template"]["metadata"] = {}
    [worker] = worker_group["template"]["spec"]["containers"]
    for amounts in worker["resources"].values():
        amounts |= {GPU: "1", "cpu": "1000m"}
    spec |= {"backoffLimit": 0, "submissionMode": "K8sJobMode", "ttlSecondsAfterFinished": 0}
    patch = {"metadata": {"finalizers": ["ray.io/rayjob-finalizer"]}, "spec": spec}
    world.api.acting_as("kuberay").patch(RAY_JOB, "train", patch, "team-vision")
    world.step(2)
    assert not [reason for reason, _ in world.events() if reason == "EditIgnored"]


def test_what_can_never_run_is_refused_and_taken_when_it_is_mended(world: World) -> None:
    world.apply(gpus=100)
    world.step()
    status = world.status()
    assert (status["jobDeploymentStatus"], status["reason"]) == ("Failed", "ValidationFailed")
    assert "asks for 100 nvidia.com/gpu" in status["message"]
    world.apply(gpus=2)
    world.step(3)
    assert world.status()["jobDeploymentStatus"] == "Suspended"
    assert world.job().job.state.value == "RUNNING"


def test_an_edit_is_taken_over_while_it_waits_and_not_afterwards(world: World) -> None:
    world.apply("first", gpus=4, priority="9")
    world.step(3)
    world.apply("train", gpus=4)
    world.step()
    assert world.job().job.state.value == "PENDING"
    world.apply("train", gpus=2, priority="7")
    world.step()
    view = world.job()
    assert view.job.priority == 7
    assert view.job.options[0].demand["h100", GPU] == 2
    world.apply("first", gpus=1, priority="9")
    world.step()
    assert world.job("first").job.options[0].demand["h100", GPU] == 4
    assert any(reason == "EditIgnored" for reason, _ in world.events())


def test_an_edit_while_we_were_away_is_taken_over(world: World) -> None:
    world.apply("first", gpus=4)
    world.step(3)
    world.apply("train", gpus=4)
    world.step()
    world.apply("train", gpus=1)
    world.restart()
    world.step()
    assert world.job().job.options[0].demand["h100", GPU] == 1


@pytest.mark.parametrize("is_away", [False, True])
def test_deleting_the_request_cancels_the_job(world: World, is_away: bool) -> None:
    world.apply()
    world.step(3)
    world.api.delete(RAY_JOB, "train", "team-vision")
    if is_away:
        world.restart()
    world.step(3)
    assert world.job().job.state.value in ("STOPPING", "CANCELLED")
    assert "its RayJob was deleted" in world.job().job.message


def test_a_name_that_is_applied_again_is_another_job(world: World) -> None:
    world.apply()
    world.step(3)
    world.api.delete(RAY_JOB, "train", "team-vision")
    world.step(2)
    world.apply()
    world.step(3)
    jobs = world.service.app
    with jobs.read() as transaction:
        names = sorted(each.id for each in transaction.live_jobs())
    assert len([name for name in names if name.startswith("tenants/vision/jobs/train-")]) == 1


def test_in_a_namespace_of_nobody_it_is_refused(world: World) -> None:
    world.apply(namespace="elsewhere")
    world.step()
    assert world.status(namespace="elsewhere")["message"] == "this namespace belongs to no tenant of Fairgate"


@pytest.mark.parametrize("namespace", ["team-vision", "elsewhere"])
def test_what_has_ended_is_left_alone_even_by_a_service_that_never_knew_it(world: World, namespace: str) -> None:
    """Its store was lost, or its tenant is not configured any more."""
    world.apply(namespace=namespace)
    ended = {"jobStatus": "SUCCEEDED", "jobDeploymentStatus": "Complete", "endTime": "2025-12-01T11:59:40Z"}
    world.api.patch(RAY_JOB, "train", {"status": ended}, namespace, subresource="status")
    world.step(2)
    world.apply(gpus=2, namespace=namespace)
    world.step(2)
    assert world.status(namespace=namespace) == ended
    assert world.events() == []


def test_nothing_is_lost_when_the_server_can_not_be_written_to(world: World) -> None:
    for _ in range(3):
        world.api.faults.fail("patch", "rayjobs")
    world.apply()
    world.step(4)
    assert world.status()["jobStatus"] == "RUNNING"
