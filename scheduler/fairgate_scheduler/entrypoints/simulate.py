"""``fairgate simulate FILE…``: opens the files, replays each, prints what came of them."""

import sys
from collections.abc import Iterable
from pathlib import Path

from fairgate_scheduler.documents.problems import DocumentError, Problem
from fairgate_scheduler.scenario.report import Result, exit_code, render_json, render_text
from fairgate_scheduler.scenario.simulation import simulate


def run(paths: Iterable[str | Path], as_json: bool = False) -> int:
    """Replay scenario files and print the outcome: 0, all hold; 1, something does not; 2, a file is not valid."""
    results = [(str(path), _replay(Path(path))) for path in paths]
    sys.stdout.write((render_json(results) if as_json else render_text(results)) + "\n")
    return exit_code(results)


def _replay(path: Path) -> Result:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        problem = Problem("", 1, f"it cannot be read: {error.strerror}", "check the path", str(path))
        return DocumentError([problem])
    except UnicodeDecodeError:
        return DocumentError([Problem("", 1, "it is not text", "write YAML as UTF-8", str(path))])
    try:
        return simulate(text, str(path))
    except DocumentError as error:
        return error
