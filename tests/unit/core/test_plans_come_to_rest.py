"""Plans that once did not come to rest, each found by random stories and cut down to what it takes."""

from fractions import Fraction

from fairgate_scheduler.core.plan import plan_cycle
from fairgate_scheduler.core.tenancy import Budget, Flavor, Policy, Quota, QuotaCut, Tenant
from fairgate_scheduler.testing.worlds import GPU, World, config_of, owner, takes

CPU_ROW, GPU_ROW = ("m", "cpu"), ("m", GPU)


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


def test_a_cut_that_takes_the_capacity_too():
    # Where a flavor does not say what is there, a cut of quota is one of capacity. The youngest go, not those that they
    # would leave without quota if they stayed for lack of capacity.
    policy, row = Policy(quota_cut=QuotaCut.RECLAIM), GPU_ROW
    world = World(config_of(Tenant("org"), Tenant("a", "org", quota={row: Quota(4)}), policy=policy))
    world.submit_many("a", 4, takes("m", gpu=1))
    world.cycle()
    world.config = config_of(Tenant("org"), Tenant("a", "org", quota={row: Quota(2)}), policy=policy)
    world.cycle()
    assert sorted(world.running()) == ["a-1", "a-2"]


def test_a_cut_that_takes_the_capacity_too_with_rebalance():
    # The two youngest stayed, and with them the nominal of n was free again, for which z went, and so on in a ring.
    policy = Policy(rebalance=True, priority_preemption=False, quota_cut=QuotaCut.RECLAIM)
    tenants = [owner("m", "o"), Tenant("n", "m", quota={GPU_ROW: Quota(1)}), *(owner(each, "n") for each in "xy")]
    tenants.append(owner("z", "m"))
    world = World(config_of(Tenant("o", quota={GPU_ROW: Quota(3)}), *tenants, policy=policy))
    for name, tenant in (("y-1", "y"), ("x-1", "x"), ("x-2", "x"), ("z-1", "z")):
        world.submit(name, tenant, takes("m", gpu=1))
        world.cycle()
    assert len(world.attempts) == 4
    world.config = config_of(Tenant("o", quota={GPU_ROW: Quota(1)}), *tenants, policy=policy)
    world.cycle()
    assert sorted(world.running()) == ["y-1", "z-1"]
    assert not plan_cycle(world.snapshot(), world.now_ms)


def test_a_cut_elsewhere_is_not_paid_by_who_is_within_its_own():
    # b can not be evicted and holds what a owns; a is within its own nominal with its own fixed job, so it stays.
    policy = Policy(quota_cut=QuotaCut.RECLAIM)
    org, flavor = Tenant("org"), Flavor("m", capacity={GPU: 12})
    own = Tenant("a", "org", quota={GPU_ROW: Quota(4)})
    world = World(config_of(org, own, Tenant("b", "org", quota={GPU_ROW: Quota(8)}), policy=policy, m=flavor))
    world.submit_many("a", 3, takes("m", gpu=1))
    world.submit("fixed", "a", takes("m", gpu=1), preemptible=False)
    world.submit("big", "b", takes("m", gpu=8), preemptible=False)
    world.cycle()
    assert len(world.attempts) == 5
    world.config = config_of(org, own, Tenant("b", "org", quota={GPU_ROW: Quota(2)}), policy=policy, m=flavor)
    world.cycle()
    assert len(world.attempts) == 5


def test_a_lowered_limit_evicts_nobody_with_rebalance():
    org = Tenant("org", quota={GPU_ROW: Quota(8)})
    world = World(config_of(org, owner("a"), owner("b"), policy=Policy(rebalance=True)))
    world.submit_many("a", 4, takes("m", gpu=1))
    world.cycle()
    world.config = config_of(org, owner("a", max_running_jobs=2), owner("b"), policy=Policy(rebalance=True))
    assert not world.cycle()
    world.submit("a-5", "a", takes("m", gpu=1))
    world.submit("b-1", "b", takes("m", gpu=1))
    world.cycle()
    assert sorted(world.running()) == ["a-1", "a-2", "a-3", "a-4", "b-1"]


def test_a_limit_is_shared_fairly_with_rebalance():
    # One limit over two leaves, at two levels: the one that has nothing gets a place of the one that has all.
    org = Tenant("org", quota={GPU_ROW: Quota(8)})
    tenants = [Tenant("l", "org", max_running_jobs=4), Tenant("m", "l", max_running_jobs=2), owner("x", "m")]
    world = World(config_of(org, *tenants, owner("y", "m"), policy=Policy(rebalance=True)))
    world.submit_many("x", 3, takes("m", gpu=1))
    world.cycle()
    assert sorted(world.running()) == ["x-1", "x-2"]
    world.submit_many("y", 2, takes("m", cpu=1))
    plan = world.cycle()
    assert sorted(world.running()) == ["x-1", "y-1"]
    assert [each.for_jobs for each in plan.preemptions] == [("y-1",)]
    assert "rebalanced" in plan.preemptions[0].reason
    assert not plan_cycle(world.snapshot(), world.now_ms)


def test_who_becomes_protected_by_being_admitted_can_change_the_order():
    # Found by random lives: in the next round y-2 is placed before its turn. Then x has nothing more to place, so m
    # is not rescaled, and w comes before y-1.
    tpu, memory = ("m", "google.com/tpu"), ("m", "memory")
    org = Tenant("o", quota={tpu: Quota(3), memory: Quota(4)})
    heavy, others = owner("x", "m", weight=Fraction(1, 3)), (owner("y", "m"), owner("w", "o"))
    tenants = [Tenant("m", "o", quota={memory: Quota(4, 3)}), heavy, *others]
    world = World(config_of(org, *tenants, policy=Policy(reclaim=False, rebalance=True)))
    for name, tenant in (("x-1", "x"), ("y-1", "y")):
        world.submit(name, tenant, takes("m", memory=3), priority=1, preemptible=tenant == "y")
        world.start(name)
    world.submit("w", "w", takes("m", memory=3), priority=1, preemptible=False)
    world.submit("x-2", "x", takes("m", tpu=2))
    world.submit("y-2", "y", takes("m", tpu=2), priority=1, preemptible=False)
    world.cycle()
    assert not plan_cycle(world.snapshot(), world.now_ms)


def test_a_budget_with_rebalance():
    # As with the limit above: the budget of m has room for two of its jobs.
    org = Tenant("org", quota={CPU_ROW: Quota(3), GPU_ROW: Quota(3)})
    tenants = [owner("m", budget=Budget(Fraction(2), 10**9)), owner("x", "m"), owner("y", "m"), owner("n")]
    world = World(config_of(org, *tenants, policy=Policy(rebalance=True)))
    world.submit("x-1", "x", takes("m", gpu=1))
    world.submit("y-1", "y", takes("m", gpu=1, cpu=2))
    world.submit("x-2", "x", takes("m", gpu=1))
    world.submit("n-1", "n", takes("m", cpu=2))
    world.cycle()
    assert "x-1" in world.running()
    assert not plan_cycle(world.snapshot(), world.now_ms)


def test_a_lowered_budget_evicts_nobody_with_rebalance():
    org, policy = Tenant("org", quota={GPU_ROW: Quota(8)}), Policy(rebalance=True)
    world = World(config_of(org, owner("a"), owner("b"), policy=policy))
    world.submit_many("a", 4, takes("m", gpu=1))
    world.cycle()
    world.config = config_of(org, owner("a", budget=Budget(Fraction(2), 10**9)), owner("b"), policy=policy)
    assert not world.cycle()
    world.submit("a-5", "a", takes("m", gpu=1))
    world.submit("b-1", "b", takes("m", gpu=1))
    world.cycle()
    assert sorted(world.running()) == ["a-1", "a-2", "a-3", "a-4", "b-1"]
