"""Durations as people write them (``90s``, ``1h30m``, ``7d``) and as the wire has them."""

import re
from datetime import timedelta
from typing import Final

from fairgate._errors import InvalidArgument, Violation

_PATTERN: Final = re.compile(
    r"(?:(?P<days>[0-9]{1,6})d)?(?:(?P<hours>[0-9]{1,7})h)?(?:(?P<minutes>[0-9]{1,9})m)?"
    r"(?:(?P<seconds>[0-9]{1,10})(?:\.(?P<thousandths>[0-9]{1,3}))?s)?"
)
_LONGEST: Final = timedelta(days=36_500)


def parse_duration(given: timedelta | str, field: str) -> timedelta:
    """A duration given as a text or as it is.

    Raises:
        InvalidArgument: not a duration, negative, finer than a millisecond or longer than a hundred years.
    """
    value = given if isinstance(given, timedelta) else _parse(given, field)
    if value < timedelta(0) or value > _LONGEST or value % timedelta(milliseconds=1):
        raise _refuse(given, field)
    return value


def _parse(text: str, field: str) -> timedelta:
    match = _PATTERN.fullmatch(text.strip())
    if match is None or not text.strip():
        raise _refuse(text, field)
    parts = {unit: int(number) for unit, number in match.groupdict(default="0").items() if unit != "thousandths"}
    milliseconds = int((match["thousandths"] or "").ljust(3, "0"))
    return timedelta(**parts, milliseconds=milliseconds)


def _refuse(given: object, field: str) -> InvalidArgument:
    remedy = "write a number with its unit, such as 90s, 10m, 1h30m or 7d"
    return InvalidArgument([Violation(field, f"{str(given)!r} is not a duration that can be used", remedy)])


def format_duration(duration: timedelta) -> str:
    """The shortest way to write a duration that ``parse_duration`` reads back, to the millisecond."""
    rest = round(duration / timedelta(milliseconds=1))
    out = ""
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000)):
        count, rest = divmod(rest, size)
        out += f"{count}{unit}" if count else ""
    if rest or not out:
        out += f"{rest // 1000}" + (f".{rest % 1000:03}".rstrip("0") if rest % 1000 else "") + "s"
    return out
