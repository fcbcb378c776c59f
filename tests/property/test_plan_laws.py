"""What holds of every plan in every world: laws, idempotence, independence of the order, no capacity left unused.

The laws are checked here by their definitions, from the jobs that run, not with the core's own books.
"""

import random
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import product

from fairgate_scheduler.core.amounts import UNLIMITED, Amount, Row
from fairgate_scheduler.core.holds import reasons
from fairgate_scheduler.core.jobs import Job, JobState, Option
from fairgate_scheduler.core.plan import plan_cycle
from fairgate_scheduler.core.quota import quota_tree
from fairgate_scheduler.core.snapshot import HoldReason, Plan
from fairgate_scheduler.core.tenancy import Config, Flavor, Policy, Quota, QuotaCut, Tenant
from fairgate_scheduler.core.usage import Bounds, Usage
from fairgate_scheduler.testing.worlds import GPU, World
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

PROFILE = settings(
    derandomize=True, max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)
FLAVORS = ("a", "b")
ROWS: tuple[Row, ...] = (("a", GPU), ("a", "cpu"), ("b", GPU))
SHAPES = (
    {"o": None, "o1": "o", "o2": "o"},
    {"o": None, "o1": "o", "o2": "o", "o3": "o", "x": "o1", "y": "o1"},
    {"o": None, "m": "o", "n": "m", "p": "n", "q": "n", "r": "m"},
    {"o": None, "o1": "o", "r": None},
    {"o": None},
)
WEIGHTS = (1, 1, 2, 0, Fraction(1, 3), 10**12)


def quotas(draw: st.DrawFn, *, is_root: bool) -> Mapping[Row, Quota]:
    out: dict[Row, Quota] = {}
    for row in ROWS:
        if draw(st.booleans()):
            nominal = draw(st.sampled_from((0, 1, 2, 3, 5, 8, UNLIMITED)))
            borrowing = None if is_root else draw(st.sampled_from((None, None, 0, 2)))
            lending = None if is_root else draw(st.sampled_from((None, None, 0, min(1, nominal))))
            out[row] = Quota(nominal, borrowing, lending)
    return out


@st.composite
def configs(draw: st.DrawFn) -> Config:
    capacities = st.none() | st.fixed_dictionaries({GPU: st.integers(0, 9)}, optional={"cpu": st.integers(0, 9)})
    prices = st.sampled_from((Fraction(1), Fraction(5, 2)))
    flavors = {name: Flavor(name, draw(prices), None, draw(capacities)) for name in FLAVORS}
    tenants = {}
    for name, parent in draw(st.sampled_from(SHAPES)).items():
        tenants[name] = Tenant(
            name,
            parent,
            Fraction(draw(st.sampled_from(WEIGHTS))),
            quotas(draw, is_root=parent is None),
            allowed_flavors=draw(st.sampled_from((None, None, None, frozenset({"a"})))),
            max_running_jobs=draw(st.sampled_from((None, None, None, 2))),
        )
    policy = Policy(
        reclaim=draw(st.booleans()),
        rebalance=draw(st.booleans()),
        priority_preemption=draw(st.booleans()),
        min_runtime_ms=draw(st.sampled_from((0, 0, 5))),
        quota_cut=draw(st.sampled_from(list(QuotaCut))),
    )
    return Config(flavors, tenants, policy)


@st.composite
def options(draw: st.DrawFn) -> Option:
    flavor = draw(st.sampled_from(FLAVORS))
    demand = {(flavor, GPU): draw(st.integers(0, 4))}
    if draw(st.booleans()):
        demand["a", "cpu"] = draw(st.integers(0, 3))
    return Option(flavor, Fraction(draw(st.sampled_from((1, 1, 1, 0)))), (), demand)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """A world in the middle of its life: it has run, jobs have ended, and then its quotas or capacity have changed."""
    config = draw(configs())
    world = World(config)
    leaves = [name for name in config.tenants if config.is_leaf(name)]
    for number in range(draw(st.integers(1, 12))):
        world.submit(
            f"j{number}",
            draw(st.sampled_from(leaves)),
            *draw(st.lists(options(), min_size=1, max_size=3)),
            priority=draw(st.sampled_from((0, 0, 1, 5))),
            preemptible=draw(st.sampled_from((True, True, True, False))),
            fallback_after_ms=draw(st.sampled_from((0, 0, 2))),
        )
        if draw(st.sampled_from((False, False, True))):
            world.cycle()
            world.now_ms += draw(st.integers(0, 4))
    for name in [each for each in world.attempts if draw(st.sampled_from((False, False, True)))]:
        world.finish(name)
    for number in range(draw(st.integers(0, 4))):
        world.submit(f"late{number}", draw(st.sampled_from(leaves)), draw(options()), priority=draw(st.integers(0, 3)))
    if draw(st.booleans()):
        changed = draw(st.sampled_from(sorted(config.tenants)))
        tenant = config.tenants[changed]
        cut = replace(tenant, quota=quotas(draw, is_root=tenant.parent is None))
        world.config = replace(config, tenants={**config.tenants, changed: cut})
    if draw(st.booleans()):
        world.capacity = {("a", GPU): draw(st.integers(0, 6))}
    return world


class Books:
    """Use and bounds by their definitions, computed anew for each question."""

    def __init__(self, world: World) -> None:
        self.world, self.config = world, world.config
        self.own = {name: dict.fromkeys(ROWS, 0) for name in self.config.tenants}
        for name, attempt in world.attempts.items():
            for row, amount in attempt.demand.items():
                self.own[world.jobs[name].tenant][row] += amount

    def quota(self, node: str, row: Row) -> Amount:
        own = self.config.tenants[node].quota.get(row, Quota())
        return own.nominal + sum(self.lent(child, row) for child in self.config.children.get(node, ()))

    def lent(self, node: str, row: Row) -> Amount:
        limit = self.config.tenants[node].quota.get(row, Quota()).lending_limit
        return self.quota(node, row) if limit is None else min(self.quota(node, row), limit)

    def used(self, node: str, row: Row) -> Amount:
        above = 0
        for child in self.config.children.get(node, ()):
            above += max(0, self.used(child, row) - (self.quota(child, row) - self.lent(child, row)))
        return self.own[node][row] + above

    def excess(self) -> dict[tuple[str, Row], Amount]:
        """By how much what runs is above a ceiling (of a tenant) or the capacity (of "")."""
        out: dict[tuple[str, Row], Amount] = {}
        for node, row in product(self.config.tenants, ROWS):
            ceiling = self.ceiling(node, row)
            if ceiling is not None and self.used(node, row) > ceiling:
                out[node, row] = self.used(node, row)
        for row in ROWS:
            capacity, used = self.capacity(row), sum(own[row] for own in self.own.values())
            if capacity is not None and used > capacity:
                out["", row] = used
        return out

    def ceiling(self, node: str, row: Row) -> Amount | None:
        root = self.config.paths[node][-1]
        tree = [name for name, path in self.config.paths.items() if path[-1] == root]
        if not any(row in self.config.tenants[name].quota for name in tree):
            return None
        borrowing = self.config.tenants[node].quota.get(row, Quota()).borrowing_limit
        if node != root and borrowing is None:
            return None
        return self.quota(node, row) + (0 if node == root or borrowing is None else borrowing)

    def capacity(self, row: Row) -> Amount | None:
        if row in self.world.capacity:
            return self.world.capacity[row]
        listed = self.config.flavors[row[0]].capacity
        if listed is not None:
            return listed.get(row[1])
        nominal = [tenant.quota[row].nominal for tenant in self.config.tenants.values() if row in tenant.quota]
        return sum(nominal) if nominal else None

    def is_within_own_nominal(self, job: Job, demand: Mapping[Row, Amount]) -> bool:
        root = self.config.paths[job.tenant][-1]
        below = [name for name, path in self.config.paths.items() if path[-1] == root and name != root]
        owned = [
            row
            for row in ROWS
            if demand.get(row) and any(self.config.tenants[name].quota.get(row, Quota()).nominal for name in below)
        ]
        return bool(owned) and all(self.used(job.tenant, row) <= self.quota(job.tenant, row) for row in owned)


def settle(world: World) -> Plan:
    """One cycle, and the laws that it must keep."""
    before, jobs, attempts = Books(world), dict(world.jobs), dict(world.attempts)
    plan = world.cycle()
    after = Books(world)
    was = before.excess()
    for where, used in after.excess().items():
        assert used <= was.get(where, 0), f"{where} grew to {used} above its bound"
    started = [jobs[admit.job] for admit in plan.admissions]
    policy = world.config.policy
    for preempt in plan.preemptions:
        job, attempt = jobs[preempt.job], attempts[preempt.job]
        assert job.preemptible
        assert world.now_ms - attempt.ready_at_ms >= policy.min_runtime_ms
        own = any(each.tenant == job.tenant and each.priority > job.priority for each in started)
        if not (own and policy.priority_preemption):
            assert not before.is_within_own_nominal(job, attempt.demand)
            assert policy.reclaim or policy.rebalance or policy.quota_cut is QuotaCut.RECLAIM
        assert preempt.reason.startswith("preempted: ")
        assert set(preempt.for_jobs) <= {admit.job for admit in plan.admissions}
    for admit in plan.admissions:
        option = jobs[admit.job].options[admit.option]
        assert option.speed > 0
        assert world.attempts[admit.job].demand == option.demand
    return plan


@PROFILE
@given(worlds())
def test_plans_keep_the_laws_and_change_nothing_when_planned_again(world):
    settle(world)
    assert not plan_cycle(world.snapshot(), world.now_ms)


@PROFILE
@given(worlds(), st.randoms(use_true_random=False))
def test_plans_do_not_depend_on_the_order_of_the_snapshot(world, rng: random.Random):
    snapshot = world.snapshot()
    running, pending = list(snapshot.running), list(snapshot.pending)
    tenants = list(snapshot.config.tenants.items())
    for each in (running, pending, tenants):
        rng.shuffle(each)
    config = replace(snapshot.config, tenants=dict(tenants))
    other = replace(snapshot, config=config, running=tuple(running), pending=tuple(pending))
    assert plan_cycle(other, world.now_ms) == plan_cycle(snapshot, world.now_ms)


@PROFILE
@given(worlds())
def test_nothing_that_fits_and_is_allowed_waits(world):
    settle(world)
    told = reasons(world.snapshot(), world.now_ms)
    assert set(told) == {job.id for job in world.jobs.values() if job.state is JobState.PENDING}
    for name, reason in told.items():
        if reason is not HoldReason.WAITING_FOR_QUOTA:
            continue
        job = world.jobs[name]
        # Its options from the first that it could ever take, as far as fallback_after lets it look.
        possible = [index for index, option in enumerate(job.options) if could_ever_run(world, job, option)]
        waits = world.now_ms - job.pending_since_ms < job.fallback_after_ms
        for index in possible[:1] if waits else possible:
            assert not fits_beside(world, job, index), f"{name} waits though its option {index} fits"


def could_ever_run(world: World, job: Job, option: Option) -> bool:
    allowed = [world.config.tenants[name].allowed_flavors for name in world.config.paths[job.tenant]]
    flavors = {option.flavor, *(row[0] for row in option.demand)}
    if option.speed <= 0 or any(each is not None and not flavors <= each for each in allowed):
        return False
    alone = World(world.config, capacity=world.capacity)
    alone.jobs[job.id] = job
    return fits_beside(alone, job, job.options.index(option))


def fits_beside(world: World, job: Job, index: int) -> bool:
    before = Books(world).excess()
    with_it = World(world.config, capacity=world.capacity)
    with_it.jobs, with_it.attempts = dict(world.jobs), dict(world.attempts)
    with_it.start(job.id, index)
    books = Books(with_it)
    after = books.excess()
    if any(used > before.get(where, 0) for where, used in after.items()):
        return False
    rows = [row for row, amount in job.options[index].demand.items() if amount]
    path = world.config.paths[job.tenant]
    # Beside what a cut left above a bound that it would pass, nothing new is placed.
    return not any(row in rows and (node == "" or node in path) for node, row in after)


@PROFILE
@given(worlds(), st.randoms(use_true_random=False))
def test_adding_and_removing_jobs_in_any_order_leaves_no_trace(world, rng: random.Random):
    bounds = Bounds(quota_tree(world.config), world.capacity)
    usage, empty = Usage(bounds), Usage(bounds)
    charges = [bounds.charge(job.tenant, option.demand) for job in world.jobs.values() for option in job.options]
    for charge in charges:
        usage.add(charge)
    rng.shuffle(charges)
    for charge in charges:
        usage.remove(charge)
    assert (usage.used, usage.physical) == (empty.used, empty.physical)


@PROFILE
@given(worlds())
def test_the_books_are_what_their_definition_says(world):
    bounds = Bounds(quota_tree(world.config), world.capacity)
    usage, books = Usage(bounds), Books(world)
    for name, attempt in world.attempts.items():
        usage.add(bounds.charge(world.jobs[name].tenant, attempt.demand))
    for node, row in product(world.config.tenants, ROWS):
        if books.ceiling(world.config.paths[node][-1], row) is not None:
            number, place = bounds.row_index[row], bounds.tree.index[node]
            assert usage.used[number][place] == books.used(node, row)
