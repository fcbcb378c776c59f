"""``fairgate-admission``: attack files on the command line."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from fairgate_scheduler.documents.problems import DocumentError, Problem

from fairgate_admission.offline.checking import FileResult, check
from fairgate_admission.offline.matrix import render_matrix
from fairgate_admission.offline.report import Checked, exit_code, render_json, render_text

app = typer.Typer(no_args_is_help=True, add_completion=False, help="The gate in front of a cluster's accelerators.")

Files = Annotated[list[Path], typer.Argument(metavar="FILE...", help="Attack files.")]


@app.command("check")
def check_files(
    files: Files,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")] = False,
) -> None:
    """Try the requests of attack files against the gate's rules, without a cluster.

    Exit 0: every request got the verdict that it wanted; 1: one did not; 2: a file is not valid.
    """
    checked = [_checked(path) for path in files]
    sys.stdout.write((render_json(checked) if as_json else render_text(checked)) + "\n")
    raise typer.Exit(exit_code(checked))


@app.command()
def matrix(files: Files) -> None:
    """Print a page on which rule stops which request of the files. Exit 2: a file is not valid."""
    checked = [_checked(path) for path in files]
    results = [result for _, result in checked if isinstance(result, FileResult)]
    if len(results) < len(checked):
        sys.stderr.write(render_text([each for each in checked if isinstance(each[1], DocumentError)]) + "\n")
        raise typer.Exit(2)
    sys.stdout.write(render_matrix(results))


def run() -> None:
    """The console script."""
    app()


def _checked(path: Path) -> Checked:
    try:
        return str(path), check(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        problem = Problem("", 1, f"it cannot be read: {error.strerror}", "check the path", str(path))
    except UnicodeDecodeError:
        problem = Problem("", 1, "it is not text", "write YAML as UTF-8", str(path))
    except DocumentError as error:
        return str(path), error
    return str(path), DocumentError([problem])
