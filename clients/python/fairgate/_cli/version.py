"""``fairgate version``."""

import platform
import sys
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of
from typing import Annotated

import typer

from fairgate._cli.plain import dump
from fairgate._cli.session import OutputFormat, session_of

app = typer.Typer()


@app.command()
def version(
    context: typer.Context,
    output: Annotated[OutputFormat, typer.Option("--output", "-o")] = OutputFormat.TABLE,
) -> None:
    """Print the version of this client."""
    found = {"fairgate": _of("fairgate"), "grpcio": _of("grpcio"), "python": platform.python_version()}
    if output in (OutputFormat.JSON, OutputFormat.YAML):
        sys.stdout.write(dump(found, output))
    else:
        session_of(context).out.print(" ".join(f"{name} {text}" for name, text in found.items()), markup=False)


def _of(package: str) -> str:
    try:
        return version_of(package)
    except PackageNotFoundError:
        return "unknown"
