"""Whose turn it is: dominant shares, weights and the hierarchy, with exact outcomes."""

from fractions import Fraction

import pytest
from fairgate_scheduler.core.tenancy import Flavor, Policy, Quota, Tenant
from fairgate_scheduler.testing.worlds import GPU, H100, World, config_of, owner, takes

A100 = ("a100", GPU)
CPU, MEMORY = ("cpu", "cpu"), ("cpu", "memory")


def one_gpu():
    return takes("h100", gpu=1)


def test_dominant_resources_of_two_tenants():
    # Ghodsi et al., NSDI 2011, section 4.1: 9 CPU and 18 GB, tasks of <1, 4> and <3, 1>.
    org = Tenant("org", quota={CPU: Quota(9_000), MEMORY: Quota(18)})
    world = World(config_of(org, owner("a"), owner("b")))
    world.submit_many("a", 6, takes("cpu", cpu=1_000, memory=4))
    world.submit_many("b", 6, takes("cpu", cpu=3_000, memory=1))
    plan = world.cycle()
    # Both begin with nothing, so a is first by its id; the paper lets b begin. The end is the same.
    assert [admit.job for admit in plan.admissions] == ["a-1", "b-1", "a-2", "b-2", "a-3"]
    assert world.usage("org") == {CPU: 9_000, MEMORY: 14}


def test_hierarchy_does_not_starve_a_child_whose_sibling_uses_another_resource():
    org = Tenant("org", quota={("m", "cpu"): Quota(10_000), ("m", GPU): Quota(10)})
    world = World(config_of(org, owner("n1"), owner("n2"), owner("x", "n2"), owner("y", "n2")))
    world.submit_many("n1", 20, takes("m", gpu=1))
    world.submit_many("x", 20, takes("m", cpu=1_000))
    world.submit_many("y", 20, takes("m", gpu=1))
    world.cycle()
    assert [world.count(each) for each in ("n1", "x", "y")] == [5, 10, 5]


def test_hierarchy_leaves_blocked_children_out_of_the_rescaling():
    org = Tenant("org", quota={("m", "cpu"): Quota(30_000), ("m", GPU): Quota(30)})
    tenants = [owner("n1"), owner("n2"), owner("n3"), owner("x", "n3"), owner("y", "n3"), owner("n4")]
    world = World(config_of(org, *tenants))
    for tenant, option in (("n1", "cpu"), ("n2", "cpu"), ("x", "cpu"), ("y", "gpu"), ("n4", "gpu")):
        world.submit_many(tenant, 40, takes("m", **{option: 1_000 if option == "cpu" else 1}))
    world.cycle()
    # Rescaling the blocked x too would give y 20 and n4 10.
    assert [world.count(each) for each in ("n1", "n2", "x", "y", "n4")] == [10, 10, 10, 15, 15]


@pytest.mark.parametrize(
    ("weights", "counts"),
    [
        (("1", "2"), [4, 8]),
        (("1", "1"), [6, 6]),
        (("1/2", "1"), [4, 8]),
        (("0", "1"), [0, 12]),
        (("0", "0"), [6, 6]),
        (("1", "1000000000000"), [1, 11]),
    ],
)
def test_weights(weights, counts):
    tenants = [owner(name, weight=Fraction(weight)) for name, weight in zip("ab", weights, strict=True)]
    world = World(config_of(owner("org", None, 12), *tenants))
    world.submit_many("a", 20, one_gpu())
    world.submit_many("b", 20, one_gpu())
    world.cycle()
    assert [world.count("a"), world.count("b")] == counts


def test_weight_zero_is_protected_within_its_nominal():
    world = World(config_of(owner("org", None, 1), owner("a", gpus=1, weight=Fraction(0)), owner("b", gpus=1)))
    world.submit_many("a", 3, one_gpu())
    world.submit_many("b", 3, one_gpu())
    world.cycle()
    assert list(world.running()) == ["a-1", "b-1", "b-2"]


def test_floors_and_weights():
    # 45 units, weights 2 1 1 1/2, floors 20 0 5 15: the example of Hadoop's fair scheduler.
    shape = {"a": ("2", 20), "b": ("1", 0), "c": ("1", 5), "d": ("1/2", 15)}
    tenants = [owner(name, gpus=gpus, weight=Fraction(weight)) for name, (weight, gpus) in shape.items()]
    world = World(config_of(owner("org", None, 5), *tenants))
    for name in shape:
        world.submit_many(name, 50, one_gpu())
    world.cycle()
    assert [world.count(name) for name in shape] == [20, 5, 5, 15]


def test_prices_count_in_the_share():
    flavors = {"h100": Flavor("h100", Fraction(3)), "a100": Flavor("a100")}
    org = Tenant("org", quota={H100: Quota(8), A100: Quota(8)})
    world = World(config_of(org, owner("a"), owner("b"), **flavors))
    world.submit_many("a", 8, takes("h100", gpu=1))
    world.submit_many("b", 8, takes("a100", gpu=1), takes("h100", gpu=1))
    assert [admit.job for admit in world.cycle().admissions][:6] == ["a-1", "b-1", "b-2", "b-3", "a-2", "b-4"]


def test_only_dominant_resources_count():
    org = Tenant("org", quota={CPU: Quota(100_000), H100: Quota(100)})
    policy = Policy(dominant_resources=("accelerator",))
    world = World(config_of(org, owner("a"), owner("b"), policy=policy))
    world.submit_many("a", 3, takes("h100", cpu_flavor="cpu", gpu=1, cpu=30_000))
    world.submit_many("b", 3, takes("h100", gpu=1))
    assert [admit.job for admit in world.cycle().admissions] == ["a-1", "b-1", "a-2", "b-2", "a-3", "b-3"]


def test_priority_then_submit_time_inside_a_tenant():
    world = World(config_of(owner("org", None, 2), owner("a")))
    world.submit("late", "a", one_gpu(), priority=1)
    world.submit("first", "a", one_gpu())
    world.submit("second", "a", one_gpu())
    assert [admit.job for admit in world.cycle().admissions] == ["late", "first"]


def test_several_roots_share_only_what_is_physically_there():
    flavors = {"h100": Flavor("h100", capacity={GPU: 6})}
    world = World(config_of(owner("r1", None, 8), owner("r2", None, 4), **flavors))
    world.submit_many("r1", 8, one_gpu())
    world.submit_many("r2", 8, one_gpu())
    world.cycle()
    assert [world.count("r1"), world.count("r2")] == [4, 2]
