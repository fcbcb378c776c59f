"""What the benchmarks say: printed as they end, compared with each other, and kept in a file."""

import json
import os
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

Figures = dict[str, Any]


@dataclass(frozen=True)
class Bar:
    """What a figure must not exceed."""

    figure: str
    most: float


@dataclass(frozen=True)
class Comparison:
    """How many times as large a figure of one benchmark is as that of another, when both have been run together."""

    name: str
    one: str
    other: str
    figure: str
    most: float


def judged(name: str, figures: Figures, bars: Sequence[Bar]) -> Figures:
    """Print the figures of a benchmark; returns them with what is to be kept besides."""
    missed = [f"{bar.figure} > {bar.most:g}" for bar in bars if figures.get(bar.figure, 0) > bar.most]
    met = [] if missed or "error" in figures else [f"{bar.figure} <= {bar.most:g}" for bar in bars]
    verdict = "   MISSED " + ", ".join(missed) if missed else "   met " + ", ".join(met) if met else ""
    sys.stdout.write(f"{name}{verdict}\n")
    for figure, value in figures.items():
        sys.stdout.write(f"    {figure:<24} {value:>12}\n")
    sys.stdout.flush()
    return {"bench": name, "at": _now(), **figures, "missed": missed}


def compared(comparison: Comparison, results: Mapping[str, Figures]) -> Figures | None:
    """Print both side by side; ``None``: one of them has not been run, or has failed."""
    one, other = (results.get(each, {}) for each in (comparison.one, comparison.other))
    if comparison.figure not in one or comparison.figure not in other:
        return None
    ratio = round(one[comparison.figure] / other[comparison.figure], 3)
    sys.stdout.write(f"\n{'':<28} {comparison.one:>16} {comparison.other:>16}\n")
    for figure, value in one.items():
        if figure in other and figure not in _NO_FIGURES:
            sys.stdout.write(f"    {figure:<24} {value:>16} {other[figure]:>16}\n")
    return judged(comparison.name, {"times": ratio}, [Bar("times", comparison.most)])


def keep(path: Path, results: list[Figures]) -> None:
    """Write them down; what the file says of benchmarks that were not run now stays, each with its own time."""
    ran = {each["bench"] for each in results}
    kept = json.loads(path.read_text())["results"] if path.exists() else []
    document = {"machine": _machine(), "results": [each for each in kept if each["bench"] not in ran] + results}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2) + "\n")
    sys.stdout.write(f"written to {path}\n")


def _machine() -> Figures:
    return {"python": platform.python_version(), "system": platform.platform(), "cpus": os.cpu_count()}


def _now() -> str:
    return time.strftime(_TIME, time.gmtime())


_NO_FIGURES: Final = frozenset({"bench", "at", "missed", "took_s", "load_before"})
_TIME: Final = "%Y-%m-%dT%H:%M:%SZ"
