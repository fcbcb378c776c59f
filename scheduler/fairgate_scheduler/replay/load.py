"""The jobs of a log as the scheduler gets them under a configuration."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from fairgate_scheduler.core.amounts import Amount, scale
from fairgate_scheduler.core.jobs import Job, Option, PodGroup
from fairgate_scheduler.documents.problems import DocumentError, Problem, suggest
from fairgate_scheduler.replay.cluster import Cluster
from fairgate_scheduler.replay.derive import flavors_of
from fairgate_scheduler.replay.names import label
from fairgate_scheduler.replay.trace import Trace, TraceJob


@dataclass(frozen=True, slots=True)
class Arrival:
    """A job that will be submitted. ``run_ms``: how long it really runs, which nobody tells the scheduler."""

    job: Job
    run_ms: int
    accelerators: int
    waited_ms: int | None = None

    @property
    def work(self) -> int:
        """Its accelerator·milliseconds."""
        return self.run_ms * self.accelerators


def make_load(trace: Trace, cluster: Cluster) -> tuple[Arrival, ...]:
    """Every job of the log, in the order of the submits.

    A job without a time limit gets its real run time as one. It is charged its accelerators, and its CPUs and memory
    where the configuration counts those on the flavor.

    Raises:
        DocumentError: the configuration lacks tenants or flavors of the log.
    """
    flavors = tuple(cluster.flavors)
    tenants = {name: label(name) for name in {job.tenant for job in trace.jobs}}
    _check(trace, cluster, tenants)
    counted = {flavor: cluster.demand_rows(flavor) for flavor in flavors}
    known: dict[tuple[object, ...], tuple[Option, ...]] = {}
    out: list[Arrival] = []
    for sequence, each in enumerate(trace.jobs):
        usable = flavors_of(each, flavors)
        key = (each.accelerators, usable, *((each.cpu, each.memory) if _counts_more(counted) else ()))
        options = known.get(key)
        if options is None:
            options = known[key] = tuple(_option(each, cluster, flavor, counted[flavor]) for flavor in usable)
        at_ms, tenant = each.submitted_at_ms, tenants[each.tenant]
        limit_ms = max(each.time_limit_ms or 0, each.run_ms)
        job = Job(each.id, tenant, at_ms, sequence, options, limit_ms, pending_since_ms=at_ms)
        out.append(Arrival(job, each.run_ms, each.accelerators, each.waited_ms))
    return tuple(out)


def _counts_more(counted: Mapping[str, frozenset[str]]) -> bool:
    return any(rows & {"cpu", "memory"} for rows in counted.values())


def _option(job: TraceJob, cluster: Cluster, flavor: str, counted: frozenset[str]) -> Option:
    """All of a job in one pod group: a log does not tell its pods apart."""
    amounts: dict[str, Amount] = {cluster.flavors[flavor][1]: job.accelerators}
    amounts |= {name: amount for name, amount in (("cpu", job.cpu), ("memory", job.memory)) if name in counted}
    count = job.accelerators
    group = PodGroup("workers", flavor, count, {name: ceil(Fraction(each, count)) for name, each in amounts.items()})
    demand = {(flavor, name): scale(each, count) for name, each in group.requests.items()}
    return Option(flavor, Fraction(1), (group,), demand)


def _check(trace: Trace, cluster: Cluster, tenants: Mapping[str, str]) -> None:
    by_tenant: dict[str, list[TraceJob]] = {}
    by_flavor: dict[str, list[TraceJob]] = {}
    for job in trace.jobs:
        by_tenant.setdefault(job.tenant, []).append(job)
        for name in job.flavors:
            by_flavor.setdefault(name, []).append(job)
    problems = [
        _missing(trace.file, "tenant", name, jobs, cluster.leaves)
        for name, jobs in by_tenant.items()
        if tenants[name] not in cluster.leaves
    ]
    problems += [
        _missing(trace.file, "flavor", name, jobs, tuple(cluster.flavors))
        for name, jobs in by_flavor.items()
        if label(name) not in cluster.flavors
    ]
    if not cluster.flavors:
        problems.append(Problem("", 1, "the configuration has no flavor with an accelerator", "add one", trace.file))
    if problems:
        raise DocumentError(problems)


def _missing(file: str, what: str, name: str, jobs: Sequence[TraceJob], known: Sequence[str]) -> Problem:
    kind = "leaf tenant" if what == "tenant" else "flavor with an accelerator"
    message = f"{what} {name!r} of the log, with {len(jobs)} jobs: the configuration has no {kind} {label(name)!r}"
    return Problem("", jobs[0].line, message, suggest(label(name), known), file)
