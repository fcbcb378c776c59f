"""Plans that break a law are caught, whoever made them."""

from collections.abc import Collection

import pytest
from fairgate_scheduler.core.contenders import Choice, Contender, Field
from fairgate_scheduler.core.laws import check_laws, check_nothing_waits_that_fits
from fairgate_scheduler.core.ledger import Cause, Ledger, Step
from fairgate_scheduler.core.register import Register
from fairgate_scheduler.core.tenancy import Config, Policy
from fairgate_scheduler.testing.worlds import World, config_of, owner, takes


def two_owners(policy: Policy | None = None, **settings) -> Config:
    return config_of(owner("org", None), owner("a", gpus=4, **settings), owner("b", gpus=4), policy=policy)


class Plan:
    """A plan made by hand: ``b1`` and ``b2`` of b run, 3 GPUs each, and ``a1`` … of a are pending."""

    def __init__(self, config: Config, *, preemptible: bool = True) -> None:
        self.world = World(config)
        for name in ("b1", "b2"):
            self.world.submit(name, "b", takes("h100", gpu=3), preemptible=preemptible)
            self.world.start(name)
        for name in ("a1", "a2", "a3"):
            self.world.submit(name, "a", takes("h100", gpu=2), takes("h100", gpu=1), takes("no", gpu=1))
        snapshot = self.world.snapshot()
        self.field = Field(snapshot, 0)
        self.running = [self.field.running(each) for each in snapshot.running]
        self.pending = {job.id: self.field.pending(job, 0) for job in snapshot.pending}

    def check(self, evicted: Collection[str] = (), admitted: Collection[tuple[str, int]] = ()) -> None:
        gone = [each for each in self.running if each.job.id in evicted]
        check_laws(self.register(), gone, [(self.pending[name], self.choice(name, at)) for name, at in admitted])

    def register(self) -> Register:
        register = Register(self.field)
        for each in self.running:
            register.start(each)
        return register

    def choice(self, name: str, option: int) -> Choice:
        job = self.world.jobs[name]
        return Choice(option, self.field.bounds.charge(job.tenant, job.options[option].demand))


def test_a_lawful_plan_passes():
    Plan(two_owners()).check(["b2"], [("a1", 0), ("a2", 0)])


@pytest.mark.parametrize(
    ("config", "evicted", "admitted", "message"),
    [
        (two_owners(), [], [("a1", 0), ("a2", 0)], r"org would use 10 of \('h100', 'nvidia.com/gpu'\), above 8"),
        (two_owners(), [], [("a1", 1), ("a1", 1)], "a job would run twice"),
        (two_owners(), [], [("a1", 2)], "a1 would be admitted on option 2"),
        (two_owners(max_running_jobs=1), ["b2"], [("a1", 1), ("a2", 1)], "a2 would run above max_running_jobs"),
        (two_owners(Policy(min_runtime_ms=1)), ["b2"], [], "b2 is protected"),
        (two_owners(Policy(reclaim=False)), ["b2"], [("a1", 0)], "b2 would be evicted for another tenant without"),
    ],
)
def test_broken_laws_are_told_with_numbers(config, evicted, admitted, message):
    with pytest.raises(AssertionError, match=message):
        Plan(config).check(evicted, admitted)


def test_a_tenant_within_its_nominal_loses_nothing_to_others():
    plan = Plan(two_owners())
    plan.running = plan.running[:1]
    with pytest.raises(AssertionError, match="b1 would be evicted though its tenant is within its nominal quota"):
        plan.check(["b1"], [("a1", 0)])


def test_a_job_that_is_not_preemptible_stays():
    with pytest.raises(AssertionError, match="b2 is protected"):
        Plan(two_owners(), preemptible=False).check(["b2"])


def test_a_charge_other_than_the_options_is_caught():
    plan = Plan(two_owners())
    contender: Contender = plan.pending["a1"]
    with pytest.raises(AssertionError, match="a1 would be charged other than its option 0 says"):
        check_laws(plan.register(), [], [(contender, Choice(0, plan.choice("a1", 1).charge))])


def test_a_refill_that_leaves_out_what_fits_is_caught():
    plan = Plan(two_owners())
    register = plan.register()
    register.put(plan.pending["a1"])
    register.settle()
    ledger = Ledger(register)
    with pytest.raises(AssertionError, match="a1 would wait though there is room for its option 0"):
        check_nothing_waits_that_fits(ledger)
    taken = plan.pending["a1"]
    ledger.waiting.clear()
    ledger.place(taken, taken.choices[0], Cause(Step.NOMINAL, taken.leaf, is_forced=False))
    check_nothing_waits_that_fits(ledger)


def test_a_full_limit_lets_what_fits_wait():
    plan = Plan(two_owners(max_running_jobs=0))
    register = plan.register()
    register.put(plan.pending["a1"])
    register.settle()
    check_nothing_waits_that_fits(Ledger(register))
