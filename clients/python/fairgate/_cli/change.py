"""``fairgate cancel`` and ``update``: what may be changed of a job."""

import sys
from typing import Annotated

import typer

from fairgate._cli import names
from fairgate._cli.plain import dump
from fairgate._cli.report import report, usage_error
from fairgate._cli.session import OutputFormat, session_of
from fairgate._errors import DeadlineExceeded, FailedPrecondition, FairgateError, Unavailable
from fairgate._models import Job

app = typer.Typer()
Output = Annotated[OutputFormat, typer.Option("--output", "-o", help="How to print the job.")]


@app.command()
def cancel(
    context: typer.Context,
    jobs: Annotated[list[str], typer.Argument(help="TENANT/JOB, or JOB with --tenant.")],
    tenant: Annotated[str | None, typer.Option(help="The tenant of jobs that name none.")] = None,
    reason: Annotated[str, typer.Option(help="Why, for the record.")] = "",
) -> None:
    """End jobs. A job that has ended already is left as it is: no error, standard error says how it ended."""
    session = session_of(context)
    wanted = [names.full_job(each, tenant) for each in jobs]
    code = 0
    for name in wanted:
        try:
            job = session.client.cancel(name, reason)
        except (Unavailable, DeadlineExceeded):
            raise
        except FailedPrecondition:
            session.say(f"{names.short_job(name)} is already {session.client.get(name).state}")
            continue
        except FairgateError as error:
            refused = report(session, error)
            code = code or refused
            continue
        session.out.print(f"{names.short_job(name)} {_what_became(job)}", markup=False)
    if code:
        raise typer.Exit(code)


@app.command()
def update(
    context: typer.Context,
    job: names.JobName,
    tenant: names.TenantOfJob = None,
    priority: Annotated[int | None, typer.Option(help="Higher goes first in its tenant.")] = None,
    time_limit: Annotated[str | None, typer.Option(help="How long it may run at speed 1, such as 90m.")] = None,
    etag: Annotated[str, typer.Option(help="Only if it is still this version.")] = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Change the priority or the time limit of a job that has not ended."""
    session = session_of(context)
    if priority is None and time_limit is None:
        raise usage_error("nothing to change", "add --priority NUMBER or --time-limit DURATION")
    changed = session.client.update(names.full_job(job, tenant), priority, time_limit, etag)
    if output in (OutputFormat.JSON, OutputFormat.YAML):
        sys.stdout.write(dump(changed, output))
    else:
        session.out.print(f"{names.short_job(changed.name)} updated", markup=False)


def _what_became(job: Job) -> str:
    if job.state.is_final:
        return f"is {job.state}"
    return f"is {job.state}, to be {job.outcome}" if job.outcome else f"is {job.state}"
