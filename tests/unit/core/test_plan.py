"""Who runs: small worlds with exact outcomes, each for one rule of the refill."""

import random
from dataclasses import replace
from fractions import Fraction

import pytest
from fairgate_scheduler.core.plan import plan_cycle
from fairgate_scheduler.core.tenancy import Config, Flavor, Policy, Quota, QuotaCut, Tenant
from fairgate_scheduler.testing.worlds import GPU, H100, World, config_of, owner, takes

A100 = ("a100", GPU)
CPU = ("cpu", "cpu")


def one_gpu():
    return takes("h100", gpu=1)


class TestReclaim:
    def test_takes_back_exactly_the_nominal_youngest_first(self):
        world = World(config_of(owner("org", None), owner("a", gpus=4), owner("b", gpus=4)))
        world.submit_many("b", 8, one_gpu())
        world.cycle()
        world.submit("gang", "a", takes("h100", gpu=4))
        plan = world.cycle()
        assert [each.job for each in plan.preemptions] == ["b-5", "b-6", "b-7", "b-8"]
        assert {each.reason for each in plan.preemptions} == {
            "preempted: tenant a takes back its nominal quota of h100"
        }
        assert {each.for_jobs for each in plan.preemptions} == {("gang",)}
        assert list(world.running()) == ["b-1", "b-2", "b-3", "b-4", "gang"]

    def test_not_without_reclaim(self):
        policy = Policy(reclaim=False)
        world = World(config_of(owner("org", None), owner("a", gpus=4), owner("b", gpus=4), policy=policy))
        world.submit_many("b", 8, one_gpu())
        world.cycle()
        world.submit("gang", "a", takes("h100", gpu=4))
        assert not world.cycle()

    def test_one_eviction_is_enough(self):
        world = World(config_of(owner("org", None), owner("q1", gpus=3), owner("q2", gpus=5)))
        world.submit_many("q1", 4, one_gpu())
        world.submit("small", "q2", one_gpu())
        world.cycle()
        world.submit("gang", "q2", takes("h100", gpu=4))
        assert [each.job for each in world.cycle().preemptions] == ["q1-4"]
        assert not world.cycle()

    def test_a_job_that_can_never_fit_neither_preempts_nor_blocks(self):
        world = World(config_of(owner("org", None), owner("a", gpus=3), owner("b")))
        world.submit("b", "b", one_gpu())
        world.cycle()
        world.submit("huge", "a", takes("h100", gpu=4))
        assert not world.cycle()
        world.submit("fits", "a", takes("h100", gpu=3))
        world.cycle()
        assert list(world.running()) == ["fits"]

    def test_no_priority_reaches_across_tenants(self):
        world = World(config_of(owner("org", None), owner("a", gpus=4), owner("b", gpus=4)))
        world.submit("a", "a", takes("h100", gpu=4))
        world.submit("b1", "b", takes("h100", gpu=4))
        world.cycle()
        world.submit("b2", "b", takes("h100", gpu=4), priority=1_000)
        plan = world.cycle()
        assert [(each.job, each.for_jobs) for each in plan.preemptions] == [("b1", ("b2",))]
        assert plan.preemptions[0].reason == "preempted: a job of higher priority of the same tenant takes its place"

    def test_nominal_of_an_inner_tenant_is_its_leaves(self):
        tenants = [owner("org", None), owner("lab", gpus=4), owner("x", "lab"), owner("y", "lab"), owner("b", gpus=4)]
        world = World(config_of(*tenants))
        world.submit_many("b", 8, one_gpu())
        world.cycle()
        world.submit("x", "x", takes("h100", gpu=2))
        world.submit("y", "y", takes("h100", gpu=2))
        plan = world.cycle()
        assert [each.job for each in plan.preemptions] == ["b-5", "b-6", "b-7", "b-8"]
        assert plan.preemptions[0].reason == "preempted: tenant lab takes back its nominal quota of h100"
        assert [world.count("lab"), world.count("b")] == [2, 4]

    @pytest.mark.parametrize("protect", ["preemptible", "min_runtime", "leaving"])
    def test_protected_jobs_stay(self, protect):
        policy = Policy(min_runtime_ms=60_000 if protect == "min_runtime" else 0)
        world = World(config_of(owner("org", None), owner("a", gpus=4), owner("b"), policy=policy))
        world.submit("b", "b", takes("h100", gpu=4), preemptible=protect != "preemptible")
        world.cycle()
        world.submit("a", "a", takes("h100", gpu=4))
        world.now_ms = 59_999
        snapshot = world.snapshot()
        if protect == "leaving":
            snapshot = replace(snapshot, running=tuple(replace(each, leaving=True) for each in snapshot.running))
        assert not plan_cycle(snapshot, world.now_ms)
        world.now_ms = 60_000
        assert [each.job for each in world.cycle().preemptions] == ([] if protect == "preemptible" else ["b"])

    def test_an_attempt_that_is_not_ready_has_not_run(self):
        world = World(config_of(owner("org", None), owner("a", gpus=4), owner("b"), policy=Policy(min_runtime_ms=1)))
        world.submit("b", "b", takes("h100", gpu=4))
        world.cycle()
        world.attempts["b"] = replace(world.attempts["b"], ready_at_ms=None)
        world.now_ms = 3_600_000
        world.submit("a", "a", takes("h100", gpu=4))
        assert not world.cycle()


class TestPriorityAndRebalance:
    def test_lowest_priority_then_youngest_as_few_as_needed(self):
        world = World(config_of(owner("org", None, 4), owner("a")))
        for name, priority in (("p1-old", 1), ("p0", 0), ("p1-young", 1), ("p2", 2)):
            world.submit(name, "a", one_gpu(), priority=priority)
            world.cycle()
        world.submit("top", "a", takes("h100", gpu=2), priority=9)
        assert sorted(each.job for each in world.cycle().preemptions) == ["p0", "p1-young"]

    def test_not_without_priority_preemption(self):
        world = World(config_of(owner("org", None, 1), owner("a"), policy=Policy(priority_preemption=False)))
        world.submit("low", "a", one_gpu())
        world.cycle()
        world.submit("top", "a", one_gpu(), priority=9)
        assert not world.cycle()

    @pytest.mark.parametrize(("rebalance", "counts"), [(False, [8, 0]), (True, [4, 4])])
    def test_rebalancing_evicts_borrowers_for_fair_share(self, rebalance, counts):
        world = World(config_of(owner("org", None, 8), owner("a"), owner("b"), policy=Policy(rebalance=rebalance)))
        world.submit_many("a", 8, one_gpu())
        world.cycle()
        world.submit_many("b", 8, one_gpu())
        plan = world.cycle()
        assert [world.count("a"), world.count("b")] == counts
        reasons = {each.reason for each in plan.preemptions}
        assert reasons == ({"preempted: rebalanced in favour of tenants with a smaller share"} if rebalance else set())

    def test_far_above_nominal_pushes_nobody_out(self):
        tenants = [Tenant(name, "org", quota={CPU: Quota(150_000)}) for name in "ab"]
        world = World(config_of(owner("org", None), *tenants, owner("best-effort"), policy=Policy(rebalance=True)))
        world.submit("a1", "a", takes("cpu", cpu=250_000))
        world.submit("be", "best-effort", takes("cpu", cpu=50_000))
        world.cycle()
        world.submit("a2", "a", takes("cpu", cpu=50_000))
        assert not world.cycle()


class TestQuotaAndCapacity:
    def test_limits_hold_on_both_sides_of_a_loan(self):
        tenants = [
            owner("org", None),
            Tenant("a", "org", quota={H100: Quota(8, lending_limit=3)}),
            Tenant("b", "org", quota={H100: Quota(4, borrowing_limit=8)}),
            Tenant("c", "org", quota={H100: Quota(4, borrowing_limit=1)}),
        ]
        world = World(config_of(*tenants, policy=Policy(rebalance=True)))
        world.submit_many("b", 16, one_gpu())
        world.cycle()
        assert world.count("b") == 11
        world.submit_many("c", 16, one_gpu())
        world.cycle()
        assert [world.count("b"), world.count("c")] == [6, 5]

    @pytest.mark.parametrize("cut", list(QuotaCut))
    def test_a_lowered_quota_drains_or_reclaims_the_youngest(self, cut):
        def owning(gpus):
            flavors = {"h100": Flavor("h100", capacity={GPU: 8})}
            return config_of(owner("org", None), owner("a", gpus=gpus), policy=Policy(quota_cut=cut), **flavors)

        world = World(owning(8))
        world.submit_many("a", 6, one_gpu())
        world.cycle()
        world.config = owning(4)
        world.submit("late", "a", one_gpu())
        plan = world.cycle()
        evicted = ["a-5", "a-6"] if cut is QuotaCut.RECLAIM else []
        assert [each.job for each in plan.preemptions] == evicted
        assert {each.reason for each in plan.preemptions} <= {"preempted: quota was lowered"}
        assert world.count("a") == 6 - len(evicted)

    @pytest.mark.parametrize("cut", list(QuotaCut))
    def test_lost_capacity_evicts_nobody(self, cut):
        world = World(config_of(owner("org", None), owner("a", gpus=8), policy=Policy(quota_cut=cut)))
        world.submit_many("a", 8, one_gpu())
        world.cycle()
        world.capacity = {H100: 2}
        assert not world.cycle()
        for number in range(1, 7):
            world.finish(f"a-{number}")
        world.submit("late", "a", one_gpu())
        assert not world.cycle()
        world.finish("a-7")
        assert [admit.job for admit in world.cycle().admissions] == ["late"]

    def test_undeclared_rows_are_unlimited(self):
        flavors = {"h100": Flavor("h100", capacity={GPU: 2})}
        world = World(config_of(owner("org", None, 2), owner("a"), **flavors))
        world.submit("a", "a", takes("h100", gpu=2, cpu=10**15))
        world.submit("elsewhere", "a", takes("h100", memory=2**62))
        world.submit("no", "a", one_gpu())
        assert [admit.job for admit in world.cycle().admissions] == ["a", "elsewhere"]

    def test_capacity_of_the_snapshot_overrides_the_flavor_row_by_row(self):
        flavors = {"h100": Flavor("h100", capacity={GPU: 1})}
        world = World(config_of(owner("org", None, 4), owner("a"), **flavors), capacity={("h100", "cpu"): 3_000})
        world.submit_many("a", 2, takes("h100", gpu=1, cpu=1_000))
        world.cycle()
        assert list(world.running()) == ["a-1"]
        world.capacity = {H100: 8, ("h100", "cpu"): 1_000}
        assert not world.cycle()
        world.capacity = {H100: 8}
        assert [admit.job for admit in world.cycle().admissions] == ["a-2"]

    def test_limits_on_running_jobs_count_the_subtree(self):
        world = World(config_of(owner("org", None, 8, max_running_jobs=3), owner("a", max_running_jobs=1), owner("b")))
        world.submit_many("a", 4, one_gpu())
        world.submit_many("b", 4, one_gpu())
        world.cycle()
        assert list(world.running()) == ["a-1", "b-1", "b-2"]

    def test_amounts_near_the_largest_do_not_wrap(self):
        huge = 2**62
        world = World(config_of(Tenant("org", quota={("cpu", "memory"): Quota(huge)}), owner("a")))
        world.submit_many("a", 5, takes("cpu", memory=huge))
        assert [admit.job for admit in world.cycle().admissions] == ["a-1"]


class TestOptions:
    def two_flavors(self, **settings) -> Config:
        return config_of(owner("org", None), Tenant("a", "org", quota={H100: Quota(8), A100: Quota(8)}, **settings))

    def both(self):
        return takes("h100", gpu=8), takes("a100", gpu=8)

    def test_a_later_option_that_fits_now(self):
        world = World(self.two_flavors())
        world.submit("a1", "a", *self.both())
        world.submit("a2", "a", *self.both())
        world.cycle()
        assert world.running() == {"a1": "h100", "a2": "a100"}

    def test_not_before_fallback_after_is_over(self):
        world = World(self.two_flavors())
        world.submit("a1", "a", *self.both())
        world.submit("a2", "a", *self.both(), fallback_after_ms=5_000)
        world.cycle()
        assert world.running() == {"a1": "h100"}
        world.now_ms = 4_999
        assert not world.cycle()
        world.now_ms = 5_000
        world.cycle()
        assert world.running() == {"a1": "h100", "a2": "a100"}

    def test_options_that_are_no_option_do_not_count_as_earlier(self):
        world = World(self.two_flavors(allowed_flavors=frozenset({"a100", "h100"})))
        options = (
            takes("unknown", gpu=1),
            takes("h100", Fraction(0), gpu=1),
            takes("h100", gpu=9),
            takes("h100", gpu=2),
            takes("a100", gpu=1),
        )
        world.submit("a", "a", *options, backoff={3: 1}, fallback_after_ms=60_000)
        world.cycle()
        assert world.running() == {"a": "a100"}

    def test_backoff_ends_at_its_instant(self):
        world = World(self.two_flavors())
        world.submit("a", "a", takes("h100", gpu=1), backoff={0: 1_000})
        world.now_ms = 999
        assert not world.cycle()
        world.now_ms = 1_000
        assert world.cycle()

    def test_allowed_flavors_hold_along_the_path_and_for_the_head(self):
        tenants = [
            Tenant("org", quota={H100: Quota(8), CPU: Quota(8_000)}),
            owner("lab", allowed_flavors=frozenset({"h100"})),
            owner("a", "lab"),
            owner("b"),
        ]
        world = World(config_of(*tenants))
        for name in "ab":
            world.submit(name, name, takes("h100", cpu_flavor="cpu", gpu=1, cpu=1_000))
        world.cycle()
        assert list(world.running()) == ["b"]

    def test_a_gang_over_two_flavors_is_placed_whole_or_not_at_all(self):
        world = World(config_of(Tenant("org", quota={H100: Quota(8), CPU: Quota(8_000)}), owner("a")))
        world.submit_many("a", 3, takes("h100", cpu_flavor="cpu", gpu=2, cpu=4_000))
        world.cycle()
        assert world.usage("a") == {H100: 4, CPU: 8_000}

    def test_an_evicted_job_may_come_back_on_another_option_in_the_same_plan(self):
        tenants = [owner("org", None), owner("a", gpus=8), Tenant("b", "org", quota={A100: Quota(8)})]
        world = World(config_of(*tenants))
        world.submit("b", "b", *self.both())
        world.start("b", 0)
        world.submit("a", "a", takes("h100", gpu=8))
        plan = world.cycle()
        assert ([each.job for each in plan.preemptions], world.running()) == (["b"], {"a": "h100", "b": "a100"})


def test_the_order_of_the_snapshot_does_not_matter():
    world = World(
        config_of(owner("org", None, 3), owner("a", gpus=2), owner("b", gpus=3), policy=Policy(rebalance=True))
    )
    world.submit_many("b", 8, one_gpu())
    world.cycle()
    world.submit_many("a", 5, one_gpu(), priority=1)
    snapshot = world.snapshot()
    expected = plan_cycle(snapshot, 0)
    assert expected.preemptions
    shuffle = random.Random(7)
    for _ in range(5):
        running, pending = list(snapshot.running), list(snapshot.pending)
        shuffle.shuffle(running)
        shuffle.shuffle(pending)
        assert plan_cycle(replace(snapshot, running=tuple(running), pending=tuple(pending)), 0) == expected
