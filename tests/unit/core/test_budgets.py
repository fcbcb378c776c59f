"""Budgets: what counts in which period, and that a job starts only if all of its time limit fits."""

from dataclasses import replace
from fractions import Fraction

import pytest
from fairgate_scheduler.core.budgets import HOUR_MS, Spending, Use, next_periods_ms
from fairgate_scheduler.core.holds import explain, reasons
from fairgate_scheduler.core.snapshot import HoldReason
from fairgate_scheduler.core.tenancy import Budget, Flavor, Policy, Quota, Tenant
from fairgate_scheduler.testing.worlds import H100, World, config_of, owner, takes

DAY_MS = 24 * HOUR_MS
ROOT = Tenant("org", quota={H100: Quota(16)})


def budget(hours, period_ms=DAY_MS):
    return Budget(Fraction(hours), period_ms)


def world(hours=4, *, weight=Fraction(1), **settings) -> World:
    return World(config_of(ROOT, owner("a", budget=budget(hours), weight=weight), owner("b")), **settings)


class TestSpending:
    @pytest.mark.parametrize(
        ("use", "now_ms", "expected"),
        [
            (Use(0, HOUR_MS, Fraction(2)), HOUR_MS, 2 * HOUR_MS),
            (Use(0, HOUR_MS, Fraction(2)), DAY_MS - 1, 2 * HOUR_MS),
            (Use(0, HOUR_MS, Fraction(2)), DAY_MS, 0),
            (Use(DAY_MS - HOUR_MS, DAY_MS, Fraction(2)), DAY_MS, 0),
            (Use(DAY_MS - HOUR_MS, DAY_MS + 1, Fraction(2)), DAY_MS + 5, 2),
            (Use(DAY_MS - HOUR_MS, DAY_MS + HOUR_MS, Fraction(1, 3)), DAY_MS + HOUR_MS, HOUR_MS * Fraction(1, 3)),
            (Use(0, 3 * DAY_MS + 7, Fraction(1)), 3 * DAY_MS + 7, 7),
            (Use(5, 5, Fraction(1)), 5, 0),
            (Use(9, 5, Fraction(1)), 9, 0),  # a clock that went back
        ],
    )
    def test_counts_the_part_inside_the_current_period(self, use, now_ms, expected):
        books = Spending(world().config)
        books.add(("a", "org"), use)
        assert books.at(now_ms) == ({"a": expected} if expected else {})

    def test_goes_on_from_what_was_told(self):
        books = Spending(world().config)
        books.add(("a", "org"), Use(0, 10, Fraction(1)))
        again = Spending(books.config).resume(books.at(20) | {"gone": Fraction(1)}, 20)
        again.add(("a", "org"), Use(20, 25, Fraction(2)))
        assert again.at(30) == {"a": 20}
        assert again
        assert not Spending(config_of(ROOT))

    def test_the_next_period_matters_only_where_something_is_spent(self):
        config = world().config
        assert list(next_periods_ms(config, {}, 5)) == []
        assert list(next_periods_ms(config, {"a": Fraction(1), "gone": Fraction(1)}, DAY_MS)) == [2 * DAY_MS]


class TestStarting:
    def test_all_of_the_time_limit_must_fit(self):
        told = world(hours=4)
        told.submit("exact", "a", takes("h100", gpu=4))
        told.submit("more", "a", takes("h100", gpu=1), time_limit_ms=1)
        told.submit("other", "b", takes("h100", gpu=4))
        told.cycle()
        assert list(told.running()) == ["exact", "other"]
        assert reasons(told.snapshot(), 0) == {"more": HoldReason.BUDGET_EXHAUSTED}
        assert not told.cycle()

    def test_one_plan_does_not_promise_the_same_hours_twice(self):
        told = world(hours=4)
        told.submit_many("a", 6, takes("h100", gpu=1))
        told.cycle()
        assert told.count("a") == 4

    def test_what_a_checkpoint_keeps_needs_no_budget_again(self):
        told = world(hours=1)
        told.submit("half", "a", takes("h100", gpu=2), done_ms=HOUR_MS // 2)
        told.cycle()
        assert list(told.running()) == ["half"]

    def test_price_and_speed(self):
        config = config_of(ROOT, owner("a", budget=budget(4)), h100=Flavor("h100", Fraction(3)))
        told = World(config)
        told.submit("slow", "a", takes("h100", Fraction(1, 2), gpu=1))  # 3 ÷ ½ = 6 hours
        told.submit("fast", "a", takes("h100", Fraction(3, 2), gpu=2))  # 2 · 3 ÷ 1½ = 4 hours
        told.cycle()
        assert list(told.running()) == ["fast"]

    def test_a_cheaper_option_is_taken_where_the_first_is_too_dear(self):
        tenants = Tenant("org", quota={H100: Quota(16), ("a100", H100[1]): Quota(16)}), owner("a", budget=budget(4))
        told = World(config_of(*tenants, h100=Flavor("h100", Fraction(3))))
        told.submit("job", "a", takes("h100", gpu=2), takes("a100", gpu=4))
        told.cycle()
        assert told.running() == {"job": "a100"}

    def test_what_uses_no_accelerator_is_free(self):
        told = world(hours=0)
        told.submit("cpu", "a", takes("h100", cpu=1))
        told.cycle()
        assert list(told.running()) == ["cpu"]

    def test_a_budget_above_counts_the_whole_subtree(self):
        tenants = ROOT, owner("in", budget=budget(2)), owner("x", "in"), owner("y", "in", budget=budget(9))
        told = World(config_of(*tenants))
        told.submit("x", "x", takes("h100", gpu=1))
        told.submit("y", "y", takes("h100", gpu=1))
        told.submit("z", "y", takes("h100", gpu=1))
        told.cycle()
        assert list(told.running()) == ["x", "y"]
        hold = explain(told.snapshot(), "z", 0)
        assert hold.reason is HoldReason.BUDGET_EXHAUSTED
        left = "0 are left of the budget of tenant in in this period"
        assert hold.message == f"its time limit would reserve 1 priced accelerator-hours; {left}"


class TestEvicted:
    def told(self, hours, limit_ms=HOUR_MS) -> World:
        """``b`` has run for half an hour on two GPUs, one of which is ``a``'s."""
        tenants = owner("org", None), owner("a", gpus=1), owner("b", gpus=1, budget=budget(hours))
        told = World(config_of(*tenants))
        told.submit("b", "b", takes("h100", gpu=2), time_limit_ms=limit_ms)
        told.cycle()
        assert list(told.running()) == ["b"]
        told.now_ms = HOUR_MS // 2
        told.submit("small", "b", takes("h100", gpu=1))
        told.submit("a", "a", takes("h100", gpu=1))
        return told

    def test_what_was_used_is_used_and_the_rest_is_free_again(self):
        told = self.told(hours=2)
        told.cycle()
        # One hour is used, so the small job fits and the big one does not.
        assert list(told.running()) == ["a", "small"]
        assert told.spent() == {"b": HOUR_MS}
        assert reasons(told.snapshot(), told.now_ms)["b"] is HoldReason.BUDGET_EXHAUSTED
        assert not told.cycle()

    def test_what_was_used_counts_in_the_round_after_the_eviction(self):
        told = self.told(hours=Fraction(19, 10), limit_ms=HOUR_MS * 9 // 10)
        plan = told.cycle()
        assert [each.job for each in plan.admissions] == ["a"]
        assert not told.cycle()

    def test_giving_way_in_the_own_leaf_costs_what_was_used(self):
        policy = Policy(reclaim=False)
        told = World(config_of(owner("org", None), owner("a", gpus=2, budget=budget(3)), policy=policy))
        told.submit("low", "a", takes("h100", gpu=2))
        told.cycle()
        told.now_ms = HOUR_MS // 2
        told.submit("high", "a", takes("h100", gpu=2), priority=1)
        # Two hours are reserved and one of them is used: two more fit beside the one, not beside the two.
        assert not told.cycle()
        told.jobs["high"] = replace(told.jobs["high"], time_limit_ms=HOUR_MS // 2)
        told.cycle()
        assert list(told.running()) == ["high"]

    def test_waiting_for_pods_longer_than_the_limit_breaks_nothing(self):
        told = self.told(hours=1, limit_ms=1_000)
        told.cycle()
        assert list(told.running()) == ["a"]
        assert not told.cycle()
