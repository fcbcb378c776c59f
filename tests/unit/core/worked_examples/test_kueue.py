"""Kueue's measures beside ours: its dominant resource share counts only what is used above nominal, ours counts all.

Kueue: ⌈1000 × max over resources of Σ over flavors of (use − nominal, if above) ÷ what the parent has to lend⌉ ÷ weight
(``pkg/cache/scheduler/fair_sharing.go``; the inputs are those of its test). Ours: max over accelerator, cpu and memory
of use ÷ nominal of the whole tree, ÷ weight: a tenant that uses its own quota is not idle, and goes after one that is.
"""

from collections.abc import Mapping
from fractions import Fraction
from math import ceil, inf

import pytest
from fairgate_scheduler.core.accounts import TenantUsage, tenant_accounts
from fairgate_scheduler.core.history import STEPS, decayed
from fairgate_scheduler.core.snapshot import History
from fairgate_scheduler.core.tenancy import Policy, Quota, Tenant
from fairgate_scheduler.testing.worlds import GPU, H100, World, config_of, owner, takes

MINUTE_MS = 60_000
CPU_ROW, GPU_ROW, SPOT_ROW = ("default", "cpu"), ("default", GPU), ("spot", GPU)


def kueue_share(
    use: Mapping, nominal: Mapping, lendable: Mapping[str, int], weight: Fraction = Fraction(1)
) -> int | float:
    """Kueue's value for a ClusterQueue or Cohort, from use and nominal by (flavor, resource)."""
    above: dict[str, int] = {}
    for row, amount in use.items():
        above[row[1]] = above.get(row[1], 0) + max(0, amount - nominal.get(row, 0))
    largest = max(Fraction(1000 * amount, lendable[resource]) for resource, amount in above.items())
    if not largest:
        return 0
    return ceil(largest / weight) if weight else inf


def our_share(use: Mapping, nominal: Mapping, others: Mapping, weight: Fraction = Fraction(1)) -> TenantUsage:
    """Our account of a tenant beside a lender, after it has come to use so much."""
    cq = Tenant("cq", "cohort", weight, {row: Quota(amount) for row, amount in nominal.items()})
    lender = Tenant("lender", "cohort", quota={row: Quota(amount) for row, amount in others.items()})
    world = World(config_of(Tenant("cohort"), cq, lender))
    for row, amount in use.items():
        world.submit(f"j{row}", "cq", takes(row[0], **{row[1]: amount}))
        world.start(f"j{row}")
    return tenant_accounts(world.snapshot())["cq"]


TWO = {CPU_ROW: 2, GPU_ROW: 5}, {CPU_ROW: 8, GPU_ROW: 5}
ONE = {GPU_ROW: 5}, {GPU_ROW: 5}
FLAVORS = {GPU_ROW: 20, SPOT_ROW: 80}, {GPU_ROW: 100}


@pytest.mark.parametrize(
    ("use", "quotas", "weight", "kueue", "ours"),
    [
        ({CPU_ROW: 1, GPU_ROW: 2}, TWO, 1, 0, Fraction(2, 10)),
        ({CPU_ROW: 3, GPU_ROW: 7}, TWO, 1, 200, Fraction(7, 10)),
        ({CPU_ROW: 3, GPU_ROW: 3}, TWO, 1, 100, Fraction(3, 10)),
        ({CPU_ROW: 5, GPU_ROW: 6}, TWO, 1, 300, Fraction(6, 10)),
        ({GPU_ROW: 7}, ONE, 1, 200, Fraction(7, 10)),
        ({GPU_ROW: 7}, ONE, 2, 100, Fraction(7, 20)),
        ({GPU_ROW: 7}, ONE, Fraction(1, 2), 400, Fraction(7, 5)),
        ({GPU_ROW: 7}, ONE, 0, inf, None),
        ({GPU_ROW: 501}, ({GPU_ROW: 500}, {GPU_ROW: 1000}), 1, 1, Fraction(501, 1500)),
        ({GPU_ROW: 800}, ({GPU_ROW: 500}, {GPU_ROW: 1000}), 300, 1, Fraction(800, 1500 * 300)),
        ({GPU_ROW: 25, SPOT_ROW: 5}, FLAVORS, 1, 25, Fraction(30, 200)),
    ],
)
def test_share(use, quotas, weight, kueue, ours):
    nominal, others = quotas
    lendable: dict[str, int] = {}
    for row, amount in (*nominal.items(), *others.items()):
        lendable[row[1]] = lendable.get(row[1], 0) + amount
    assert kueue_share(use, nominal, lendable, Fraction(weight)) == kueue
    assert our_share(use, nominal, others, Fraction(weight)).weighted_share == ours


@pytest.mark.parametrize(
    ("own", "root", "kueue", "ours"),
    [
        # A ClusterQueue under a child cohort of weight 2 under a root; both levels of each rule.
        (5, 45, (100, 50), (Fraction(1, 5), Fraction(1, 10))),
        (0, 50, (200, 100), (Fraction(1, 5), Fraction(1, 10))),
    ],
)
def test_share_in_a_hierarchy(own, root, kueue, ours):
    cq = Tenant("cq", "child", quota={GPU_ROW: Quota(own)})
    top = Tenant("root", quota={GPU_ROW: Quota(root)})
    world = World(config_of(top, Tenant("child", "root", Fraction(2)), cq))
    world.submit("j", "cq", takes("default", gpu=10))
    world.start("j")
    accounts, lendable = tenant_accounts(world.snapshot()), {GPU: own + root}
    values = [kueue_share({GPU_ROW: 10}, {GPU_ROW: own}, lendable, Fraction(weight)) for weight in (1, 2)]
    assert tuple(values) == kueue
    assert (accounts["cq"].weighted_share, accounts["child"].weighted_share) == ours


def test_who_is_first_is_not_the_same():
    # "own" uses its own 4 and one more, "borrower" owns nothing and has borrowed 2. By Kueue's share the borrower has
    # taken more, so the next one goes to "own"; by ours it goes to the borrower, which has less in all.
    tenants = [Tenant("org", quota={H100: Quota(4)}), owner("own", gpus=4), owner("borrower")]
    world = World(config_of(*tenants))
    world.submit_many("own", 6, takes("h100", gpu=1))
    world.submit_many("borrower", 3, takes("h100", gpu=1))
    for job in ("own-1", "own-2", "own-3", "own-4", "own-5", "borrower-1", "borrower-2"):
        world.start(job)
    kueue = {
        "own": kueue_share({H100: 5}, {H100: 4}, {GPU: 8}),
        "borrower": kueue_share({H100: 2}, {}, {GPU: 8}),
    }
    assert kueue == {"own": 125, "borrower": 250}
    assert [admit.job for admit in world.cycle().admissions] == ["borrower-3"]


def test_decay_of_admission_fair_sharing():
    # KEP-4136: use ← (1 − A)·use + A·current with A = 1 − ½^(sampling ÷ half-life).
    sampling_ms, half_life_ms = 5 * MINUTE_MS, 168 * 60 * MINUTE_MS
    factor = 1 - 0.5 ** (sampling_ms / half_life_ms)
    assert factor == pytest.approx(3.4376e-4, abs=1e-8)
    assert float(decayed(Fraction(0), Fraction(1), sampling_ms, half_life_ms)) == pytest.approx(factor, abs=1e-9)
    for before, share in (
        (Fraction(1, 2), Fraction(1, 4)),
        (Fraction(0), Fraction(3, 5)),
        (Fraction(9, 10), Fraction(0)),
    ):
        kueue = (1 - factor) * float(before) + factor * float(share)
        assert float(decayed(before, share, sampling_ms, half_life_ms)) == pytest.approx(kueue, abs=1e-9)


def test_decay_does_not_depend_on_how_often_it_is_settled():
    # Kueue samples every five minutes; here it is settled whenever something happens, to the same end.
    once = decayed(Fraction(1, 2), Fraction(1, 4), 60 * MINUTE_MS, 90 * MINUTE_MS)
    often = Fraction(1, 2)
    for _ in range(60):
        often = decayed(often, Fraction(1, 4), MINUTE_MS, 90 * MINUTE_MS)
    assert abs(once - often) <= Fraction(60, STEPS)
    assert decayed(Fraction(1), Fraction(0), 90 * MINUTE_MS, 90 * MINUTE_MS) == Fraction(1, 2)


def test_a_burst_is_charged_at_once():
    # A has used 0.1, B 0.11, and B submits ten at once. Where use is sampled every five minutes and nothing is charged
    # at admission, B's jobs are all admitted before the next sample; here each counts for the next turn.
    org = Tenant("org", quota={H100: Quota(100)})
    world = World(config_of(org, owner("a"), owner("b"), policy=Policy(history_half_life_ms=60 * MINUTE_MS)))
    world.history = {"a": History(Fraction("0.1"), 0), "b": History(Fraction("0.11"), 0)}
    world.submit_many("a", 5, takes("h100", gpu=2))
    world.submit_many("b", 5, takes("h100", gpu=2))
    assert [admit.job for admit in world.cycle().admissions] == [
        "a-1", "b-1", "a-2", "b-2", "a-3", "b-3", "a-4", "b-4", "a-5", "b-5",
    ]  # fmt: skip
