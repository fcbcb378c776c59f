"""A whole replay: the log read, a configuration found, replayed, compared with private clusters, put into figures."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fairgate_scheduler.core.tenancy import Config
from fairgate_scheduler.replay.cluster import Cluster
from fairgate_scheduler.replay.derive import derive_config
from fairgate_scheduler.replay.engine import Outcome, Progress, replay
from fairgate_scheduler.replay.forecasts import Forecaster, ForecastQuality
from fairgate_scheduler.replay.load import make_load
from fairgate_scheduler.replay.metrics import Figures, figures
from fairgate_scheduler.replay.private import finish_times_ms
from fairgate_scheduler.replay.trace import Trace
from fairgate_scheduler.replay.waits import sweep


@dataclass(frozen=True, slots=True)
class Wish:
    """How a log is to be replayed. ``config``: ``None`` derives one, of so many ``accelerators`` if that is said.

    ``limit``: only so many jobs, the first to be submitted. ``checkpoint_every_ms``: of their work; ``None``: what is
    evicted begins anew. ``forecasts``: the quality of the forecasts of so many jobs is measured.
    """

    config: Config | None = None
    accelerators: int | None = None
    limit: int | None = None
    checkpoint_every_ms: int | None = None
    forecasts: int | None = None


@dataclass(frozen=True, slots=True)
class Study:
    """What came of it. ``rhos``: finish-time fairness of every job that has one. ``forecasts``: if it was asked for."""

    trace: Trace
    config: Config
    is_derived: bool
    outcomes: Sequence[Outcome]
    cycles: int
    figures: Figures
    rhos: Sequence[float]
    forecasts: ForecastQuality | None = None


def study(trace: Trace, wish: Wish, progress: Progress | None = None) -> Study:
    """Replay a log.

    Raises:
        DocumentError: log and configuration do not fit each other.
        AssertionError: the core has found that it would break one of its own laws.
    """
    if wish.limit is not None:
        trace = replace(trace, jobs=trace.jobs[: wish.limit])
    config = derive_config(trace, wish.accelerators) if wish.config is None else wish.config
    cluster = Cluster(config)
    arrivals = make_load(trace, cluster)
    private_ms = finish_times_ms(arrivals, cluster.private)
    forecaster = None if wish.forecasts is None else Forecaster((each.job for each in arrivals), wish.forecasts)
    replayed = replay(config, arrivals, wish.checkpoint_every_ms, progress, forecaster)
    outcomes = replayed.outcomes
    starts_ms = {each.arrival.job.id: each.runs[0].begin_ms for each in outcomes if each.runs}
    numbers = figures(outcomes, cluster, sweep(outcomes, cluster), private_ms)
    rhos = [
        (each.finished_at_ms - each.arrival.job.submitted_at_ms)
        / (private_ms[each.arrival.job.id] - each.arrival.job.submitted_at_ms)
        for each in outcomes
        if each.finished_at_ms is not None and each.arrival.job.id in private_ms
    ]
    quality = None if forecaster is None else forecaster.quality(starts_ms)
    return Study(trace, config, wish.config is None, outcomes, replayed.cycles, numbers, rhos, quality)
