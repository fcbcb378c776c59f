"""The simulator's own checks notice what a broken core would do: each is shown a world in which it must speak up."""

from dataclasses import replace

import pytest
from fairgate_scheduler.core import lifecycle
from fairgate_scheduler.core.jobs import Job, JobState, Option, PodGroup
from fairgate_scheduler.core.snapshot import Admit, Plan, Preempt
from fairgate_scheduler.core.tenancy import Config, Flavor, Policy, Quota, Tenant
from fairgate_scheduler.scenario import engine as engine_module
from fairgate_scheduler.scenario import simulation
from fairgate_scheduler.scenario.invariants import (
    BrokenPromiseError,
    check_evictions,
    check_excess,
    check_jobs,
    excess,
)
from fairgate_scheduler.scenario.simulation import simulate
from fairgate_scheduler.scenario.world import World

GPU = "nvidia.com/gpu"
ROW = ("h", GPU)
DEFAULT = Policy()


def an_option(count):
    return Option("h", 1, (PodGroup("w", "h", count, {GPU: 1}),), {ROW: count})


def a_world(*, policy=DEFAULT, capacity=None, **tenants):
    flavors = {"h": Flavor("h", capacity=capacity)}
    return World(Config(flavors, {"o": Tenant("o")} | {f"o/{name}": each for name, each in tenants.items()}, policy))


def run(world, name, tenant, count, **changes):
    job = Job(name, tenant, 0, len(world.jobs), (an_option(count),), 60_000, **changes)
    world.add(job)
    world.admissions += 1
    world.write(lifecycle.admit(job, 0, world.admissions, 0))
    return world.jobs[name]


def wait(world, name, tenant, **changes):
    world.add(Job(name, tenant, 0, len(world.jobs), (an_option(1),), 60_000, **changes))


def tenant(name, **quota):
    return Tenant(f"o/{name}", "o", quota={ROW: Quota(**quota)} if quota else {})


def test_within_quota_and_capacity_nothing_is_in_excess():
    world = a_world(a=tenant("a", nominal=2), b=tenant("b"))
    run(world, "j", "o/b", 2)
    assert excess(world, {}) == {}


@pytest.mark.parametrize(
    ("tenants", "capacity", "leaf", "expected"),
    [
        ({"a": tenant("a", nominal=2)}, None, "o/a", {("o", ROW): 2, ("", ROW): 2}),
        ({"a": tenant("a", nominal=2, borrowing_limit=1), "b": tenant("b", nominal=9)}, None, "o/a", {("o/a", ROW): 1}),
        ({"a": tenant("a", nominal=2), "b": tenant("b", nominal=9, lending_limit=1)}, None, "o/a", {("o", ROW): 1}),
        ({"a": tenant("a", nominal=9)}, {GPU: 3}, "o/a", {("", ROW): 1}),
    ],
)
def test_what_is_above_a_bound_is_found(tenants, capacity, leaf, expected):
    world = a_world(capacity=capacity, **tenants)
    run(world, "j", leaf, 4)
    assert excess(world, {}) == expected


def test_reported_capacity_counts_before_the_configured_one():
    world = a_world(a=tenant("a", nominal=9))
    run(world, "j", "o/a", 4)
    assert excess(world, {ROW: 3}) == {("", ROW): 1}


def test_an_excess_may_stay_and_shrink_but_not_grow():
    check_excess({("o", ROW): 2}, {("o", ROW): 2})
    check_excess({("o", ROW): 1}, {("o", ROW): 2})
    with pytest.raises(BrokenPromiseError, match=r"quota of o of nvidia\.com/gpu on h is exceeded by 3"):
        check_excess({("o", ROW): 3}, {("o", ROW): 2})
    with pytest.raises(BrokenPromiseError, match=r"the capacity of nvidia\.com/gpu on h is exceeded by 1"):
        check_excess({("", ROW): 1}, {})


def test_a_lost_job_is_noticed():
    world = a_world(a=tenant("a"))
    wait(world, "j", "o/a")
    check_jobs(world, 1)
    with pytest.raises(BrokenPromiseError, match="2 jobs were taken and 1 are there"):
        check_jobs(world, 2)


def test_a_job_that_runs_twice_is_noticed():
    world = a_world(a=tenant("a"))
    job = run(world, "j", "o/a", 1)
    world.write(lifecycle.admit(replace(job, state=JobState.PENDING), 0, 2, 0))
    with pytest.raises(BrokenPromiseError, match="j is ADMITTED and has 2 attempts that hold something"):
        check_jobs(world, 1)


def test_a_job_that_waits_and_holds_something_is_noticed():
    world = a_world(a=tenant("a"))
    job = run(world, "j", "o/a", 1)
    world.jobs["j"] = replace(job, state=JobState.PENDING)
    with pytest.raises(BrokenPromiseError, match="j is PENDING and has 1 attempts that hold something"):
        check_jobs(world, 1)


def test_half_a_gang_is_noticed():
    world = a_world(a=tenant("a"))
    run(world, "j", "o/a", 3)
    world.attempts["j"] = [replace(world.attempts["j"][0], demand={ROW: 2})]
    with pytest.raises(BrokenPromiseError, match="its gang is"):
        check_jobs(world, 1)


@pytest.mark.parametrize(
    ("policy", "count", "rival", "says"),
    [
        (Policy(), 2, {"tenant": "o/b"}, "j is evicted though o/a is within its nominal quota"),
        (Policy(), 2, {"tenant": "o/b", "priority": 9}, "j is evicted though o/a is within its nominal quota"),
        (Policy(priority_preemption=False), 2, {"tenant": "o/a", "priority": 9}, "within its nominal quota"),
        (Policy(reclaim=False), 3, {"tenant": "o/b"}, "evicted for another tenant without reclaim and rebalance"),
        (Policy(), 3, {"tenant": "o/b"}, None),
        (Policy(), 2, {"tenant": "o/a", "priority": 9}, None),
        (Policy(reclaim=False, rebalance=True), 3, {"tenant": "o/b"}, None),
    ],
)
def test_evictions(policy, count, rival, says):
    world = a_world(policy=policy, a=tenant("a", nominal=2), b=tenant("b", nominal=2))
    run(world, "j", "o/a", count)
    wait(world, "rival", **rival)
    plan = Plan((Preempt("j", ""),), (Admit("rival", 0),))
    if says is None:
        check_evictions(world, plan)
    else:
        with pytest.raises(BrokenPromiseError, match=says):
            check_evictions(world, plan)


def test_who_is_not_preemptible_stays():
    world = a_world(a=tenant("a"))
    run(world, "j", "o/a", 1, preemptible=False)
    with pytest.raises(BrokenPromiseError, match="j is not preemptible and is evicted"):
        check_evictions(world, Plan((Preempt("j", ""),)))


STORY = """\
version: 1
flavors: {h: {capacity: {nvidia.com/gpu: 1}}}
tenants: {o: {quota: {h: {nvidia.com/gpu: {nominal: 1}}}}, o/a: {}}
jobs:
  - {id: j, tenant: o/a, run: 10m, flavors: [h], pods: [{requests: {nvidia.com/gpu: 1}}], repeat: {count: 2}}
"""


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        (Plan((), (Admit("j-1", 0), Admit("j-2", 0))), "at 0s: the quota of o of nvidia.com/gpu on h is exceeded by 1"),
        (None, "at 0s: after 10 cycles at one instant the plan still changes something"),
    ],
)
def test_a_core_that_breaks_its_promises_is_found_out(monkeypatch, plan, says):
    """With a core that admits too much, and with one that never comes to rest."""
    left = [plan] if plan else None

    def broken_core(snapshot, now_ms):
        if left is not None:
            return left.pop() if left else Plan()
        if snapshot.running:
            return Plan((Preempt(snapshot.running[0].job.id, ""),))
        return Plan((), (Admit("j-1", 0),))

    monkeypatch.setattr(engine_module, "plan_cycle", broken_core)
    monkeypatch.setattr(engine_module, "check_evictions", lambda world, plan: None)
    result = simulate(STORY, "s.yaml")
    assert result.broken == says
    assert not result.ok


def test_a_core_that_asserts_is_reported_with_the_instant(monkeypatch):
    def asserting_core(snapshot, now_ms):
        raise AssertionError("the law")

    monkeypatch.setattr(engine_module, "plan_cycle", asserting_core)
    assert simulate(STORY, "s.yaml").broken == "at 0s: the law"


def test_a_core_that_depends_on_the_order_of_its_input_is_found_out(monkeypatch):
    def moody_core(snapshot, now_ms):
        return Plan((), (Admit(snapshot.pending[0].id, 0),)) if snapshot.pending and not snapshot.running else Plan()

    monkeypatch.setattr(engine_module, "plan_cycle", moody_core)
    assert simulate(STORY, "s.yaml").broken == "told twice, the story ends differently from 0s on"
    assert simulation.simulate(STORY.replace("count: 2", "count: 1"), "s.yaml").ok
