"""The command ``fairgate``: root options, the commands, and the one place where errors become text and exit codes."""

import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from fairgate._cli import change, describe, follow, get, plugins, quota, submit, top, version
from fairgate._cli.report import ExitCode, report, report_bug, show_trace
from fairgate._cli.session import Session
from fairgate._errors import FairgateError


class Commands(TyperGroup):
    """The commands of the client, and those of other packages, which are loaded when one of them is asked for."""

    _extra: dict[str, Any] | None = None

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands, in the order of the help."""
        return [*super().list_commands(ctx), *self._plugins()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name, ``None`` if there is none."""
        return super().get_command(ctx, cmd_name) or self._plugins().get(cmd_name)

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Read the root options, and print the help: it names the commands of other packages."""
        make = super().make_context
        is_debug = "--debug" in args
        return _guarded(lambda: make(info_name, args, parent, **extra), lambda: Session(is_debug=is_debug))

    def invoke(self, ctx: Any) -> Any:
        """Run what was asked for."""
        run = super().invoke
        try:
            return _guarded(lambda: run(ctx), lambda: ctx.obj or Session(is_debug=bool(ctx.params.get("debug"))))
        finally:
            if isinstance(ctx.obj, Session):
                ctx.obj.close()

    def _plugins(self) -> dict[str, Any]:
        if self._extra is None:
            self._extra = plugins.load()
        return self._extra


app = typer.Typer(
    cls=Commands,
    name="fairgate",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Fair shares of accelerators for RayJobs: submit, watch, explain, and own the quotas.",
)


@app.callback()
def root(
    context: typer.Context,
    address: Annotated[
        str | None, typer.Option(help="unix:PATH, HOST:PORT or https://HOST:PORT; else $FAIRGATE_ADDRESS.")
    ] = None,
    token_file: Annotated[str | None, typer.Option(help="The file of the token; else $FAIRGATE_TOKEN_FILE.")] = None,
    timeout_s: Annotated[float, typer.Option("--call-timeout", min=0.1, help="Seconds that one call may take.")] = 30.0,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """The root options."""
    context.obj = Session(address, token_file, timeout_s, debug)


def _guarded(act: Callable[[], Any], session: Callable[[], Session]) -> Any:
    """Do something. No error gets out as a traceback, unless one asked for it."""
    try:
        return act()
    except FairgateError as error:
        show_trace(session(), error)
        raise typer.Exit(report(session(), error)) from None
    except KeyboardInterrupt:
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    except Exception as error:
        if isinstance(error, BrokenPipeError) or _is_of_the_command_line(error):
            raise
        show_trace(session(), error)
        raise typer.Exit(report_bug(session(), error)) from None


def _is_of_the_command_line(error: Exception) -> bool:
    """Whether it is typer's own way out: a usage error, an exit."""
    return type(error).__module__.partition(".")[0] in ("typer", "click")


for part in (submit.app, describe.app, follow.app, change.app, top.app, version.app):
    app.registered_commands += part.registered_commands
app.add_typer(get.app, name="get")
app.add_typer(quota.app, name="quota")
app.add_typer(describe.describing, name="describe")


def run() -> None:
    """What the console script calls."""
    sys.exit(app(prog_name="fairgate"))
