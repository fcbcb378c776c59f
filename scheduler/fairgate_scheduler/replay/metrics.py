"""What a replay did to whom, in numbers. Counts and sums are exact; a ratio is turned into a float to be shown.

Finish-time fairness ρ is that of Themis (NSDI'20): the time from submit to finish as shared ÷ the same alone on the
tenant's part. A job is treated unfairly if its ρ is above 1.05 (Shockwave, NSDI'23). The sharing anomaly is HiveD's
(OSDI'20): how much longer a job waited than it would have in its tenant's private cluster.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Final

from fairgate_scheduler.replay.cluster import Cluster
from fairgate_scheduler.replay.engine import Outcome
from fairgate_scheduler.replay.waits import Wait, Waits

UNFAIR: Final = Fraction(105, 100)
SLOWDOWN_FLOOR_MS: Final = 10_000
"""A slowdown is reckoned as if no job were shorter: otherwise those of a second are all that one sees."""
GANGS: Final = ((1, 1), (2, 4), (5, 8), (9, None))
"""The sizes of gangs by which the Philly study (ATC'19) tells its waits apart."""
HOUR_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True)
class Spread:
    """A distribution in four numbers; ``p99`` is the smallest value that 99 % do not exceed."""

    mean: float
    median: float
    p99: float
    largest: float


@dataclass(frozen=True, slots=True)
class Fairness:
    """ρ over some jobs. ``rho``: all their time as shared ÷ all their time alone. ``None``: nobody owns anything."""

    rho: float | None
    rho_max: float | None
    unfair_fraction: float | None


@dataclass(frozen=True, slots=True)
class Anomaly:
    """Against the private cluster, in seconds: positive is later. ``later``: jobs to which sharing did harm."""

    mean_s: float
    later: int
    later_mean_s: float
    worst_s: float


@dataclass(frozen=True, slots=True)
class Cause:
    """What waited for one reason: jobs for which it was the larger part, accelerator-hours in all."""

    jobs: int
    accelerator_hours: float


@dataclass(frozen=True, slots=True)
class Causes:
    """The waits of jobs of one size. ``gang``: how many accelerators, in words."""

    gang: str
    quota: Cause
    capacity: Cause


@dataclass(frozen=True, slots=True)
class TenantFigures:
    """One tenant. ``used_of_entitled``: accelerator time ÷ entitlement over the whole replay; ``used_of_due``: ÷ what
    it was entitled to and asked for. ``None``: that is nothing."""

    tenant: str
    jobs: int
    accelerator_hours: float
    entitled: float
    used_of_entitled: float | None
    used_of_due: float | None
    wait_s: Spread | None
    slowdown: Spread | None
    fairness: Fairness
    anomaly: Anomaly | None
    evictions: int
    lost_accelerator_hours: float


@dataclass(frozen=True, slots=True)
class Figures:
    """The whole replay. Instants in milliseconds. ``utilisation`` until the last end, ``utilisation_loaded`` until the
    last submit: afterwards the cluster only runs dry. ``logged_wait_s``: what these jobs waited in the log itself."""

    jobs: int
    finished: int
    unfinished: Mapping[str, int]
    begin_ms: int
    end_ms: int
    accelerators: int | None
    wait_s: Spread | None
    logged_wait_s: Spread | None
    slowdown: Spread | None
    utilisation: float | None
    utilisation_loaded: float | None
    evictions: int
    evicted_jobs: int
    accelerator_hours: float
    lost_accelerator_hours: float
    fairness: Fairness
    jain: float | None
    jain_due: float | None
    causes: tuple[Causes, ...]
    anomaly: Anomaly | None
    tenants: tuple[TenantFigures, ...]


@dataclass(frozen=True, slots=True)
class _Finished:
    """One job that has finished. ``shared_ms`` and ``alone_ms``: from submit to finish."""

    outcome: Outcome
    wait_ms: int
    shared_ms: int
    alone_ms: int | None

    @property
    def is_unfair(self) -> bool:
        return self.alone_ms is not None and self.shared_ms > UNFAIR * self.alone_ms


def figures(outcomes: Sequence[Outcome], cluster: Cluster, waits: Waits, private_ms: Mapping[str, int]) -> Figures:
    """All of them. ``private_ms``: when each job finishes in its private cluster."""
    done = [_finished(each, waits, private_ms) for each in outcomes if each.finished_at_ms is not None]
    begin_ms = min(each.arrival.job.submitted_at_ms for each in outcomes)
    end_ms = max((run.end_ms for each in outcomes for run in each.runs), default=begin_ms)
    loaded_ms = max(each.arrival.job.submitted_at_ms for each in outcomes)
    tenants = _tenants(outcomes, done, cluster, waits, end_ms - begin_ms)
    logged = [each.arrival.waited_ms for each in outcomes if each.arrival.waited_ms is not None]
    return Figures(
        len(outcomes),
        len(done),
        _count(each.hold for each in outcomes if each.finished_at_ms is None),
        begin_ms,
        end_ms,
        cluster.total,
        _seconds(each.wait_ms for each in done),
        _seconds(logged),
        _slowdown(done),
        _utilisation(outcomes, cluster.total, begin_ms, end_ms),
        _utilisation(outcomes, cluster.total, begin_ms, loaded_ms),
        sum(each.evictions for each in outcomes),
        sum(each.evictions > 0 for each in outcomes),
        _hours(_used(each) for each in outcomes),
        _hours(_lost(each) for each in outcomes),
        _fairness(done),
        jain([each.used_of_entitled for each in tenants]),
        jain([each.used_of_due for each in tenants]),
        _causes(outcomes, waits.by_job),
        _anomaly(done),
        tenants,
    )


def spread(values: Iterable[float]) -> Spread | None:
    """Of some values; ``None``: there are none."""
    ordered = sorted(values)
    if not ordered:
        return None
    count = len(ordered)
    median = (ordered[(count - 1) // 2] + ordered[count // 2]) / 2
    return Spread(sum(ordered) / count, median, ordered[ceil(99 * count / 100) - 1], ordered[-1])


def jain(values: Sequence[float | None]) -> float | None:
    """Jain's index (Σx)² ÷ (n·Σx²): 1 if all are equal, 1 ÷ n if one has everything. ``None`` are left out."""
    known = [value for value in values if value is not None]
    squares = sum(value * value for value in known)
    return sum(known) ** 2 / (len(known) * squares) if squares else None


def _finished(outcome: Outcome, waits: Waits, private_ms: Mapping[str, int]) -> _Finished:
    job = outcome.arrival.job
    assert outcome.finished_at_ms is not None, job.id
    alone_ms = private_ms.get(job.id)
    return _Finished(
        outcome,
        waits.by_job[job.id].total_ms if job.id in waits.by_job else 0,
        outcome.finished_at_ms - job.submitted_at_ms,
        None if alone_ms is None else alone_ms - job.submitted_at_ms,
    )


def _tenants(
    outcomes: Sequence[Outcome], done: Sequence[_Finished], cluster: Cluster, waits: Waits, span_ms: int
) -> tuple[TenantFigures, ...]:
    by_tenant: dict[str, list[Outcome]] = {}
    done_by_tenant: dict[str, list[_Finished]] = {}
    for outcome in outcomes:
        by_tenant.setdefault(outcome.arrival.job.tenant, []).append(outcome)
    for each in done:
        done_by_tenant.setdefault(each.outcome.arrival.job.tenant, []).append(each)
    out: list[TenantFigures] = []
    for tenant in sorted(by_tenant):
        mine, finished = by_tenant[tenant], done_by_tenant.get(tenant, [])
        used, entitled = sum(map(_used, mine)), sum(cluster.entitled[tenant].values())
        out.append(
            TenantFigures(
                tenant,
                len(mine),
                _hours([used]),
                float(entitled),
                float(used / (entitled * span_ms)) if entitled and span_ms else None,
                used / waits.due[tenant] if waits.due[tenant] else None,
                _seconds(each.wait_ms for each in finished),
                _slowdown(finished),
                _fairness(finished),
                _anomaly(finished),
                sum(each.evictions for each in mine),
                _hours(map(_lost, mine)),
            )
        )
    return tuple(out)


def _used(outcome: Outcome) -> int:
    return sum(run.end_ms - run.begin_ms for run in outcome.runs) * outcome.arrival.accelerators


def _lost(outcome: Outcome) -> int:
    """What was run and thrown away."""
    return sum(run.end_ms - run.begin_ms - run.kept_ms for run in outcome.runs) * outcome.arrival.accelerators


def _slowdown(done: Iterable[_Finished]) -> Spread | None:
    return spread(max(1.0, each.shared_ms / max(each.outcome.arrival.run_ms, SLOWDOWN_FLOOR_MS)) for each in done)


def _utilisation(outcomes: Iterable[Outcome], accelerators: int | None, begin_ms: int, end_ms: int) -> float | None:
    if not accelerators or end_ms <= begin_ms:
        return None
    used = sum(
        max(0, min(run.end_ms, end_ms) - run.begin_ms) * each.arrival.accelerators
        for each in outcomes
        for run in each.runs
    )
    return used / (accelerators * (end_ms - begin_ms))


def _fairness(done: Sequence[_Finished]) -> Fairness:
    known = [(each.shared_ms, each.alone_ms) for each in done if each.alone_ms is not None]
    if not known:
        return Fairness(None, None, None)
    unfair = sum(each.is_unfair for each in done)
    largest = max(shared_ms / alone_ms for shared_ms, alone_ms in known)
    return Fairness(sum(one for one, _ in known) / sum(other for _, other in known), largest, unfair / len(known))


def _anomaly(done: Sequence[_Finished]) -> Anomaly | None:
    later_ms = [each.shared_ms - each.alone_ms for each in done if each.alone_ms is not None]
    if not later_ms:
        return None
    harmed = [each for each in later_ms if each > 0]
    return Anomaly(
        sum(later_ms) / len(later_ms) / 1000,
        len(harmed),
        sum(harmed) / len(harmed) / 1000 if harmed else 0.0,
        max(later_ms) / 1000,
    )


def _causes(outcomes: Sequence[Outcome], waits: Mapping[str, Wait]) -> tuple[Causes, ...]:
    out: list[Causes] = []
    for low, high in GANGS:
        alike = [
            (waits[each.arrival.job.id], each.arrival.accelerators)
            for each in outcomes
            if each.arrival.job.id in waits
            and low <= each.arrival.accelerators
            and (high is None or each.arrival.accelerators <= high)
        ]
        by_capacity = sum(2 * wait.capacity_ms > wait.total_ms for wait, _ in alike)
        quota = Cause(len(alike) - by_capacity, _hours(wait.quota_ms * count for wait, count in alike))
        capacity = Cause(by_capacity, _hours(wait.capacity_ms * count for wait, count in alike))
        name = f"{low}" if high == low else f"over {low - 1}" if high is None else f"{low}-{high}"
        out.append(Causes(name, quota, capacity))
    return tuple(out)


def _seconds(durations_ms: Iterable[int]) -> Spread | None:
    return spread(duration_ms / 1000 for duration_ms in durations_ms)


def _hours(accelerator_ms: Iterable[int]) -> float:
    return sum(accelerator_ms) / HOUR_MS


def _count(words: Iterable[str]) -> Mapping[str, int]:
    out: dict[str, int] = {}
    for word in words:
        out[word] = out.get(word, 0) + 1
    return out
