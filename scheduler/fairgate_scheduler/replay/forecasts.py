"""What a replay would have told people at submit, and how far from it their jobs really started."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from math import ceil
from statistics import median
from typing import Final

from fairgate_scheduler.core.jobs import Job
from fairgate_scheduler.core.outlook import GoOn, Outlook, Typical, forecast_error, outlook
from fairgate_scheduler.core.snapshot import Snapshot

MOST_INSTANTS: Final = 2_000
"""So many instants each of the two runs of a forecast may look at: the cost is bounded, and the same everywhere."""
LAST_JOBS: Final = 25
"""What is typical of a tenant is the median over so many of its jobs, those that have ended last."""


@dataclass(frozen=True, slots=True)
class ForecastQuality:
    """How good the forecasts at submit were. ``asked``: of so many jobs; ``told``: those of them that were told an
    interval and have started. ``inside``: the part of these that started in it; ``earlier`` and ``later``: how many
    started before and after it. ``median_s`` and ``p90_s``: how far outside, 0 inside. ``None``: nobody was told.
    """

    asked: int
    told: int
    inside: float | None
    earlier: int
    later: int
    median_s: float | None
    p90_s: float | None


class Forecaster:
    """Forecasts the start of jobs at their submit: of ``most`` at most, as evenly spread as can be."""

    def __init__(self, submits: Iterable[Job], most: int) -> None:
        names = [job.id for job in sorted(submits, key=lambda job: (job.submitted_at_ms, job.sequence))]
        size = min(most, len(names))
        self._sampled = {names[place * len(names) // size] for place in range(size)}
        self._told: dict[str, Outlook] = {}
        self._runs: dict[str, deque[Fraction]] = {}

    def submitted(self, names: Iterable[str], snapshot: Callable[[], Snapshot], now_ms: int) -> None:
        """These jobs have come in and nothing is planned yet. Those that are not in the snapshot were refused."""
        mine = self._sampled.intersection(names)
        if not mine:
            return
        seen = snapshot()
        typical = Typical({tenant: median(parts) for tenant, parts in self._runs.items()})
        for name in sorted(mine.intersection(job.id for job in seen.pending)):
            self._told[name] = outlook(seen, name, now_ms, typical, _so_often(2 * MOST_INSTANTS))

    def finished(self, job: Job, run_ms: int) -> None:
        """A job has ended; it ran for so long, at speed 1."""
        part = min(Fraction(1), Fraction(run_ms, job.time_limit_ms))
        self._runs.setdefault(job.tenant, deque(maxlen=LAST_JOBS)).append(part)

    def quality(self, starts_ms: Mapping[str, int]) -> ForecastQuality:
        """What the forecasts were worth. ``starts_ms``: when jobs really started first."""
        started = ((told, starts_ms[name]) for name, told in self._told.items() if name in starts_ms)
        known = [forecast_error(told, start_ms) for told, start_ms in started]
        errors = [error for error in known if error is not None]
        sizes = sorted(abs(error) for error in errors)
        return ForecastQuality(
            len(self._sampled),
            len(errors),
            sum(not error for error in errors) / len(errors) if errors else None,
            sum(error < 0 for error in errors),
            sum(error > 0 for error in errors),
            median(sizes) / 1000 if sizes else None,
            sizes[ceil(9 * len(sizes) / 10) - 1] / 1000 if sizes else None,
        )


def _so_often(times: int) -> GoOn:
    asked = count()
    return lambda: next(asked) < times
