"""``make bench``: measure the scheduler, print a table, and write ``build/bench.json``.

``python tests/bench`` runs everything; name benchmarks to run only them. ``--tiny`` tries the harness out in seconds;
its figures mean nothing.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import decisions
import endtoend
import submitting
from shapes import BASELINE, LARGE

Figures = dict[str, Any]
ROOT: Final = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Bar:
    """What a figure must not exceed."""

    figure: str
    most: float


@dataclass(frozen=True)
class Bench:
    """One measurement. ``run`` takes an empty folder."""

    name: str
    run: Callable[[Path], Figures]
    bars: tuple[Bar, ...] = ()


def benches(*, is_tiny: bool, longest_s: float) -> Iterator[Bench]:
    """All of them, in the order in which they run."""
    baseline, large = (BASELINE.part(50), LARGE.part(4)) if is_tiny else (BASELINE, LARGE)
    for preempts, name, most_s in ((True, "", 95), (False, "-no-preemption", 80)):
        for callers, mode in ((8, "unary"), (0, "bulk")):
            yield Bench(
                f"kueue{name}/{mode}",
                lambda folder, callers=callers, preempts=preempts: endtoend.run(
                    baseline, folder, callers=callers, priority_preemption=preempts, longest_s=longest_s
                ),
                (Bar("wall_s", most_s),),
            )
    yield Bench(
        "large/bulk",
        lambda folder: endtoend.run(large, folder, callers=0, priority_preemption=True, longest_s=longest_s),
        (Bar("wall_s", 150),),
    )
    yield Bench("large/decisions", lambda _: decisions.virtual(large, longest_s), (Bar("wall_s", 45),))
    tenants, running = (20, 200) if is_tiny else (1_000, 10_000)
    for pending in (500,) if is_tiny else (10_000, 100_000, 1_000_000):
        bars = (Bar("cold_plan_s", 2), Bar("bytes_per_pending_job", 2_048)) if pending == 100_000 else ()
        yield Bench(f"cycle/{pending}", lambda _, n=pending: decisions.cycle(n, tenants, running), bars)
    for callers in (8, 0) if is_tiny else (1, 8, 64, 0):
        jobs = 60 if is_tiny else 2_000
        yield Bench(
            f"submit/{callers or 'bulk'}",
            lambda folder, n=jobs, callers=callers: submitting.submit(n, callers, folder),
        )
    for pending in (60,) if is_tiny else (100_000, 1_000_000):
        yield Bench(f"recovery/{pending}", lambda folder, n=pending: submitting.recover(n, folder))


def main() -> int:
    """0: all of them ran; 1: one did not. A bar that is missed is told, and is no failure."""
    options = _options()
    known = list(benches(is_tiny=options.tiny, longest_s=options.longest))
    chosen = [each for each in known if not options.only or any(each.name.startswith(one) for one in options.only)]
    if not chosen:
        sys.stderr.write(f"no such benchmark; there are: {', '.join(each.name for each in known)}\n")
        return 1
    results = [_run(each) for each in chosen]
    _write(options.out, results)
    return int(any("error" in each for each in results))


def _run(bench: Bench) -> Figures:
    began_s = time.monotonic()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="fairgate-bench-") as folder:
        try:
            figures = bench.run(Path(folder))
        except Exception as error:  # noqa: BLE001 - the others are still worth measuring
            figures = {"error": f"{type(error).__name__}: {error}"}
    missed = [f"{bar.figure} > {bar.most:g}" for bar in bench.bars if figures.get(bar.figure, 0) > bar.most]
    met = [] if missed or "error" in figures else [f"{bar.figure} <= {bar.most:g}" for bar in bench.bars]
    _print(bench.name, figures, missed, met)
    return {
        "bench": bench.name,
        **figures,
        "missed": missed,
        "took_s": round(time.monotonic() - began_s, 1),
        "load_before": round(load, 2),
    }


def _print(name: str, figures: Figures, missed: list[str], met: list[str]) -> None:
    verdict = "   MISSED " + ", ".join(missed) if missed else "   met " + ", ".join(met) if met else ""
    sys.stdout.write(f"{name}{verdict}\n")
    for figure, value in figures.items():
        sys.stdout.write(f"    {figure:<24} {value:>12}\n")
    sys.stdout.flush()


def _write(path: Path, results: list[Figures]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    machine = {"python": platform.python_version(), "system": platform.platform(), "cpus": os.cpu_count()}
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    path.write_text(json.dumps({"at": at, "machine": machine, "results": results}, indent=2) + "\n")
    sys.stdout.write(f"written to {path}\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python tests/bench", description=__doc__)
    parser.add_argument("only", nargs="*", metavar="NAME", help="how the names of the benchmarks to run begin")
    parser.add_argument("--tiny", action="store_true", help="try the harness out")
    parser.add_argument("--longest", type=float, default=1_800, metavar="SECONDS", help="give one up after this time")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench.json", metavar="FILE")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
