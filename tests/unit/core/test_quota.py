"""The quota tree's arithmetic: what is kept, lent, borrowed and used, level by level."""

from fractions import Fraction

import pytest
from fairgate_scheduler.core.amounts import UNLIMITED
from fairgate_scheduler.core.quota import BOUNDLESS, quota_tree
from fairgate_scheduler.core.tenancy import Flavor, Policy, Quota, Tenant
from fairgate_scheduler.core.usage import Bounds, Usage
from fairgate_scheduler.testing.worlds import GPU, H100, config_of, owner


def tenant(name: str, parent: str | None, *quota: int | None) -> Tenant:
    return Tenant(name, parent, quota={H100: Quota(*quota)} if quota else {})


TREE = config_of(
    tenant("org", None, 5),
    tenant("lab", "org", 2, 3, 1),
    tenant("x", "lab", 6, 0, 4),
    tenant("y", "lab", 3),
    tenant("solo", "org"),
    h100=Flavor("h100", capacity={GPU: 100}),
)
NODES = ("lab", "org", "solo", "x", "y")


def table(config=TREE):
    tree = quota_tree(config)
    return tree, tree.tables[tree.row_index[H100]]


def test_subtree_quota_kept_and_ceiling():
    tree, found = table()
    assert tree.ids == NODES
    numbers = {
        name: (found.nominal[node], found.quota[node], found.kept[node], found.ceiling[node])
        for node, name in enumerate(tree.ids)
    }
    assert numbers == {
        "x": (6, 6, 2, 6),  # lends 4 of its 6, borrows nothing
        "y": (3, 3, 0, BOUNDLESS),
        "lab": (2, 9, 8, 12),  # 2 + 4 + 3, lends 1, borrows at most 3
        "solo": (0, 0, 0, BOUNDLESS),
        "org": (5, 6, 0, 6),  # 5 + 1; a root borrows from nobody
    }


def test_the_tree_is_made_once_per_config():
    assert quota_tree(TREE) is quota_tree(TREE)


@pytest.mark.parametrize(
    ("jobs", "used"),
    [
        ([("x", 2)], {"x": 2, "lab": 0, "org": 0}),
        ([("x", 5)], {"x": 5, "lab": 3, "org": 0}),
        ([("x", 5), ("y", 6)], {"x": 5, "y": 6, "lab": 9, "org": 1}),
        ([("y", 11), ("solo", 3)], {"y": 11, "lab": 11, "solo": 3, "org": 6}),
    ],
)
def test_use_beyond_what_is_kept_is_used_above(jobs, used):
    bounds = Bounds(quota_tree(TREE), {})
    usage = Usage(bounds)
    for name, gpus in jobs:
        usage.add(bounds.charge(name, {H100: gpus}))
    row = bounds.row_index[H100]
    assert {name: usage.used[row][NODES.index(name)] for name in used} == used
    assert usage.physical[row] == sum(gpus for _, gpus in jobs)
    for name, gpus in jobs:
        usage.remove(bounds.charge(name, {H100: gpus}))
    assert (usage.used[row], usage.physical[row]) == ([0] * 5, 0)


@pytest.mark.parametrize(
    ("beside", "name", "most"),
    [
        ([], "x", 6),  # it may not borrow
        ([], "y", 12),  # up to the ceiling of lab: its 9, and 3 borrowed
        ([("solo", 6)], "y", 8),
        ([("solo", 5)], "y", 9),
        ([], "solo", 6),
        ([("x", 6)], "y", 8),
        ([("y", 12)], "solo", 2),
    ],
)
def test_the_most_that_fits(beside, name, most):
    bounds = Bounds(quota_tree(TREE), {})
    usage = Usage(bounds)
    for other, gpus in beside:
        usage.add(bounds.charge(other, {H100: gpus}))
    assert max(gpus for gpus in range(30) if usage.fits(bounds.charge(name, {H100: gpus}))) == most


def test_capacity_is_the_sum_of_nominal_quotas_unless_it_is_given():
    given = {"l4": Flavor("l4", capacity={GPU: 7})}
    tenants = [owner("org", None, 2), owner("a", gpus=3), Tenant("b", "org", quota={("l4", GPU): Quota(1)})]
    tree = quota_tree(config_of(*tenants, **given))
    bounds = Bounds(tree, {("l4", "cpu"): 5})
    capacity = dict(zip(bounds.rows, bounds.capacity, strict=True))
    assert capacity == {H100: 5, ("l4", GPU): 7, ("l4", "cpu"): 5}
    assert dict(zip(tree.rows, Bounds(tree, {H100: UNLIMITED}).capacity, strict=True))[H100] == BOUNDLESS


def test_unlimited_saturates_everywhere():
    _, found = table(config_of(tenant("org", None), tenant("a", "org", UNLIMITED, None, 3), tenant("b", "org", 4)))
    assert (found.quota[2], found.ceiling[2], found.kept[1]) == (7, 7, 0)
    assert found.kept[0] == BOUNDLESS - 3
    bounds = Bounds(quota_tree(config_of(tenant("org", None, UNLIMITED), tenant("a", "org"))), {})
    usage = Usage(bounds)
    for _ in range(5):
        charge = bounds.charge("a", {H100: 2**62})
        assert usage.fits(charge)
        usage.add(charge)


def test_undeclared_rows_and_zero_amounts_are_not_charged():
    bounds = Bounds(quota_tree(TREE), {})
    charge = bounds.charge("x", {("h100", "cpu"): 10**18, H100: 0})
    assert (charge.quota, charge.physical, charge.points) == ((), (), (0, 0, 0))
    assert charge is bounds.charge("x", {H100: 0, ("h100", "cpu"): 10**18})


def test_rows_of_another_tree_are_limited_only_physically():
    bounds = Bounds(quota_tree(config_of(owner("r1", None, 8), owner("r2", None))), {})
    charge = bounds.charge("r2", {H100: 3})
    assert (charge.quota, charge.physical) == ((), ((0, 3),))


def test_coefficients_are_exact_shares():
    flavors = {"h100": Flavor("h100", Fraction(5, 2)), "l4": Flavor("l4", Fraction(1, 3))}
    quota = {H100: Quota(4), ("l4", GPU): Quota(6), ("l4", "cpu"): Quota(7_000), ("l4", "hugepages-2Mi"): Quota(1)}
    tree = quota_tree(config_of(Tenant("org", quota=quota), owner("a", gpus=2), policy=Policy(), **flavors))
    found = tree.coefficients[tree.roots[0]]
    total = Fraction(5, 2) * 6 + Fraction(1, 3) * 6
    wanted = {
        H100: Fraction(5, 2) / total,
        ("l4", GPU): Fraction(1, 3) / total,
        ("l4", "cpu"): Fraction(1, 7_000),
    }
    scale = found[tree.row_index[H100]] / wanted[H100]
    assert {tree.rows[row]: each / scale for row, each in found.items()} == wanted


def test_owned_rows_are_those_that_somebody_below_the_root_owns():
    tenants = [Tenant("org", quota={H100: Quota(8), ("l4", GPU): Quota(1)}), owner("a", gpus=1), tenant("b", "org", 0)]
    tree = quota_tree(config_of(*tenants))
    assert [tree.rows[row] for row in tree.owned[tree.index["org"]]] == [H100]
    assert [name for node, name in enumerate(tree.ids) if tree.owns(node)] == ["a", "org"]
