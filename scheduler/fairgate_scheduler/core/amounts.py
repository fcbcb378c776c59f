"""Exact amounts of resources as canonical integers.

Canonical units follow Kueue (``pkg/resources/requests.go``), so that what we charge is what the cluster's quota line
charges: ``cpu`` counts in milli-CPU, every other resource in whole units; a finer quantity is rounded up.
"""

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Final

Amount = int
"""A number of canonical units. ``UNLIMITED`` saturates: nothing added to it or taken from it changes it."""

UNLIMITED: Final[Amount] = 2**63 - 1
"""No bound. Also the largest amount: sums and products that would pass it stay there and never wrap."""

Row = tuple[str, str]
"""(flavor, resource): what a quota, a capacity and a demand are counted by."""

Demand = Mapping[Row, Amount]
"""What one option of a job takes, its whole gang summed up."""

_PLAIN: Final = ("cpu", "memory", "ephemeral-storage")
_SUFFIXES: Final[Mapping[str, Fraction]] = {
    "": Fraction(1),
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    **{letter: Fraction(1000) ** power for power, letter in enumerate("kMGTPE", 1)},
    **{f"{letter}i": Fraction(1024) ** power for power, letter in enumerate("KMGTPE", 1)},
}
_QUANTITY: Final = re.compile(r"([+-]?)([0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE]([+-]?[0-9]{1,3})|([a-zA-Z]*))")


class QuantityError(ValueError):
    """A text is not a quantity that this resource can have; the message says what would be."""


def is_accelerator(resource: str) -> bool:
    """Every resource but cpu, memory, ephemeral-storage and hugepages is an accelerator: whole devices, priced."""
    return resource not in _PLAIN and not resource.startswith("hugepages-")


def is_chargeable(resource: str) -> bool:
    """Whether a resource can be charged without being declared: ephemeral-storage and hugepages can not."""
    return resource in ("cpu", "memory") or is_accelerator(resource)


def parse_quantity(text: object, resource: str) -> Amount:
    """Return a Kubernetes quantity in canonical units, rounded up to the next unit.

    Negative amounts are returned as such, so that the caller can name the field that may not be negative.

    Raises:
        QuantityError: not a Kubernetes quantity, or a fraction of an accelerator device.
    """
    match = None if isinstance(text, bool) else _QUANTITY.fullmatch(str(text).strip())
    suffix: str = (match[4] or "") if match else ""
    if match is None or suffix not in _SUFFIXES:
        raise QuantityError(f"{text!r} is not a Kubernetes quantity; write a number such as 2, 500m, 1.5 or 16Gi")
    exact = Fraction(match[2]) * (Fraction(10) ** int(match[3]) if match[3] else _SUFFIXES[suffix])
    exact *= 1000 if resource == "cpu" else 1
    if is_accelerator(resource) and exact.denominator != 1:
        raise QuantityError(f"{text!r} is a fraction of a {resource} device; ask for whole devices")
    whole = min(-(-exact.numerator // exact.denominator), UNLIMITED)
    return max(-whole, -UNLIMITED) if match[1] == "-" else whole


def format_quantity(amount: Amount, resource: str) -> str:
    """The shortest exact Kubernetes quantity of a canonical amount, ``UNLIMITED`` by that word."""
    if amount >= UNLIMITED:
        return "UNLIMITED"
    if resource == "cpu":
        return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"
    if resource == "memory" and amount:
        for power, letter in reversed(list(enumerate("KMGTPE", 1))):
            if amount % 1024**power == 0:
                return f"{amount // 1024**power}{letter}i"
        for power, letter in reversed(list(enumerate("kMGTPE", 1))):
            if amount % 1000**power == 0:
                return f"{amount // 1000**power}{letter}"
    return str(amount)


def add(left: Amount, right: Amount) -> Amount:
    """The sum, saturating at ``UNLIMITED``."""
    return UNLIMITED if UNLIMITED in (left, right) else min(left + right, UNLIMITED)


def subtract(left: Amount, right: Amount) -> Amount:
    """The difference; ``UNLIMITED`` stays ``UNLIMITED`` whatever is taken from it. May be negative."""
    return UNLIMITED if left == UNLIMITED else left - right


def scale(amount: Amount, count: int) -> Amount:
    """``count`` times the amount, saturating at ``UNLIMITED``."""
    if UNLIMITED in (amount, count) and amount and count:
        return UNLIMITED
    return min(amount * count, UNLIMITED)


def total(demands: Iterable[Demand]) -> dict[Row, Amount]:
    """The saturating sum of several demands, row by row."""
    out: dict[Row, Amount] = {}
    for demand in demands:
        for row, amount in demand.items():
            out[row] = add(out.get(row, 0), amount)
    return out
