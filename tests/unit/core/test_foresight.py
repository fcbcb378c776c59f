"""Claims, soonest and forecasts: small worlds with exact outcomes; claims judged quickly as slowly."""

from dataclasses import replace
from fractions import Fraction

import pytest
from fairgate_scheduler.core import claims, foresight
from fairgate_scheduler.core.foresight import forecast
from fairgate_scheduler.core.holds import reasons
from fairgate_scheduler.core.jobs import AttemptState, Fallback
from fairgate_scheduler.core.plan import plan_cycle
from fairgate_scheduler.core.quota import quota_tree
from fairgate_scheduler.core.releases import STRIDE, Releases
from fairgate_scheduler.core.snapshot import Chosen, HoldReason
from fairgate_scheduler.core.tenancy import Budget, Policy, Quota, Tenant
from fairgate_scheduler.core.usage import Bounds, Usage
from fairgate_scheduler.testing.worlds import GPU, H100, World, config_of, owner, takes

MINUTE_MS = 60_000
A100 = ("a100", GPU)


def gpus(count, flavor="h100", speed=1):
    return takes(flavor, Fraction(speed), gpu=count)


def crowded(policy: Policy | None = None, **settings) -> World:
    """Six of eight GPUs are taken for an hour; a gang of eight waits and has a claim at minute 10."""
    policy = policy or Policy(backfill_after_ms=5 * MINUTE_MS)
    world = World(config_of(Tenant("org", quota={H100: Quota(8)}), owner("a"), owner("b"), policy=policy))
    world.submit("base", "a", gpus(6), time_limit_ms=60 * MINUTE_MS)
    world.cycle()
    world.submit("gang", "a", gpus(8), **settings)
    world.now_ms = 10 * MINUTE_MS
    return world


class TestClaims:
    @pytest.mark.parametrize(
        ("limit_min", "starts"), [(50, True), (51, False), (Fraction(50 * MINUTE_MS + 1, MINUTE_MS), False)]
    )
    def test_who_ends_in_time_passes(self, limit_min, starts):
        world = crowded()
        world.submit("job", "a", gpus(1), time_limit_ms=int(limit_min * MINUTE_MS))
        assert bool(world.cycle()) is starts
        found = reasons(world.snapshot(), world.now_ms)
        assert found.pop("gang") is HoldReason.WAITING_FOR_QUOTA
        assert found == ({} if starts else {"job": HoldReason.BACKFILL_CLAIM})

    def test_a_faster_option_may_end_in_time(self):
        world = crowded()
        world.submit("job", "a", gpus(1), gpus(1, speed=2), time_limit_ms=90 * MINUTE_MS)
        assert [(each.job, each.option) for each in world.cycle().admissions] == [("job", 1)]

    def test_before_its_time_there_is_no_claim(self):
        world = crowded(Policy(backfill_after_ms=10 * MINUTE_MS + 1))
        world.submit("job", "a", gpus(1), time_limit_ms=600 * MINUTE_MS)
        assert world.cycle()

    def test_it_counts_from_when_the_job_last_became_pending(self):
        world = crowded()
        world.jobs["gang"] = replace(world.jobs["gang"], pending_since_ms=6 * MINUTE_MS)
        world.submit("job", "a", gpus(1), time_limit_ms=600 * MINUTE_MS)
        assert world.cycle()

    def test_a_tenant_with_less_comes_before_the_claimant(self):
        world = crowded()
        world.submit("job", "b", gpus(1), time_limit_ms=600 * MINUTE_MS)
        assert [each.job for each in world.cycle().admissions] == ["job"]

    def test_a_claimant_that_can_never_start_binds_nobody(self):
        world = crowded()
        world.jobs["base"] = replace(world.jobs["base"], time_limit_ms=60 * MINUTE_MS)
        world.config = config_of(
            Tenant("org", quota={H100: Quota(7)}), owner("a"), owner("b"), policy=world.config.policy
        )
        world.submit("job", "a", gpus(1), time_limit_ms=600 * MINUTE_MS)
        assert world.cycle()

    def test_what_is_being_stopped_is_gone_soon(self):
        world = crowded()
        snapshot = world.snapshot()
        leaving = replace(snapshot, running=tuple(replace(each, leaving=True) for each in snapshot.running))
        assert forecast(leaving, "gang", world.now_ms).latest_ms == world.now_ms + 1

    @pytest.mark.parametrize("priority", [0, 1])
    def test_the_quick_way_says_what_the_slow_one_says(self, priority, monkeypatch):
        """With and without a nominal quota that the claimant comes to be within when its own jobs end."""
        quota = {H100: Quota(8)}
        tenants = Tenant("org", quota={}), Tenant("a", "org", quota=quota), owner("b")
        world = World(config_of(*tenants, policy=Policy(backfill_after_ms=0)))
        world.submit("long", "a", gpus(3), time_limit_ms=90 * MINUTE_MS, preemptible=False)
        world.submit("short", "a", gpus(3), time_limit_ms=30 * MINUTE_MS)
        world.cycle()
        world.submit("gang", "a", gpus(4), priority=priority, time_limit_ms=60 * MINUTE_MS)
        for number, limit_min in enumerate((10, 30, 31, 200)):
            world.submit(f"job-{number}", "b", gpus(1), time_limit_ms=limit_min * MINUTE_MS)
            world.submit(f"mine-{number}", "a", gpus(1), time_limit_ms=limit_min * MINUTE_MS)
        quick = plan_cycle(world.snapshot(), 0)
        plain = claims.BackfillClaims._claimant
        monkeypatch.setattr(
            claims.BackfillClaims, "_claimant", lambda self, each: plain(self, each)._replace(is_plain=False)
        )
        assert plan_cycle(world.snapshot(), 0) == quick


class TestCrowdedClaims:
    """Where many wait too long a start is told by when there is room: in these worlds the same as a forecast says."""

    @pytest.fixture(autouse=True)
    def _crowd(self, monkeypatch):
        monkeypatch.setattr(foresight, "MOST_FORECAST", 0)

    @pytest.mark.parametrize(("limit_ms", "starts"), [(50 * MINUTE_MS, True), (50 * MINUTE_MS + 1, False)])
    def test_who_ends_in_time_passes(self, limit_ms, starts):
        world = crowded()
        world.submit("job", "a", gpus(1), time_limit_ms=limit_ms)
        assert bool(world.cycle()) is starts

    def test_each_that_ends_in_time_passes_as_long_as_there_is_room_beside_them(self):
        world = crowded()
        for number, limit_min in enumerate((51, 10, 60, 50, 20)):
            world.submit(f"job-{number}", "a", gpus(1), time_limit_ms=limit_min * MINUTE_MS)
        assert [each.job for each in world.cycle().admissions] == ["job-1", "job-3"]
        world.now_ms = 20 * MINUTE_MS
        world.finish("job-1")
        assert [each.job for each in world.cycle().admissions] == ["job-4"]

    def test_a_tenant_with_less_comes_before_the_claimant_and_makes_it_later_for_those_behind_it(self):
        world = crowded()
        world.submit("first", "b", gpus(1), time_limit_ms=600 * MINUTE_MS)
        world.submit("job", "a", gpus(1), time_limit_ms=600 * MINUTE_MS)
        assert [each.job for each in world.cycle().admissions] == ["first", "job"]

    def test_a_claimant_that_can_never_start_binds_nobody(self):
        world = crowded()
        world.config = config_of(
            Tenant("org", quota={H100: Quota(7)}), owner("a"), owner("b"), policy=world.config.policy
        )
        world.submit("job", "a", gpus(1), time_limit_ms=600 * MINUTE_MS)
        assert world.cycle()


class TestReleases:
    @pytest.mark.parametrize("count", [1, STRIDE - 1, STRIDE, 3 * STRIDE + 5])
    def test_the_first_instant_with_room(self, count):
        config = config_of(Tenant("org", quota={H100: Quota(count)}), owner("a"))
        bounds = Bounds(quota_tree(config), {})
        one = bounds.charge("a", {H100: 1})
        releases = Releases(bounds, 5, [(10 * number, one) for number in range(1, count + 1)][::-1])
        for wanted in {1, count // 2, count} - {0}:
            charge = bounds.charge("a", {H100: wanted})
            found = releases.first(lambda usage, charge=charge: usage.fits(charge))
            assert found.at_ms == 10 * wanted
            assert found.usage.fits(charge)
        assert releases.first(lambda _: True).at_ms == 5
        assert releases.first(lambda _: False) is None

    def test_nothing_is_placed(self):
        bounds = Bounds(quota_tree(config_of(owner("org", None, 1))), {})
        assert Releases(bounds, 7, []).first(lambda usage: usage.physical == Usage(bounds).physical).at_ms == 7


def two_flavors(policy: Policy | None = None, **settings) -> World:
    """The fast flavor is taken for ten minutes, the slow one is free."""
    org = Tenant("org", quota={H100: Quota(4), A100: Quota(4)})
    world = World(config_of(org, owner("a", **settings), policy=policy))
    world.submit("base", "a", gpus(4), time_limit_ms=10 * MINUTE_MS)
    world.cycle()
    return world


class TestSoonest:
    @pytest.mark.parametrize(
        ("limit_min", "speed", "starts"),
        [
            (10, Fraction(1, 2), True),  # 20 against 20: the first in the job's order
            (11, Fraction(1, 2), False),  # 22 against 21
            (60, Fraction(1, 2), False),
            (60, Fraction(6, 7), True),  # 70 against 70
            (60, Fraction(6, 7) - Fraction(1, 1000), False),
        ],
    )
    def test_the_earliest_finish_wins(self, limit_min, speed, starts):
        world = two_flavors()
        slow, fast = gpus(4, "a100", speed), gpus(4)
        given = {"fallback": Fallback.SOONEST, "time_limit_ms": limit_min * MINUTE_MS}
        world.submit("job", "a", slow, fast, **given)
        plan = world.cycle()
        assert bool(plan.admissions) is starts
        assert plan.choices == {"job": Chosen(0 if starts else 1, 0)}
        assert not world.cycle()

    def test_a_choice_stands_at_its_instant_and_is_made_anew_later(self):
        world = two_flavors()
        world.submit("job", "a", gpus(4, "a100", Fraction(1, 2)), gpus(4), fallback=Fallback.SOONEST)
        world.choices["job"] = Chosen(0, 0)
        assert [each.option for each in plan_cycle(world.snapshot(), 0).admissions] == [0]
        assert plan_cycle(world.snapshot(), 1).choices == {"job": Chosen(1, 1)}

    def test_a_single_option_is_no_choice(self):
        world = two_flavors()
        world.submit("job", "a", gpus(4), fallback=Fallback.SOONEST)
        assert world.cycle().choices == {}

    @pytest.mark.parametrize(("most", "option"), [(7, 0), (6, 1)])
    def test_where_very_many_wait_the_first_of_each_tenant_are_looked_at(self, most, option, monkeypatch):
        """Six jobs before it, ten minutes each, make the fast option slower than the slow one: if all are seen."""
        monkeypatch.setattr(foresight, "MOST_AHEAD", most)
        world = two_flavors()
        world.config = replace(world.config, tenants={**world.config.tenants, "b": owner("b"), "c": owner("c")})
        for number in range(5):
            world.submit(f"before-{number}", "a", gpus(4), time_limit_ms=10 * MINUTE_MS)
        world.submit("other", "b", gpus(4), time_limit_ms=10 * MINUTE_MS)
        slow = gpus(4, "a100", Fraction(1, 2))
        world.submit("job", "a", slow, gpus(4), fallback=Fallback.SOONEST, time_limit_ms=60 * MINUTE_MS)
        assert world.cycle().choices["job"].option == option

    def test_what_a_budget_forbids_is_not_soon(self):
        world = two_flavors(budget=Budget(Fraction(3), 24 * 60 * MINUTE_MS))
        world.submit("job", "a", gpus(4), gpus(2, "a100", Fraction(9, 10)), fallback=Fallback.SOONEST)
        assert [each.option for each in world.cycle().admissions] == [1]


class TestForecast:
    def test_time_limits_are_the_upper_end_and_typical_run_times_the_lower(self):
        world = crowded(Policy())
        found = forecast(world.snapshot(), "gang", world.now_ms, {"base": 25 * MINUTE_MS})
        assert (found.earliest_ms, found.latest_ms, found.option) == (25 * MINUTE_MS, 60 * MINUTE_MS, 0)
        assert found.latest_finish_ms == 120 * MINUTE_MS

    def test_what_is_expected_to_have_ended_ends_now(self):
        world = crowded(Policy())
        assert forecast(world.snapshot(), "gang", world.now_ms, {"base": 1}).earliest_ms == world.now_ms + 1

    def test_what_is_not_ready_is_ready_at_once(self):
        world = crowded(Policy())
        world.set_state("base", AttemptState.LAUNCHED)
        world.attempts["base"] = replace(world.attempts["base"], ready_at_ms=None)
        assert forecast(world.snapshot(), "gang", world.now_ms).latest_ms == world.now_ms + 60 * MINUTE_MS

    def test_never_is_none(self):
        world = crowded(Policy())
        world.submit("huge", "a", gpus(9))
        found = forecast(world.snapshot(), "huge", world.now_ms)
        assert (found.earliest_ms, found.latest_ms, found.option) == (None, None, None)

    def test_only_pending_jobs_have_one(self):
        world = crowded(Policy())
        with pytest.raises(KeyError):
            forecast(world.snapshot(), "base", world.now_ms)

    def test_other_soonest_jobs_keep_what_they_chose_last(self):
        world = two_flavors()
        world.submit("other", "a", gpus(4), gpus(4, "a100"), fallback=Fallback.SOONEST)
        world.submit("job", "a", gpus(4, "a100"))
        for option, start_ms in ((0, 0), (1, 60 * MINUTE_MS)):
            world.choices["other"] = Chosen(option, 0)
            assert forecast(world.snapshot(), "job", 0).latest_ms == start_ms
