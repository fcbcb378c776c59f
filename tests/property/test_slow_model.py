"""The core against a slow, obviously right model, step by step through random lives of a cluster.

What happens (submits, ends, cancels, changes of quota, weight, priority and capacity, time) is drawn by Hypothesis;
after each step both plan, and the plans must be equal; then the laws of every plan are checked by their definitions.
``FAIRGATE_LONG_TESTS=1 pytest -m slow tests/property`` looks for an hour's worth of new ones.
"""

import os
import random
from dataclasses import replace
from fractions import Fraction

import pytest
from fairgate_scheduler.core.jobs import JobState, Option
from fairgate_scheduler.core.plan import plan_cycle
from fairgate_scheduler.core.snapshot import Plan, Snapshot
from fairgate_scheduler.core.tenancy import Budget, Config, Flavor, Policy, Quota, QuotaCut, Tenant
from fairgate_scheduler.testing.slow_books import Held, SlowBooks
from fairgate_scheduler.testing.slow_model import SlowPlan, slow_plan
from fairgate_scheduler.testing.worlds import GPU, World
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

TPU = "google.com/tpu"
ROWS = (("a", GPU), ("a", "cpu"), ("b", TPU), ("b", "memory"))
FLAVORS = (("a", GPU), ("b", TPU))
TREES = (
    {"o": None},
    {"o": None, "a": "o", "b": "o"},
    {"o": None, "a": "o", "m": "o", "x": "m", "y": "m"},
    {"o": None, "m": "o", "x": "m", "y": "m", "n": "o", "v": "n", "w": "n"},
    {"o": None, "m": "o", "n": "m", "x": "n", "y": "n", "z": "m"},
    {"o": None, "a": "o", "r": None, "s": "r", "t": "r"},
    {"o": None, "r": None},
)
WEIGHTS = (1, 1, 1, 2, 0, Fraction(1, 3), 10**12)
AMOUNTS = (0, 2, 3, 4, 6, 9)
DEEDS = ("submit", "submit", "finish", "finish", "cancel", "quota", "weight", "priority", "capacity", "time")
# A whole world would take more choices than Hypothesis shrinks well: of each step it draws the seed, and the steps.
seeds = st.integers(0, 2**32 - 1)


def quotas(chance: random.Random, *, is_root: bool, part: float = 0.7) -> dict:
    """Quotas of about this part of the rows."""
    out = {}
    for row in ROWS:
        if chance.random() < part:
            nominal, limits = chance.choice(AMOUNTS), (None,) if is_root else (None, None, None, None, 0, 1, 3)
            lending = chance.choice(limits)
            out[row] = Quota(nominal, chance.choice(limits), None if lending is None else min(lending, nominal))
    return out


def make_policy(chance: random.Random) -> Policy:
    kinds = ("accelerator", "cpu", "memory")
    return Policy(
        reclaim=chance.random() < 0.7,
        rebalance=chance.random() < 0.4,
        priority_preemption=chance.random() < 0.6,
        min_runtime_ms=chance.choice((0, 0, 3)),
        quota_cut=chance.choice(list(QuotaCut)),
        history_half_life_ms=chance.choice((None, None, 2)),
        dominant_resources=chance.choice((kinds, kinds, kinds[:1], kinds[1:])),
    )


def make_config(chance: random.Random) -> Config:
    policy = make_policy(chance)
    limits = (None, None, None, None, 1, 2)
    has_budgets = chance.random() < 0.25
    # In some worlds nearly all is the root's, and who gets it is all a matter of the fair order.
    part = chance.choice((0.1, 0.7))
    tenants = {
        name: Tenant(
            name,
            parent,
            Fraction(chance.choice(WEIGHTS)),
            quotas(chance, is_root=parent is None, part=part if parent else 0.9),
            allowed_flavors=chance.choice((None, None, None, None, frozenset({"a"}))),
            max_running_jobs=chance.choice(limits),
            budget=make_budget(chance) if has_budgets else None,
        )
        for name, parent in chance.choice(TREES).items()
    }
    flavors = {name: make_flavor(chance, name, resource) for name, resource in FLAVORS}
    return Config(flavors, tenants, policy)


def make_budget(chance: random.Random) -> Budget | None:
    """Of a few jobs' time limits, which are an hour, or of next to none; of a period of which time passes some."""
    hours = Fraction(chance.choice((0, 2, 3, 5, 9)))
    return Budget(hours, chance.choice((3, 7, 10**9))) if chance.random() < 0.4 else None


def make_flavor(chance: random.Random, name: str, resource: str) -> Flavor:
    capacity = {resource: chance.randint(2, 8)} | ({"cpu": chance.randint(2, 8)} if chance.random() < 0.3 else {})
    price = Fraction(chance.choice((1, Fraction(5, 2))))
    return Flavor(name, price, None, capacity if chance.random() < 0.25 else None)


def make_option(chance: random.Random) -> Option:
    flavor, resource = chance.choice(FLAVORS)
    demand = {(flavor, resource): chance.choice((0, 1, 1, 1, 2, 3))}
    if not demand[flavor, resource] or chance.random() < 0.3:
        demand[chance.choice((("a", "cpu"), ("b", "memory")))] = chance.randint(1, 3)
    return Option(flavor, Fraction(chance.choice((1, 1, 1, 2, 0))), (), demand)


class Life(RuleBasedStateMachine):
    """A cluster's life; each rule is one thing that happens in it."""

    @initialize(seed=seeds)
    def begin(self, seed):
        chance = random.Random(seed)
        self.world = World(make_config(chance))
        self.world.settle()
        self.shapes = [make_option(chance) for _ in range(6)]
        self.happens(chance, arrivals=16)

    @rule(seed=seeds)
    def submit(self, seed):
        self.happens(random.Random(seed), arrivals=5)

    @precondition(lambda self: self.world.attempts)
    @rule(seed=seeds)
    def finish(self, seed):
        chance = random.Random(seed)
        self.world.finish(chance.choice(sorted(self.world.attempts)))
        self.happens(chance)

    @precondition(lambda self: self.waiting())
    @rule(seed=seeds)
    def cancel(self, seed):
        chance = random.Random(seed)
        name = chance.choice(self.waiting())
        self.world.jobs[name] = replace(self.world.jobs[name], state=JobState.CANCELLED)
        self.happens(chance)

    @rule(seed=seeds)
    def change_quota(self, seed):
        chance = random.Random(seed)
        tenant = chance.choice(list(self.world.config.tenants.values()))
        self.change_tenant(replace(tenant, quota=quotas(chance, is_root=tenant.parent is None)))
        self.happens(chance)

    @rule(seed=seeds, weight=st.sampled_from(WEIGHTS))
    def change_weight(self, seed, weight):
        chance = random.Random(seed)
        tenant = chance.choice(list(self.world.config.tenants.values()))
        self.change_tenant(replace(tenant, weight=Fraction(weight)))
        self.happens(chance)

    @precondition(lambda self: self.world.jobs)
    @rule(seed=seeds, priority=st.integers(0, 6))
    def change_priority(self, seed, priority):
        chance = random.Random(seed)
        name = chance.choice(sorted(self.world.jobs))
        self.world.jobs[name] = replace(self.world.jobs[name], priority=priority)
        self.happens(chance)

    @rule(seed=seeds, row=st.sampled_from(ROWS), amount=st.integers(0, 8))
    def change_capacity(self, seed, row, amount):
        self.world.capacity = {**self.world.capacity, row: amount}
        self.happens(random.Random(seed))

    @rule(seed=seeds, duration_ms=st.integers(1, 4))
    def time_passes(self, seed, duration_ms):
        self.world.now_ms += duration_ms
        self.world.settle()
        self.happens(random.Random(seed))

    @invariant()
    def the_plan_is_right(self):
        if not self.is_new:
            return
        self.is_new = False
        before, now_ms = self.world.snapshot(), self.world.now_ms
        plan = plan_cycle(before, now_ms)
        assert as_slow(plan) == slow_plan(before, now_ms)
        assert plan_cycle(backwards(before), now_ms) == plan
        self.world.apply(plan)
        after = self.world.snapshot()
        check_bounds(before, after)
        check_evictions(before, plan, now_ms)
        check_gangs(after)
        check_nothing_waits_that_fits(after, now_ms)
        assert not plan_cycle(after, now_ms), "applied and planned again, it changes something"

    def happens(self, chance, arrivals=2):
        """New jobs come with whatever happens; then there is something to plan."""
        self.is_new = True
        leaves = sorted(name for name in self.world.config.tenants if self.world.config.is_leaf(name))
        burst = chance.choice(leaves) if chance.random() < 0.5 else None
        for _ in range(chance.randint(0, arrivals)):
            self.world.submit(
                f"j{len(self.world.jobs)}",
                burst or chance.choice(leaves),
                *chance.choices(self.shapes, k=chance.choice((1, 1, 2, 3))),
                priority=chance.choice((0, 0, 1, 5)),
                preemptible=chance.random() < 0.85,
                fallback_after_ms=chance.choice((0, 0, 2)),
            )

    def change_tenant(self, tenant):
        config = self.world.config
        self.world.config = replace(config, tenants={**config.tenants, tenant.id: tenant})

    def waiting(self):
        return sorted(name for name, job in self.world.jobs.items() if job.state is JobState.PENDING)


def as_slow(plan: Plan) -> SlowPlan:
    return SlowPlan(
        frozenset(each.job for each in plan.preemptions), tuple((each.job, each.option) for each in plan.admissions)
    )


def backwards(snapshot: Snapshot) -> Snapshot:
    config = replace(snapshot.config, tenants=dict(reversed(snapshot.config.tenants.items())))
    return replace(snapshot, config=config, running=snapshot.running[::-1], pending=snapshot.pending[::-1])


def held_by(snapshot: Snapshot) -> list[Held]:
    return [Held(each.job.tenant, each.attempt.demand) for each in snapshot.running]


def excess(snapshot: Snapshot) -> dict:
    """What is above a ceiling, by tenant and row, or above the capacity."""
    books, jobs = SlowBooks(snapshot.config, snapshot.capacity), held_by(snapshot)
    out = {}
    for row in ROWS:
        bound, used = books.physical(row), books.used_physically(jobs, row)
        if bound is not None and used > bound:
            out["", row] = used
        for node in snapshot.config.tenants:
            bound, used = books.ceiling(node, row), books.used(jobs, node, row)
            if row in books.declared(node) and bound is not None and used > bound:
                out[node, row] = used
    return out


def check_bounds(before: Snapshot, after: Snapshot) -> None:
    """Nothing is above quota and what is lent, or above capacity, but for what a change left; and that never grows."""
    was = excess(before)
    for where, used in excess(after).items():
        assert used <= was.get(where, 0), f"{where} grew to {used}"


def check_evictions(before: Snapshot, plan: Plan, now_ms: int) -> None:
    """Nobody within its own nominal gives way to another tenant; protected jobs and switched-off policies hold."""
    books, policy, jobs = SlowBooks(before.config, before.capacity), before.config.policy, held_by(before)
    running = {each.job.id: each for each in before.running}
    jobs_by_id = {job.id: job for job in before.pending} | {name: each.job for name, each in running.items()}
    started = [jobs_by_id[each.job] for each in plan.admissions]
    for each in plan.preemptions:
        job, attempt = running[each.job].job, running[each.job].attempt
        assert job.preemptible
        assert now_ms - attempt.ready_at_ms >= policy.min_runtime_ms
        by_own = any(one.tenant == job.tenant and one.priority > job.priority for one in started)
        if by_own and policy.priority_preemption:
            continue
        assert policy.reclaim or policy.rebalance or policy.quota_cut is QuotaCut.RECLAIM
        rows = [row for row, amount in attempt.demand.items() if amount and row in books.owned(job.tenant)]
        within = [books.used(jobs, job.tenant, row) <= books.quota(job.tenant, row) for row in rows]
        assert not rows or not all(within), f"{job.id} goes though {job.tenant} is within its nominal"


def check_gangs(after: Snapshot) -> None:
    """What runs holds one of its options, whole, and one that its tenant may use."""
    for each in after.running:
        assert each.attempt.demand == each.job.options[each.attempt.option].demand


def check_nothing_waits_that_fits(after: Snapshot, now_ms: int) -> None:
    """A job waits only where none of the options that it may take now fits beside all that runs."""
    books, jobs = SlowBooks(after.config, after.capacity), held_by(after)
    counts = {
        node: sum(node in after.config.paths[each.job.tenant] for each in after.running)
        for node in after.config.tenants
    }
    for job in after.pending:
        path = [after.config.tenants[node] for node in after.config.paths[job.tenant]]
        if any(node.max_running_jobs is not None and counts[node.id] >= node.max_running_jobs for node in path):
            continue
        if any(node.budget is not None for node in path):
            continue
        open_options = [
            option
            for option in job.options
            if option.speed
            and all(
                node.allowed_flavors is None or {row[0] for row in option.demand} <= node.allowed_flavors
                for node in path
            )
            and books.fits([], Held(job.tenant, option.demand))
        ]
        waits = now_ms - job.pending_since_ms < job.fallback_after_ms
        for option in open_options[:1] if waits else open_options:
            assert not books.fits(jobs, Held(job.tenant, option.demand)), f"{job.id} waits though {option} fits"


def allows(node: Tenant, option: Option) -> bool:
    return node.allowed_flavors is None or {row[0] for row in option.demand} <= node.allowed_flavors


@pytest.mark.parametrize("first", range(0, 100, 10))
def test_other_lives(first):
    """Lives that nobody steers see more than those that Hypothesis begins small."""
    for seed in range(first, first + 10):
        live(random.Random(seed), steps=12)


def live(chance: random.Random, steps: int) -> None:
    life = Life()
    life.begin(chance.getrandbits(32))
    life.the_plan_is_right()
    for _ in range(steps):
        what = chance.choice(
            ("submit", "finish", "finish", "cancel", "quota", "weight", "priority", "capacity", "time")
        )
        seed = chance.getrandbits(32)
        if what == "finish" and life.world.attempts:
            life.finish(seed)
        elif what == "cancel" and life.waiting():
            life.cancel(seed)
        elif what == "quota":
            life.change_quota(seed)
        elif what == "weight":
            life.change_weight(seed, chance.choice(WEIGHTS))
        elif what == "priority" and life.world.jobs:
            life.change_priority(seed, chance.randint(0, 6))
        elif what == "capacity":
            life.change_capacity(seed, chance.choice(ROWS), chance.randint(0, 8))
        elif what == "time":
            life.time_passes(seed, chance.randint(1, 4))
        else:
            life.submit(seed)
        life.the_plan_is_right()


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_contested_trees(first):
    """Everybody wants more than there is, each leaf of its own kind: the fair order decides all, or nearly all."""
    for seed in range(first, first + 10):
        chance = random.Random(seed)
        world = World(make_contest(chance))
        leaves = sorted(name for name in world.config.tenants if world.config.is_leaf(name))
        for _ in range(2):
            for leaf in leaves:
                shape = make_option(chance)
                for _ in range(chance.randint(3, 8)):
                    world.submit(f"j{len(world.jobs)}", leaf, shape, priority=chance.choice((0, 0, 0, 1)))
            for name in chance.sample(sorted(world.attempts), len(world.attempts) // 3):
                world.finish(name)
            assert as_slow(plan_cycle(world.snapshot(), 0)) == slow_plan(world.snapshot(), 0)
            world.cycle()


def make_contest(chance: random.Random) -> Config:
    root_only = chance.random() < 0.5
    tenants = {}
    for name, parent in chance.choice(TREES[2:5]).items():
        own = {}
        if parent is None:
            own = {row: Quota(chance.randint(6, 10)) for row in ROWS}
        elif not root_only and chance.random() < 0.6:
            own = {row: Quota(2, None, chance.choice((None, 0, 1))) for row in ROWS if chance.random() < 0.7}
        tenants[name] = Tenant(name, parent, Fraction(chance.choice((1, 1, 1, 2))), own)
    return Config({name: Flavor(name) for name, _ in FLAVORS}, tenants, replace(make_policy(chance), min_runtime_ms=0))


class ShortLife(Life):
    """What every test run looks at: always the same ones."""


class LongLife(Life):
    """What is looked at when asked for: new ones each time."""


CHECKS = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
TestShortLife = pytest.mark.timeout(300)(ShortLife.TestCase)
TestShortLife.settings = settings(
    derandomize=True,
    max_examples=60,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=CHECKS,
    database=None,
)
TestLongLife = pytest.mark.slow(
    pytest.mark.skipif(not os.environ.get("FAIRGATE_LONG_TESTS"), reason="set FAIRGATE_LONG_TESTS=1 to run it")(
        pytest.mark.timeout(7200)(LongLife.TestCase)
    )
)
TestLongLife.settings = settings(
    max_examples=10_000, stateful_step_count=40, deadline=None, suppress_health_check=CHECKS, print_blob=True
)
