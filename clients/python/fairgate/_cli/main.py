"""The command ``fairgate``: root options, the commands, and the one place where errors become text and exit codes."""

import sys
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from fairgate._cli import change, describe, follow, get, other_words, plugins, quota, submit, top, version
from fairgate._cli.report import ExitCode, report, report_bug, show_trace, usage_error
from fairgate._cli.session import Session
from fairgate._durations import parse_duration
from fairgate._errors import FairgateError

ROOT_OPTIONS: Final[Mapping[str, bool]] = MappingProxyType(
    {"--address": True, "--token-file": True, "--call-timeout": True, "--debug": False}
)
"""The options of all commands, and whether a value follows."""


LEAST_S: Final = 0.1


class Commands(TyperGroup):
    """The commands of the client, and those of other packages, which are loaded when one of them is asked for."""

    _extra: dict[str, Any] | None = None

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands, in the order of the help."""
        return [*super().list_commands(ctx), *self._plugins()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name, ``None`` if there is none."""
        return super().get_command(ctx, cmd_name) or self._plugins().get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command for these arguments. Raises FairgateError for a word of other tools."""
        other_words.refuse(self, ctx, args, other_words.COMMANDS)
        return super().resolve_command(ctx, args)

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Read the root options, and print the help: it names the commands of other packages."""
        make = super().make_context
        is_debug, is_completing = "--debug" in args, bool(extra.get("resilient_parsing"))

        def read() -> Any:
            return make(info_name, args if is_completing else _root_options_first(args), parent, **extra)

        return _guarded(read, lambda: Session(is_debug=is_debug))

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
    timeout: Annotated[str, typer.Option("--call-timeout", help="How long one call may take, such as 3s.")] = "30s",
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """The root options."""
    context.obj = Session(address, token_file, _timeout_s(timeout), debug)


def _timeout_s(text: str) -> float:
    """The seconds of a duration; a bare number is seconds. Raises InvalidArgument."""
    bare = text.replace(".", "", 1)
    is_bare = bare.isdigit() and bare.isascii()
    seconds = float(text) if is_bare else parse_duration(text, "--call-timeout").total_seconds()
    if seconds < LEAST_S:
        raise usage_error(f"{text} is too short", f"write {LEAST_S}s or more", "--call-timeout")
    return seconds


def _root_options_first(words: Sequence[str]) -> list[str]:
    """The same command line with the root options before the command, wherever they were. Raises InvalidArgument.

    What comes after ``--`` is left where it is. No command has an option of its own by one of these names.
    """
    end = words.index("--") if "--" in words else len(words)
    first, rest, left = list[str](), list[str](), iter(words[:end])
    for word in left:
        option, equals, _ = word.partition("=")
        if option not in ROOT_OPTIONS:
            rest.append(word)
            continue
        first.append(word)
        if ROOT_OPTIONS[option] and not equals:
            value = next(left, None)
            if value is None:
                raise usage_error("needs a value", f"write {option} VALUE", option)
            first.append(value)
    return [*first, *rest, *words[end:]]


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
