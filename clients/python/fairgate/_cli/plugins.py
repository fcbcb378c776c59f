"""Commands of other packages, which join by the entry-point group ``fairgate.commands``: ``register(app)`` is called.

The server's commands are known by name here, so that a client without the server can say how to get them.
"""

from collections.abc import Callable, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

import typer
from typer.main import get_group

from fairgate._cli.report import usage_error

GROUP: Final = "fairgate.commands"
SERVER_COMMANDS: Final = {
    "up": "Run the service on this machine.",
    "simulate": "Replay scenario files on virtual time and check what they expect.",
    "demo": "See fair sharing at work on this machine.",
    "kube": "What a Kubernetes cluster gets of a configuration, and what is in it.",
    "import": "Make a configuration out of what there is.",
    "gate": "The gate in front of a cluster's accelerators.",
}
_ANYTHING: Final = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


def load() -> dict[str, Any]:
    """All commands of other packages by name. One that can not be loaded says why when it is called."""
    app = typer.Typer()
    missing: list[tuple[EntryPoint, Exception]] = []
    for point in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        try:
            point.load()(app)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with the server, the client's commands go on
            missing.append((point, error))
    commands: dict[str, Any] = dict(get_group(app).commands) if app.registered_commands else {}
    if missing or not commands:
        absent = typer.Typer()
        for name, text in SERVER_COMMANDS.items():
            absent.command(name, help=text, context_settings=dict(_ANYTHING))(_refusal(name, missing))
        commands = {**get_group(absent).commands, **commands}
    return commands


def _refusal(name: str, missing: Sequence[tuple[EntryPoint, Exception]]) -> Callable[[], None]:
    """A command that says why it can not be loaded. What is not a lack of some module is a bug, and raised as it is."""
    why = "; ".join(f"{point.value}: {error}" for point, error in missing) or "it is not installed"
    bug = next((error for _, error in missing if not isinstance(error, ImportError)), None)

    def refuse() -> None:
        if bug is not None:
            raise bug
        raise usage_error(
            f"`fairgate {name}` needs the server, which can not be loaded ({why})",
            "install it: pip install 'fairgate[server]'",
        )

    return refuse
