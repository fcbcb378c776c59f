"""A plan is there even where the core finds a defect of its own."""

import pytest
from fairgate_scheduler.core.plan import plan_cycle
from fairgate_scheduler.core.snapshot import Admit, Plan, Preempt, Snapshot
from fairgate_scheduler.core.tenancy import Config, Policy, Quota, QuotaCut, Tenant
from fairgate_scheduler.service.planning import NOTHING, plan_carefully
from fairgate_scheduler.testing.worlds import GPU, World, config_of, owner, takes

SWITCHED_ON = Policy(rebalance=True, quota_cut=QuotaCut.RECLAIM, min_runtime_ms=7)
SWITCHED_OFF = Policy(reclaim=False, priority_preemption=False, min_runtime_ms=7)
START = Plan((), (Admit("j", 0),))


def _planner(second, asked):
    def plan(snapshot, _now_ms):
        asked.append(snapshot.config.policy)
        assert len(asked) > 1, "above quota"
        assert second is not None, "above quota again"
        return second

    return plan


@pytest.mark.parametrize(
    ("second", "expected"),
    [(START, START), (None, NOTHING), (Plan((Preempt("k", "", ()),), START.admissions), NOTHING)],
)
def test_what_would_break_a_law_is_planned_again_without_evictions(second, expected):
    asked = []
    planned = plan_carefully(Snapshot(Config(policy=SWITCHED_ON)), 0, _planner(second, asked))
    assert asked == [SWITCHED_ON, SWITCHED_OFF]
    assert (planned.plan, planned.trouble.partition("\n")[0]) == (expected, "above quota")
    assert planned.cause.startswith("test_planning.py:")


def test_other_errors_are_not_defects_of_a_plan():
    with pytest.raises(ZeroDivisionError):
        plan_carefully(Snapshot(Config()), 0, lambda *_args: 1 / 0)


def test_the_known_story_starts_what_it_can_and_evicts_nobody():
    # tests/unit/core/test_plans_come_to_rest.py tells it whole
    org = Tenant("org", quota={("m", "cpu"): Quota(3), ("m", GPU): Quota(3)})
    tenants = [owner("m", max_running_jobs=2), owner("x", "m"), owner("y", "m"), owner("n")]
    bystander = Tenant("bystander", quota={("m", "cpu"): Quota(1)})
    world = World(config_of(org, *tenants, bystander, policy=Policy(rebalance=True)))
    world.submit("x-1", "x", takes("m", gpu=1))
    world.submit("y-1", "y", takes("m", gpu=1, cpu=2))
    world.submit("x-2", "x", takes("m", gpu=1))
    world.cycle()
    world.submit("n-1", "n", takes("m", cpu=2))
    world.submit("other", "bystander", takes("m", cpu=1))
    planned = plan_carefully(world.snapshot(), world.now_ms, plan_cycle)
    world.apply(planned.plan)
    assert world.running().keys() >= {"x-1", "other"}
    assert not (planned.trouble and planned.plan.preemptions)
