"""The finer rules of the refill's steps: who counts as nominal, what a cut leaves, who gives way."""

import pytest
from fairgate_scheduler.core.tenancy import Config, Flavor, Policy, Quota, QuotaCut, Tenant
from fairgate_scheduler.testing.worlds import GPU, H100, World, config_of, owner, takes

EIGHT = Flavor("h100", capacity={GPU: 8})


def gpus(count: int):
    return takes("h100", gpu=count)


def run_one_by_one(world: World, tenant: str, *sizes: int) -> None:
    """Let jobs run whether there is room or not, named ``a1``, ``a2`` …"""
    for number, size in enumerate(sizes, 1):
        world.submit(f"{tenant}{number}", tenant, gpus(size))
        world.start(f"{tenant}{number}")


def evicted(world: World) -> list[str]:
    plan = world.cycle()
    assert not world.cycle()
    return [each.job for each in plan.preemptions]


class TestWhatACutLeft:
    def cut(self, a: int, b: int, policy: Policy | None = None) -> Config:
        return config_of(owner("org", None), owner("a", gpus=a), owner("b", gpus=b), policy=policy, h100=EIGHT)

    def test_drained_jobs_hold_up_even_who_is_entitled(self):
        world = World(self.cut(2, 2))
        run_one_by_one(world, "a", *[1] * 6)
        world.submit("late", "b", gpus(2))
        assert evicted(world) == []
        assert "late" not in world.running()

    def test_beside_drained_ones_borrowers_still_give_way(self):
        world = World(self.cut(4, 2))
        run_one_by_one(world, "b", *[1] * 8)
        world.submit("late", "a", gpus(4))
        # Of 6, the drained b7 and b8 keep 2 and a takes back 4; but b1 and b2 are b's own nominal.
        assert evicted(world) == []
        for name in ("b7", "b8"):
            world.finish(name)
        assert evicted(world) == ["b3", "b4", "b5", "b6"]
        assert list(world.running()) == ["b1", "b2", "late"]

    @pytest.mark.parametrize("cut", list(QuotaCut))
    def test_lost_capacity_is_drained_whatever_a_quota_cut_does(self, cut):
        world = World(self.cut(4, 4, Policy(quota_cut=cut)), capacity={H100: 6})
        run_one_by_one(world, "b", *[1] * 8)
        world.submit("late", "a", gpus(1))
        # b5 and b6 are borrowers that fit, b7 and b8 are drained: of 6, b's nominal 4 and these leave nothing.
        assert evicted(world) == []

    @pytest.mark.parametrize("cut", list(QuotaCut))
    def test_where_a_new_job_comes_nobody_stays_above_the_capacity(self, cut):
        world = World(self.cut(8, 0, Policy(quota_cut=cut)), capacity={H100: 6})
        run_one_by_one(world, "b", *[1] * 8)
        world.submit("late", "a", gpus(4))
        assert evicted(world) == ["b1", "b2", "b3", "b4", "b5", "b6"]
        assert list(world.running()) == ["b7", "b8", "late"]

    @pytest.mark.parametrize(("cut", "stay"), [(QuotaCut.DRAIN, ["b7", "b8"]), (QuotaCut.RECLAIM, ["b1", "b2"])])
    def test_where_a_new_job_comes_nobody_stays_above_the_quota(self, cut, stay):
        world = World(self.cut(6, 0, Policy(quota_cut=cut)))
        run_one_by_one(world, "b", *[1] * 8)
        world.submit("late", "a", gpus(4))
        evicted(world)
        assert list(world.running()) == [*stay, "late"]


class TestNominal:
    def test_on_rows_that_only_the_root_owns_nobody_gives_way(self):
        root = Tenant("org", quota={("h100", "cpu"): Quota(4_000)})
        world = World(config_of(root, owner("a", gpus=4), owner("b")))
        world.submit("b", "b", takes("h100", gpu=4, cpu=4_000))
        world.cycle()
        world.submit("a", "a", takes("h100", gpu=4, cpu=1_000))
        assert evicted(world) == []
        world.submit("no-cpu", "a", gpus(4))
        assert evicted(world) == ["b"]

    def test_above_its_nominal_a_tenant_is_not_entitled_to_more(self):
        world = World(config_of(owner("org", None), owner("a", gpus=3), owner("b", gpus=5)))
        run_one_by_one(world, "a", 4)
        run_one_by_one(world, "b", 4)
        world.submit("more", "a", gpus(1))
        assert evicted(world) == []

    def test_a_younger_job_of_higher_priority_beyond_nominal_does_not_count_against_an_older_one(self):
        world = World(config_of(owner("org", None), owner("a", gpus=2), owner("b", gpus=2)))
        world.submit("old", "a", gpus(1))
        world.start("old")
        world.submit("young", "a", gpus(3), priority=5)
        world.start("young")
        world.submit("b", "b", gpus(1))
        assert evicted(world) == ["young"]

    def test_an_older_job_of_higher_priority_beyond_nominal_counts_against_a_younger_one(self):
        world = World(config_of(owner("org", None), owner("a", gpus=2), owner("b", gpus=2)))
        world.submit("old", "a", gpus(3), priority=5)
        world.start("old")
        world.submit("young", "a", gpus(1))
        world.start("young")
        world.submit("b", "b", gpus(1))
        assert evicted(world) == ["young"]

    def test_in_an_inner_tenant_older_jobs_beyond_nominal_count_against_younger_ones(self):
        tenants = owner("org", None), owner("lab", gpus=3), owner("x", "lab"), owner("y", "lab"), owner("b", gpus=5)
        world = World(config_of(*tenants))
        run_one_by_one(world, "x", 4)
        run_one_by_one(world, "y", 1)
        world.submit("b", "b", gpus(4))
        assert evicted(world) == ["y1"]

    def test_a_pending_job_that_pushes_a_lower_priority_out_of_the_nominal(self):
        world = World(config_of(owner("org", None), owner("a", gpus=3), owner("b", gpus=3)))
        world.submit("low", "a", gpus(3))
        world.submit("b", "b", gpus(3))
        world.cycle()
        world.submit("high", "a", gpus(1), priority=1)
        assert evicted(world) == ["low"]
        assert list(world.running()) == ["b", "high"]

    def test_without_reclaim_it_starts_where_room_is_made_in_its_own_leaf(self):
        tenants = owner("org", None), owner("a", gpus=2), owner("b", gpus=2)
        world = World(config_of(*tenants, policy=Policy(reclaim=False)))
        world.submit("low", "a", gpus(2))
        world.submit("lower", "a", gpus(1), priority=-1)
        world.cycle()
        run_one_by_one(world, "b", 1)
        world.submit("high", "a", gpus(1), priority=1)
        # low falls out of the nominal, and stays as a borrower in the place of lower.
        assert evicted(world) == ["lower"]
        assert list(world.running()) == ["b1", "high", "low"]


class TestGivingWay:
    def test_lower_priorities_that_do_not_help_stay(self):
        root = Tenant("org", quota={H100: Quota(1), ("a100", GPU): Quota(1)})
        world = World(config_of(root, owner("a"), owner("b")))
        world.submit("elsewhere", "a", takes("a100", gpu=1))
        world.submit("here", "a", gpus(1), priority=1)
        world.cycle()
        world.submit("top", "a", gpus(1), priority=2)
        world.submit("b", "b", takes("a100", gpu=1))
        assert evicted(world) == ["here"]
        assert world.running() == {"elsewhere": "a100", "top": "h100"}

    def test_what_was_freed_beyond_need_goes_to_others_and_the_evicted_one_back_to_its_place(self):
        world = World(config_of(owner("org", None, 8), owner("a"), owner("b")))
        world.submit("low", "a", gpus(8))
        world.cycle()
        world.submit("b", "b", gpus(5))
        world.submit("top", "a", gpus(2), priority=1)
        assert evicted(world) == ["low"]
        assert list(world.running()) == ["b", "top"]

    def test_a_blocked_child_is_left_out_of_the_rescaling_in_every_round(self):
        root = Tenant("org", quota={("m", "cpu"): Quota(4_000), ("m", GPU): Quota(12)})
        tenants = owner("n1"), owner("n2"), owner("x", "n2"), owner("y", "n2")
        world = World(config_of(root, *tenants))
        world.submit_many("x", 1, takes("m", cpu=1_000))
        world.submit_many("n1", 12, takes("m", gpu=1))
        world.submit_many("y", 12, takes("m", gpu=1))
        world.cycle()
        assert [world.count(each) for each in ("n1", "x", "y")] == [6, 1, 6]
