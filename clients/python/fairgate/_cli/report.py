"""What a failed command says on standard error, and its exit code: what was wrong, where, and what to do."""

import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Final

from fairgate import _errors
from fairgate._cli.session import Session
from fairgate._errors import FairgateError, InvalidArgument, Violation

Locate = Callable[[Violation], Violation]
"""Puts the place that a person knows (a file and its line, an option) instead of the field of the wire."""


class ExitCode(IntEnum):
    """What a command's end tells scripts; part of the contract (``docs/reference/cli.md``)."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    REFUSED = 4
    UNAVAILABLE = 5
    TIMEOUT = 6
    INTERRUPTED = 130


CODES: Final[Mapping[type[FairgateError], ExitCode]] = MappingProxyType(
    {
        _errors.InvalidArgument: ExitCode.USAGE,
        _errors.NotFound: ExitCode.NOT_FOUND,
        _errors.AlreadyExists: ExitCode.REFUSED,
        _errors.FailedPrecondition: ExitCode.REFUSED,
        _errors.ResourceExhausted: ExitCode.REFUSED,
        _errors.PermissionDenied: ExitCode.REFUSED,
        _errors.Unauthenticated: ExitCode.REFUSED,
        _errors.Aborted: ExitCode.REFUSED,
        _errors.Unimplemented: ExitCode.REFUSED,
        _errors.Unavailable: ExitCode.UNAVAILABLE,
        _errors.Internal: ExitCode.UNAVAILABLE,
        _errors.Cancelled: ExitCode.UNAVAILABLE,
        _errors.DeadlineExceeded: ExitCode.TIMEOUT,
    }
)


WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "parent": "--tenant",
        "tenant": "--tenant",
        "name": "",
        "job": "",
        "job.name": "",
        "job_id": "--name",
        "request_id": "--request-id",
        "job.priority": "--priority",
        "job.priority_class": "--priority",
        "job.time_limit": "--time-limit",
        "time_limit": "--time-limit",
        "job.fallback_after": "--fallback-after",
        "job.workload": "--workload",
        "job.labels": "--label",
        "filter": "--filter",
        "after_sequence": "--after",
        "attempt": "--attempt",
        "etag": "--etag",
        "job.etag": "--etag",
        "address": "--address",
        "token": "--token-file",
    }
)
"""The words of the command line for fields of the wire; "" where the message says what it is about."""


def usage_error(message: str, remedy: str, field: str = "") -> InvalidArgument:
    """The command line itself is wrong."""
    return InvalidArgument([Violation(field, message, remedy)])


def exit_code(error: FairgateError) -> ExitCode:
    """The exit code of an error."""
    return next((CODES[kind] for kind in type(error).__mro__ if kind in CODES), ExitCode.FAILED)


def report(session: Session, error: FairgateError) -> ExitCode:
    """Say what was wrong, each thing in a line, its remedy in the next one."""
    for violation in error.violations:
        field = WORDS.get(violation.field, violation.field)
        _line(session, "error: ", f"{field}: {violation.message}" if field else violation.message)
        if violation.remedy:
            _line(session, "  fix: ", violation.remedy)
    return exit_code(error)


def report_bug(session: Session, error: Exception) -> ExitCode:
    """Say that something happened that nobody expected."""
    _line(session, "error: ", f"this is a bug in fairgate: {type(error).__name__}: {error}")
    _line(session, "  fix: ", "run it again with `fairgate --debug …` and report what it prints")
    return ExitCode.FAILED


def warn(session: Session, text: str) -> None:
    """A warning in a line."""
    _line(session, "warning: ", text, "yellow")


def show_trace(session: Session, error: BaseException) -> None:
    """The traceback, for those who asked for it."""
    if session.is_debug:
        traceback.print_exception(error, file=sys.stderr)


def relocate(error: FairgateError, locate: Locate) -> FairgateError:
    """The same error with the places that a person knows."""
    moved: Iterable[Violation] = [locate(violation) for violation in error.violations]
    return type(error)(moved, reason=error.reason, metadata=error.metadata)


def _line(session: Session, head: str, text: str, style: str = "red") -> None:
    first, *rest = text.splitlines() or [""]
    session.err.print(f"[{style}]{head}[/]", end="")
    session.say(first)
    for line in rest:
        session.say(" " * len(head) + line)
