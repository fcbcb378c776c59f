"""Resource names, request ids, page sizes and durations: read, or refused with the field and the remedy."""

import re
from typing import Final

from google.protobuf.duration_pb2 import Duration

from fairgate_scheduler.service.errors import InvalidArgument, Violation

MAX_PAGE_SIZE: Final = 1000
DEFAULT_PAGE_SIZE: Final = 100
MAX_REQUEST_ID: Final = 128
ALL: Final = "-"

_ID: Final = r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?"
_TENANT: Final = re.compile(rf"tenants/({_ID}|-)")
_JOB: Final = re.compile(rf"tenants/{_ID}/jobs/{_ID}")
_REQUEST_ID: Final = re.compile(r"[\x21-\x7e]{0,%d}" % MAX_REQUEST_ID)  # noqa: UP031 - braces are the pattern's own
_MAX_DURATION_S: Final = 100 * 365 * 86_400


def invalid(field: str, message: str, remedy: str = "") -> InvalidArgument:
    """One field is wrong."""
    return InvalidArgument([Violation(field, message, remedy)])


def tenant_name(tenant: str) -> str:
    """The resource name of a tenant."""
    return f"tenants/{tenant}"


def read_tenant(text: str, field: str = "parent") -> str:
    """The id in the name of one tenant. Raises InvalidArgument."""
    tenant = read_tenants(text, field)
    if tenant is None:
        raise invalid(field, "names all tenants; this call is about one", "write tenants/TENANT")
    return tenant


def read_tenants(text: str, field: str = "parent") -> str | None:
    """The id in the name of a tenant, ``None`` for ``tenants/-``. Raises InvalidArgument."""
    match = _TENANT.fullmatch(text)
    if match is None:
        raise invalid(field, f"{text!r} is no tenant's name" if text else "is missing", "write tenants/TENANT")
    return None if match[1] == ALL else match[1]


def read_job(text: str, field: str = "name") -> str:
    """The name of one job. Raises InvalidArgument."""
    if _JOB.fullmatch(text) is None:
        raise invalid(field, f"{text!r} is no job's name" if text else "is missing", "write tenants/TENANT/jobs/JOB")
    return text


def read_request_id(text: str) -> str:
    """A request id, "" for none. Raises InvalidArgument."""
    if _REQUEST_ID.fullmatch(text) is None:
        remedy = f"use a UUID, or at most {MAX_REQUEST_ID} printable ASCII characters without spaces"
        raise invalid("request_id", "is too long or has characters that it may not have", remedy)
    return text


def read_page_size(size: int) -> int:
    """How many items a page has at most. Raises InvalidArgument."""
    if size < 0:
        raise invalid("page_size", f"{size} is negative", "leave it out for the default")
    return min(size or DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE)


def read_duration_ms(duration: Duration, field: str) -> int:
    """A duration in milliseconds. Raises InvalidArgument."""
    if duration.seconds < 0 or duration.nanos < 0:
        raise invalid(field, "is negative", "write a positive duration such as 600s")
    if duration.seconds > _MAX_DURATION_S:
        raise invalid(field, "is more than a hundred years", "write a shorter one")
    if duration.nanos % 1_000_000 or duration.nanos >= 1_000_000_000:
        raise invalid(field, "is not in whole milliseconds", "round it to milliseconds")
    return duration.seconds * 1000 + duration.nanos // 1_000_000
