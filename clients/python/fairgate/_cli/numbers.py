"""Ratios as people read them."""

from fractions import Fraction


def percent(ratio: Fraction) -> str:
    """A share as people read it, to a tenth of a percent."""
    return f"{float(ratio * 100):.1f}%"


def number(ratio: Fraction) -> str:
    """A weight, a price or hours: exact if it is whole, else rounded."""
    return str(ratio) if ratio.denominator == 1 else f"{float(ratio):.4g}"
