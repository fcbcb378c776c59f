"""The inverse of the server's table: gRPC status and ``google.rpc`` details → the client's errors."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2
from google.rpc.status_pb2 import Status

from fairgate import _errors
from fairgate._errors import FairgateError, Violation

STATUS_KEY: Final = "grpc-status-details-bin"

_CODE = grpc.StatusCode
TABLE: Final[Mapping[grpc.StatusCode, type[FairgateError]]] = MappingProxyType(
    {
        _CODE.CANCELLED: _errors.Cancelled,
        _CODE.UNKNOWN: _errors.Internal,
        _CODE.INVALID_ARGUMENT: _errors.InvalidArgument,
        _CODE.DEADLINE_EXCEEDED: _errors.DeadlineExceeded,
        _CODE.NOT_FOUND: _errors.NotFound,
        _CODE.ALREADY_EXISTS: _errors.AlreadyExists,
        _CODE.PERMISSION_DENIED: _errors.PermissionDenied,
        _CODE.RESOURCE_EXHAUSTED: _errors.ResourceExhausted,
        _CODE.FAILED_PRECONDITION: _errors.FailedPrecondition,
        _CODE.ABORTED: _errors.Aborted,
        _CODE.OUT_OF_RANGE: _errors.InvalidArgument,
        _CODE.UNIMPLEMENTED: _errors.Unimplemented,
        _CODE.INTERNAL: _errors.Internal,
        _CODE.UNAVAILABLE: _errors.Unavailable,
        _CODE.DATA_LOSS: _errors.Internal,
        _CODE.UNAUTHENTICATED: _errors.Unauthenticated,
    }
)
_REMEDIES: Final = MappingProxyType(
    {
        _CODE.UNIMPLEMENTED: "use a client and a service of the same version",
        _CODE.DEADLINE_EXCEEDED: "allow more time, or ask whether the service is overloaded",
    }
)


def from_rpc_error(error: grpc.RpcError, address: str) -> FairgateError:
    """What a failed call says, as an error of the client."""
    if not isinstance(error, grpc.Call):
        return _errors.Internal(f"the call failed: {error}")
    code = error.code() or _CODE.UNKNOWN
    status = _details(error)
    if status is not None:
        return from_status(status)
    return TABLE[code]([_bare(code, error.details() or "", address)])


def from_status(status: Status) -> FairgateError:
    """A ``google.rpc.Status`` as an error of the client."""
    code = next((each for each in _CODE if each.value[0] == status.code), _CODE.UNKNOWN)
    found: list[tuple[str, str]] = []
    reason, metadata = "", dict[str, str]()
    for packed in status.details:
        info = error_details_pb2.ErrorInfo()
        request = error_details_pb2.BadRequest()
        if packed.Unpack(info):
            reason, metadata = info.reason, dict(info.metadata)
        elif packed.Unpack(request):
            found += [(each.field, each.description) for each in request.field_violations]
    violations = [_described(field, text, metadata) for field, text in found]
    return TABLE[code](violations or [_told(status.message, metadata)], reason=reason, metadata=metadata)


def _told(text: str, metadata: Mapping[str, str]) -> Violation:
    """The text of a status, ``FIELD: MESSAGE; REMEDY``, taken apart by what the metadata tells of it."""
    field, remedy = metadata.get("field", ""), metadata.get("remedy", "")
    text = text.removeprefix(f"{field}: ") if field else text
    return Violation(field, text.removesuffix(f"; {remedy}") if remedy else text, remedy)


def _described(field: str, text: str, metadata: Mapping[str, str]) -> Violation:
    """``MESSAGE; REMEDY``, taken apart by the first one's remedy, which the metadata has, else at the last ``;``."""
    remedy = metadata.get("remedy", "")
    if remedy and text.endswith(f"; {remedy}"):
        return Violation(field, text.removesuffix(f"; {remedy}"), remedy)
    message, semicolon, rest = text.rpartition("; ")
    return Violation(field, message, rest) if semicolon else Violation(field, text)


def _bare(code: grpc.StatusCode, text: str, address: str) -> Violation:
    """A status that did not come from our service but from gRPC itself, or from something in between."""
    if code is _CODE.UNAVAILABLE:
        remedy = "start it with `fairgate up`, or name another address with FAIRGATE_ADDRESS"
        why = text.rpartition(": ")[2]  # gRPC tells all that it tried; the last part is the system's word
        return Violation("", f"no service answers at {address} ({why})", remedy)
    if code is _CODE.DEADLINE_EXCEEDED:
        text = f"no answer from {address} in time"
    return Violation("", text or code.name, _REMEDIES.get(code, ""))


def _details(call: grpc.Call) -> Status | None:
    for key, value in call.trailing_metadata() or ():
        if key == STATUS_KEY and isinstance(value, bytes):
            try:
                return Status.FromString(value)
            except DecodeError:
                return None
    return None
