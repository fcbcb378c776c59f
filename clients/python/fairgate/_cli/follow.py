"""``fairgate watch`` and ``logs``: what happens, as it happens."""

import sys
from enum import StrEnum
from typing import Annotated

import typer

from fairgate._cli import names, times
from fairgate._cli.plain import dump_line
from fairgate._cli.session import session_of
from fairgate._cli.table import STYLES
from fairgate._models import Job, JobUpdate

app = typer.Typer()


class StreamFormat(StrEnum):
    """How a stream is printed: a line an event, for people or as JSON."""

    TEXT = "text"
    JSON = "json"


@app.command()
def watch(
    context: typer.Context,
    job: Annotated[str | None, typer.Argument(help="Only this: TENANT/JOB, or JOB with --tenant.")] = None,
    tenant: Annotated[str | None, typer.Option(help="Only this tenant and those below it.")] = None,
    after: Annotated[int | None, typer.Option(help="Begin after this sequence number; 0: at the first event.")] = None,
    output: Annotated[StreamFormat, typer.Option("--output", "-o")] = StreamFormat.TEXT,
) -> None:
    """Print what happens to jobs, until you stop it (of one job: until it has ended)."""
    session = session_of(context)
    name = names.full_job(job, tenant) if job else None
    chosen = None if job else names.chosen_tenant(tenant)
    for update in session.client.watch(chosen, name, after):
        if output is StreamFormat.JSON:
            sys.stdout.write(dump_line(update))
            sys.stdout.flush()
        else:
            kind = str(update.event.kind)
            line = _line(update)
            style = STYLES.get(kind)
            session.out.print(line, markup=False, style=style if session.out.is_terminal else None)
        if name is not None and update.event.kind in ("SUCCEEDED", "FAILED", "CANCELLED"):
            return


@app.command()
def logs(
    context: typer.Context,
    job: names.JobName,
    tenant: names.TenantOfJob = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the job has ended.")] = False,
    attempt: Annotated[int, typer.Option(min=0, help="From this attempt on; 0: the latest.")] = 0,
) -> None:
    """Print a job's output, byte by byte as it was written. With -f, an attempt that is yet to come is waited for."""
    session = session_of(context)
    name = names.full_job(job, tenant)
    current, is_empty = attempt, True
    for chunk in session.client.log_chunks(name, attempt, follow=follow):
        is_empty = False
        if current and chunk.attempt != current:
            session.say(f"--- attempt {chunk.attempt} ---")
        current = chunk.attempt
        sys.stdout.buffer.write(chunk.data)
        sys.stdout.flush()
    if is_empty:
        session.say(_no_output(session.client.get(name)))


def _no_output(job: Job) -> str:
    """Why nothing was printed."""
    name = f"{names.short_job(job.name)} is {job.state}"
    if job.attempt_count:
        return f"{name} and has written nothing" + ("" if job.state.is_final else " yet")
    return f"{name}: it never ran" if job.state.is_final else f"{name}: it has not run yet; -f waits for its output"


def _line(update: JobUpdate) -> str:
    event = update.event
    attempt = f" (attempt {event.attempt})" if event.attempt else ""
    time = times.clock(event.time)
    return f"{time}  {names.short_job(event.job)}  {event.kind}{attempt}  {event.message}".rstrip()
