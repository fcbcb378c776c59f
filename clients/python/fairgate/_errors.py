"""What a call of the client can fail with: one tree, named after the canonical codes (https://google.aip.dev/193)."""
# ruff: noqa: N818 - the names are those of the codes, which do not end in Error

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that is wrong with a request: where, what, and what to do about it ("" where that is not known).

    ``field`` is a path such as ``job.manifest.spec.rayClusterSpec.workerGroupSpecs[0].replicas``.
    """

    field: str
    message: str
    remedy: str = ""

    def __str__(self) -> str:
        place = f"{self.field}: " if self.field else ""
        return place + self.message + (f"; {self.remedy}" if self.remedy else "")


class FairgateError(Exception):
    """What was asked for was not done. ``violations`` lists what was wrong, one at least.

    ``reason`` is a word for machines such as ``STALE_ETAG``, "" if the error did not come from the service.
    """

    def __init__(
        self,
        violations: Iterable[Violation] | str,
        *,
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        found = (Violation("", violations),) if isinstance(violations, str) else tuple(violations)
        self.violations = found or (Violation("", "no more is known"),)
        self.reason = reason
        self.metadata = dict(metadata or {})
        super().__init__("\n".join(map(str, self.violations)))

    @property
    def message(self) -> str:
        """The first thing that was wrong."""
        return self.violations[0].message

    @property
    def field(self) -> str:
        """The field that it was wrong with, "" if it was none."""
        return self.violations[0].field

    @property
    def remedy(self) -> str:
        """What to do about it, "" if that is not known."""
        return self.violations[0].remedy


class InvalidArgument(FairgateError):
    """The request itself is wrong, whatever the state of the service."""


class Unauthenticated(FairgateError):
    """The call carries no token that the service knows."""


class PermissionDenied(FairgateError):
    """The caller may not do this."""


class NotFound(FairgateError):
    """What the request names does not exist."""


class AlreadyExists(FairgateError):
    """The name, or the request id, is taken by something else."""


class FailedPrecondition(FairgateError):
    """The service is not in a state in which this can be done."""


class ResourceExhausted(FairgateError):
    """A limit of the tenant, or of the wire, is reached."""


class Aborted(FairgateError):
    """Somebody else changed it since it was read (a stale etag): read again, then decide."""


class Unavailable(FairgateError):
    """The service can not be reached or can not answer now; the same call may succeed later."""


class DeadlineExceeded(FairgateError):
    """The time that was given for it is over. Whether it was done may not be known."""


class Cancelled(FairgateError):
    """The call was given up, because the client was closed."""


class Unimplemented(FairgateError):
    """This service does not know the call: client and service are of different versions."""


class Internal(FairgateError):
    """The service failed in a way that nobody expected; its log has more."""
