"""What a call of the service can fail with: one tree, each error with the field that was wrong and the remedy.

The classes follow the canonical codes of gRPC (https://google.aip.dev/193): a wire adapter only has to map them.
"""
# ruff: noqa: N818 - the names are those of the codes, which do not end in Error

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that is wrong with a request: where, what, and what to do about it."""

    field: str
    message: str
    remedy: str = ""

    def __str__(self) -> str:
        place = f"{self.field}: " if self.field else ""
        return place + self.message + (f"; {self.remedy}" if self.remedy else "")


class FairgateError(Exception):
    """Something that a caller asked for was refused, and nothing of it was done.

    ``field`` names the part of the request that was wrong ("" if no part was), ``remedy`` says what to do instead.
    """

    def __init__(self, message: str, *, field: str = "", remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.remedy = remedy

    def __str__(self) -> str:
        return str(Violation(self.field, self.message, self.remedy))


class InvalidArgument(FairgateError):
    """The request itself is wrong, whatever the state of the service; ``violations`` lists all that is."""

    def __init__(self, violations: Iterable[Violation]) -> None:
        self.violations = tuple(violations)
        first = self.violations[0]
        super().__init__(first.message, field=first.field, remedy=first.remedy)

    def __str__(self) -> str:
        return "\n".join(map(str, self.violations))


class NotFound(FairgateError):
    """What the request names does not exist."""


class AlreadyExists(FairgateError):
    """The name, or the request id, is taken by something else."""


class FailedPrecondition(FairgateError):
    """The service is not in a state in which this can be done."""


class ResourceExhausted(FairgateError):
    """A limit of the tenant is reached."""


class PermissionDenied(FairgateError):
    """The caller may not do this."""


class Aborted(FairgateError):
    """Somebody else changed it since the caller read it (a stale etag): read again, then decide."""


class Unavailable(FairgateError):
    """The service cannot answer now; the same call may succeed later."""
