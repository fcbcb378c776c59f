"""``fairgate watch`` and ``logs``: what happens, as it happens."""

import sys
from enum import StrEnum
from typing import Annotated, Final

import typer

from fairgate._cli import names, times, waiting
from fairgate._cli.plain import dump_line
from fairgate._cli.session import Session, session_of
from fairgate._cli.table import STYLES
from fairgate._models import Job, JobUpdate

app = typer.Typer()

ENDS: Final = ("SUCCEEDED", "FAILED", "CANCELLED")
"""The events after which a job has no more."""


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
    if job:
        _watch_one(session, names.full_job(job, tenant), after, output)
        return
    for update in session.client.watch(names.chosen_tenant(tenant), after_sequence=after):
        _print(session, update, output)


def _watch_one(session: Session, name: str, after: int | None, output: StreamFormat) -> None:
    """Print what happens to a job until it has ended; if nothing is left to be told of one that has, say how it did."""
    client = session.client
    # Asked for first: what ends the job after the look at it is then among the events that come.
    reached = client.sequence(name.split("/")[1])
    job = client.get(name)
    start = reached if after is None else after
    for update in client.watch(job=name, after_sequence=start, until_sequence=reached if job.state.is_final else None):
        _print(session, update, output)
        if update.event.kind in ENDS:
            return
    session.say(waiting.summary(job))


def _print(session: Session, update: JobUpdate, output: StreamFormat) -> None:
    if output is StreamFormat.JSON:
        sys.stdout.write(dump_line(update))
        sys.stdout.flush()
        return
    style = STYLES.get(str(update.event.kind))
    session.out.print(_line(update), markup=False, style=style if session.out.is_terminal else None)


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
