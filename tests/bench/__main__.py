"""``make bench``: measure the scheduler, print a table, and keep the figures in ``build/bench.json``.

``python tests/bench`` runs everything; name benchmarks to run only them. ``--kueue`` runs Kueue's own scalability test
and ours on the same load, and nothing else that is not named. ``--tiny`` tries the harness out in seconds; its figures
mean nothing.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "cluster"))  # the rig there builds Kueue

import decisions  # noqa: E402
import endtoend  # noqa: E402
import kueue_itself  # noqa: E402
import replaying  # noqa: E402
import reviewing  # noqa: E402
import submitting  # noqa: E402
from report import Bar, Comparison, Figures, compared, judged, keep  # noqa: E402
from shapes import BASELINE, LARGE, Shape  # noqa: E402

KUEUE: Final = "kueue-itself"
OURS: Final = "kueue/bulk"
COMPARISONS: Final = (
    Comparison("fairgate-to-kueue", OURS, KUEUE, "wall_s", 0.25),
    Comparison("cycle-growth", "cycle/1000000", "cycle/10000", "cycle_ms", 2),
)


@dataclass(frozen=True)
class Bench:
    """One measurement. ``run`` takes an empty folder."""

    name: str
    run: Callable[[Path], Figures]
    bars: tuple[Bar, ...] = ()


def benches(options: argparse.Namespace) -> Iterator[Bench]:
    """All of them, in the order in which they run."""
    baseline, large = (BASELINE.part(50), LARGE.part(4)) if options.tiny else (BASELINE, LARGE)
    if options.kueue:
        yield Bench(KUEUE, lambda folder: kueue_itself.run(baseline, folder, options.longest))
    yield from _loads(baseline, large, options.longest)
    yield from _cycles(is_tiny=options.tiny)
    yield from _submits(is_tiny=options.tiny)
    times = 1 if options.tiny else 20
    yield Bench("gate/review", lambda _: reviewing.review(times), (Bar("p99_ms", 5),))
    yield Bench("gate/https", lambda _: reviewing.https(times))
    if options.trace is not None:
        yield Bench("replay/philly", lambda _: replaying.philly(options.trace), (Bar("wall_s", 60),))


def _loads(baseline: Shape, large: Shape, longest_s: float) -> Iterator[Bench]:
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


def _cycles(*, is_tiny: bool) -> Iterator[Bench]:
    tenants, running = (20, 200) if is_tiny else (1_000, 10_000)
    for pending in (500,) if is_tiny else (10_000, 100_000, 1_000_000):
        bars = (Bar("cold_plan_s", 2), Bar("bytes_per_pending_job", 2_048)) if pending == 100_000 else ()
        yield Bench(f"cycle/{pending}", lambda _, n=pending: decisions.cycle(n, tenants, running), bars)
    yield Bench("cycle-history", lambda _: decisions.cycle(100 if is_tiny else 100_000, tenants, running, "1h"))


def _submits(*, is_tiny: bool) -> Iterator[Bench]:
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
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that what was started is stopped
    options = _options()
    known = list(benches(options))
    only = options.only + ([KUEUE, OURS] if options.kueue else [])
    whole = {each.name for each in known}.intersection(only)  # these mean just themselves
    begins = tuple(set(only) - whole)
    chosen = [each for each in known if not only or each.name in whole or each.name.startswith(begins)]
    if not chosen:
        sys.stderr.write(f"no such benchmark; there are: {', '.join(each.name for each in known)}\n")
        return 1
    results = {each.name: _run(each) for each in chosen}
    ratios = [compared(each, results) for each in COMPARISONS]
    keep(options.out, [*results.values(), *(each for each in ratios if each is not None)])
    return int(any("error" in each for each in results.values()))


def _run(bench: Bench) -> Figures:
    began_s = time.monotonic()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="fairgate-bench-") as folder:
        try:
            figures = bench.run(Path(folder))
        except Exception as error:  # noqa: BLE001 - the others are still worth measuring
            figures = {"error": f"{type(error).__name__}: {error}"}
    took_s = round(time.monotonic() - began_s, 1)
    return judged(bench.name, figures, bench.bars) | {"took_s": took_s, "load_before": round(load, 2)}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python tests/bench", description=__doc__)
    parser.add_argument("only", nargs="*", metavar="NAME", help="benchmarks to run, or how their names begin")
    parser.add_argument("--kueue", action="store_true", help="build and run Kueue's own test, then ours")
    parser.add_argument("--trace", type=Path, metavar="FILE", help="a log in Philly's format, for replay/philly")
    parser.add_argument("--tiny", action="store_true", help="try the harness out")
    parser.add_argument("--longest", type=float, default=1_800, metavar="SECONDS", help="give one up after this time")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench.json", metavar="FILE")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
