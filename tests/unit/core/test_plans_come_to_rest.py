"""Plans that once did not come to rest, each found by random stories and cut down to what it takes."""

import pytest
from fairgate_scheduler.core.plan import plan_cycle
from fairgate_scheduler.core.tenancy import Flavor, Policy, Quota, QuotaCut, Tenant
from fairgate_scheduler.testing.worlds import GPU, World, config_of, owner, takes

CPU_ROW, GPU_ROW = ("m", "cpu"), ("m", GPU)


@pytest.mark.xfail(strict=True, raises=AssertionError, reason="who is open to the fair order depends on limits")
def test_a_limit_on_running_jobs_with_rebalance():
    # While both of m's jobs run its limit closes it, so x is left out of the rescaling and m's share is x's; without y
    # it is open, m's share is y's, which is nothing: n and y take turns.
    org = Tenant("org", quota={CPU_ROW: Quota(3), GPU_ROW: Quota(3)})
    tenants = [owner("m", max_running_jobs=2), owner("x", "m"), owner("y", "m"), owner("n")]
    world = World(config_of(org, *tenants, policy=Policy(rebalance=True)))
    world.submit("x-1", "x", takes("m", gpu=1))
    world.submit("y-1", "y", takes("m", gpu=1, cpu=2))
    world.submit("x-2", "x", takes("m", gpu=1))
    world.cycle()
    assert world.running() == {"x-1": "m", "y-1": "m"}
    world.submit("n-1", "n", takes("m", cpu=2))
    world.cycle()
    assert "x-1" in world.running()
    assert not plan_cycle(world.snapshot(), world.now_ms)


def test_a_job_that_goes_and_comes_back_within_one_plan():
    # First p pushes x out; then y is within its department's nominal and pushes p out, and x comes back. Planned again
    # the same happens, and the difference is nothing; one refill alone would change something.
    tenants = [
        Tenant("o", weight=0, quota={GPU_ROW: Quota(2)}),
        Tenant("m", "o"),
        owner("x", "m"),
        owner("y", "m"),
        Tenant("z", "m", quota={GPU_ROW: Quota(6, None, 4)}),
        Tenant("p"),
    ]
    world = World(config_of(*tenants, policy=Policy(rebalance=True)))
    world.submit("z", "z", takes("m", gpu=2))
    world.cycle()
    world.submit("x", "x", takes("m", gpu=5))
    world.cycle()
    world.submit("p", "p", takes("m", gpu=6))
    world.submit("y", "y", takes("m", gpu=1))
    world.cycle()
    assert world.running() == {"x": "m", "y": "m", "z": "m"}
    assert not plan_cycle(world.snapshot(), world.now_ms)


@pytest.mark.xfail(strict=True, reason="what is selected as nominal is placed whether there is room for it or not")
def test_a_cut_with_a_younger_job_that_can_not_be_evicted():
    # quota_cut: reclaim leaves nothing above the quota but what can not be evicted: a-4 lacks quota beside the rest.
    policy = Policy(quota_cut=QuotaCut.RECLAIM)
    org, cut = Tenant("org"), Tenant("a", "org", quota={GPU_ROW: Quota(4)})
    flavor = Flavor("m", capacity={GPU: 8})
    world = World(config_of(org, Tenant("a", "org", quota={GPU_ROW: Quota(8)}), policy=policy, m=flavor))
    world.submit_many("a", 5, takes("m", gpu=1))
    world.cycle()
    world.submit("fixed", "a", takes("m", gpu=1), preemptible=False)
    world.cycle()
    world.config = config_of(org, cut, policy=policy, m=flavor)
    world.cycle()
    assert sorted(world.running()) == ["a-1", "a-2", "a-3", "fixed"]
