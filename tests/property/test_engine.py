"""The engine, told of one change after the other, plans what ``plan_cycle`` plans from a snapshot of it all."""

import random
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple

import pytest
from fairgate_scheduler.core.amounts import UNLIMITED, Row
from fairgate_scheduler.core.budgets import HOUR_MS
from fairgate_scheduler.core.engine import Engine
from fairgate_scheduler.core.jobs import Fallback, JobState, Option
from fairgate_scheduler.core.plan import plan_cycle
from fairgate_scheduler.core.snapshot import Plan, Running
from fairgate_scheduler.core.tenancy import Budget, Config, Flavor, Policy, Quota, QuotaCut, Tenant
from fairgate_scheduler.testing.worlds import GPU, World, config_of, owner, takes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

WEIGHTS = (1, 1, 1, 2, 0, Fraction(1, 3), 10**12)
ROWS: tuple[Row, ...] = (("a", GPU), ("a", "cpu"), ("b", GPU))
SHAPES = (
    {"o": None, "o1": "o", "o2": "o"},
    {"o": None, "m": "o", "n": "m", "p": "n", "q": "n", "r": "m"},
    {"o": None, "o1": "o", "r": None, "r1": "r", "r2": "r"},
    {"o": None, **{f"d{n}": "o" for n in range(2)}, **{f"d{n}-{k}": f"d{n}" for n in range(2) for k in range(3)}},
)


@dataclass
class Told:
    """A world, and an engine that is told what changes in it."""

    world: World
    engine: Engine
    said: dict[str, Any] = field(default_factory=dict)

    def tell(self) -> None:
        """Say what has changed since this was said last."""
        world, now = self.world, dict[str, Any]()
        for name, job in world.jobs.items():
            if name in world.attempts:
                now[name] = Running(job, world.attempts[name])
            elif job.state is JobState.PENDING:
                now[name] = job
        for name in self.said.keys() - now.keys():
            self.engine.remove(name)
        for name, what in now.items():
            if self.said.get(name) != what:
                (self.engine.put_running if isinstance(what, Running) else self.engine.put_pending)(what)
        self.said = now

    def cycle(self, *, is_applied: bool = True) -> Plan:
        """Both plans; they are the same."""
        self.tell()
        world = self.world
        expected = plan_cycle(world.snapshot(), world.now_ms)
        assert self.engine.plan(world.now_ms, world.history, world.spent(), world.choices) == expected
        if is_applied:
            self.world.apply(expected)
        return expected


def quotas(rng: random.Random, *, is_root: bool) -> dict[Row, Quota]:
    limits = (None,) if is_root else (None, None, 0, 2)
    return {
        row: Quota(rng.choice((0, 1, 2, 3, 5, 8, UNLIMITED)), rng.choice(limits), rng.choice((*limits[:2], None)))
        for row in ROWS
        if rng.random() < 0.7
    }


class Sort(NamedTuple):
    """What counts in a story beside what runs and waits."""

    history: bool = False
    budgets: bool = False
    backfill: bool = False
    soonest: bool = False


def configuration(rng: random.Random, sort: Sort) -> Config:
    tenants = {}
    for name, parent in rng.choice(SHAPES).items():
        owned = quotas(rng, is_root=parent is None)
        tenants[name] = with_terms(rng, sort, Tenant(name, parent, Fraction(rng.choice(WEIGHTS)), owned))
    capacities = {name: rng.choice((None, {GPU: rng.randint(0, 12), "cpu": rng.randint(0, 12)})) for name in "ab"}
    flavors = {name: Flavor(name, Fraction(1), None, capacity) for name, capacity in capacities.items()}
    policy = Policy(
        reclaim=rng.random() < 0.8,
        rebalance=rng.random() < 0.2,
        priority_preemption=rng.random() < 0.7,
        min_runtime_ms=rng.choice((0, 0, 5)),
        quota_cut=rng.choice(list(QuotaCut)),
        history_half_life_ms=rng.choice((2, 9)) if sort.history else None,
        backfill_after_ms=rng.choice((0, 3, 7)) if sort.backfill else None,
    )
    return Config(flavors, tenants, policy)


def with_terms(rng: random.Random, sort: Sort, tenant: Tenant) -> Tenant:
    """The same tenant with other limits."""
    return replace(
        tenant,
        max_running_jobs=rng.choice((None, None, None, None, 0, 2, 3)),
        allowed_flavors=rng.choice((None, None, None, frozenset("a"))),
        budget=some_budget(rng) if sort.budgets else None,
    )


def some_budget(rng: random.Random) -> Budget | None:
    """Of so many accelerator-milliseconds that a few jobs use them up."""
    return rng.choice((None, Budget(Fraction(rng.choice((0, 30, 90)), HOUR_MS), rng.choice((10, 50)))))


def some_options(rng: random.Random) -> tuple[Option, ...]:
    out = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        demand = {row: rng.randint(0, 4) for row in ROWS if rng.random() < 0.5}
        out.append(Option(rng.choice("ab"), Fraction(rng.choice((1, 1, 2, 0))), (), demand))
    return tuple(out)


class Story:
    """Random changes of a world."""

    def __init__(self, rng: random.Random, sort: Sort) -> None:
        self.rng = rng
        self.sort = sort
        config = configuration(rng, sort)
        self.told = Told(World(config), Engine(config))
        self.kinds = [some_options(rng) for _ in range(4)]

    def step(self) -> None:
        """One change."""
        rng, world = self.rng, self.told.world
        choices = [self._submit, self._submit, self._finish, self._change, self._pass, self._reconfigure, self._stuff]
        rng.choice(choices)(rng, world)

    def _submit(self, rng: random.Random, world: World) -> None:
        leaf = rng.choice([name for name in world.config.tenants if world.config.is_leaf(name)])
        for _ in range(rng.choice((1, 2, 6))):
            world.submit(
                f"j{len(world.jobs)}",
                leaf,
                *rng.choice(self.kinds),
                priority=rng.choice((0, 0, 3)),
                preemptible=rng.random() < 0.9,
                fallback_after_ms=rng.choice((0, 0, 4)),
                fallback=rng.choice((Fallback.ORDERED, Fallback.SOONEST)) if self.sort.soonest else Fallback.ORDERED,
                time_limit_ms=rng.choice((5, 5, 12)),
            )

    def _finish(self, rng: random.Random, world: World) -> None:
        for name in [name for name in world.attempts if rng.random() < 0.4]:
            world.finish(name)

    def _change(self, rng: random.Random, world: World) -> None:
        live = [name for name, job in world.jobs.items() if not job.state.is_final]
        if live:
            name = rng.choice(live)
            world.jobs[name] = replace(world.jobs[name], priority=rng.choice((0, 3, 9)), done_ms=rng.choice((0, 0, 2)))
            if name not in world.attempts:
                world.jobs[name] = replace(world.jobs[name], backoff={0: world.now_ms + rng.choice((1, 6))})

    def _pass(self, rng: random.Random, world: World) -> None:
        world.now_ms = max(0, world.now_ms + rng.choice((1, 3, 6, -2)))
        world.settle()

    def _reconfigure(self, rng: random.Random, world: World) -> None:
        name = rng.choice(sorted(world.config.tenants))
        tenant = with_terms(rng, self.sort, world.config.tenants[name])
        owned = quotas(rng, is_root=tenant.parent is None)
        changed = replace(tenant, quota=owned, weight=Fraction(rng.choice(WEIGHTS)))
        world.config = replace(world.config, tenants={**world.config.tenants, name: changed})
        if rng.random() < 0.3:
            world.capacity = {rng.choice(ROWS): rng.randint(0, 8)}
        world.settle()
        self.told.engine.configure(world.config, world.capacity)

    def _stuff(self, rng: random.Random, world: World) -> None:
        """Something runs for which there may be no room."""
        waiting = [
            name for name, job in world.jobs.items() if job.state is JobState.PENDING and job.options[0].speed > 0
        ]
        if waiting:
            world.start(rng.choice(waiting))


SORTS = {
    "plain": Sort(),
    "history": Sort(history=True),
    "budgets": Sort(budgets=True),
    "backfill": Sort(backfill=True),
    "soonest": Sort(soonest=True),
    "all": Sort(history=True, budgets=True, backfill=True, soonest=True),
}


@pytest.mark.parametrize("sort", SORTS.values(), ids=SORTS)
@settings(derandomize=True, max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None)
@given(seed=st.integers(0, 2**32))
def test_the_engine_plans_as_from_a_snapshot(sort, seed):
    rng = random.Random(seed)
    story = Story(rng, sort)
    for _ in range(15):
        for _ in range(rng.choice((1, 1, 3))):
            story.step()
        story.told.cycle(is_applied=rng.random() < 0.9)


def one_tenant(policy: Policy | None = None) -> Told:
    config = config_of(owner("org", None), owner("a", gpus=2), owner("b", gpus=2), policy=policy)
    return Told(World(config), Engine(config))


def test_equal_jobs_start_in_their_order_and_others_between_them():
    told = one_tenant()
    told.world.submit_many("a", 3, takes("h100", gpu=1))
    told.world.submit("first", "a", takes("h100", gpu=1), priority=1)
    told.world.submit_many("b", 1, takes("h100", gpu=1))
    assert [each.job for each in told.cycle().admissions] == ["first", "b-1", "a-1", "a-2"]
    told.world.finish("a-1")
    assert [each.job for each in told.cycle().admissions] == ["a-3"]


def test_a_job_that_is_told_again_counts_once():
    told = one_tenant()
    told.world.submit_many("a", 5, takes("h100", gpu=1))
    told.cycle(is_applied=False)
    told.said.clear()
    assert len(told.cycle().admissions) == 4
    told.said.clear()
    assert not told.cycle()


def test_time_alone_changes_what_it_plans():
    config = config_of(owner("org", None), owner("a", gpus=1), b=Flavor("b", capacity={GPU: 1}))
    told = Told(World(config), Engine(config))
    told.world.submit("holds", "a", takes("h100", gpu=1))
    told.cycle()
    told.world.submit("waits", "a", takes("h100", gpu=1), takes("b", gpu=1), fallback_after_ms=10)
    told.world.now_ms = 9
    assert not told.cycle()
    told.world.now_ms = 10
    assert [(each.job, each.option) for each in told.cycle(is_applied=False).admissions] == [("waits", 1)]
    told.world.now_ms = 9
    assert not told.cycle(), "the clock went back"


def test_after_a_plan_that_broke_a_law_it_goes_on(monkeypatch):
    def break_law(*_args):
        raise AssertionError("a law is broken")

    told = one_tenant()
    told.world.submit_many("a", 5, takes("h100", gpu=1))
    told.tell()
    with monkeypatch.context() as broken:
        broken.setattr("fairgate_scheduler.core.rounds.check_laws", break_law)
        with pytest.raises(AssertionError, match="a law is broken"):
            told.engine.plan(0)
    assert len(told.cycle().admissions) == 4
