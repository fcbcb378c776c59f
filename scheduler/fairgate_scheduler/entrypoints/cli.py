"""The server's commands of ``fairgate``: they join the client's by the entry-point group ``fairgate.commands``."""

from pathlib import Path
from typing import Annotated

import typer

from fairgate_scheduler.entrypoints import simulate as simulating
from fairgate_scheduler.entrypoints.demo import command as demonstrating

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
commands = typer.Typer()


def register(app: typer.Typer) -> None:
    """Add the server's commands."""
    app.registered_commands += commands.registered_commands


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
