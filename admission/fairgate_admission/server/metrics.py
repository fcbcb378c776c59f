"""Counts and times of decisions as Prometheus reads them."""

import threading
from collections import Counter
from collections.abc import Mapping
from typing import Final

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Metrics:
    """Of one process. May be used by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._decisions: Counter[tuple[str, str]] = Counter()
        self._times: Counter[float] = Counter()
        self._total_s = 0.0
        self._gauges: dict[str, tuple[str, float]] = {}

    def decided(self, verdict: str, rule: str, taken_s: float) -> None:
        """Count one decision. ``rule`` "": none was broken."""
        bucket = next((each for each in BUCKETS_S if taken_s <= each), float("inf"))
        with self._lock:
            self._decisions[verdict, rule] += 1
            self._times[bucket] += 1
            self._total_s += taken_s

    def set_gauge(self, name: str, says: str, value: float) -> None:
        """Set a number that goes up and down, by its whole name."""
        with self._lock:
            self._gauges[name] = (says, value)

    def render(self) -> str:
        """All of it as text."""
        with self._lock:
            decisions, times, total_s = dict(self._decisions), dict(self._times), self._total_s
            gauges = dict(self._gauges)
        lines = [*_head("fairgate_gate_decisions_total", "counter", "Requests that were decided.")]
        for (verdict, rule), count in sorted(decisions.items()):
            lines.append(f'fairgate_gate_decisions_total{{verdict="{verdict}",rule="{rule}"}} {count}')
        lines += _histogram(times, total_s)
        for name, (says, value) in sorted(gauges.items()):
            lines += [*_head(name, "gauge", says), f"{name} {value:g}"]
        return "\n".join(lines) + "\n"


def _histogram(times: Mapping[float, int], total_s: float) -> list[str]:
    name = "fairgate_gate_decision_seconds"
    lines, below = _head(name, "histogram", "From the request's first byte read to the answer."), 0
    for bucket in BUCKETS_S:
        below += times.get(bucket, 0)
        lines.append(f'{name}_bucket{{le="{bucket:g}"}} {below}')
    count = sum(times.values())
    return [*lines, f'{name}_bucket{{le="+Inf"}} {count}', f"{name}_sum {total_s:.6f}", f"{name}_count {count}"]


def _head(name: str, kind: str, says: str) -> list[str]:
    return [f"# HELP {name} {says}", f"# TYPE {name} {kind}"]
