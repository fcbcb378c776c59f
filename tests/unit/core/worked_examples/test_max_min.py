"""Weighted max-min fairness with floors, on the examples of Hadoop's fair scheduler (``TestComputeFairShares``).

There a pool has a demand, a weight and a minimum share; here a tenant has as many jobs of one GPU, a weight and a
nominal quota. The rule is the same: least served first, by weight, nobody below its floor as long as it asks.
"""

from fractions import Fraction
from itertools import pairwise

import pytest
from fairgate_scheduler.core.tenancy import Flavor, Tenant
from fairgate_scheduler.testing.worlds import GPU, World, config_of, owner, takes

# name, total, (demand, floor, weight) of each pool, what each gets
CASES = [
    ("more is asked than there is", 40, [(100, 0, 1), (50, 0, 1), (30, 0, 1), (20, 0, 1)], [10, 10, 10, 10]),
    ("two ask for less than their part", 40, [(100, 0, 1), (50, 0, 1), (11, 0, 1), (3, 0, 1)], [13, 13, 11, 3]),
    ("floors, one above its demand", 40, [(100, 20, 1), (10, 20, 1), (10, 0, 1), (3, 2, 1)], [20, 10, 7, 3]),
    ("weights", 45, [(100, 0, 2), (50, 0, 1), (30, 0, 1), (20, 0, Fraction(1, 2))], [20, 10, 10, 5]),
    ("weights, low demands", 45, [(10, 0, 2), (11, 0, 1), (30, 0, 1), (20, 0, Fraction(1, 2))], [10, 11, 16, 8]),
    ("weights and floors", 45, [(10, 20, 2), (11, 0, 1), (30, 5, 1), (20, 15, Fraction(1, 2))], [10, 10, 10, 15]),
    ("one asks for nothing", 30, [(100, 0, 1), (50, 0, 1), (30, 0, 1), (0, 0, 1)], [10, 10, 10, 0]),
    ("floors for all that there is", 10, [(20, 7, 1), (20, 3, 9)], [7, 3]),
    ("a floor beside a hundredfold weight", 22, [(30, 11, 1), (30, 0, 100)], [11, 11]),
]


def water_level(total: int, pools: list[tuple[int, int, Fraction]]) -> list[Fraction]:
    """What each pool gets if all could be split: the level at which demands, floors and weights use all there is."""

    def at(level: Fraction) -> list[Fraction]:
        return [min(Fraction(demand), max(Fraction(floor), weight * level)) for demand, floor, weight in pools]

    levels = sorted({Fraction(each, 1) / weight for demand, floor, weight in pools for each in (0, demand, floor)})
    for low, high in pairwise(levels):
        below, above = sum(at(low)), sum(at(high))
        if below <= total <= above and above > below:
            return at(low + (high - low) * (total - below) / (above - below))
    return at(levels[-1])


def shared(total: int, pools: list[tuple[int, int, Fraction]], gpus_each: int = 1) -> list[int]:
    floors = sum(floor for _, floor, _ in pools)
    org = owner("org", None, max(0, total - floors) * gpus_each)
    tenants = [
        owner(f"p{number}", "org", floor * gpus_each, weight=Fraction(weight))
        for number, (_, floor, weight) in enumerate(pools)
    ]
    flavor = Flavor("h100", capacity={GPU: total * gpus_each})
    world = World(config_of(org if org.quota else Tenant("org"), *tenants, h100=flavor))
    for number, (demand, _, _) in enumerate(pools):
        world.submit_many(f"p{number}", demand, takes("h100", gpu=gpus_each))
    world.cycle()
    return [world.count(f"p{number}") for number in range(len(pools))]


@pytest.mark.parametrize(("total", "pools", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_shares(total, pools, expected):
    assert water_level(total, pools) == expected
    assert shared(total, pools) == expected


def test_very_many_units():
    pools = [(100, 0, 1), (50, 0, 1), (30, 0, 1), (20, 0, 1)]
    assert shared(40, pools, gpus_each=1_000_000) == [10, 10, 10, 10]


def test_less_than_one_each():
    # Hadoop reckons with quarters of a slot; jobs run whole or not at all, so one runs, the first by the tie.
    pools = [(10, 0, 1), (5, 0, 1), (3, 0, 1), (2, 0, 1)]
    assert water_level(1, pools) == [Fraction(1, 4)] * 4
    assert shared(1, pools) == [1, 0, 0, 0]
