"""``fairgate demo``: play the story, show it, check its promises."""

import json
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.live import Live

from fairgate_scheduler.adapters.local_ray.plan import unusable_python
from fairgate_scheduler.entrypoints.demo import screen
from fairgate_scheduler.entrypoints.demo.evidence import Look
from fairgate_scheduler.entrypoints.demo.promises import check
from fairgate_scheduler.entrypoints.demo.server import DemoError, serve
from fairgate_scheduler.entrypoints.demo.story import Show, Story

DEFAULT_TUTORIAL: Final = Path("docs/tutorial")
FILE_WIDTH: Final = 180


def run(as_json: bool, tutorial: Path = DEFAULT_TUTORIAL) -> int:
    """Play the demo; 0: every promise was kept, 1: one was broken, or it could not be played to its end.

    With ``as_json`` standard output holds one JSON document and nothing else.
    """
    if problem := unusable_python(sys.executable, sys.prefix):
        sys.stderr.write(f"error: {problem}\n")
        return 1
    manifests = sorted((tutorial / "jobs").glob("*.yaml"))
    if not manifests or not (tutorial / "fairgate.yaml").is_file():
        sys.stderr.write(
            f"no tutorial in {tutorial}: run this in a checkout of Fairgate, or name the folder with --tutorial\n"
        )
        return 2
    console = make_console(is_error=as_json)
    try:
        with ExitStack() as stack:
            console.print("Starting the server; each job starts a Ray of its own (about ten seconds each).")
            client = stack.enter_context(serve(tutorial.resolve()))
            show = _live(stack, console) if console.is_terminal and not as_json else _lines(console)
            evidence = Story(client, show).play(manifests)
    except DemoError as error:
        sys.stderr.write(f"the demo was not played to its end: {error}\n")
        return 1
    findings = check(evidence)
    if as_json:
        sys.stdout.write(json.dumps(screen.as_json(evidence, findings), indent=2, ensure_ascii=False) + "\n")
    else:
        console.print(screen.ending(evidence, findings))
    return 0 if all(finding.is_kept for finding in findings) else 1


def make_console(*, is_error: bool) -> Console:
    """Where the demo is shown. A file has no width of its own: it gets one in which the tables are not folded."""
    console = Console(stderr=is_error)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = FILE_WIDTH
    return console


def _live(stack: ExitStack, console: Console) -> Show:
    """A picture that is redrawn."""
    live = stack.enter_context(Live(console=console, auto_refresh=False))
    return lambda look, told: live.update(screen.picture(look, told), refresh=True)


def _lines(console: Console) -> Show:
    """A line for each change, for a terminal that can not be redrawn and for files."""
    said: dict[str, str] = {}
    told_count = [0]

    def show(look: Look, told: list[str]) -> None:
        for sentence in told[told_count[0] :]:
            console.print(f"{look.at_s:5.1f}  {sentence}", soft_wrap=True, highlight=False)
        told_count[0] = len(told)
        for job in sorted(look.jobs, key=lambda each: each.name):
            line = screen.line_of(job)
            if said.get(job.name) != line:
                said[job.name] = line
                console.print(f"{look.at_s:5.1f}    {line}", soft_wrap=True, highlight=False)

    return show
