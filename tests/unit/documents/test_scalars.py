"""Single values: exact, with their units, or refused with what would be right."""

from fractions import Fraction

import pytest
from fairgate_scheduler.documents.nodes import parse_document
from fairgate_scheduler.documents.scalars import (
    Unreadable,
    format_duration,
    format_fraction,
    parse_duration,
    read_boolean,
    read_fraction,
    read_integer,
    read_label,
    read_subdomain,
)

MINUTE_MS = 60_000


@pytest.mark.parametrize(
    ("text", "value_ms"),
    [
        ("0s", 0),
        ("90s", 90_000),
        ("10m", 10 * MINUTE_MS),
        ("1h30m", 90 * MINUTE_MS),
        ("7d", 7 * 24 * 60 * MINUTE_MS),
        ("1d2h3m4.005s", ((26 * 60 + 3) * 60 + 4) * 1000 + 5),
        ("0.001s", 1),
    ],
)
def test_durations(text, value_ms):
    assert parse_duration(text) == value_ms


@pytest.mark.parametrize(
    "text", ["", "10", "m", "10x", "1.5h", "-1s", "30m1h", "1 h", "0.0001s", "101d36500d", "40000d", "10ms"]
)
def test_not_durations(text):
    with pytest.raises(ValueError, match=r"duration|millisecond|years"):
        parse_duration(text)


@pytest.mark.parametrize(("value_ms", "text"), [(0, "0s"), (90_000, "1m30s"), (86_400_000, "1d"), (1, "0.001s")])
def test_durations_are_written_short(value_ms, text):
    assert format_duration(value_ms) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(2), "2"),
        (Fraction(9, 20), "0.45"),
        (Fraction(1, 3), "1/3"),
        (Fraction(-1, 8), "-0.125"),
        (Fraction(10), "10"),
    ],
)
def test_fractions_are_written_exactly(value, text):
    assert format_fraction(value) == text


def node(text):
    return parse_document(f"x: {text}\n", "f.yaml").entries["x"]


@pytest.mark.parametrize(
    ("reader", "text", "value"),
    [
        (read_fraction, "0.45", Fraction(9, 20)),
        (read_fraction, "1/3", Fraction(1, 3)),
        (read_fraction, "1e2", Fraction(100)),
        (read_boolean, "true", True),
        (read_integer(-5), "-5", -5),
        (read_label, "v5e-2x4", "v5e-2x4"),
        (read_subdomain, "a.b-c", "a.b-c"),
    ],
)
def test_readers(reader, text, value):
    assert reader(node(text)) == value


@pytest.mark.parametrize(
    ("reader", "text", "says"),
    [
        (read_fraction, "1/0", "'1/0' is not a number"),
        (read_fraction, "-1", "-1 is negative"),
        (read_fraction, "1e999999", "'1e999999' is not a number"),
        (read_fraction, "9" * 5000, "is not a number"),
        (read_boolean, "yes", "'yes' is neither true nor false"),
        (read_boolean, '"true"', "'true' is neither true nor false"),
        (read_integer(), "-1", "'-1' is not a whole number that fits here"),
        (read_integer(), "1.0", "write 0 to 2147483647"),
        (read_integer(), "2147483648", "'2147483648' is not a whole number that fits here"),
        (read_integer(), "[1]", "a list where a single value belongs"),
        (read_label, "-a", "'-a' is not a name"),
        (read_label, "a" * 64, "is not a name"),
        (read_label, "a.b", "'a.b' is not a name"),
        (read_subdomain, "a..b", "'a..b' is not a name"),
    ],
)
def test_wrong_values(reader, text, says):
    with pytest.raises(Unreadable) as error:
        reader(node(text))
    assert says in str(error.value)
    assert (error.value.problem.path, error.value.problem.line) == ("x", 1)
