"""Whole stories on virtual time, with all switches of the policy: each ends, keeps every promise, is told twice alike.

The promises are those of ``scenario.invariants``; the core asserts its own laws at each plan beside them.
"""

import json
import random
from typing import Any

import pytest
from fairgate_scheduler.scenario.simulation import ScenarioResult, simulate
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

GPU = "nvidia.com/gpu"
ROWS = (("a", GPU), ("a", "cpu"), ("b", GPU), ("b", "memory"))
TREES = (
    ("o", "o/a", "o/b"),
    ("o", "o/a", "o/b", "o/c"),
    ("o", "o/m", "o/m/x", "o/m/y", "o/n"),
    ("o", "o/m", "o/m/x", "o/m/y", "o/n", "o/n/v", "o/n/w"),
    ("o", "o/a", "r", "r/s", "r/t"),
)
Document = dict[str, Any]


def make_policy(chance: random.Random) -> Document:
    return {
        "reclaim": chance.random() < 0.7,
        "rebalance": chance.random() < 0.6,
        "priority_preemption": chance.random() < 0.5,
        "quota_cut": chance.choice(("drain", "reclaim")),
        "min_runtime": chance.choice(("0s", "3m", "10m")),
        "history_half_life": chance.choice((None, "5m", "1h")),
        "backfill_after": chance.choice((None, None, None, "0s", "4m")),
    }


def make_quota(chance: random.Random, rows: list[tuple[str, str]], *, is_root: bool) -> Document:
    out: Document = {}
    for flavor, resource in rows:
        if chance.random() < (0.9 if is_root else 0.55):
            quota = {"nominal": chance.choice((0, 1, 2, 3, 4, 6))}
            if not is_root and chance.random() < 0.3:
                quota["borrowing_limit"] = chance.choice((0, 1, 2))
            if not is_root and chance.random() < 0.3:
                quota["lending_limit"] = min(quota["nominal"], chance.choice((0, 1, 2)))
            out.setdefault(flavor, {})[resource] = quota
    return out


def make_tenant(chance: random.Random, rows: list[tuple[str, str]], *, is_root: bool) -> Document:
    tenant: Document = {
        "weight": chance.choice((1, 1, 1, 2, 0, 10**12)),
        "quota": make_quota(chance, rows, is_root=is_root),
    }
    if chance.random() < 0.1:
        tenant["max_running_jobs"] = chance.choice((1, 2))
    if chance.random() < 0.1:
        tenant["budget"] = {"accelerator_hours": chance.choice((1, 3)), "period": "2h"}
    return tenant


def make_option(chance: random.Random, rows: list[tuple[str, str]]) -> Document:
    flavor = chance.choice(rows)[0]
    own = [resource for each, resource in rows if each == flavor]
    requests = {resource: chance.randint(1, 2) for resource in own if chance.random() < 0.7}
    return {"flavor": flavor, "pods": [{"requests": requests or {own[0]: 1}}]}


def make_job(chance: random.Random, number: int, leaves: list[str], rows: list[tuple[str, str]]) -> Document:
    job = {
        "id": f"j{number}",
        "tenant": chance.choice(leaves),
        "at": f"{chance.choice((0, 0, 1, 2, 5, 9))}m",
        "run": chance.choice(("4m", "9m", "2h")),
        "options": [make_option(chance, rows) for _ in range(chance.choice((1, 1, 2)))],
        "priority": chance.choice((0, 0, 0, 1, 3)),
        "preemptible": chance.random() < 0.85,
        "fallback_after": chance.choice(("0s", "0s", "2m", "7m")),
        "fallback": chance.choice(("ordered",) * 6 + ("soonest",)),
    }
    if chance.random() < 0.2:
        job["checkpoint_every"] = "1m"
    if chance.random() < 0.4:
        job["repeat"] = {"count": chance.randint(2, 3), "every": chance.choice(("0s", "1m"))}
    return job


def make_event(chance: random.Random, tree: tuple[str, ...], rows: list[tuple[str, str]]) -> Document:
    at, tenant = f"{chance.randint(1, 15)}m", chance.choice(tree)
    if chance.random() < 0.3:
        flavor, resource = chance.choice(rows)
        return {"at": at, "capacity": {flavor: {resource: chance.randint(0, 4)}}}
    return {"at": at, "quota": {tenant: make_quota(chance, rows, is_root="/" not in tenant)}}


def tell(seed: int) -> ScenarioResult:
    """The story of a seed; its text is JSON, which is YAML too."""
    chance = random.Random(seed)
    rows, tree = chance.sample(ROWS, chance.choice((1, 2, 3))), chance.choice(TREES)
    leaves = [each for each in tree if not any(other.startswith(f"{each}/") for other in tree)]
    document = {
        "version": 1,
        "name": f"story {seed}",
        "policy": make_policy(chance),
        "flavors": {flavor: {} for flavor in sorted({flavor for flavor, _ in rows})},
        "tenants": {each: make_tenant(chance, rows, is_root="/" not in each) for each in tree},
        "jobs": [make_job(chance, number, leaves, rows) for number in range(chance.randint(3, 8))],
        "events": [make_event(chance, tree, rows) for _ in range(chance.choice((0, 1, 2)))],
    }
    return simulate(json.dumps(document, indent=1), f"story-{seed}.yaml")


@pytest.mark.timeout(300)
@settings(derandomize=True, max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None)
@given(seed=st.integers(0, 2**32))
def test_every_story_ends_and_keeps_every_promise(seed):
    assert not tell(seed).broken
