"""One method a call of the service: the client's models in, the client's models out, the client's errors raised.

Each unary call is made once, within ``timeout_s`` seconds; who retries is the client.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, TypeVar

import grpc
from fairgate_api.v1 import job_service_pb2, job_service_pb2_grpc, quota_service_pb2, quota_service_pb2_grpc

from fairgate._config import Endpoint, Token
from fairgate._errors import Cancelled, FairgateError, InvalidArgument, Violation
from fairgate._models import Explanation, Job, JobActions, JobEvent, LogChunk
from fairgate._quota_models import Config, ConfigChange, Flavor, Tenant, TenantUsage
from fairgate._wire import decode, decode_quotas
from fairgate._wire.encode import JobRequest, submit_request, update_request
from fairgate._wire.errors import from_rpc_error, from_status

Request = TypeVar("Request")
Response = TypeVar("Response")
Value = TypeVar("Value")

_MESSAGE_MAX_BYTES: Final = 64 * 1024 * 1024
_OPTIONS: Final = (
    ("grpc.max_receive_message_length", _MESSAGE_MAX_BYTES),
    ("grpc.max_send_message_length", _MESSAGE_MAX_BYTES),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2000),
    ("grpc.enable_retries", 0),  # the client retries, within its own deadline
)
_LOCAL: Final = (("grpc.enable_http_proxy", 0),)


@dataclass(frozen=True, slots=True)
class WatchItem:
    """One message of a watch; without ``event`` it is a sign of life."""

    sequence: int
    event: JobEvent | None
    job: Job | None


@dataclass(frozen=True, slots=True)
class ListRequest:
    """Which jobs to list, and whether to ask when those that wait start."""

    parent: str
    filter_text: str = ""
    with_forecasts: bool = False


@contextmanager
def sendable() -> Iterator[None]:
    """Where a request is put together. Raises InvalidArgument for values that the wire has no room for."""
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        remedy = "check the types and sizes of what was given"
        raise InvalidArgument([Violation("", f"a value can not be sent: {error}", remedy)]) from None


class Wire:
    """One channel to the service; it may be used from any thread."""

    def __init__(self, endpoint: Endpoint, token: Token) -> None:
        self._address = endpoint.target
        self._token = token
        self._is_closed = False
        self._channel = _open(endpoint)
        self._jobs = job_service_pb2_grpc.JobServiceStub(self._channel)
        self._quotas = quota_service_pb2_grpc.QuotaServiceStub(self._channel)

    def close(self) -> None:
        """Give up all calls and close the channel."""
        self._is_closed = True
        self._channel.close()

    def submit_job(self, request: JobRequest, client: JobActions, timeout_s: float) -> Job:
        """Submit one job."""
        with sendable():
            message = submit_request(request)
        return decode.job(self._call(self._jobs.SubmitJob, message, timeout_s), client)

    def submit_jobs(
        self, requests: Sequence[JobRequest], client: JobActions, timeout_s: float
    ) -> list[Job | FairgateError]:
        """Submit many jobs in one call; what became of each, in their order."""
        with sendable():
            message = job_service_pb2.SubmitJobsRequest(
                parent="tenants/-", requests=[submit_request(each) for each in requests]
            )
        answer = self._call(self._jobs.SubmitJobs, message, timeout_s)
        return [
            decode.job(result.job, client) if result.HasField("job") else from_status(result.error)
            for result in answer.results
        ]

    def get_job(self, name: str, client: JobActions, timeout_s: float) -> Job:
        """One job with its manifest and its attempts."""
        with sendable():
            message = job_service_pb2.GetJobRequest(name=name)
        return decode.job(self._call(self._jobs.GetJob, message, timeout_s), client)

    def list_jobs(
        self, wanted: ListRequest, page: tuple[int, str], client: JobActions, timeout_s: float
    ) -> tuple[list[Job], str]:
        """A page (its size, its token) of jobs, and the token of the next."""
        with sendable():
            message = job_service_pb2.ListJobsRequest(
                parent=wanted.parent,
                filter=wanted.filter_text,
                with_forecasts=wanted.with_forecasts,
                page_size=page[0],
                page_token=page[1],
            )
        answer = self._call(self._jobs.ListJobs, message, timeout_s)
        return [decode.job(each, client) for each in answer.jobs], answer.next_page_token

    def watch_jobs(
        self, parent: str, job: str, after_sequence: int | None, client: JobActions, timeout_s: float
    ) -> Iterator[WatchItem]:
        """What happens to jobs, until the time is over."""
        with sendable():
            message = job_service_pb2.WatchJobsRequest(parent=parent, job=job, after_sequence=after_sequence)
        for answer in self._stream(self._jobs.WatchJobs, message, timeout_s):
            yield WatchItem(
                answer.sequence,
                decode.event(answer.event) if answer.HasField("event") else None,
                decode.job(answer.job, client) if answer.HasField("job") else None,
            )

    def stream_logs(self, name: str, attempt: int, offset: int, follow: bool, timeout_s: float) -> Iterator[LogChunk]:
        """A job's output, until the time is over."""
        with sendable():
            message = job_service_pb2.StreamJobLogsRequest(name=name, attempt=attempt, offset=offset, follow=follow)
        for answer in self._stream(self._jobs.StreamJobLogs, message, timeout_s):
            yield decode.log_chunk(answer)

    def cancel_job(self, name: str, reason: str, client: JobActions, timeout_s: float) -> Job:
        """End a job."""
        with sendable():
            message = job_service_pb2.CancelJobRequest(name=name, reason=reason)
        return decode.job(self._call(self._jobs.CancelJob, message, timeout_s), client)

    def update_job(
        self, name: str, change: tuple[int | None, timedelta | None, str], client: JobActions, timeout_s: float
    ) -> Job:
        """Change a job: its priority, its time limit (``None``: as it is), if it still has this etag ("": any)."""
        with sendable():
            message = update_request(name, *change)
        return decode.job(self._call(self._jobs.UpdateJob, message, timeout_s), client)

    def explain_job(self, name: str, client: JobActions, timeout_s: float) -> Explanation:
        """Why a job does not run."""
        with sendable():
            message = job_service_pb2.ExplainJobRequest(name=name)
        return decode.explanation(self._call(self._jobs.ExplainJob, message, timeout_s), client)

    def get_config(self, timeout_s: float) -> Config:
        """The configuration in force."""
        return decode_quotas.config(self._call(self._quotas.GetConfig, quota_service_pb2.GetConfigRequest(), timeout_s))

    def apply_config(self, source: str, etag: str, comment: str, dry_run: bool, timeout_s: float) -> ConfigChange:
        """Make a new version of the configuration."""
        with sendable():
            message = quota_service_pb2.ApplyConfigRequest(
                source=source, etag=etag, comment=comment, validate_only=dry_run
            )
        return decode_quotas.config_change(self._call(self._quotas.ApplyConfig, message, timeout_s))

    def list_tenants(self, page: tuple[int, str], timeout_s: float) -> tuple[list[Tenant], str]:
        """A page of tenants."""
        with sendable():
            message = quota_service_pb2.ListTenantsRequest(page_size=page[0], page_token=page[1])
        answer = self._call(self._quotas.ListTenants, message, timeout_s)
        return [decode_quotas.tenant(each) for each in answer.tenants], answer.next_page_token

    def get_usage(self, tenant: str, timeout_s: float) -> TenantUsage:
        """What a tenant uses."""
        with sendable():
            message = quota_service_pb2.GetTenantUsageRequest(tenant=tenant)
        return decode_quotas.usage(self._call(self._quotas.GetTenantUsage, message, timeout_s))

    def list_flavors(self, page: tuple[int, str], timeout_s: float) -> tuple[list[Flavor], str]:
        """A page of flavors."""
        with sendable():
            message = quota_service_pb2.ListFlavorsRequest(page_size=page[0], page_token=page[1])
        answer = self._call(self._quotas.ListFlavors, message, timeout_s)
        return [decode_quotas.flavor(each) for each in answer.flavors], answer.next_page_token

    def _call(self, method: Callable[..., Response], request: object, timeout_s: float) -> Response:
        metadata = self._metadata()
        failure: FairgateError
        try:
            return method(request, timeout=timeout_s, metadata=metadata)
        except grpc.RpcError as error:
            failure = from_rpc_error(error, self._address)
        except ValueError:  # gRPC's word for a closed channel
            failure = self._closed()
        raise failure

    def _stream(self, method: Callable[..., Any], request: object, timeout_s: float) -> Iterator[Any]:
        metadata = self._metadata()
        failure: FairgateError | None = None
        call = None
        try:
            call = method(request, timeout=timeout_s, metadata=metadata)
            yield from call
        except grpc.RpcError as error:
            failure = from_rpc_error(error, self._address)
        except ValueError:
            failure = self._closed()
        finally:
            if call is not None:
                call.cancel()
        if failure is not None:
            raise failure

    def _metadata(self) -> tuple[tuple[str, str], ...]:
        if self._is_closed:
            raise self._closed()
        token = self._token.read()
        if not token.isascii() or not token.isprintable() or " " in token:
            source = self._token.file or "the token that was given"
            raise InvalidArgument([Violation("token", f"{source} holds no token", "a token is one ASCII word")])
        return (("authorization", f"Bearer {token}"),) if token else ()

    def _closed(self) -> Cancelled:
        return Cancelled([Violation("", "the client is closed", "make a new one")])


def _open(endpoint: Endpoint) -> grpc.Channel:
    if not endpoint.is_tls:
        return grpc.insecure_channel(endpoint.target, options=[*_OPTIONS, *_LOCAL])
    roots = None
    if endpoint.ca_file is not None:
        try:
            roots = endpoint.ca_file.read_bytes()
        except OSError as error:
            message = f"{endpoint.ca_file} can not be read: {error.strerror}"
            raise InvalidArgument([Violation("ca_file", message, "name a file of PEM certificates")]) from None
    return grpc.secure_channel(endpoint.target, grpc.ssl_channel_credentials(roots), options=list(_OPTIONS))
