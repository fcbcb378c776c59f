"""Budgets, history, claims and soonest together: plans stay idempotent, blind to the order of jobs, within budgets, and
a forecast comes true if nothing unforeseen comes. Told by definition, not with the core's own books.
"""

import random
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import pytest
from fairgate_scheduler.core.amounts import is_accelerator
from fairgate_scheduler.core.foresight import forecast
from fairgate_scheduler.core.history import settle
from fairgate_scheduler.core.holds import reasons
from fairgate_scheduler.core.jobs import Fallback, Option
from fairgate_scheduler.core.plan import plan_cycle
from fairgate_scheduler.core.snapshot import HoldReason
from fairgate_scheduler.core.tenancy import Budget, Config, Flavor, Policy, Quota, QuotaCut, Tenant
from fairgate_scheduler.testing.worlds import GPU, World

FLAVORS = ("h", "l")
TREES = ({"o": None, "a": "o", "b": "o"}, {"o": None, "a": "o", "m": "o", "x": "m", "y": "m"})
HOUR_MS = 3_600_000


def a_config(chance: random.Random) -> Config:
    flavors = {name: Flavor(name, chance.choice((Fraction(1), Fraction(3, 2)))) for name in FLAVORS}
    tenants = {}
    for name, parent in chance.choice(TREES).items():
        nominal = (lambda: chance.randint(3, 7)) if parent is None else (lambda: chance.choice((0, 0, 1, 2)))
        tenants[name] = Tenant(
            name,
            parent,
            Fraction(chance.choice((1, 1, 2, 0))),
            {(flavor, GPU): Quota(amount) for flavor in FLAVORS if (amount := nominal())},
            Budget(Fraction(chance.randint(10, 150), 10), chance.choice((3, 10, 24)) * HOUR_MS)
            if chance.random() < 0.15
            else None,
            max_running_jobs=4 if chance.random() < 0.1 else None,
        )
    policy = Policy(
        reclaim=chance.random() < 0.8,
        rebalance=chance.random() < 0.2,
        priority_preemption=chance.random() < 0.7,
        min_runtime_ms=chance.choice((0, 0, HOUR_MS // 4)),
        backfill_after_ms=chance.choice((None, 0, 1, 1, HOUR_MS // 4)),
        quota_cut=chance.choice(tuple(QuotaCut)),
        history_half_life_ms=chance.choice((None, HOUR_MS)),
    )
    return Config(flavors, tenants, policy)


def an_option(chance: random.Random) -> Option:
    flavor = chance.choice(FLAVORS)
    return Option(
        flavor, Fraction(chance.choice((1, 1, 2, Fraction(1, 2)))), (), {(flavor, GPU): chance.choice((1, 1, 2, 4, 5))}
    )


def a_world(seed: int, fallbacks: tuple[Fallback, ...] = tuple(Fallback)) -> World:
    """A world in the middle of its life."""
    chance = random.Random(seed)
    world = World(a_config(chance))
    leaves = [name for name in world.config.tenants if world.config.is_leaf(name)]
    for number in range(chance.randint(6, 14)):
        world.submit(
            f"j{number}",
            chance.choice(leaves),
            *(an_option(chance) for _ in range(chance.choice((1, 1, 2, 3)))),
            priority=chance.choice((0, 0, 0, 1)),
            preemptible=chance.random() < 0.8,
            fallback=chance.choice(fallbacks),
            fallback_after_ms=chance.choice((0, 0, HOUR_MS // 3)),
            time_limit_ms=chance.choice((1, 2, 3, 5)) * HOUR_MS // 4,
        )
        if chance.random() < 0.3:
            world.cycle()
            advance(world, world.now_ms + chance.randrange(HOUR_MS // 2))
    return world


def advance(world: World, until_ms: int) -> None:
    """Let time pass; who has reached the time limit ends."""
    world.history = settle(world.config, world.snapshot().running, world.history, until_ms)
    world.now_ms = until_ms
    for name in [name for name in world.attempts if end_ms(world, name) <= until_ms]:
        world.finish(name)


def end_ms(world: World, name: str) -> int:
    attempt, job = world.attempts[name], world.jobs[name]
    left = job.time_limit_ms / job.options[attempt.option].speed
    return attempt.admitted_at_ms - (-left.numerator // left.denominator)


@pytest.mark.parametrize("seed", range(80))
def test_a_plan_is_idempotent_and_blind_to_the_order_of_jobs(seed):
    world = a_world(seed)
    chance = random.Random(seed)
    snapshot = world.snapshot()
    plan = plan_cycle(snapshot, world.now_ms)
    for _ in range(2):
        pending = list(snapshot.pending)
        chance.shuffle(pending)
        assert plan_cycle(replace(snapshot, pending=tuple(pending)), world.now_ms) == plan
    world.apply(plan)
    again = plan_cycle(world.snapshot(), world.now_ms)
    assert not again
    assert {job: world.choices[job] for job in again.choices} == again.choices


@pytest.mark.parametrize("seed", range(80))
def test_nobody_starts_beyond_a_budget(seed):
    world = a_world(seed)
    starts = {each.job for each in world.cycle().admissions}
    for tenant in world.config.tenants.values():
        mine = {name: each for name, each in world.jobs.items() if tenant.id in world.config.paths[each.tenant]}
        if tenant.budget is not None and starts & mine.keys():
            reserved = sum(reservation(world, name) for name in world.attempts if name in mine)
            spent = world.spent().get(tenant.id, 0)
            assert reserved + spent <= tenant.budget.accelerator_hours * HOUR_MS, tenant.id


def reservation(world: World, name: str) -> Fraction:
    job, attempt = world.jobs[name], world.attempts[name]
    units = sum(world.config.flavors[row[0]].price * n for row, n in attempt.demand.items() if is_accelerator(row[1]))
    return units * job.time_limit_ms / job.options[attempt.option].speed


@pytest.mark.parametrize("seed", range(60))
def test_a_forecast_comes_true(seed):
    """Nobody submits and every job runs for its time limit: then each forecast is right to the millisecond."""
    world = a_world(seed, (Fallback.ORDERED,))
    world.cycle()
    foreseen = forecasts(world)
    for _ in range(400):
        instants = [at_ms for at_ms in coming(world) if at_ms > world.now_ms]
        if not instants:
            break
        advance(world, min(instants))
        for each in world.cycle().admissions:
            if each.job in foreseen:
                assert foreseen.pop(each.job) == (world.now_ms, each.option), each.job
    never = {name: start for name, start in foreseen.items() if start is not None}
    assert not never


def forecasts(world: World) -> Mapping[str, tuple[int, int] | None]:
    found = {}
    for job in world.snapshot().pending:
        start = forecast(world.snapshot(), job.id, world.now_ms)
        assert start.earliest_ms == start.latest_ms
        found[job.id] = None if start.latest_ms is None else (start.latest_ms, start.option)
    return found


def coming(world: World) -> list[int]:
    """All instants at which something may change by itself."""
    policy = world.config.policy
    out = [end_ms(world, name) for name in world.attempts]
    out += [each.admitted_at_ms + policy.min_runtime_ms for each in world.attempts.values()]
    for job in world.snapshot().pending:
        out += [job.pending_since_ms + job.fallback_after_ms, job.pending_since_ms + (policy.backfill_after_ms or 0)]
    for name in world.spent():
        period_ms = world.config.tenants[name].budget.period_ms
        out.append(world.now_ms // period_ms * period_ms + period_ms)
    return out


@pytest.mark.parametrize("seed", range(60))
def test_every_reason_is_true(seed):
    world = a_world(seed)
    world.cycle()
    found = reasons(world.snapshot(), world.now_ms)
    assert set(found) == {job.id for job in world.snapshot().pending}
    if all(tenant.budget is None for tenant in world.config.tenants.values()):
        assert HoldReason.BUDGET_EXHAUSTED not in found.values()
    if world.config.policy.backfill_after_ms is None:
        assert HoldReason.BACKFILL_CLAIM not in found.values()
