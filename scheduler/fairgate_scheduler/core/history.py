"""Decayed usage: what a tenant has used before counts in the fair order, less and less.

Each tenant has a history H, the decayed mean of its dominant share: over a time Δ in which its share is constant,
H ← H·½^(Δ ÷ half-life) + share·(1 − ½^(Δ ÷ half-life)). That is the decay of Kueue's admission fair sharing (KEP-4136)
and of Slurm's classic fair share, exact here: ½^x is irrational for most x, so it is enclosed between two fractions
that are as near to each other as it takes to round the result to one and the same step.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Final

from fairgate_scheduler.core.quota import DIMENSIONS, QuotaTree, quota_tree
from fairgate_scheduler.core.snapshot import History, Running
from fairgate_scheduler.core.tenancy import Config
from fairgate_scheduler.core.usage import Bounds

STEPS: Final = 10**9
"""A history is rounded to a whole number of these in 1, half to even."""

FORGOTTEN_AFTER: Final = 256
"""After so many half-lives nothing is left: 2⁻²⁵⁶ of it is far below every step."""

_BITS_FIRST: Final = 96


def settle(
    config: Config, running: Iterable[Running], history: Mapping[str, History], now_ms: int
) -> Mapping[str, History]:
    """The history of every tenant at ``now_ms``, if these jobs have run since it was settled last.

    Call it at every instant at which something happens, before it happens. A tenant without history begins with none. A
    clock that has gone back counts as no time. Empty if the policy has no half-life.
    """
    half_life_ms = config.policy.history_half_life_ms
    if half_life_ms is None:
        return {}
    if len(history) == len(config.tenants) and all(
        tenant in history and history[tenant].settled_at_ms == now_ms for tenant in config.tenants
    ):
        return history
    shares = dominant_shares(config, running)
    out: dict[str, History] = {}
    for tenant in config.tenants:
        before = history.get(tenant)
        if before is None:
            out[tenant] = History(Fraction(0), now_ms)
        elif before.settled_at_ms == now_ms:
            out[tenant] = before
        else:
            passed_ms = max(0, now_ms - before.settled_at_ms)
            out[tenant] = History(decayed(before.value, shares[tenant], passed_ms, half_life_ms), now_ms)
    return out


def decayed(value: Fraction, share: Fraction, passed_ms: int, half_life_ms: int) -> Fraction:
    """``value`` after a time in which the share was constant, rounded to 1 ÷ ``STEPS``, half to even."""
    halvings, rest = divmod(Fraction(passed_ms, half_life_ms), 1)
    if halvings >= FORGOTTEN_AFTER:
        return _rounded(share)
    if not rest:
        return _rounded(share + (value - share) / 2**halvings)
    bits = _BITS_FIRST
    while True:
        # The exact result is irrational unless value = share, so it is never on the border between two steps.
        low, high = _half_to_the(rest, bits)
        ends = {_rounded(share + (value - share) * each / 2**halvings) for each in (low, high)}
        if len(ends) == 1:
            return ends.pop()
        bits *= 2


def dominant_shares(config: Config, running: Iterable[Running]) -> Mapping[str, Fraction]:
    """The largest part, of any resource, that each tenant uses of all nominal quota of its tree; not weighted."""
    tree = quota_tree(config)
    points = [[0] * len(DIMENSIONS) for _ in tree.ids]
    bounds = _bounds(tree)
    counts = Counter(bounds.charge(each.job.tenant, each.attempt.demand) for each in running)
    for charge, times in counts.items():
        for node in charge.path:
            for place, amount in enumerate(charge.points):
                points[node][place] += times * amount
    return {tenant: Fraction(max(points[node]), tree.unit) for node, tenant in enumerate(tree.ids)}


def in_points(tree: QuotaTree, history: Mapping[str, History]) -> Mapping[int, Fraction]:
    """The histories that are not 0 by the tenant's number, in the unit in which the tree counts shares."""
    return {
        tree.index[tenant]: each.value * tree.unit
        for tenant, each in history.items()
        if each.value and tenant in tree.index
    }


@lru_cache(maxsize=2)
def _bounds(tree: QuotaTree) -> Bounds:
    """Makes the charges of a tree, which say how much a job counts. No capacity changes that."""
    return Bounds(tree, {})


def _rounded(value: Fraction) -> Fraction:
    return Fraction(round(value * STEPS), STEPS)


@lru_cache(maxsize=1024)
def _half_to_the(exponent: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Two fractions around ½^exponent, for an exponent between 0 and 1, less than 2^−(bits − 10) apart.

    ½^exponent is the product of 2^−(2^−k) over the binary digits k of the exponent that are 1; each of these is the
    square root of the one before. Everything is rounded down (or up, for the upper end) to ``bits`` binary places.
    """
    one = 1 << bits
    low = high = one
    root_low = root_high = one >> 1
    digits = (exponent.numerator << bits) // exponent.denominator
    for place in range(bits - 1, -1, -1):
        root_low, root_high = isqrt(root_low << bits), isqrt(root_high << bits) + 1
        if digits >> place & 1:
            low = low * root_low >> bits
            high = -(-high * root_high >> bits)
    # The digits that are left out make the exponent larger by less than 2^−bits, the power smaller by less than that.
    return Fraction(max(0, low - 1), one), Fraction(high, one)
