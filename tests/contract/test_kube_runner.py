"""The runner on Kubernetes keeps the promises of every runner, on the twin of an API server."""

import pytest
from fairgate_scheduler.adapters.kube.api.kinds import NAMESPACE, POD, RAY_JOB
from fairgate_scheduler.adapters.kube.logs import Archive
from fairgate_scheduler.adapters.kube.runner import KubeRunner, KubeSettings
from fairgate_scheduler.adapters.kube.watching.scene import Scene
from fairgate_scheduler.core.lifecycle import Phase
from fairgate_scheduler.testing.fake_api import FakeApi
from fairgate_scheduler.testing.fake_cluster import FakeCluster, Program
from fairgate_scheduler.testing.memory_store import MemoryStore
from fairgate_scheduler.testing.rayjobs import GPU, group, ray_job
from fairgate_scheduler.testing.records import a_submission
from fairgate_scheduler.testing.runner_contract import Kind, RunnerContract, make_launch
from fairgate_scheduler.testing.sim_clock import SimClock

MINUTES = 10 * 60_000
PROGRAMS = {
    Kind.SHORT.name: Program(1_000, b"hello\ndone\n"),
    Kind.LONG.name: Program(MINUTES, heeds_notice=True),
    Kind.STUBBORN.name: Program(MINUTES),
    Kind.FAILING.name: Program(1_000, exit_code=3),
}


class SteppedScene(Scene):
    """Looks at the cluster whenever it is asked."""

    def __init__(self, api, clock, cluster):
        super().__init__(api, clock, watch_s=0)
        self._cluster = cluster
        self.is_behind = False

    def objects(self):
        self._cluster.step()
        if not self.is_behind:
            self.step()
        return super().objects()

    @property
    def is_complete(self):
        if not self.is_behind:
            self.step()
        return super().is_complete


class KubeRig:
    def __init__(self):
        self.clock = SimClock()
        self.api = FakeApi(self.clock)
        self.cluster = FakeCluster(self.api, PROGRAMS)
        self.store = MemoryStore()
        self.api.create(NAMESPACE, {"metadata": {"name": "a"}})
        self.restart()

    def launch_of(self, kind, name):
        manifest = ray_job(group("w", 1, {"cpu": 1, "memory": "1Gi", GPU: 1}), entrypoint=kind.name)
        launch = make_launch(name, manifest)
        with self.store.transaction() as transaction:
            transaction.insert_job(launch.job, a_submission())
        return launch

    def wait_until(self, holds):
        for _ in range(1_000):
            if holds():
                return
            self.clock.advance(100)
        pytest.fail("it did not become true within 100 virtual seconds")

    def restart(self):
        self.scene = SteppedScene(self.api, self.clock, self.cluster)
        self.runner = KubeRunner(self.api, self.scene, Archive(self.store), self.clock, KubeSettings(grace_ms=5_000))

    def kill(self, launch):
        """Delete the RayJob behind its back."""
        (found,) = [
            each["metadata"]
            for each in self.api.list(RAY_JOB).items
            if each["metadata"]["annotations"]["fairgate.internal/job"] == launch.job.id
        ]
        self.api.delete(RAY_JOB, found["name"], found["namespace"])

    def count_starts(self, launch):
        return self.cluster.starts.count(f"{launch.job.id}/{launch.attempt.number}")


class TestKubeRunner(RunnerContract):
    @pytest.fixture
    def rig(self):
        return KubeRig()


def test_no_pod_is_left_of_what_has_ended():
    rig = KubeRig()
    launch = rig.launch_of(Kind.SHORT, "short")
    rig.runner.launch(launch)
    rig.wait_until(lambda: any(each.is_gone for each in rig.runner.observe()))
    rig.runner.forget(launch.job.id, 1)
    rig.wait_until(lambda: not rig.runner.observe())
    rig.wait_until(lambda: not rig.api.list(POD).items)
    assert rig.api.list(RAY_JOB).items == ()


def test_what_was_launched_is_not_lost_while_the_mirrors_are_behind():
    rig = KubeRig()
    rig.runner.observe()
    rig.scene.is_behind = True
    launch = rig.launch_of(Kind.SHORT, "short")
    rig.runner.launch(launch)
    for _ in range(3):
        rig.clock.advance(50)
        assert [each.phase for each in rig.runner.observe()] == [Phase.STARTING]
    rig.scene.is_behind = False
    rig.wait_until(lambda: [each.phase for each in rig.runner.observe()] == [Phase.SUCCEEDED])
    assert rig.count_starts(launch) == 1
