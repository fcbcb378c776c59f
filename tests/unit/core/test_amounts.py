"""Quantities: exact tables of what is read, written, refused and saturated."""

import pytest
from fairgate_scheduler.core.amounts import (
    UNLIMITED,
    QuantityError,
    add,
    format_quantity,
    is_accelerator,
    is_chargeable,
    parse_quantity,
    scale,
    subtract,
    total,
)

GPU = "nvidia.com/gpu"


@pytest.mark.parametrize(
    ("text", "resource", "amount"),
    [
        (0, "cpu", 0),
        (2, "cpu", 2_000),
        ("2", "cpu", 2_000),
        ("500m", "cpu", 500),
        ("0.5", "cpu", 500),
        (".5", "cpu", 500),
        ("5.", "cpu", 5_000),
        ("1n", "cpu", 1),
        ("1u", "cpu", 1),
        ("1001u", "cpu", 2),
        ("0.0001", "cpu", 1),
        ("1k", "cpu", 1_000_000),
        ("-1", "cpu", -1_000),
        ("-1n", "cpu", -1),
        ("+3", "cpu", 3_000),
        (" 3 ", "cpu", 3_000),
        ("1Ki", "memory", 1024),
        ("1.5Gi", "memory", 3 * 2**29),
        ("1G", "memory", 10**9),
        ("1e3", "memory", 1_000),
        ("1E3", "memory", 1_000),
        ("1E", "memory", 10**18),
        ("1Ei", "memory", 2**60),
        ("12e-1", "memory", 2),
        ("100m", "memory", 1),
        ("1e999", "memory", UNLIMITED),
        ("8Ei", "memory", UNLIMITED),
        ("-8Ei", "memory", -UNLIMITED),
        (str(UNLIMITED), "memory", UNLIMITED),
        (str(UNLIMITED - 1), "memory", UNLIMITED - 1),
        ("9223372036854776", "cpu", UNLIMITED),
        (8, GPU, 8),
        ("1e0", GPU, 1),
        ("2000m", GPU, 2),
        ("1k", GPU, 1_000),
        ("-8", GPU, -8),
        ("1", "hugepages-2Mi", 1),
        ("0.5", "ephemeral-storage", 1),
    ],
)
def test_quantities_are_read_exactly_and_rounded_up(text, resource, amount):
    assert parse_quantity(text, resource) == amount


@pytest.mark.parametrize(
    "text",
    ["", "x", "1x", "1 Gi", "1e", "e3", "--1", "1.2.3", "1K", "1ki", "0x10", "nan", "1e3Ki", ".", True, None],
)
def test_what_is_no_quantity_is_refused_with_an_example(text):
    with pytest.raises(QuantityError, match=r"is not a Kubernetes quantity; write a number such as 2, 500m"):
        parse_quantity(text, "memory")


@pytest.mark.parametrize("text", ["500m", "0.5", "1.5", "1n", "1e-1"])
def test_fractions_of_a_device_are_refused(text):
    with pytest.raises(QuantityError, match=f"fraction of a {GPU} device; ask for whole devices"):
        parse_quantity(text, GPU)


@pytest.mark.parametrize(
    ("amount", "resource", "text"),
    [
        (0, "cpu", "0"),
        (500, "cpu", "500m"),
        (2_000, "cpu", "2"),
        (-1_500, "cpu", "-1500m"),
        (UNLIMITED, "cpu", "UNLIMITED"),
        (0, "memory", "0"),
        (1024, "memory", "1Ki"),
        (3 * 2**29, "memory", "1536Mi"),
        (10**9, "memory", "1G"),
        (1_000_001, "memory", "1000001"),
        (-1024, "memory", "-1Ki"),
        (8, GPU, "8"),
        (1_000, GPU, "1000"),
    ],
)
def test_amounts_are_written_so_that_they_read_back(amount, resource, text):
    assert format_quantity(amount, resource) == text
    if amount != UNLIMITED:
        assert parse_quantity(text, resource) == amount


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        (1, 2, 3),
        (2**62, 2**62 - 1, UNLIMITED),
        (2**62, 2**62 - 2, UNLIMITED - 1),
        (2**62, 2**62, UNLIMITED),
        (UNLIMITED, 1, UNLIMITED),
        (UNLIMITED, -5, UNLIMITED),
        (UNLIMITED, UNLIMITED, UNLIMITED),
        (5, -7, -2),
    ],
)
def test_sums_saturate(left, right, result):
    assert add(left, right) == result
    assert add(right, left) == result


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [(5, 7, -2), (UNLIMITED, 5, UNLIMITED), (UNLIMITED, UNLIMITED, UNLIMITED), (2**62, 2**62, 0)],
)
def test_unlimited_stays_unlimited_whatever_is_taken(left, right, result):
    assert subtract(left, right) == result


@pytest.mark.parametrize(
    ("amount", "count", "result"),
    [
        (3, 4, 12),
        (2**62, 2, UNLIMITED),
        (2**62, 1, 2**62),
        (UNLIMITED, 0, 0),
        (0, UNLIMITED, 0),
        (UNLIMITED, 3, UNLIMITED),
        (2, UNLIMITED, UNLIMITED),
    ],
)
def test_products_saturate(amount, count, result):
    assert scale(amount, count) == result


def test_demands_sum_row_by_row():
    memory, gpu = ("a", "memory"), ("a", GPU)
    assert total([{memory: 2**62, gpu: 1}, {memory: 2**62}, {gpu: 2}]) == {memory: UNLIMITED, gpu: 3}
    assert total([]) == {}


@pytest.mark.parametrize(
    ("resource", "accelerator", "chargeable"),
    [
        (GPU, True, True),
        ("google.com/tpu", True, True),
        ("nvidia.com/mig-1g.5gb", True, True),
        ("cpu", False, True),
        ("memory", False, True),
        ("ephemeral-storage", False, False),
        ("hugepages-2Mi", False, False),
        ("hugepages-1Gi", False, False),
    ],
)
def test_kinds_of_resources(resource, accelerator, chargeable):
    assert is_accelerator(resource) is accelerator
    assert is_chargeable(resource) is chargeable
