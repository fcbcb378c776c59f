"""What surrounds every call: errors become statuses, and nobody gets past the ``Principal`` seam unseen."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final, TypeAlias

import grpc

from fairgate_scheduler.entrypoints.grpc import auth, errors
from fairgate_scheduler.service.errors import Unavailable

_LOG: Final = logging.getLogger(__name__)
EXEMPT: Final = "/grpc.health.v1.Health/"
"""Health answers anybody: load balancers have no token, and it tells nothing about tenants."""

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
MaybeHandler: TypeAlias = "grpc.RpcMethodHandler[Any, Any] | None"
Around = Callable[[str, bool, grpc.ServicerContext], AbstractContextManager[None]]
"""(method, whether it streams answers, context) → what is done before and after the call."""


class Surround(grpc.ServerInterceptor):
    """Runs every call but health inside a context manager, streams for as long as they last."""

    def __init__(self, around: Around) -> None:
        self._around = around

    def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], MaybeHandler],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> MaybeHandler:
        handler = continuation(handler_call_details)
        method = handler_call_details.method
        if handler is None or method.startswith(EXEMPT):
            return handler
        return _wrap(handler, lambda context: self._around(method, handler.response_streaming, context))


def _wrap(handler: Handler, around: Callable[[grpc.ServicerContext], AbstractContextManager[None]]) -> Handler:
    """The same handler inside ``around``, whichever of the four kinds of calls it serves."""
    makers = {
        "unary_unary": grpc.unary_unary_rpc_method_handler,
        "unary_stream": grpc.unary_stream_rpc_method_handler,
        "stream_unary": grpc.stream_unary_rpc_method_handler,
        "stream_stream": grpc.stream_stream_rpc_method_handler,
    }
    kind = next(kind for kind in makers if getattr(handler, kind))
    behavior = getattr(handler, kind)

    def answer(request: Any, context: grpc.ServicerContext) -> Any:
        with around(context):
            return behavior(request, context)

    def stream(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        with around(context):
            yield from behavior(request, context)

    surrounded = stream if handler.response_streaming else answer
    return makers[kind](surrounded, handler.request_deserializer, handler.response_serializer)


@contextmanager
def translate_errors(method: str, _: bool, context: grpc.ServicerContext) -> Iterator[None]:
    """Turn what is raised into a status. A call whose deadline passed while it waited for its turn is not begun."""
    if not context.is_active():
        context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "the deadline passed before the call's turn came")
    try:
        yield
    except Exception as error:  # noqa: BLE001 - the outermost frame of a call: what nobody expected ends here, logged
        rule = errors.rule_of(error)
        if rule is not None:
            status = errors.to_status(error)
            if rule.text:
                _LOG.warning("%s failed: %s", method, error)
        else:
            status, trace = errors.internal_status()
            _LOG.exception("%s failed unexpectedly (%s)", method, trace)
        context.abort_with_status(errors.to_wire(status))


def authenticate(authenticator: auth.Authenticator) -> Around:
    """Let nobody in without a Principal, and remember it for the servicers."""

    @contextmanager
    def around(_: str, __: bool, context: grpc.ServicerContext) -> Iterator[None]:
        auth.remember(context, authenticator.authenticate(context.invocation_metadata()))
        yield

    return around


def limit_streams(limit: int) -> Around:
    """Refuse streams above a limit: each holds a thread for as long as it lasts, and unary calls need some too."""
    free = threading.BoundedSemaphore(limit)

    @contextmanager
    def around(_: str, is_stream: bool, __: grpc.ServicerContext) -> Iterator[None]:
        if not is_stream:
            yield
            return
        if not free.acquire(blocking=False):
            raise Unavailable(f"all {limit} streams are taken", remedy="close streams that nobody reads, or try later")
        try:
            yield
        finally:
            free.release()

    return around
