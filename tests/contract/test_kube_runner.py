"""The runner on Kubernetes keeps the promises of every runner, on the twin of an API server."""

import pytest
from fairgate_scheduler.adapters.kube.api.kinds import POD, RAY_JOB
from fairgate_scheduler.core.lifecycle import Phase
from fairgate_scheduler.testing.kube_rig import KubeRig
from fairgate_scheduler.testing.runner_contract import Kind, RunnerContract


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
