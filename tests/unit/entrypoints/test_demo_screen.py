"""The demo's picture: shares against entitlement, and the queue with reasons."""

from fractions import Fraction
from io import StringIO

import pytest
from fairgate import QuotaUsage, Tenant, TenantUsage
from fairgate_scheduler.entrypoints.demo.evidence import Look
from fairgate_scheduler.entrypoints.demo.screen import bar, picture
from rich.console import Console

GPU = "nvidia.com/gpu"


@pytest.mark.parametrize(
    ("share", "entitlement", "drawn"),
    [
        (Fraction(0), Fraction(1, 4), "·····│···············"),
        (Fraction(3, 5), Fraction(1, 4), "█████│███████········"),
        (Fraction(1, 4), Fraction(1, 2), "█████·····│··········"),
        (Fraction(1), Fraction(1), "████████████████████│"),
        (Fraction(9, 4), Fraction(0), "│████████████████████"),
    ],
)
def test_a_bar_is_marked_where_the_entitlement_ends(share, entitlement, drawn):
    assert bar(share, entitlement) == drawn


def test_shares_stand_against_entitlement():
    usage = TenantUsage(
        "tenants/research",
        (QuotaUsage("h100", GPU, "4", "0", "4", "0"), QuotaUsage("cpu", "cpu", "9", "UNLIMITED", "0", "0")),
        Fraction(3, 5),
        Fraction(1),
        1,
        0,
        "accelerator",
        Fraction(3, 5),
        Fraction(1, 4),
    )
    tenants = (Tenant("tenants/acme"), Tenant("tenants/research", "tenants/acme", usage=usage))
    console = Console(width=120, record=True, file=StringIO())
    console.print(picture(Look(12, (), tenants), ["It begins."]))
    lines = [line.split() for line in console.export_text().splitlines() if line.strip()]
    assert lines[:3] == [
        ["It", "begins."],
        ["TENANT", "WEIGHT", "SHARE", "│", "ENTITLED", "USED/NOMINAL"],
        ["research", "1", "█████│███████········", "60%", "of", "25%", "h100", "4/0"],
    ]
