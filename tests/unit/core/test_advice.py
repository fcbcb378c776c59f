"""What would help a job that waits: it is true, and it is the least of its kind."""

import random
from fractions import Fraction

import pytest
from fairgate_scheduler.core.advice import Help, HelpKind, advise, with_help
from fairgate_scheduler.core.jobs import Fallback
from fairgate_scheduler.core.plan import plan_cycle
from fairgate_scheduler.core.tenancy import Budget, Config, Flavor, Policy, Quota, Tenant
from fairgate_scheduler.testing.worlds import GPU, H100, World, config_of, owner, takes

HOUR_MS = 3_600_000
ONE = takes("h100", gpu=1)


def helps(world: World, name: str) -> dict[HelpKind, Help]:
    """What would help, after each was tried out."""
    snapshot = world.snapshot()
    told = advise(snapshot, name, world.now_ms, lambda: True)
    for each in told:
        assert starts(world, name, each), each
    return {each.kind: each for each in told}


def starts(world: World, name: str, told: Help) -> bool:
    plan = plan_cycle(with_help(world.snapshot(), name, told), world.now_ms)
    return name in {each.job for each in plan.admissions}


def full(policy: Policy | None = None, **settings) -> World:
    """``a`` has 4 of its own, all in use by a job of priority 9; ``b`` has 4, in use by its own."""
    world = World(config_of(Tenant("org"), owner("a", gpus=4, **settings), owner("b", gpus=4), policy=policy))
    world.submit("big", "a", takes("h100", gpu=4), priority=9)
    world.submit("other", "b", takes("h100", gpu=4))
    world.cycle()
    assert set(world.running()) == {"big", "other"}
    return world


def test_more_quota_and_a_higher_priority():
    world = full()
    world.submit("job", "a", takes("h100", gpu=3))
    found = helps(world, "job")
    assert set(found) == {HelpKind.QUOTA, HelpKind.PRIORITY}
    assert (found[HelpKind.QUOTA].rows, found[HelpKind.QUOTA].tenant) == ({H100: 3}, "a")
    assert found[HelpKind.QUOTA].text == "3 more nvidia.com/gpu of h100 in the quota of tenant a"
    assert (found[HelpKind.PRIORITY].value, found[HelpKind.PRIORITY].text) == (10, "priority ≥ 10")


def test_only_what_is_needed_where_the_rest_can_be_taken_back():
    world = World(config_of(Tenant("org"), owner("a", gpus=3), owner("b", gpus=5)))
    world.submit("borrower", "b", takes("h100", gpu=8))
    world.cycle()
    world.submit("job", "a", takes("h100", gpu=4))
    assert helps(world, "job")[HelpKind.QUOTA].rows == {H100: 1}


def test_a_priority_that_the_tenant_may_not_have_is_not_told():
    world = full(max_priority=9)
    world.submit("job", "a", takes("h100", gpu=3))
    assert set(helps(world, "job")) == {HelpKind.QUOTA}


def test_a_priority_that_evicts_nobody_is_not_told():
    world = full(Policy(priority_preemption=False))
    world.submit("job", "a", takes("h100", gpu=3))
    assert set(helps(world, "job")) == {HelpKind.QUOTA}


def test_enough_for_those_before_it_too():
    world = full()
    world.submit("first", "a", takes("h100", gpu=4), priority=9)
    world.submit("job", "a", ONE)
    assert helps(world, "job")[HelpKind.QUOTA].rows == {H100: 1}
    world.submit("twin", "a", takes("h100", gpu=1))
    assert helps(world, "twin")[HelpKind.QUOTA].rows == {H100: 2}


def test_more_than_there_could_ever_be():
    world = World(config_of(Tenant("org"), owner("a", gpus=2)))
    world.submit("job", "a", takes("h100", gpu=5))
    found = helps(world, "job")
    assert set(found) == {HelpKind.QUOTA}
    assert found[HelpKind.QUOTA].rows == {H100: 3}


def test_where_the_machines_are_what_is_missing():
    flavor = Flavor("h100", capacity={GPU: 2})
    world = World(config_of(Tenant("org"), owner("a", gpus=8), h100=flavor))
    world.submit("job", "a", takes("h100", gpu=4))
    told = helps(world, "job")[HelpKind.QUOTA]
    assert told.rows == {H100: 2}
    assert told.text == "2 more nvidia.com/gpu of h100 in the quota of tenant a and in the cluster"
    undeclared = World(config_of(Tenant("org"), owner("a", gpus=8), l4=Flavor("l4", capacity={GPU: 1})))
    undeclared.submit("job", "a", takes("l4", gpu=2))
    assert helps(undeclared, "job")[HelpKind.QUOTA].text == "1 more nvidia.com/gpu of l4 in the cluster"


def test_the_limit_of_running_jobs():
    world = World(config_of(Tenant("org"), owner("a", gpus=4, max_running_jobs=1)))
    world.submit("first", "a", ONE)
    world.cycle()
    world.submit("job", "a", ONE)
    found = helps(world, "job")
    assert found[HelpKind.RUNNING_JOBS].text == "max_running_jobs of tenant a at 2"
    assert set(found) == {HelpKind.RUNNING_JOBS}


def test_a_time_limit_that_fits_the_budget():
    world = World(config_of(Tenant("org"), owner("a", gpus=4, budget=Budget(Fraction(3, 2), 24 * HOUR_MS))))
    world.submit("job", "a", takes("h100", gpu=4))
    found = helps(world, "job")
    assert set(found) == {HelpKind.TIME_LIMIT}
    assert (found[HelpKind.TIME_LIMIT].value, found[HelpKind.TIME_LIMIT].text) == (1_350_000, "a time limit ≤ 22m30s")


def test_a_time_limit_that_passes_a_claim():
    world = World(config_of(Tenant("org"), owner("a", gpus=4), policy=Policy(backfill_after_ms=0)))
    world.submit("runs", "a", takes("h100", gpu=3), time_limit_ms=HOUR_MS)
    world.cycle()
    world.submit("claimant", "a", takes("h100", gpu=4))
    world.submit("job", "a", ONE, time_limit_ms=4 * HOUR_MS)
    assert helps(world, "job")[HelpKind.TIME_LIMIT].value == HOUR_MS


def test_not_waiting_for_a_better_option():
    world = World(config_of(Tenant("org", quota={("l4", GPU): Quota(4)}), owner("a", gpus=1)))
    world.submit("first", "a", ONE)
    world.cycle()
    world.submit("job", "a", ONE, takes("l4", gpu=1), fallback_after_ms=HOUR_MS)
    assert HelpKind.FALLBACK_AFTER in helps(world, "job")


def test_nothing_helps_a_job_of_no_known_flavor_and_one_that_starts_needs_no_help():
    world = full()
    world.submit("lost", "a", takes("unknown", gpu=1))
    assert helps(world, "lost") == {}
    world.finish("big")
    world.submit("job", "a", ONE)
    assert helps(world, "job") == {}
    with pytest.raises(KeyError):
        helps(world, "big")


def test_when_the_time_is_over_nothing_more_is_tried():
    world = full()
    world.submit("job", "a", takes("h100", gpu=3))
    assert advise(world.snapshot(), "job", 0, lambda: False) == ()
    left = iter([True, True, True])
    assert all(starts(world, "job", each) for each in advise(world.snapshot(), "job", 0, lambda: next(left, False)))


@pytest.mark.parametrize("seed", range(40))
def test_what_is_told_is_true_in_random_worlds(seed):
    chance = random.Random(seed)
    world = World(a_config(chance))
    for number in range(12):
        options = [
            takes(chance.choice(("h100", "a100")), gpu=chance.randint(1, 5)) for _ in range(chance.choice((1, 2)))
        ]
        world.submit(
            f"j{number}",
            chance.choice(("a", "b")),
            *options,
            priority=chance.choice((0, 0, 3)),
            fallback=chance.choice(tuple(Fallback)),
            fallback_after_ms=chance.choice((0, HOUR_MS)),
        )
        world.cycle()
    snapshot = world.snapshot()
    for job in snapshot.pending:
        assert all(starts(world, job.id, each) for each in advise(snapshot, job.id, 0, lambda: True))


def a_config(chance: random.Random) -> Config:
    policy = Policy(
        rebalance=chance.random() < 0.3,
        reclaim=chance.random() < 0.8,
        backfill_after_ms=chance.choice((None, 0)),
        min_runtime_ms=chance.choice((0, HOUR_MS)),
    )
    budget = Budget(Fraction(chance.randint(2, 12)), 24 * HOUR_MS) if chance.random() < 0.5 else None
    rows = (H100, ("a100", GPU))
    tenants = [Tenant(name, "org", quota={row: Quota(chance.randint(0, 4)) for row in rows}) for name in ("a", "b")]
    return config_of(Tenant("org", budget=budget, quota={H100: Quota(2)}), *tenants, policy=policy)
