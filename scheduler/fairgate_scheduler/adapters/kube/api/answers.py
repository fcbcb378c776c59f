"""What an API server's refusals mean to us: from a ``Status`` object, or whatever else came, to an ``ApiError``."""

import json
from typing import Any, Final

from fairgate_scheduler.adapters.kube.api.errors import (
    ApiError,
    ConflictError,
    ForbiddenError,
    GoneError,
    InvalidError,
    NotFoundError,
    UnavailableError,
)

_ERRORS: Final[dict[int, type[ApiError]]] = {
    400: InvalidError,
    401: ForbiddenError,
    403: ForbiddenError,
    404: NotFoundError,
    405: InvalidError,
    409: ConflictError,
    410: GoneError,
    413: InvalidError,
    415: InvalidError,
    422: InvalidError,
    429: UnavailableError,
}
_SCHEMA: Final = "failed to create typed patch object"
"""How a server begins to say that applied fields are not in the schema. It calls that an internal error of its own."""
_AHEAD: Final = "ResourceVersionTooLarge"
"""The cause that a server gives when it has never come to a version: what it knows was put back. List again."""
_OTHER_UID: Final = "metadata.uid"
"""The field that a server finds invalid when an object is not the one that was meant, but one of the same name."""
_TEXT_LIMIT: Final = 1_000


def error_of(code: int, body: bytes) -> ApiError:
    """The error for an HTTP answer that is not a success; its text is the server's."""
    try:
        status = json.loads(body)
    except ValueError:
        status = None
    if isinstance(status, dict) and status.get("kind") == "Status":
        return error_of_status(status, code)
    text = body.decode(errors="replace").strip()[:_TEXT_LIMIT]
    return _class_of(code)(f"HTTP {code}: {text}" if text else f"HTTP {code}")


def error_of_status(status: dict[str, Any], code: int = 0) -> ApiError:
    """The error for a ``Status`` object; ``code`` is that of HTTP if the status says none."""
    code = int(status.get("code") or code)
    message, reason = str(status.get("message", "")), str(status.get("reason", ""))
    causes = (status.get("details") or {}).get("causes") or ()
    if any(cause.get("reason") == _AHEAD for cause in causes):
        return GoneError(message, reason)
    if code == 422 and any(cause.get("field") == _OTHER_UID for cause in causes):
        return ConflictError(message, reason)
    if code == 500 and _SCHEMA in message:
        return InvalidError(message, reason)
    return _class_of(code)(message or f"HTTP {code}", reason)


def _class_of(code: int) -> type[ApiError]:
    return UnavailableError if code >= 500 else _ERRORS.get(code, ApiError)
