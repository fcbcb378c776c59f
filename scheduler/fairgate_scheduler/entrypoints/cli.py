"""The server's commands of ``fairgate``: they join the client's by the entry-point group ``fairgate.commands``."""

from pathlib import Path
from typing import Annotated

import typer

from fairgate_scheduler.documents.scalars import parse_duration
from fairgate_scheduler.entrypoints import simulate as simulating
from fairgate_scheduler.entrypoints import up as running
from fairgate_scheduler.entrypoints.demo import command as demonstrating
from fairgate_scheduler.entrypoints.settings import Settings

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
commands = typer.Typer()


def register(app: typer.Typer) -> None:
    """Add the server's commands."""
    app.registered_commands += commands.registered_commands


@commands.command()
def up(
    state_dir: Annotated[
        Path | None,
        typer.Option(envvar="FAIRGATE_STATE_DIR", help="Where everything is kept (default: ~/.fairgate)."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="A configuration to put in force at the start.")
    ] = None,
    listen: Annotated[
        str, typer.Option(help="unix:PATH or HOST:PORT on loopback (default: a socket in the state directory).")
    ] = "",
    job_dir: Annotated[Path, typer.Option(help="What relative paths in runtimeEnvYAML count from.")] = Path(),
    grace_period: Annotated[str, typer.Option(help="Time between an eviction's notice and the kill.")] = "30s",
) -> None:
    """Run the service on this machine: SQLite and local Ray, no Kubernetes."""
    try:
        grace_ms = parse_duration(grace_period)
    except ValueError as error:
        raise typer.BadParameter(f"{error}; write for example 30s or 2m", param_hint="--grace-period") from None
    folder = (state_dir or Path.home() / ".fairgate").expanduser().absolute()
    raise typer.Exit(running.run(Settings(folder, listen, job_dir.absolute(), grace_ms), config))


@commands.command()
def simulate(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Scenario files.")],
    as_json: AsJson = False,
) -> None:
    """Replay scenario files on virtual time and check what they expect.

    Exit 0: everything holds; 1: something does not; 2: a file is not valid.
    """
    raise typer.Exit(simulating.run(files, as_json))


@commands.command()
def demo(
    as_json: AsJson = False,
    tutorial: Annotated[Path, typer.Option(help="The folder of the tutorial.")] = demonstrating.DEFAULT_TUTORIAL,
) -> None:
    """See fair sharing at work on this machine: real Ray jobs, preempted, resumed and moved to other accelerators."""
    raise typer.Exit(demonstrating.run(as_json, tutorial))
