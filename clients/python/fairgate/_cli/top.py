"""``fairgate top``: the share tree and the flavors, live."""

import sys
import time
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from fairgate._cli import table, times
from fairgate._cli.get import FLAVOR_HEADER, JOB_HEADER, TENANT_HEADER, flavor_rows, job_row, tenant_rows
from fairgate._cli.plain import dump
from fairgate._cli.session import OutputFormat, Session, session_of

app = typer.Typer()
JOBS_SHOWN = 15


@app.command()
def top(
    context: typer.Context,
    interval_s: Annotated[float, typer.Option("--interval", "-n", min=0.2, help="Seconds between looks.")] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Look once, as when no person looks.")] = False,
    output: Annotated[OutputFormat, typer.Option("--output", "-o")] = OutputFormat.TABLE,
) -> None:
    """Show shares against quota, flavors, and the jobs that run and wait."""
    session = session_of(context)
    if output in (OutputFormat.JSON, OutputFormat.YAML):
        tenants, flavors = list(session.client.tenants()), list(session.client.flavors())
        sys.stdout.write(dump({"tenants": tenants, "flavors": flavors}, output))
        return
    if once or not session.out.is_terminal:
        session.out.print(_picture(session, height=None), soft_wrap=True)
        return
    with Live(console=session.out, screen=True, auto_refresh=False) as live:
        while True:
            live.update(_picture(session, height=session.out.height), refresh=True)
            time.sleep(interval_s)


def _picture(session: Session, height: int | None) -> RenderableType:
    client = session.client
    live_jobs = "state != SUCCEEDED AND state != FAILED AND state != CANCELLED"
    shares = table.lines(TENANT_HEADER, tenant_rows(list(client.tenants())))
    flavors = table.lines(FLAVOR_HEADER, [row for each in client.flavors() for row in flavor_rows(each)])
    room = JOBS_SHOWN if height is None else max(1, height - len(shares) - len(flavors) - 6)
    jobs = list(client.list(filter=live_jobs))
    jobs.sort(key=lambda job: (job.state == "PENDING", job.name))
    rows = [job_row(job) for job in jobs[:room]]
    more = [Text(f"… and {len(jobs) - room} more")] if len(jobs) > room else []
    head = Text(f"{client.address}   {times.clock(times.now())}")
    return Group(head, Text(), *shares, Text(), *flavors, Text(), *table.lines(JOB_HEADER, rows), *more)
