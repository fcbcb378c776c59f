"""Single values of a log: numbers, instants, durations, amounts. Each says what would be right."""

import re
from datetime import UTC, datetime, timedelta, tzinfo
from fractions import Fraction
from math import ceil
from typing import Final

_NUMBER: Final = re.compile(r"[0-9]{1,15}(?:\.[0-9]{0,9})?")
_INSTANT: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?(Z|[+-].*)?")
_CLOCK: Final = re.compile(r"(?:([0-9]{1,6})-)?(?:([0-9]{1,4}):)?([0-9]{1,2}):([0-9]{1,2})(?:\.[0-9]*)?")
_MEMORY: Final = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?)([KMGTP]?)")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_LONGEST_MS: Final = 100 * 366 * 86_400_000


class Malformed(Exception):  # noqa: N818 - caught where the rows are read
    """A value of a row can not be read: which column, what is wrong, and what would be right."""

    def __init__(self, column: str, message: str, remedy: str) -> None:
        super().__init__(message)
        self.column = column
        self.message = message
        self.remedy = remedy


def number(column: str, text: str) -> Fraction:
    """A number that is not negative."""
    if not _NUMBER.fullmatch(text):
        raise Malformed(column, f"{text!r} is not a number of 0 or more", "write digits, with a point if need be")
    return Fraction(text)


def whole(column: str, text: str) -> int:
    """A whole number that is not negative; ``8.0`` is one."""
    value = number(column, text)
    if value.denominator != 1:
        raise Malformed(column, f"{text!r} is not a whole number", "write a whole number of devices")
    return value.numerator


def seconds(column: str, text: str) -> int:
    """Seconds, in milliseconds."""
    value_ms = ceil(number(column, text) * 1000)
    if value_ms > _LONGEST_MS:
        raise Malformed(column, f"{text!r} seconds are more than a hundred years", "check the unit")
    return value_ms


def instant(column: str, text: str, zone: tzinfo) -> int:
    """An instant in milliseconds since 1970: ISO 8601, or seconds since then.

    One without an offset is local time of ``zone``; of an hour that comes twice there, the first.
    """
    if text.isdigit():
        return seconds(column, text)
    match = _INSTANT.fullmatch(text)
    try:
        at = datetime.fromisoformat(text) if match else None
    except ValueError:
        at = None
    if at is None:
        raise Malformed(column, f"{text!r} is not an instant", "write 2024-03-31T02:30:00, with +01:00 if you know it")
    return ((at if at.tzinfo else at.replace(tzinfo=zone)) - _EPOCH) // _MILLISECOND


def clock_duration(column: str, text: str) -> int:
    """A duration as Slurm writes it, ``[days-][hours:]minutes:seconds``, in milliseconds."""
    match = _CLOCK.fullmatch(text)
    if match is None:
        raise Malformed(column, f"{text!r} is not a duration", "write [days-]hours:minutes:seconds")
    days, hours, minutes, rest = (int(part or 0) for part in match.groups())
    return (((days * 24 + hours) * 60 + minutes) * 60 + rest) * 1000


def memory(column: str, text: str) -> int:
    """Memory as Slurm writes it, in bytes: binary suffixes, without one megabytes."""
    match = _MEMORY.fullmatch(text)
    if match is None:
        raise Malformed(column, f"{text!r} is not an amount of memory", "write for example 64G")
    return ceil(Fraction(match[1]) * Fraction(1024) ** (1 + "KMGTP".index(match[2] or "M")))
