"""Words that people know from other tools, and the commands of ours that do that."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from typer.core import TyperGroup

from fairgate._cli.report import usage_error

COMMANDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "apply": "`fairgate submit -f FILE` for jobs, `fairgate quota apply -f FILE` for quotas",
        "create": "`fairgate submit -f FILE`",
        "run": "`fairgate submit -f FILE`",
        "delete": "`fairgate cancel JOB`",
        "kill": "`fairgate cancel JOB`",
        "stop": "`fairgate cancel JOB`",
        "list": "`fairgate get jobs`",
        "ls": "`fairgate get jobs`",
        "status": "`fairgate describe job JOB`",
        "events": "`fairgate watch`",
    }
)
"""A word in the place of a command, and what to write."""

THINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "events": "`fairgate watch --after 0`",
        "event": "`fairgate watch --after 0`",
        "quota": "`fairgate quota get`",
        "quotas": "`fairgate quota get`",
        "attempts": "`fairgate describe job JOB`",
        "logs": "`fairgate logs JOB`",
    }
)
"""A word in the place of what ``fairgate get`` lists, and what to write."""


class Gettable(TyperGroup):
    """What can be listed."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command for these arguments. Raises FairgateError for a word of other tools."""
        refuse(self, ctx, args, THINGS)
        return super().resolve_command(ctx, args)


def refuse(group: TyperGroup, context: Any, args: list[str], known: Mapping[str, str]) -> None:
    """Refuse a word of other tools that is no command of this group, with ours. Raises InvalidArgument."""
    if args and args[0] in known and group.get_command(context, args[0]) is None:
        raise usage_error(f"there is no `{context.command_path} {args[0]}`", f"use {known[args[0]]}")
