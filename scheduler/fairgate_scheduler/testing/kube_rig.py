"""The runner on Kubernetes on the twin of a cluster, with programs that behave as the runners' contract wants them."""

from collections.abc import Callable
from typing import Final

import pytest

from fairgate_scheduler.adapters.kube.api import Manifest
from fairgate_scheduler.adapters.kube.api.kinds import NAMESPACE, RAY_JOB
from fairgate_scheduler.adapters.kube.logs import Archive
from fairgate_scheduler.adapters.kube.runner import KubeRunner, KubeSettings
from fairgate_scheduler.adapters.kube.watching.scene import Scene
from fairgate_scheduler.adapters.kube.watching.traces import Objects
from fairgate_scheduler.ports import Launch
from fairgate_scheduler.testing.fake_api import FakeApi
from fairgate_scheduler.testing.fake_cluster import FakeCluster, Program
from fairgate_scheduler.testing.memory_store import MemoryStore
from fairgate_scheduler.testing.rayjobs import GPU, group, ray_job
from fairgate_scheduler.testing.records import a_submission
from fairgate_scheduler.testing.runner_contract import Kind, make_launch
from fairgate_scheduler.testing.sim_clock import SimClock

_MINUTES_MS: Final = 10 * 60_000
_PROGRAMS: Final = {
    Kind.SHORT.name: Program(1_000, b"hello\ndone\n"),
    Kind.LONG.name: Program(_MINUTES_MS, heeds_notice=True),
    Kind.STUBBORN.name: Program(_MINUTES_MS),
    Kind.FAILING.name: Program(1_000, exit_code=3),
}
_JOB: Final = "fairgate.internal/job"


class SteppedScene(Scene):
    """Looks at the cluster whenever it is asked. ``is_behind``: its watches tell nothing for now."""

    def __init__(self, api: FakeApi, clock: SimClock, cluster: FakeCluster) -> None:
        super().__init__(api, clock, watch_s=0)
        self._cluster = cluster
        self.is_behind = False

    def objects(self) -> Objects:
        """See ``Scene``; the cluster gets on meanwhile."""
        self._cluster.step()
        self.step()
        return super().objects()

    def step(self) -> None:
        """See ``Scene``."""
        if not self.is_behind:
            super().step()

    @property
    def is_complete(self) -> bool:
        """See ``Scene``."""
        self.step()
        return super().is_complete


class KubeRig:
    """A ``runner_contract.Rig``. ``cluster``: Kueue, KubeRay and a kubelet, as far as the runner looks at them."""

    def __init__(self) -> None:
        self.clock = SimClock()
        self.api = FakeApi(self.clock)
        self.cluster = FakeCluster(self.api, _PROGRAMS)
        self.store = MemoryStore()
        self.api.create(NAMESPACE, {"metadata": {"name": "a"}})
        self.restart()

    def launch_of(self, kind: Kind, name: str) -> Launch:
        """See ``runner_contract.Rig``."""
        manifest = ray_job(group("w", 1, {"cpu": 1, "memory": "1Gi", GPU: 1}), entrypoint=kind.name)
        launch = make_launch(name, manifest)
        with self.store.transaction() as transaction:
            transaction.insert_job(launch.job, a_submission())
        return launch

    def wait_until(self, holds: Callable[[], bool]) -> None:
        """See ``runner_contract.Rig``; the time is virtual."""
        for _ in range(1_000):
            if holds():
                return
            self.clock.advance(100)
        pytest.fail("it did not become true within 100 virtual seconds")

    def restart(self) -> None:
        """See ``runner_contract.Rig``."""
        self.scene = SteppedScene(self.api, self.clock, self.cluster)
        self.runner = KubeRunner(self.api, self.scene, Archive(self.store), self.clock, KubeSettings(grace_ms=5_000))

    def kill(self, launch: Launch) -> None:
        """Delete the RayJob behind its back."""
        metadata = self.ray_job(launch)["metadata"]
        self.api.delete(RAY_JOB, metadata["name"], metadata["namespace"])

    def count_starts(self, launch: Launch) -> int:
        """See ``runner_contract.Rig``."""
        return self.cluster.starts.count(f"{launch.job.id}/{launch.attempt.number}")

    def ray_job(self, launch: Launch) -> Manifest:
        """The RayJob of an attempt."""
        [found] = [
            each for each in self.api.list(RAY_JOB).items if each["metadata"]["annotations"][_JOB] == launch.job.id
        ]
        return found
