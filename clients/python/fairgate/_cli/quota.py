"""``fairgate quota``: read the configuration, see what a change would do, and make it."""

import sys
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from fairgate._cli import forecasts, names, times
from fairgate._cli.config_files import ConfigSource, read_config
from fairgate._cli.get import Output, get_config
from fairgate._cli.plain import dump
from fairgate._cli.report import ExitCode, relocate, usage_error, warn
from fairgate._cli.session import OutputFormat, Session, session_of
from fairgate._errors import FairgateError, NotFound
from fairgate._quota_models import ConfigChange, JobPreview

app = typer.Typer(no_args_is_help=True, help="Read, compare and change the configuration: tenants, flavors, quotas.")
SHOWN = 20
File = Annotated[Path, typer.Option("--file", "-f", help="The configuration: a YAML file, or a folder of them.")]

app.command("get", help="Print the configuration in force; the same as `fairgate get config`.")(get_config)


@app.command()
def diff(
    context: typer.Context,
    file: File,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit 1 if something would change.")] = False,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Show what a configuration would change, and which jobs would start, wait or be evicted. Changes nothing."""
    session = session_of(context)
    source = read_config(file)
    change = _apply(session, source, dry_run=True)
    if output in (OutputFormat.JSON, OutputFormat.YAML):
        sys.stdout.write(dump(change, output))
    else:
        _show(session, change)
    if exit_code and change.changes:
        raise typer.Exit(ExitCode.FAILED)


@app.command()
def apply(
    context: typer.Context,
    file: File,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="As `diff`.")] = False,
    comment: Annotated[str, typer.Option(help="Why, for the record.")] = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Make a configuration the one in force, after showing what it would do.

    What was shown is what is applied: if somebody else applies another one in between, this one is refused.
    """
    session = session_of(context)
    source = read_config(file)
    etag = _etag(session)
    preview = _apply(session, source, etag=etag, dry_run=True)
    is_data = output in (OutputFormat.JSON, OutputFormat.YAML)
    if not is_data:
        _show(session, preview)
    if preview.changes and not dry_run:
        _confirm(yes, preview)
        preview = _apply(session, source, etag=etag, comment=comment)
        session.say(f"applied as version {preview.config.etag}")
    if is_data:
        sys.stdout.write(dump(preview, output))


def _etag(session: Session) -> str:
    """The version in force, "" before the first one."""
    try:
        return session.client.get_config().etag
    except NotFound:
        return ""


def _apply(
    session: Session, source: ConfigSource, *, etag: str = "", comment: str = "", dry_run: bool = False
) -> ConfigChange:
    try:
        return session.client.apply_config(source.text, dry_run, etag, comment)
    except FairgateError as error:
        raise relocate(error, source.locate) from None


def _confirm(yes: bool, preview: ConfigChange) -> None:
    if yes:
        return
    if not is_asking_possible():
        raise usage_error("nobody is there to be asked", "look at `fairgate quota diff`, then add --yes")
    question = f"Apply it? {len(preview.evictions)} jobs will be evicted." if preview.evictions else "Apply it?"
    if not typer.confirm(question, err=True):
        raise typer.Exit(ExitCode.FAILED)


def is_asking_possible() -> bool:
    """Whether a person is there who can answer."""
    return sys.stdin.isatty()


def _show(session: Session, change: ConfigChange) -> None:
    """What has no effect, the changes, then what becomes of the jobs of now."""
    for text in change.warnings:
        warn(session, text)
    if not change.changes:
        session.out.print("nothing changes", markup=False)
        return
    for line in change.changes:
        style = {"+": "green", "-": "red", "~": "yellow"}.get(line[:1], "")
        session.out.print(line, markup=False, style=style if session.out.is_terminal else None)
    groups = (
        ("evicted", change.evictions, len(change.evictions)),
        ("start", change.starts, len(change.starts)),
        ("wait", change.waits, change.waiting_count),
    )
    for word, jobs, count in groups:
        verb = "would be evicted" if word == "evicted" else f"would {word}"
        session.out.print(f"\n{count} {'job' if count == 1 else 'jobs'} {verb}", markup=False)
        for job in jobs[:SHOWN]:
            session.out.print(f"  {_preview(job)}", markup=False)
        if count > len(jobs[:SHOWN]):
            session.out.print(f"  … and {count - len(jobs[:SHOWN])} more", markup=False)


def _preview(job: JobPreview) -> str:
    flavor = f" on {job.flavor}" if job.flavor else ""
    start = f" (starts by {_start(job)})" if job.latest_start else ""
    name = names.short_job(job.job) if job.job else "a job"
    return f"{name}{flavor}" + (f": {job.message}{start}" if job.message else "")


def _start(job: JobPreview) -> str:
    """When it starts at the latest, and how much later or sooner than as it is."""
    assert job.latest_start is not None, job
    at = forecasts.clock(job.latest_start)
    if job.latest_start_before is None or job.latest_start_before == job.latest_start:
        return at
    moved = job.latest_start - job.latest_start_before
    word = "later" if moved > timedelta(0) else "sooner"
    return f"{at}, {times.span(abs(moved))} {word}"
