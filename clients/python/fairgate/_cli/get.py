"""``fairgate get``: jobs, tenants, flavors and the configuration, as tables or for scripts."""

import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Annotated, Any, Final, TypeVar

import typer

from fairgate._cli import forecasts, names, other_words, table, times
from fairgate._cli.filters import state_filter
from fairgate._cli.numbers import number, percent
from fairgate._cli.plain import dump, dump_line
from fairgate._cli.report import usage_error
from fairgate._cli.session import OutputFormat, Session, session_of
from fairgate._durations import format_duration
from fairgate._models import Job
from fairgate._quota_models import Flavor, Tenant, TenantUsage

Item = TypeVar("Item")
Output = Annotated[OutputFormat, typer.Option("--output", "-o", help="How to print it.")]

app = typer.Typer(
    cls=other_words.Gettable, no_args_is_help=True, help="List jobs, tenants and flavors; print the configuration."
)

JOB_HEADER: Final = ("JOB", "STATE", "REASON", "FLAVOR", "PRIORITY", "ATTEMPTS", "AGE")
JOB_HEADER_WIDE: Final = (*JOB_HEADER, "STARTS", "OPTIONS", "TIME-LIMIT", "SUBMITTED-BY", "MESSAGE")
TENANT_HEADER: Final = ("TENANT", "WEIGHT", "SHARE", "ENTITLED", "RUNNING", "PENDING", "USED/NOMINAL")
TENANT_BOUNDS: Final = ("MAX-PRIORITY", "MAX-RUNNING", "MAX-PENDING")
TENANT_HEADER_WIDE: Final = (*TENANT_HEADER, "DOMINANT", "SHARE/WEIGHT", "NAMESPACE", *TENANT_BOUNDS)
FLAVOR_HEADER: Final = ("FLAVOR", "PRICE", "RESOURCE", "USED", "NOMINAL", "CAPACITY")


@app.command("jobs")
@app.command("job", hidden=True)
def get_jobs(
    context: typer.Context,
    jobs: Annotated[list[str] | None, typer.Argument(help="Only these: TENANT/JOB, or JOB with --tenant.")] = None,
    tenant: Annotated[str | None, typer.Option(help="Of this tenant and all below it.")] = None,
    all_tenants: Annotated[bool, typer.Option("--all-tenants", "-A", help="Also if $FAIRGATE_TENANT is set.")] = False,
    state: Annotated[list[str] | None, typer.Option(help="Only in this state (several: any of them).")] = None,
    filter_text: Annotated[str, typer.Option("--filter", help="Such as 'priority >= 5 AND labels.a = b'.")] = "",
    limit: Annotated[int, typer.Option(min=0, help="At most so many; 0: all.")] = 0,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Go on with a line for each change.")] = False,
    output: Output = OutputFormat.TABLE,
) -> None:
    """List jobs, the newest first."""
    session = session_of(context)
    if jobs:
        if state or filter_text or watch:
            raise usage_error("a filter, or --watch, beside names of jobs", "leave one of them out")
        client, is_wide = session.client, output is OutputFormat.WIDE
        full = [names.full_job(each, tenant) for each in jobs]
        found = [client.explain(each).job if is_wide else client.get(each) for each in full]
        print_jobs(session, found, output, is_one=len(found) == 1)
        return
    chosen = None if all_tenants else names.chosen_tenant(tenant)
    condition = state_filter(state or (), filter_text)
    if not watch:
        found_jobs = session.client.list(chosen, condition, with_forecasts=output is OutputFormat.WIDE)
        print_jobs(session, islice(found_jobs, limit or None), output)
    elif condition:
        raise usage_error("--watch beside a filter", "leave one of them out: watching, jobs come and go")
    else:
        _watch(session, chosen, output)


@app.command("tenants")
@app.command("tenant", hidden=True)
def get_tenants(
    context: typer.Context,
    tenants: Annotated[list[str] | None, typer.Argument(help="Only these.")] = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """List the tenant tree with what is used of it."""
    session = session_of(context)
    tree = list(session.client.tenants())
    found = _select(tree, tenants, lambda each: each.id, "tenant")
    rows = tenant_rows(found, is_wide=output is OutputFormat.WIDE, as_tree=not tenants)
    header = TENANT_HEADER_WIDE if output is OutputFormat.WIDE else TENANT_HEADER
    _print(session, "tenants", found, (header, rows), output)


@app.command("flavors")
@app.command("flavor", hidden=True)
def get_flavors(
    context: typer.Context,
    flavors: Annotated[list[str] | None, typer.Argument(help="Only these.")] = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """List the flavors with what is used of their capacity."""
    session = session_of(context)
    found = _select(list(session.client.flavors()), flavors, lambda each: each.id, "flavor")
    rows = [row for each in found for row in flavor_rows(each)]
    _print(session, "flavors", found, (FLAVOR_HEADER, rows), output)


@app.command("config")
def get_config(context: typer.Context, output: Output = OutputFormat.TABLE) -> None:
    """Print the configuration in force, as it was applied (with -o json or yaml: with its etag, and who applied it)."""
    session = session_of(context)
    config = session.client.get_config()
    if output is OutputFormat.NAME:
        session.out.print(config.etag, markup=False)
    elif output in (OutputFormat.JSON, OutputFormat.YAML):
        sys.stdout.write(dump(config, output))
    else:
        sys.stdout.write(config.source if config.source.endswith("\n") else f"{config.source}\n")


def print_jobs(session: Session, jobs: Iterable[Job], output: OutputFormat, *, is_one: bool = False) -> None:
    """Print jobs in a format; one alone is an object, many are a list in an object."""
    found = list(jobs)
    if is_one and output in (OutputFormat.JSON, OutputFormat.YAML):
        sys.stdout.write(dump(found[0], output))
        return
    is_wide = output is OutputFormat.WIDE
    rows = [job_row(each, is_wide=is_wide) for each in found]
    _print(session, "jobs", found, (JOB_HEADER_WIDE if is_wide else JOB_HEADER, rows), output)


def job_row(job: Job, *, is_wide: bool = False) -> list[str]:
    """A job as a row of the table."""
    row = [
        names.short_job(job.name),
        str(job.state),
        str(job.hold.reason) if job.hold else "-",
        job.flavor or "-",
        str(job.priority),
        str(job.attempt_count),
        times.age(job.create_time),
    ]
    if is_wide:
        options = ",".join(charge.flavor for charge in job.charges) or "-"
        limit = format_duration(job.time_limit) if job.time_limit else "-"
        message = job.message or (job.hold.message if job.hold else "")
        row += [forecasts.cell(job.forecast), options, limit, job.submitted_by or "-", " ".join(message.split()) or "-"]
    return row


def tenant_rows(tenants: Sequence[Tenant], *, is_wide: bool = False, as_tree: bool = True) -> list[list[str]]:
    """Tenants as rows of the table, indented by their depth; what is not limited is shown in the wide one only."""
    depths: dict[str, int] = {}
    rows = []
    for tenant in tenants:
        depths[tenant.name] = depths.get(tenant.parent, -1) + 1 if as_tree else 0
        usage = tenant.usage
        used = ", ".join(
            f"{row.flavor}/{row.resource} {row.usage}/{row.nominal}"
            for row in (usage.rows if usage else ())
            if is_wide or row.nominal != "UNLIMITED"
        )
        row = [
            "  " * depths[tenant.name] + tenant.id,
            number(tenant.weight),
            percent(usage.share) if usage else "-",
            percent(usage.entitlement) if usage else "-",
            str(usage.running_job_count) if usage else "-",
            str(usage.pending_job_count) if usage else "-",
            used or "-",
        ]
        if is_wide:
            bounds = (tenant.max_priority, tenant.max_running_jobs, tenant.max_pending_jobs)
            row += [usage.dominant_resource if usage and usage.dominant_resource else "-", weighted_share(usage) or "-"]
            row += [tenant.namespace or "-", *("-" if each is None else str(each) for each in bounds)]
        rows.append(row)
    return rows


def flavor_rows(flavor: Flavor) -> list[list[str]]:
    """A flavor as rows of the table, one for each resource that is known of it."""
    head = [flavor.id, number(flavor.price)]
    if not flavor.capacities:
        return [[*head, flavor.resource or "-", "-", "-", "-"]]
    return [[*head, each.resource, each.usage, each.nominal, each.capacity] for each in flavor.capacities]


def weighted_share(usage: TenantUsage | None) -> str:
    """What a tenant's siblings are compared by, as people read it; "" where there is none."""
    return percent(usage.weighted_share) if usage and usage.weighted_share is not None else ""


def _watch(session: Session, tenant: str | None, output: OutputFormat) -> None:
    """The list, then a row for each event, none between the two left out."""
    if output is OutputFormat.YAML:
        raise usage_error("--watch with -o yaml", "choose table, wide, json or name")
    is_wide = output is OutputFormat.WIDE
    header = JOB_HEADER_WIDE if is_wide else JOB_HEADER
    sequence = session.client.sequence(tenant)
    found = list(session.client.list(tenant))
    if output is OutputFormat.JSON:
        for job in found:
            sys.stdout.write(dump_line(job))
        sys.stdout.flush()
    else:
        print_jobs(session, found, output)
    rows = [job_row(job, is_wide=is_wide) for job in found]
    for update in session.client.watch(tenant, after_sequence=sequence):
        if output is OutputFormat.JSON:
            sys.stdout.write(dump_line(update.job))
            sys.stdout.flush()
        elif output is OutputFormat.NAME:
            session.out.print(update.job.name, markup=False)
        else:
            row = job_row(update.job, is_wide=is_wide)
            session.out.print(table.lines(header, [*rows, row])[-1])


def _select(items: Sequence[Item], wanted: Sequence[str] | None, id_of: Callable[[Item], str], kind: str) -> list[Item]:
    if not wanted:
        return list(items)
    by_id = {id_of(item): item for item in items}
    return [by_id[names.known(names.short(each), by_id, kind)] for each in wanted]


def _print(
    session: Session,
    kind: str,
    items: Sequence[Any],
    content: tuple[Sequence[str], Sequence[Sequence[str]]],
    output: OutputFormat,
) -> None:
    if output in (OutputFormat.JSON, OutputFormat.YAML):
        sys.stdout.write(dump({kind: items}, output))
    elif output is OutputFormat.NAME:
        for item in items:
            session.out.print(item.name, markup=False)
    elif not items:
        session.say(f"no {kind}")
    else:
        table.show(session, *content)
