"""THE table from what a call can fail with to gRPC status and ``google.rpc`` details; nothing else chooses a status.

Details follow https://google.aip.dev/193: each status carries an ErrorInfo; the table says what comes with it.
"""

import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc import error_details_pb2 as details_pb2
from google.rpc.status_pb2 import Status

from fairgate_scheduler.ports import StaleVersionError, StoreError
from fairgate_scheduler.service import errors

DOMAIN: Final = "fairgate.dev"
STATUS_KEY: Final = "grpc-status-details-bin"

# A status travels in HTTP/2 metadata, of which gRPC peers accept 8 KiB by default, three times written: as text,
# and in the details as base64. So texts and details are cut before that makes the peer lose the whole error.
MAX_TEXT_BYTES: Final = 800
MAX_DETAILS_BYTES: Final = 2800
RETRY_AFTER_S: Final = 1


class Unauthenticated(errors.FairgateError):
    """The call carries no valid token."""


@dataclass(frozen=True, slots=True)
class Rule:
    """How one class of errors travels. ``reason`` is for machines and part of the contract.

    ``text`` stands for what the error itself says where that is not for callers.
    """

    code: grpc.StatusCode
    reason: str
    details: Callable[[Exception], Iterable[Message]]
    text: str = ""


def _nothing(_: Exception) -> Iterable[Message]:
    return ()


def _bad_request(error: Exception) -> Iterable[Message]:
    assert isinstance(error, errors.InvalidArgument)
    for each in error.violations:
        text = each.message + (f"; {each.remedy}" if each.remedy else "")
        violation = details_pb2.BadRequest.FieldViolation(field=each.field, description=_cut(text))
        yield details_pb2.BadRequest(field_violations=[violation])


def _quota_failure(error: Exception) -> Iterable[Message]:
    assert isinstance(error, errors.FairgateError)
    violation = details_pb2.QuotaFailure.Violation(subject=_cut(error.field), description=_cut(error.message))
    return [details_pb2.QuotaFailure(violations=[violation])]


def _precondition_failure(error: Exception) -> Iterable[Message]:
    assert isinstance(error, errors.FairgateError)
    violation = details_pb2.PreconditionFailure.Violation(
        type="STATE", subject=_cut(error.field), description=_cut(error.message)
    )
    return [details_pb2.PreconditionFailure(violations=[violation])]


def _retry(_: Exception) -> Iterable[Message]:
    return [details_pb2.RetryInfo(retry_delay=Duration(seconds=RETRY_AFTER_S))]


_CODE = grpc.StatusCode
TABLE: Final[Mapping[type[Exception], Rule]] = MappingProxyType(
    {
        errors.InvalidArgument: Rule(_CODE.INVALID_ARGUMENT, "INVALID_ARGUMENT", _bad_request),
        Unauthenticated: Rule(_CODE.UNAUTHENTICATED, "UNAUTHENTICATED", _nothing),
        errors.PermissionDenied: Rule(_CODE.PERMISSION_DENIED, "PERMISSION_DENIED", _nothing),
        errors.NotFound: Rule(_CODE.NOT_FOUND, "NOT_FOUND", _nothing),
        errors.AlreadyExists: Rule(_CODE.ALREADY_EXISTS, "ALREADY_EXISTS", _nothing),
        errors.FailedPrecondition: Rule(_CODE.FAILED_PRECONDITION, "FAILED_PRECONDITION", _precondition_failure),
        errors.ResourceExhausted: Rule(_CODE.RESOURCE_EXHAUSTED, "LIMIT_REACHED", _quota_failure),
        errors.Aborted: Rule(_CODE.ABORTED, "STALE_ETAG", _nothing),
        StaleVersionError: Rule(_CODE.ABORTED, "CONCURRENT_CHANGE", _retry, "somebody else changed it; try again"),
        errors.Unavailable: Rule(_CODE.UNAVAILABLE, "UNAVAILABLE", _retry),
        StoreError: Rule(_CODE.UNAVAILABLE, "STORE_UNAVAILABLE", _retry, "the service can not use its store now"),
    }
)


def rule_of(error: Exception) -> Rule | None:
    """The rule of an error's class, or of the nearest class above it; ``None``: nobody expected it."""
    return next((TABLE[kind] for kind in type(error).__mro__ if kind in TABLE), None)


def to_status(error: Exception) -> Status:
    """An error that the table knows as ``google.rpc.Status``."""
    rule = rule_of(error)
    assert rule is not None, error
    metadata = {}
    if isinstance(error, errors.FairgateError):
        metadata = {name: _cut(text) for name, text in (("field", error.field), ("remedy", error.remedy)) if text}
    info = details_pb2.ErrorInfo(reason=rule.reason, domain=DOMAIN, metadata=metadata)
    return _status(rule.code, rule.text or str(error), [info, *_fitting(rule.details(error))])


def internal_status() -> tuple[Status, str]:
    """The status of an error that nobody expected, and the id that leads from it to the log; it says nothing else."""
    trace = uuid.uuid4().hex
    info = details_pb2.ErrorInfo(reason="INTERNAL", domain=DOMAIN)
    text = f"internal error; the server's log has it under {trace}"
    return _status(_CODE.INTERNAL, text, [info, details_pb2.RequestInfo(request_id=trace)]), trace


@dataclass(frozen=True)
class WireStatus(grpc.Status):
    """What ``ServicerContext.abort_with_status`` takes."""

    code: grpc.StatusCode
    details: str
    trailing_metadata: tuple[tuple[str, str | bytes], ...]


def to_wire(status: Status) -> WireStatus:
    """A status with its details in the metadata, where every gRPC library looks for them."""
    code = next(code for code in grpc.StatusCode if code.value[0] == status.code)
    return WireStatus(code, status.message, ((STATUS_KEY, status.SerializeToString()),))


def _status(code: grpc.StatusCode, text: str, details: Iterable[Message]) -> Status:
    status = Status(code=code.value[0], message=_cut(text))
    for detail in details:
        packed = AnyMessage()
        packed.Pack(detail)
        status.details.append(packed)
    return status


def _fitting(details: Iterable[Message]) -> list[Message]:
    """Details of one kind merged into one message, as many as fit."""
    kept: list[Message] = []
    room = MAX_DETAILS_BYTES
    for detail in details:
        room -= detail.ByteSize()
        if room < 0:
            break
        if kept:
            kept[0].MergeFrom(detail)
        else:
            kept.append(detail)
    return kept


def _cut(text: str) -> str:
    """At most ``MAX_TEXT_BYTES``, counting as HTTP/2 writes it: three bytes for each that is not ASCII."""
    size = 0
    for place, letter in enumerate(text):
        size += 1 if letter.isascii() else 3 * len(letter.encode())
        if size > MAX_TEXT_BYTES - 3:
            return text[:place] + "..."
    return text
