"""Readers of single values: each takes a node and returns a typed value, or raises ``Unreadable`` with a remedy."""

import re
from collections.abc import Callable
from enum import StrEnum
from fractions import Fraction
from typing import Final, TypeVar

from fairgate_scheduler.core.amounts import UNLIMITED, Amount, QuantityError, is_accelerator, parse_quantity
from fairgate_scheduler.documents.nodes import Kind, Node
from fairgate_scheduler.documents.problems import Problem, suggest

Choice = TypeVar("Choice", bound=StrEnum)

INTEGER_MAX: Final = 2**31 - 1
"""Counts and priorities are 32-bit numbers everywhere they go (gRPC, Kubernetes, Kueue)."""
DURATION_MAX_MS: Final = 100 * 365 * 86_400_000

_DURATION: Final = re.compile(
    r"(?:([0-9]{1,9})d)?(?:([0-9]{1,9})h)?(?:([0-9]{1,9})m)?(?:([0-9]{1,12}(?:\.[0-9]{1,9})?)s)?"
)
_UNITS_MS: Final = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000))
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,18}")
_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]{1,30}\.?[0-9]{0,30}|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,2})?")
_RATIO: Final = re.compile(r"([+-]?[0-9]{1,60})/([0-9]{1,60})")
_LABEL: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"(?=.{1,253}\Z)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*")


class Unreadable(Exception):  # noqa: N818 - caught where the problems are collected
    """A node is not what a reader wants; ``problem`` says what would be."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


def wrong(node: Node, message: str, remedy: str) -> Unreadable:
    """The exception for this node."""
    return Unreadable(node.problem(message, remedy))


def read_text(node: Node) -> str:
    """One word or sentence, as written."""
    if node.kind is not Kind.SCALAR:
        raise wrong(node, f"{node.kind.value} where a single value belongs", "write one value")
    return node.text


def read_boolean(node: Node) -> bool:
    """``true`` or ``false`` and nothing else: ``yes``, ``on`` and quoted words are not taken for one."""
    text = read_text(node)
    if text not in ("true", "false") or not node.is_plain:
        raise wrong(node, f"{text!r} is neither true nor false", "write true or false, without quotes")
    return text == "true"


def read_integer(minimum: int = 0, maximum: int = INTEGER_MAX) -> Callable[[Node], int]:
    """A whole number within these bounds."""

    def read(node: Node) -> int:
        text = read_text(node)
        if not _INTEGER.fullmatch(text) or not minimum <= int(text) <= maximum:
            raise wrong(node, f"{text!r} is not a whole number that fits here", f"write {minimum} to {maximum}")
        return int(text)

    return read


def read_fraction(node: Node) -> Fraction:
    """An exact number that is not negative: ``2``, ``0.45`` or ``1/3``."""
    text = read_text(node)
    ratio = _RATIO.fullmatch(text)
    if ratio and int(ratio[2]):
        value = Fraction(int(ratio[1]), int(ratio[2]))
    elif _DECIMAL.fullmatch(text):
        value = Fraction(text)
    else:
        raise wrong(node, f"{text!r} is not a number", "write a number such as 2, 0.45 or 1/3")
    if value < 0:
        raise wrong(node, f"{text} is negative", "write 0 or more")
    return value


def read_duration(node: Node) -> int:
    """A duration in milliseconds."""
    try:
        return parse_duration(read_text(node))
    except ValueError as error:
        raise wrong(node, str(error), "write a number with its unit, such as 90s, 10m, 1h30m or 7d") from None


def read_positive_duration(node: Node) -> int:
    """A duration above zero, in milliseconds."""
    value = read_duration(node)
    if value == 0:
        raise wrong(node, f"{node.text} is no time at all", "write a duration above 0s")
    return value


def parse_duration(text: str) -> int:
    """A duration in milliseconds, exact.

    Raises:
        ValueError: no unit, another unit than d, h, m, s, finer than a millisecond, or longer than a century.
    """
    match = _DURATION.fullmatch(text)
    if match is None or not text:
        raise ValueError(f"{text!r} is not a duration")
    days, hours, minutes, seconds = (Fraction(part or 0) for part in match.groups())
    total_ms = days * 86_400_000 + hours * 3_600_000 + minutes * 60_000 + seconds * 1000
    if total_ms.denominator != 1:
        raise ValueError(f"{text!r} is finer than a millisecond")
    if total_ms > DURATION_MAX_MS:
        raise ValueError(f"{text!r} is longer than a hundred years")
    return int(total_ms)


def format_duration(duration_ms: int) -> str:
    """The shortest way to write a duration that ``parse_duration`` reads back exactly."""
    out, rest = "", duration_ms
    for unit, size in _UNITS_MS:
        count, rest = divmod(rest, size)
        out += f"{count}{unit}" if count else ""
    if rest or not out:
        out += f"{format_fraction(Fraction(rest, 1000))}s"
    return out


def format_fraction(value: Fraction) -> str:
    """A decimal number if it is one, else a ratio: ``0.45``, ``1/3``. ``read_fraction`` reads it back exactly."""
    rest, digits = value.denominator, 0
    for prime in (2, 5):
        power = 0
        while rest % prime == 0:
            rest, power = rest // prime, power + 1
        digits = max(digits, power)
    if rest != 1 or digits > 30:
        return f"{value.numerator}/{value.denominator}"
    scaled = str(abs(value.numerator) * 10**digits // value.denominator).rjust(digits + 1, "0")
    text = scaled if not digits else f"{scaled[:-digits]}.{scaled[-digits:]}"
    return f"-{text}" if value < 0 else text


def read_amount(resource: str) -> Callable[[Node], Amount]:
    """A quantity of this resource in canonical units, not negative; devices are whole."""

    def read(node: Node) -> Amount:
        text = read_text(node)
        try:
            amount = parse_quantity(text, resource)
        except QuantityError as error:
            message, _, remedy = str(error).partition("; ")
            raise wrong(node, message, remedy) from None
        if amount < 0:
            raise wrong(node, f"{text} is negative", "write 0 or more")
        return amount

    return read


def read_amount_or_unlimited(resource: str) -> Callable[[Node], Amount]:
    """A quantity, or the word ``UNLIMITED``."""
    plain = read_amount(resource)

    def read(node: Node) -> Amount:
        return UNLIMITED if node.kind is Kind.SCALAR and node.text == "UNLIMITED" else plain(node)

    return read


def is_quantity(text: str) -> bool:
    """Whether this is a Kubernetes quantity of anything, be it one that a resource can not have."""
    try:
        parse_quantity(text, "memory")
    except QuantityError:
        return False
    return True


def read_label(node: Node) -> str:
    """A DNS label (RFC 1123): what names a tenant, a flavor or a namespace on Kubernetes."""
    return _matching(node, _LABEL, "lower-case letters, digits and '-', 63 at most, no '-' at either end")


def read_subdomain(node: Node) -> str:
    """DNS labels with dots between them (RFC 1123): what names most objects on Kubernetes."""
    return _matching(node, _SUBDOMAIN, "lower-case letters, digits, '-' and '.', 253 at most")


def read_choice(choices: type[Choice]) -> Callable[[Node], Choice]:
    """One of an enumeration's words."""

    def read(node: Node) -> Choice:
        return choices(read_one_of([str(each) for each in choices])(node))

    return read


def read_one_of(words: list[str]) -> Callable[[Node], str]:
    """One of these words."""

    def read(node: Node) -> str:
        text = read_text(node)
        if text not in words:
            raise wrong(node, f"unknown word {text!r}", suggest(text, words))
        return text

    return read


def accelerator_name(node: Node) -> str:
    """The name of a resource that counts as accelerators."""
    text = read_text(node)
    if not is_accelerator(text):
        raise wrong(node, f"{text!r} is no accelerator", "name a device such as nvidia.com/gpu, or leave it out")
    return text


def _matching(node: Node, pattern: re.Pattern[str], remedy: str) -> str:
    text = read_text(node)
    if not pattern.fullmatch(text):
        raise wrong(node, f"{text!r} is not a name that Kubernetes takes", remedy)
    return text
