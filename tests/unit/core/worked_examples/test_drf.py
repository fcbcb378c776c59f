"""Dominant resource fairness on the example of its paper, and what two other rules would answer.

Ghodsi et al., NSDI 2011, section 4.1: 9 CPUs and 18 GB; jobs of A take <1 CPU, 4 GB>, jobs of B <3 CPUs, 1 GB>.
"""

from fractions import Fraction
from itertools import accumulate

from fairgate_scheduler.core.accounts import tenant_accounts
from fairgate_scheduler.core.tenancy import Quota, Tenant
from fairgate_scheduler.testing.worlds import World, config_of, owner, takes

CPU, MEMORY = ("cpu", "cpu"), ("cpu", "memory")
TAKES = {"a": (1, 4), "b": (3, 1)}
CPUS, GIGABYTES = 9, 18


def paper(first: str, second: str, scale: int = 1) -> World:
    """A world in which A and B are called so; ``scale`` times as much of everything to share."""
    org = Tenant("org", quota={CPU: Quota(CPUS * scale * 1000), MEMORY: Quota(GIGABYTES * scale)})
    world = World(config_of(org, owner(first), owner(second)))
    for name, (cpus, gigabytes) in ((first, TAKES["a"]), (second, TAKES["b"])):
        world.submit_many(name, 10 * scale, takes("cpu", cpu=cpus * 1000, memory=gigabytes))
    return world


def test_the_picks_of_the_paper():
    # Both begin with nothing; the paper lets B begin, here the tie goes to the first id, so B has the first.
    world = paper("2-a", "1-b")
    plan = world.cycle()
    picks = [admit.job[2] for admit in plan.admissions]
    assert picks == ["b", "a", "a", "b", "a"]
    assert list(accumulate(TAKES[each][0] for each in picks)) == [3, 4, 5, 8, 9]
    assert world.usage("org") == {CPU: 9_000, MEMORY: 14}


def test_both_end_at_two_thirds():
    world = paper("a", "b")
    world.cycle()
    accounts = tenant_accounts(world.snapshot())
    assert (world.count("a"), world.count("b")) == (3, 2)
    assert (accounts["a"].share, accounts["a"].dominant) == (Fraction(2, 3), "memory")
    assert (accounts["b"].share, accounts["b"].dominant) == (Fraction(2, 3), "cpu")


def test_asset_fairness_and_equal_incomes_would_answer_otherwise():
    # The papers' other rules need jobs that can be split: hundredths of them, a hundredfold cluster.
    world = paper("a", "b", scale=100)
    world.cycle()
    ours = Fraction(world.count("a"), 100), Fraction(world.count("b"), 100)
    assert ours == (3, 2)
    assert asset_fairness() == (Fraction("2.52"), Fraction("2.16"))
    assert competitive_equilibrium() == (Fraction(45, 11), Fraction(18, 11))


def asset_fairness() -> tuple[Fraction, Fraction]:
    """Equal sums of all that each uses, 2 GB worth 1 CPU: as many jobs as fit on the line x·A = y·B."""
    worth = {name: cpus + Fraction(gigabytes * CPUS, GIGABYTES) for name, (cpus, gigabytes) in TAKES.items()}
    x_per_y = worth["b"] / worth["a"]
    y = min(
        Fraction(CPUS) / (TAKES["a"][0] * x_per_y + TAKES["b"][0]),
        Fraction(GIGABYTES) / (TAKES["a"][1] * x_per_y + TAKES["b"][1]),
    )
    return x_per_y * y, y


def competitive_equilibrium() -> tuple[Fraction, Fraction]:
    """Equal incomes on a market: the largest product x·y under both limits; on each limit's line or where they meet."""
    lines = [(*pair, total) for pair, total in zip(zip(*TAKES.values(), strict=True), (CPUS, GIGABYTES), strict=True)]
    corners = [(Fraction(total, 2 * a), Fraction(total, 2 * b)) for a, b, total in lines]
    (a1, b1, t1), (a2, b2, t2) = lines
    determinant = a1 * b2 - a2 * b1
    corners.append((Fraction(t1 * b2 - t2 * b1, determinant), Fraction(a1 * t2 - a2 * t1, determinant)))
    possible = [(x, y) for x, y in corners if all(a * x + b * y <= total for a, b, total in lines)]
    return max(possible, key=lambda point: point[0] * point[1])
