"""The figures of tenants that people look at."""

from fractions import Fraction

from fairgate_scheduler.core.accounts import tenant_accounts, usage_by_tenant
from fairgate_scheduler.core.tenancy import Flavor, Quota, Tenant
from fairgate_scheduler.testing.worlds import GPU, H100, World, config_of, owner, takes

L4 = ("l4", GPU)


def world() -> World:
    tenants = [
        Tenant("org", quota={H100: Quota(2)}),
        owner("lab", gpus=2, weight=Fraction(3)),
        owner("x", "lab", gpus=4),
        owner("y", "lab", weight=Fraction(0)),
        Tenant("b", "org", quota={L4: Quota(4)}),
    ]
    flavors = {"h100": Flavor("h100", Fraction(4)), "l4": Flavor("l4")}
    made = World(config_of(*tenants, **flavors))
    made.submit("y", "y", takes("h100", gpu=3, cpu=5_000))
    made.submit("b", "b", takes("h100", gpu=3))
    made.submit("l4", "b", takes("l4", gpu=1))
    made.cycle()
    return made


def test_usage_counts_the_subtree_and_every_row():
    assert usage_by_tenant(world().snapshot()) == {
        "b": {H100: 3, L4: 1},
        "lab": {H100: 3, ("h100", "cpu"): 5_000},
        "org": {H100: 6, ("h100", "cpu"): 5_000, L4: 1},
        "x": {},
        "y": {H100: 3, ("h100", "cpu"): 5_000},
    }


def test_what_is_owned_borrowed_and_lent():
    found = tenant_accounts(world().snapshot())
    assert {name: (each.nominal[H100], each.subtree_quota[H100]) for name, each in found.items()} == {
        "org": (2, 8),
        "lab": (2, 6),
        "x": (4, 4),
        "y": (0, 0),
        "b": (0, 0),
    }
    assert {name: each.subtree_nominal[H100] for name, each in found.items()} == {
        "org": 8, "lab": 6, "x": 4, "y": 0, "b": 0,
    }  # fmt: skip
    assert {name: each.borrowed[H100] for name, each in found.items()} == {"org": 0, "lab": 0, "x": 0, "y": 3, "b": 3}
    # y takes lab's own 2 and 1 of x; b takes org's own 2 and 1 of lab.
    assert {name: each.lent[H100] for name, each in found.items()} == {"org": 0, "lab": 1, "x": 1, "y": 0, "b": 0}


def test_shares_and_entitlements():
    found = tenant_accounts(world().snapshot())
    whole = 8 * 4 + 4
    assert {name: each.share for name, each in found.items()} == {
        "org": Fraction(6 * 4 + 1, whole),
        "lab": Fraction(12, whole),
        "x": 0,
        "y": Fraction(12, whole),
        "b": Fraction(13, whole),
    }
    assert {name: each.weighted_share for name, each in found.items() if name in ("lab", "y", "x")} == {
        "lab": Fraction(4, whole),
        "y": None,
        "x": 0,
    }
    assert {name: each.entitlement for name, each in found.items()} == {
        "org": 1,
        "lab": Fraction(3, 4),
        "x": Fraction(3, 4),
        "y": 0,
        "b": Fraction(1, 4),
    }
    assert (found["y"].dominant, found["x"].dominant) == ("accelerator", None)
    assert {name: each.running_jobs for name, each in found.items()} == {"org": 3, "lab": 1, "x": 0, "y": 1, "b": 2}


def test_every_declared_row_of_the_tree_is_told():
    found = tenant_accounts(world().snapshot())
    assert found["x"].usage == {H100: 0, L4: 0}
    assert set(found["y"].usage) == {H100, L4, ("h100", "cpu")}


def test_what_is_not_lent_is_owned_but_no_quota_of_the_tenant_above():
    keeps = Tenant("keeps", "org", quota={H100: Quota(4, lending_limit=1)})
    found = tenant_accounts(World(config_of(Tenant("org", quota={H100: Quota(2)}), keeps)).snapshot())["org"]
    assert (found.nominal[H100], found.subtree_nominal[H100], found.subtree_quota[H100]) == (2, 6, 3)
