"""Decayed usage: exact, rounded once, settled in any steps, and what it does to the fair order."""

from dataclasses import replace
from fractions import Fraction

import pytest
from fairgate_scheduler.core.history import FORGOTTEN_AFTER, decayed, dominant_shares, settle
from fairgate_scheduler.core.snapshot import History
from fairgate_scheduler.core.tenancy import Policy, Quota, Tenant
from fairgate_scheduler.testing.worlds import GPU, H100, World, config_of, owner, takes

HOUR = 3_600_000
DAY = 24 * HOUR
WHOLE = Fraction(1)
STEP = Fraction(1, 10**9)


@pytest.mark.parametrize(
    ("value", "share", "passed", "half_life", "expected"),
    [
        (0, 1, HOUR, HOUR, Fraction(1, 2)),
        (1, 0, 3 * HOUR, HOUR, Fraction(1, 8)),
        (Fraction(1, 4), 1, HOUR, HOUR, Fraction(5, 8)),
        (1, 1, 12_345, 777, 1),
        (0, 0, DAY, HOUR, 0),
        (Fraction(1, 2), 1, 0, HOUR, Fraction(1, 2)),
        # 1 − ½^½ = 0.29289321881…
        (0, 1, 1, 2, 292_893_219 * STEP),
        # Kueue, KEP-4136: sampling every 5 minutes with a half-life of 168 h gives A = 3.4376e-4.
        (0, 1, 300_000, 168 * HOUR, 343_764 * STEP),
        (1, 0, 300_000, 168 * HOUR, 1 - 343_764 * STEP),
        # Half to even: 3 × 2⁻¹⁰ × 10⁻⁹ and the like fall exactly between two steps.
        (STEP, 0, HOUR, HOUR, 0),
        (3 * STEP, 0, HOUR, HOUR, 2 * STEP),
        (5 * STEP, 0, HOUR, HOUR, 2 * STEP),
        # One step less than a third is as near as it gets.
        (0, Fraction(1, 3), 1000 * HOUR, HOUR, 333_333_333 * STEP),
        (0, Fraction(2, 3), (FORGOTTEN_AFTER + 1) * HOUR, HOUR, 666_666_667 * STEP),
        (10**6, 0, 10**15, 1, 0),
    ],
)
def test_decay_is_exact(value, share, passed, half_life, expected):
    assert decayed(Fraction(value), Fraction(share), passed, half_life) == expected


def test_kueues_sampled_sum_is_the_same_within_a_step_a_sample():
    """Use it all for an hour: twelve samples of Kueue's, (1 − A)·use + A·current, against one settlement of ours."""
    factor = WHOLE - decayed(WHOLE, Fraction(0), 300_000, 168 * HOUR)
    sampled = Fraction(0)
    for _ in range(12):
        sampled = (1 - factor) * sampled + factor
    assert abs(decayed(Fraction(0), WHOLE, HOUR, 168 * HOUR) - sampled) <= 12 * STEP


def test_settling_in_steps_is_settling_at_once_but_for_a_rounding_each():
    value = Fraction(0)
    for _ in range(10):
        value = decayed(value, Fraction(1, 3), 7_000, 60_000)
    assert abs(value - decayed(Fraction(0), Fraction(1, 3), 70_000, 60_000)) <= 10 * STEP


def world(**settings) -> World:
    tenants = Tenant("org", quota={H100: Quota(8)}), owner("a"), owner("b", weight=Fraction(2))
    return World(config_of(*tenants, policy=Policy(history_half_life_ms=HOUR)), **settings)


def settled(of: World, history, now_ms: int):
    return settle(of.config, of.snapshot().running, history, now_ms)


class TestSettling:
    def test_counts_what_has_run_since_it_was_settled(self):
        told = world()
        told.submit("a", "a", takes("h100", gpu=4))
        history = settled(told, {}, 0)
        assert history == {name: History(Fraction(0), 0) for name in ("org", "a", "b")}
        told.cycle()
        history = settled(told, history, HOUR)
        assert history == {
            "org": History(Fraction(1, 4), HOUR),
            "a": History(Fraction(1, 4), HOUR),
            "b": History(Fraction(0), HOUR),
        }
        told.finish("a")
        assert settled(told, history, 2 * HOUR)["a"] == History(Fraction(1, 8), 2 * HOUR)

    def test_at_the_same_instant_nothing_changes(self):
        told, history = world(), {"a": History(STEP / 3, 5)}
        assert settled(told, history, 5)["a"] == History(STEP / 3, 5)

    def test_a_clock_that_went_back_counts_as_no_time(self):
        told, history = world(), {"a": History(Fraction(1, 2), 10 * HOUR)}
        back = settled(told, history, 9 * HOUR)
        assert back["a"] == History(Fraction(1, 2), 9 * HOUR)
        assert settled(told, back, 10 * HOUR)["a"] == History(Fraction(1, 4), 10 * HOUR)

    def test_without_a_half_life_there_is_none(self):
        told = world()
        told.config = replace(told.config, policy=Policy())
        assert settled(told, {"a": History(Fraction(1), 0)}, HOUR) == {}

    def test_a_tenant_that_is_gone_is_forgotten_and_a_new_one_begins_with_nothing(self):
        told = world()
        history = settled(told, {"gone": History(Fraction(1), 0)}, HOUR)
        assert set(history) == {"org", "a", "b"}

    def test_the_share_is_the_dominant_one_priced_and_not_weighted(self):
        rows = {H100: Quota(8), ("h100", "cpu"): Quota(10)}
        told = World(config_of(Tenant("org", quota=rows), owner("b", weight=Fraction(2))))
        told.submit("b", "b", takes("h100", gpu=2, cpu=5))
        told.cycle()
        assert dominant_shares(told.config, told.snapshot().running) == {"org": Fraction(1, 2), "b": Fraction(1, 2)}


class TestOrder:
    @pytest.mark.parametrize(
        ("past_of_a", "past_of_b", "expected"),
        [
            # Weights 1 and 2: without history a gets 3 (the odd one goes to it by its name), b 5.
            (0, 0, {"a": 3, "b": 5}),
            (1, 0, {"a": 0, "b": 8}),
            (0, 1, {"a": 6, "b": 2}),
            (Fraction(1, 2), 1, {"a": 3, "b": 5}),
        ],
    )
    def test_share_and_history_are_divided_by_the_weight(self, past_of_a, past_of_b, expected):
        told = world()
        told.history = {"a": History(Fraction(past_of_a), 0), "b": History(Fraction(past_of_b), 0)}
        told.submit_many("a", 8, takes("h100", gpu=1))
        told.submit_many("b", 8, takes("h100", gpu=1))
        told.cycle()
        assert {name: told.count(name) for name in ("a", "b")} == expected
        assert not told.cycle()

    def test_siblings_with_equal_sums_are_not_scaled(self):
        """Of in's children one has used much before, so the other holds more now; in still counts all of it."""
        row = Tenant("org", quota={H100: Quota(16)})
        tenants = row, owner("in"), owner("x", "in"), owner("y", "in"), owner("out")
        told = World(config_of(*tenants, policy=Policy(history_half_life_ms=HOUR)))
        told.history = {"x": History(Fraction(1, 4), 0)}
        for leaf in ("x", "y", "out"):
            told.submit_many(leaf, 16, takes("h100", gpu=1))
        told.cycle()
        assert {name: told.count(name) for name in ("in", "x", "y", "out")} == {"in": 8, "x": 2, "y": 6, "out": 8}

    def test_a_history_of_somebody_unknown_is_nothing(self):
        told = world()
        told.history = {"gone": History(WHOLE, 0)}
        told.submit("a", "a", takes("h100", gpu=1))
        assert len(told.cycle().admissions) == 1
        assert GPU in {row[1] for row in told.usage("a")}
