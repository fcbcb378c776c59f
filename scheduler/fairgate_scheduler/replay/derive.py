"""A configuration for a log that comes without one: as large as the log tells, owned in proportion to what was used.

Accelerators: as many as were in use at once at most, where the log knows when its jobs really ran; otherwise so many
that the jobs would keep 80 % of them busy. Each tenant of the log is a leaf below one root, may borrow and lend
everything, and owns the part of each flavor that is its part of the accelerator time (largest remainders), at least one
accelerator if it used any.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import ceil
from typing import Final

from fairgate_scheduler.core.tenancy import Config, Flavor, Quota, Tenant
from fairgate_scheduler.documents.problems import DocumentError, Problem
from fairgate_scheduler.replay.names import label
from fairgate_scheduler.replay.trace import Trace, TraceJob

BUSY: Final = Fraction(4, 5)
NODE: Final = 8
"""Derived clusters are whole nodes of so many accelerators, but where the log tells their kinds."""
RESOURCE: Final = "nvidia.com/gpu"
ANY_FLAVOR: Final = "gpu"

Part = Mapping[str, Fraction]


def derive_config(trace: Trace, accelerators: int | None = None) -> Config:
    """A configuration in which every job of the log can run. ``accelerators``: how many there are in all.

    Raises:
        DocumentError: they are too few for a job, or two tenants would have the same id.
    """
    names = _tenant_ids(trace)
    flavors = _parts_of_flavors(trace)
    total = _size(trace) if accelerators is None else accelerators
    capacity = _capacity(trace, total, flavors, may_grow=accelerators is None)
    quota: dict[str, dict[tuple[str, str], Quota]] = {tenant: {} for tenant in names.values()}
    for flavor, by_tenant in flavors.items():
        for tenant, amount in apportion(capacity[flavor], by_tenant).items():
            quota[names[tenant]][flavor, RESOURCE] = Quota(amount)
    root = "all"
    while root in quota:
        root += "-tenants"
    leaves = {tenant: Tenant(tenant, parent=root, quota=quota[tenant]) for tenant in sorted(quota)}
    made = {name: Flavor(name, resource=RESOURCE, capacity={RESOURCE: capacity[name]}) for name in sorted(flavors)}
    return Config(made, {root: Tenant(root), **leaves})


def apportion(total: int, parts: Part) -> dict[str, int]:
    """``total`` divided in proportion to the parts by largest remainders, one to each part above 0 first if that goes.

    Equal remainders: by name.
    """
    wanting = sorted(name for name, part in parts.items() if part)
    whole = sum(parts.values())
    floor = 1 if len(wanting) <= total else 0
    rest = total - floor * len(wanting)
    exact = {name: max(Fraction(0), total * parts[name] / whole - floor) for name in wanting}
    scale = sum(exact.values())
    exact = {name: each * rest / scale if scale else Fraction(0) for name, each in exact.items()}
    out = {name: floor + int(exact[name]) for name in wanting}
    by_remainder = sorted(wanting, key=lambda name: (int(exact[name]) - exact[name], name))
    for name in by_remainder[: total - sum(out.values())]:
        out[name] += 1
    return {name: out.get(name, 0) for name in parts}


def _tenant_ids(trace: Trace) -> Mapping[str, str]:
    first: dict[str, TraceJob] = {}
    for job in trace.jobs:
        first.setdefault(job.tenant, job)
    ids: dict[str, str] = {}
    problems: list[Problem] = []
    for name, job in first.items():
        other = next((known for known, made in ids.items() if made == label(name)), None)
        if other is not None:
            message = f"the tenants {other!r} and {name!r} of the log would both be {label(name)!r}"
            problems.append(Problem("", job.line, message, "rename one of them in the log", trace.file))
        ids[name] = label(name)
    if problems:
        raise DocumentError(problems)
    return ids


def flavors_of(job: TraceJob, known: tuple[str, ...]) -> tuple[str, ...]:
    """The flavors on which a job of the log may run, out of those that are known: all, if the log does not say."""
    return tuple(dict.fromkeys(map(label, job.flavors))) or known


def _parts_of_flavors(trace: Trace) -> Mapping[str, Mapping[str, Fraction]]:
    """Accelerator time by flavor and tenant; that of a job with a choice is divided equally over its flavors."""
    known = tuple(sorted({label(name) for job in trace.jobs for name in job.flavors})) or (ANY_FLAVOR,)
    whole: dict[tuple[tuple[str, ...], str], int] = {}
    for job in trace.jobs:
        key = (flavors_of(job, known), job.tenant)
        whole[key] = whole.get(key, 0) + job.accelerators * job.run_ms
    out: dict[str, dict[str, Fraction]] = {flavor: {} for flavor in known}
    for (flavors, tenant), amount in sorted(whole.items()):
        for flavor in flavors:
            out[flavor][tenant] = out[flavor].get(tenant, Fraction(0)) + Fraction(amount, len(flavors))
    return out


def _size(trace: Trace) -> int:
    jobs = trace.jobs
    largest = max(job.accelerators for job in jobs)
    if all(job.waited_ms is not None for job in jobs):
        return max(largest, _peak(jobs))
    span_ms = max(jobs[-1].submitted_at_ms - jobs[0].submitted_at_ms, *(job.run_ms for job in jobs), 1)
    work = sum(job.accelerators * job.run_ms for job in jobs)
    return -(-max(largest, ceil(work / (BUSY * span_ms))) // NODE) * NODE


def _peak(jobs: tuple[TraceJob, ...]) -> int:
    """The most accelerators that were really in use at once."""
    used = peak = 0
    for _, change in sorted(_changes(jobs)):
        used += change
        peak = max(peak, used)
    return peak


def _changes(jobs: tuple[TraceJob, ...]) -> Iterator[tuple[int, int]]:
    for job in jobs:
        begin_ms = job.submitted_at_ms + (job.waited_ms or 0)
        yield begin_ms, job.accelerators
        yield begin_ms + job.run_ms, -job.accelerators


def _capacity(
    trace: Trace, total: int, flavors: Mapping[str, Mapping[str, Fraction]], *, may_grow: bool
) -> Mapping[str, int]:
    known = tuple(flavors)
    capacity = apportion(total, {flavor: sum(parts.values(), Fraction(0)) for flavor, parts in flavors.items()})
    largest: dict[tuple[str, ...], TraceJob] = {}
    for job in trace.jobs:
        key = flavors_of(job, known)
        if key not in largest or job.accelerators > largest[key].accelerators:
            largest[key] = job
    for options, job in sorted(largest.items()):
        best = max(options, key=lambda flavor: capacity[flavor])
        if capacity[best] >= job.accelerators:
            continue
        if not may_grow:
            message = f"{job.id} needs {job.accelerators} accelerators and {best} would have {capacity[best]}"
            raise DocumentError([Problem("", job.line, message, "give --accelerators a larger number", trace.file)])
        capacity[best] = job.accelerators
    return capacity
