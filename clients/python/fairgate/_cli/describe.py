"""``fairgate describe`` and ``explain``: everything about one job or tenant, and why a job does not run."""

import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from fairgate._cli import forecasts, names, table, times
from fairgate._cli.get import Output, weighted_share
from fairgate._cli.numbers import number, percent
from fairgate._cli.plain import dump
from fairgate._cli.report import usage_error
from fairgate._cli.session import OutputFormat, Session, session_of
from fairgate._durations import format_duration
from fairgate._models import Attempt, AttemptState, Explanation, Job, JobState, Need, OptionCharge
from fairgate._quota_models import Tenant

app = typer.Typer()


class Things(TyperGroup):
    """The kinds of things that can be described. Of a name with a slash it is clear what it names."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command for these arguments. Raises FairgateError for a name that could be either."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            args = [_kind_of(args[0]), *args]
        return super().resolve_command(ctx, args)


def _kind_of(name: str) -> str:
    if "/" not in name:
        remedy = f"write `fairgate describe job TENANT/{name}` or `fairgate describe tenant {name}`"
        raise usage_error(f"{name!r} could be a job or a tenant", remedy)
    return "tenant" if name.startswith("tenants/") and name.count("/") == 1 else "job"


describing = typer.Typer(cls=Things, no_args_is_help=True, help="Show everything about one job or tenant.")
_AS_DATA = (OutputFormat.JSON, OutputFormat.YAML)


@describing.command("job")
def describe_job(
    context: typer.Context,
    job: names.JobName,
    tenant: names.TenantOfJob = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Show everything about a job: what it asks for, its charge, its attempts, and why it waits."""
    session = session_of(context)
    explanation = session.client.explain(names.full_job(job, tenant))
    if output in _AS_DATA:
        sys.stdout.write(dump(explanation, output))
        return
    _fields(session, _job_fields(explanation.job))
    _charges(session, explanation.job.charges)
    _attempts(session, explanation.job.attempts)
    _hold(session, explanation)
    for text in explanation.job.warnings:
        session.out.print(f"Warning: {text}", markup=False)


@describing.command("tenant")
def describe_tenant(
    context: typer.Context,
    tenant: Annotated[str, typer.Argument(help="The tenant's id.")],
    output: Output = OutputFormat.TABLE,
) -> None:
    """Show everything about a tenant: its place in the tree, its quota, and what it uses."""
    session = session_of(context)
    tree = {each.id: each for each in session.client.tenants()}
    found = tree[names.known(names.short(tenant), tree, "tenant")]
    if output in _AS_DATA:
        sys.stdout.write(dump(found, output))
        return
    children = [each.id for each in tree.values() if each.parent == found.name]
    _fields(session, _tenant_fields(found, children))
    _quotas(session, found)
    _usage(session, found)


@app.command()
def explain(
    context: typer.Context,
    job: names.JobName,
    tenant: names.TenantOfJob = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Say why a job does not run now, when it starts, what would help, and what each option lacks and who holds it."""
    session = session_of(context)
    explanation = session.client.explain(names.full_job(job, tenant))
    if output in _AS_DATA:
        sys.stdout.write(dump(explanation, output))
        return
    told = explanation.job
    session.out.print(f"{names.short_job(told.name)} is {told.state}", markup=False)
    if explanation.hold is None and told.message:
        session.out.print(told.message, markup=False)
    if explanation.hold is None and told.state is JobState.ADMITTED and told.attempts:
        session.out.print(_start_line(told.attempts[-1]), markup=False)
    _hold(session, explanation)


def _start_line(attempt: Attempt) -> str:
    """What an admitted job waits for that no job is in the way of."""
    what = f"attempt {attempt.number} on {attempt.flavor}"
    if attempt.state is AttemptState.RESERVED:
        return f"{what} has its reservation and is about to be launched"
    return f"{what} is being started: the job runs once its Ray cluster is ready"


def _job_fields(job: Job) -> Iterable[tuple[str, str]]:
    yield "Job", names.short_job(job.name)
    yield "State", f"{job.state} → {job.outcome}" if job.outcome else str(job.state)
    yield "Message", job.message
    yield "Flavor", job.flavor
    yield "Priority", str(job.priority)
    yield "Preemptible", "yes" if job.preemptible else "no"
    yield "Time limit", format_duration(job.time_limit) if job.time_limit else ""
    fallback = f"{job.fallback.lower()}, after {format_duration(job.fallback_after)}"
    yield "Fallback", fallback if len(job.charges) > 1 else ""
    yield "Workload", job.workload
    yield "Labels", ", ".join(f"{key}={value}" for key, value in sorted(job.labels.items()))
    yield "Submitted", f"{times.clock(job.create_time)} by {job.submitted_by or '-'}"
    yield "Started", times.clock(job.start_time) if job.start_time else ""
    yield "Finished", times.clock(job.finish_time) if job.finish_time else ""
    yield "Evictions", str(job.eviction_count) if job.eviction_count else ""
    yield "Exit code", "" if job.exit_code is None else str(job.exit_code)


def _tenant_fields(tenant: Tenant, children: Sequence[str]) -> Iterable[tuple[str, str]]:
    usage = tenant.usage
    yield "Tenant", tenant.id
    yield "Parent", names.short(tenant.parent)
    yield "Children", ", ".join(children)
    yield "Weight", number(tenant.weight)
    if usage:
        of = f" of {usage.dominant_resource}" if usage.dominant_resource else ""
        yield "Share", f"{percent(usage.share)}{of}"
        yield "Share ÷ weight", weighted_share(usage)
        yield "Entitled to", percent(usage.entitlement)
    yield "Jobs", f"{usage.running_job_count} running, {usage.pending_job_count} pending" if usage else ""
    yield "Flavors", "all" if tenant.allowed_flavors is None else ", ".join(tenant.allowed_flavors) or "none"
    for title, bound in (
        ("Max priority", tenant.max_priority),
        ("Max running jobs", tenant.max_running_jobs),
        ("Max pending jobs", tenant.max_pending_jobs),
    ):
        yield title, "" if bound is None else str(bound)
    budget = tenant.budget
    yield "Budget", f"{number(budget.accelerator_hours)} hours in {format_duration(budget.period)}" if budget else ""
    yield "Namespace", tenant.namespace


def _fields(session: Session, fields: Iterable[tuple[str, str]]) -> None:
    """Fields that have a value, each in a line."""
    shown = [(name, value) for name, value in fields if value]
    width = max(len(name) for name, _ in shown) + 2
    for name, value in shown:
        session.out.print(f"{name + ':':<{width}} {value}", markup=False)


def _charges(session: Session, charges: Sequence[OptionCharge]) -> None:
    if not charges:
        return
    rows = [
        [
            str(charge.option) if first else "",
            charge.flavor if first else "",
            number(charge.speed) if first else "",
            group.name,
            str(group.count),
            group.flavor,
            ", ".join(f"{resource} {amount}" for resource, amount in sorted(group.requests.items())),
        ]
        for charge in charges
        for first, group in zip([True] + [False] * len(charge.groups), charge.groups, strict=False)
    ]
    _section(session, "Options", ("#", "OPTION", "SPEED", "GROUP", "PODS", "CHARGED TO", "EACH POD"), rows)


def _attempts(session: Session, attempts: Sequence[Attempt]) -> None:
    rows = [
        [
            str(each.number),
            str(each.state),
            each.flavor,
            times.clock(each.admit_time),
            times.span(each.end_time - each.ready_time) if each.end_time and each.ready_time else "-",
            "-" if each.exit_code is None else str(each.exit_code),
            each.reason or "-",
        ]
        for each in attempts
    ]
    if rows:
        _section(session, "Attempts", ("#", "STATE", "FLAVOR", "ADMITTED", "RAN", "EXIT", "REASON"), rows)


def _hold(session: Session, explanation: Explanation) -> None:
    hold = explanation.hold
    if hold is None:
        return
    session.out.print("", markup=False)
    session.out.print(f"{hold.reason}: {hold.message}", markup=False)
    if explanation.position:
        session.out.print(f"Its place in its tenant's order: {explanation.position}", markup=False)
    forecast = explanation.job.forecast
    for line in forecasts.lines(forecast) if forecast else ():
        session.out.print(line, markup=False)
    for report in explanation.options:
        session.out.print(f"\nOption {report.option} on {report.flavor}: {report.reason}", markup=False)
        if report.needs:
            rows = [_need_row(need) for need in report.needs]
            table.show(session, ("FLAVOR", "RESOURCE", "NEEDS", "FREE", "BOUND BY", "HELD BY"), rows)


def _need_row(need: Need) -> list[str]:
    holders = ", ".join(f"{tenant} {amount}" for tenant, amount in sorted(need.holders.items()))
    where = f"quota of {need.at}" if need.at else "capacity"
    return [need.flavor, need.resource, need.need, need.have, where, holders or "-"]


def _quotas(session: Session, tenant: Tenant) -> None:
    rows = [
        [each.flavor, each.resource, each.nominal, each.borrowing_limit, each.lending_limit] for each in tenant.quotas
    ]
    if rows:
        _section(session, "Own quota", ("FLAVOR", "RESOURCE", "NOMINAL", "MAY BORROW", "MAY LEND"), rows)


def _usage(session: Session, tenant: Tenant) -> None:
    usage = tenant.usage.rows if tenant.usage else ()
    rows = [[each.flavor, each.resource, each.usage, each.nominal, each.borrowed, each.lent] for each in usage]
    if rows:
        title = "Use, with the tenants below it"
        _section(session, title, ("FLAVOR", "RESOURCE", "USED", "NOMINAL", "BORROWED", "LENT"), rows)


def _section(session: Session, title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    session.out.print(f"\n{title}", markup=False)
    table.show(session, header, rows)
