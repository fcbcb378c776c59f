"""Amounts as Kueue reads and writes them: exact, and in the one form that it would store them in."""

from collections.abc import Sequence
from typing import Final

from fairgate_scheduler.core.amounts import Amount, parse_quantity

TOP: Final[Amount] = 10**18
"""What stands for "not limited": more than any cluster has, and small enough that Kueue's sums in 64 bits, which do not
saturate in every version that we support, stay right."""


def quantity(amount: Amount, resource: str) -> str:
    """The canonical Kubernetes quantity of an amount, the shorter one of two."""
    if resource == "cpu":
        return f"{amount}m" if amount % 1000 else _short(amount // 1000, 1000, "kMGTPE")
    decimal = _short(amount, 1000, "kMGTPE")
    binary = _short(amount, 1024, ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")) if resource == "memory" else decimal
    return min(binary, decimal, key=len)


def _short(number: int, base: int, suffixes: Sequence[str]) -> str:
    suffix = ""
    for each in suffixes:
        if not number or number % base:
            break
        number, suffix = number // base, each
    return f"{number}{suffix}"


def is_same_quantity(one: object, other: object) -> bool:
    """Whether two texts are the same amount, however they are written."""
    try:
        return parse_quantity(one, "cpu") == parse_quantity(other, "cpu")
    except ValueError:
        return one == other
