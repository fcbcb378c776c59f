"""What the service keeps survives a restart exactly, and nothing else does."""

from dataclasses import replace
from fractions import Fraction

from fairgate_scheduler.core import lifecycle
from fairgate_scheduler.core.amounts import UNLIMITED
from fairgate_scheduler.core.jobs import Fallback, Job, Option, PodGroup
from fairgate_scheduler.core.tenancy import Budget, Config, Flavor, Policy, Quota, QuotaCut, Tenant
from fairgate_scheduler.scenario.world import World

CONFIG = Config(
    flavors={
        "h": Flavor("h", Fraction(1, 3), "x/gpu", {"x/gpu": 2}, {"a": "b"}, ({"key": "k"},), "h", True),
        "c": Flavor("c"),
    },
    tenants={
        "o": Tenant("o", quota={("h", "x/gpu"): Quota(UNLIMITED)}),
        "o/a": Tenant(
            "o/a",
            "o",
            Fraction(2, 7),
            {("h", "x/gpu"): Quota(1, 2, 0)},
            Budget(Fraction(1, 2), 5),
            frozenset({"h", "c"}),
            1,
            2,
            3,
            "ns",
            ("sa",),
            {"viewer": ("user:x",)},
        ),
    },
    policy=Policy(False, True, False, 1, 2, QuotaCut.RECLAIM, 3, 4, 5, ("cpu",)),
    priorities={"p": -1},
    speeds={"w": {"h": Fraction(1, 9)}},
)
OPTION = Option("h", Fraction(3, 4), (PodGroup("w", "h", 2, {"x/gpu": 1}),), {("h", "x/gpu"): 2})


def test_a_restart_keeps_everything_that_is_stored():
    world = World(CONFIG)
    plain = Job("plain", "o/a", 1, 0, (OPTION,), 60)
    odd = Job("odd", "o/a", 2, 1, (OPTION, OPTION), 60, -3, False, Fallback.SOONEST, 7, backoff={0: 11, 1: 12})
    for job in (plain, odd):
        world.add(job)
    world.admissions = 1
    world.write(lifecycle.admit(plain, 0, 1, 5))
    world.write(lifecycle.launch(world.jobs["plain"], world.attempts["plain"][0], 5))
    again = world.restarted()
    assert again == world
    assert again.jobs["odd"].fallback is Fallback.SOONEST
    assert again.config.tenants["o/a"].weight == Fraction(2, 7)
    assert again.snapshot({}, 5) == world.snapshot({}, 5)


def test_a_restart_shares_nothing_with_what_was_before():
    world = World(CONFIG)
    world.add(Job("j", "o/a", 1, 0, (OPTION,), 60))
    again = world.restarted()
    again.jobs["j"] = replace(again.jobs["j"], priority=9)
    again.attempts["j"].append("x")
    assert world.jobs["j"].priority == 0
    assert world.attempts["j"] == []
