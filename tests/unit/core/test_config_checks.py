"""What is wrong with a config that was not read from a document."""

from fractions import Fraction

import pytest
from fairgate_scheduler.core.config_checks import check_config
from fairgate_scheduler.core.tenancy import Budget, Config, Flavor, Policy, Quota, Tenant

ROW = ("h", "nvidia.com/gpu")


H = Flavor("h")


def config(*tenants, flavors=(H,), **changes):
    return Config({each.name: each for each in flavors}, {each.id: each for each in tenants}, **changes)


def test_a_sound_config_has_no_faults():
    quota = {ROW: Quota(4, 0, 4)}
    assert (
        check_config(config(Tenant("o"), Tenant("a", "o", quota=quota), policy=Policy(), speeds={"w": {"h": 0}})) == ()
    )


@pytest.mark.parametrize(
    ("faulty", "where"),
    [
        (config(flavors=[Flavor("h", Fraction(-1))]), ("flavors", "h", "price")),
        (config(flavors=[Flavor("h", capacity={"cpu": -1})]), ("flavors", "h", "capacity", "cpu")),
        (config(Tenant("a", weight=Fraction(-1))), ("tenants", "a", "weight")),
        (config(Tenant("a", quota={ROW: Quota(-1)})), ("tenants", "a", "quota", *ROW, "nominal")),
        (config(Tenant("a", "a")), ("tenants", "a", "parent")),
        (config(Tenant("a", budget=Budget(Fraction(1), 0))), ("tenants", "a", "budget")),
        (config(Tenant("a", max_pending_jobs=-1)), ("tenants", "a", "max_pending_jobs")),
        (config(speeds={"w": {"h": Fraction(-1)}}), ("speeds", "w", "h")),
        (config(policy=Policy(min_runtime_ms=-1)), ("policy", "min_runtime")),
        (config(policy=Policy(history_half_life_ms=0)), ("policy", "history_half_life")),
        (config(policy=Policy(dominant_resources=())), ("policy", "dominant_resources")),
        (config(policy=Policy(dominant_resources=("cpu", "cpu"))), ("policy", "dominant_resources")),
    ],
)
def test_faults(faulty, where):
    assert [fault.where for fault in check_config(faulty)] == [where]


def test_each_cycle_is_told_once():
    tenants = [
        Tenant("a", "b"),
        Tenant("b", "c"),
        Tenant("c", "a"),
        Tenant("below", "a"),
        Tenant("x", "y"),
        Tenant("y", "x"),
    ]
    assert [(fault.where, fault.message) for fault in check_config(config(*tenants))] == [
        (("tenants", "a", "parent"), "a tenant below itself: a → b → c → a"),
        (("tenants", "x", "parent"), "a tenant below itself: x → y → x"),
    ]


def test_unknown_names_come_with_the_known_ones():
    (fault,) = check_config(config(Tenant("o"), Tenant("a", "og")))
    assert (fault.unknown, fault.known) == ("og", ("o",))
