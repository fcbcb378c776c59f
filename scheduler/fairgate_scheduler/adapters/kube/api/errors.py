"""What an API server can answer besides what was asked for."""

from fairgate_scheduler.ports import RunnerUnavailableError


class ApiError(Exception):
    """An answer that is not the one wanted. ``reason`` is the server's word for it, the text what it says."""

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


class NotFoundError(ApiError):
    """There is no such object, or no such kind in this cluster."""


class ConflictError(ApiError):
    """It exists already, has changed meanwhile, or another field manager owns a field that was applied."""


class GoneError(ApiError):
    """The resource version is too old to watch from: list again."""


class ForbiddenError(ApiError):
    """We may not do this, or an admission gate refuses it."""


class InvalidError(ApiError):
    """The object is not as its kind has to be."""


class UnavailableError(ApiError, RunnerUnavailableError):
    """The server can not be reached, is overloaded, or an admission webhook of it is. Nothing is known of a write."""
