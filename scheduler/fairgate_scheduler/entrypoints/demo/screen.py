"""What the demo shows: the queue with reasons and the shares against entitlement, live; at the end the results."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Final

from fairgate import Job, JobState, Tenant
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fairgate_scheduler.entrypoints.demo.evidence import Evidence, Look
from fairgate_scheduler.entrypoints.demo.promises import Finding, result_of

_RANK: Final = {JobState.RUNNING: 0, JobState.ADMITTED: 1, JobState.STOPPING: 1, JobState.PENDING: 2}
_EPOCH: Final = datetime.fromtimestamp(0, UTC)
_SHOWN_RESOURCES: Final = ("nvidia.com/gpu", "google.com/tpu")
_BAR: Final = 20


def picture(look: Look, story: Sequence[str]) -> RenderableType:
    """One look: what was told last, the shares, the jobs."""
    told = [Text(line, style="dim" if line is not story[-1] else "bold") for line in story[-4:]]
    return Group(
        *told, Text(), _shares(look.tenants), Text(), _jobs(look.jobs), Text(f"{look.at_s:.0f} s", style="dim")
    )


def line_of(job: Job) -> str:
    """A job in one line, for a terminal that can not be redrawn."""
    where = f" on {job.flavor}" if job.flavor and job.state is not JobState.PENDING else ""
    why = f": {job.hold.reason}" if job.hold else ""
    return f"{job.tenant}/{job.id} {job.state}{where} (attempt {job.attempt_count}){why}"


def ending(evidence: Evidence, findings: Iterable[Finding]) -> RenderableType:
    """The final table with what each job printed, and whether each promise was kept."""
    results = Table("JOB", "STATE", "FLAVOR", "ATTEMPTS", "EVICTED", "RESULT", box=None, pad_edge=False)
    for name, job in evidence.jobs.items():
        counts = (str(job.attempt_count), str(job.eviction_count))
        results.add_row(f"{job.tenant}/{job.id}", job.state.value, job.flavor, *counts, result_of(evidence, name))
    promises = Table("", "PROMISE", "SEEN", box=None, pad_edge=False)
    for finding in findings:
        mark = Text("kept", style="green") if finding.is_kept else Text("BROKEN", style="bold red")
        promises.add_row(mark, finding.promise, finding.detail)
    return Group(results, Text(), promises)


def as_json(evidence: Evidence, findings: Iterable[Finding]) -> dict[str, Any]:
    """The same as ``ending``, and the events, as plain data."""
    return {
        "jobs": [_job_as_json(evidence, name, job) for name, job in evidence.jobs.items()],
        "events": [
            {
                "job": event.job,
                "kind": event.kind.value,
                "time": event.time.isoformat(),
                "attempt": event.attempt,
                "message": event.message,
            }
            for event in evidence.events
        ],
        "promises": [
            {"promise": finding.promise, "kept": finding.is_kept, "seen": finding.detail} for finding in findings
        ],
    }


def _job_as_json(evidence: Evidence, name: str, job: Job) -> Mapping[str, Any]:
    return {
        "name": job.name,
        "state": job.state.value,
        "flavor": job.flavor,
        "attempts": job.attempt_count,
        "evictions": job.eviction_count,
        "result": result_of(evidence, name),
    }


def _shares(tenants: Sequence[Tenant]) -> Table:
    table = Table("TENANT", "WEIGHT", "SHARE │ ENTITLED", "", "", "USED/NOMINAL", box=None, pad_edge=False)
    for tenant in tenants:
        if tenant.usage is None:
            continue
        rows = [row for row in tenant.usage.rows if row.resource in _SHOWN_RESOURCES]
        used = "  ".join(f"{row.flavor} {row.usage}/{row.nominal}" for row in rows)
        indent = "" if not tenant.parent else "  "
        share, entitled = tenant.usage.share, tenant.usage.entitlement
        figures = (f"{float(share):.0%}", f"of {float(entitled):.0%}")
        table.add_row(f"{indent}{tenant.id}", str(tenant.weight), bar(share, entitled), *figures, used)
    return table


def bar(share: Fraction, entitlement: Fraction) -> str:
    """A share as a bar over the whole tree, with a mark where the entitlement ends."""
    filled, mark = (min(_BAR, round(part * _BAR)) for part in (share, entitlement))
    cells = "█" * filled + "·" * (_BAR - filled)
    return f"{cells[:mark]}│{cells[mark:]}"


def _jobs(jobs: Sequence[Job]) -> Table:
    table = Table("JOB", "PRIORITY", "STATE", "FLAVOR", "ATTEMPT", "WHY IT WAITS", box=None, pad_edge=False)
    for job in sorted(jobs, key=lambda each: (_RANK.get(each.state, 3), each.create_time or _EPOCH, each.name)):
        flavor = job.flavor if job.state is not JobState.PENDING else ""
        why = f"{job.hold.reason}: {job.hold.message}" if job.hold else job.message if job.state.is_final else ""
        style = {JobState.RUNNING: "green", JobState.PENDING: "yellow", JobState.FAILED: "red"}.get(job.state, "")
        cells = (f"{job.tenant}/{job.id}", str(job.priority), job.state.value, flavor, str(job.attempt_count), why)
        table.add_row(*cells, style=style)
    return table
