"""Builds the gRPC server: one thread pool, bounded messages and streams, a Unix socket or loopback, a graceful stop."""

import contextlib
import ipaddress
import socket
import threading
from concurrent import futures
from pathlib import Path
from typing import Final, Protocol

import grpc
from fairgate_api.v1 import job_service_pb2, job_service_pb2_grpc, quota_service_pb2, quota_service_pb2_grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from fairgate_scheduler.entrypoints.grpc import auth, interceptors
from fairgate_scheduler.entrypoints.grpc.job_servicer import JobServicer
from fairgate_scheduler.entrypoints.grpc.quota_servicer import QuotaServicer
from fairgate_scheduler.service.app import App

MAX_MESSAGE_BYTES: Final = 4 * 1024**2
UNARY_THREADS: Final = 16
MAX_STREAMS: Final = 64
MAX_WAITING_CALLS: Final = 1000
_UNIX: Final = "unix:"
_MAX_SOCKET_PATH_BYTES: Final = 103  # what the sockets of macOS hold; Linux holds 107

SERVICES: Final = (
    job_service_pb2.DESCRIPTOR.services_by_name["JobService"].full_name,
    quota_service_pb2.DESCRIPTOR.services_by_name["QuotaService"].full_name,
)

PLANNING: Final = "fairgate.planning"
"""What the health service is asked for to know whether the scheduler plans as it should; no service has this name."""


class AddressError(Exception):
    """The server can not listen there; the message says why and what would do."""


class GrpcSettings(Protocol):
    """What this entrypoint needs to know."""

    @property
    def address(self) -> str:
        """``unix:/path/to/socket`` or ``HOST:PORT`` on loopback; port 0 takes a free one."""

    @property
    def token_file(self) -> Path:
        """The private file with the bearer token; made if it is not there."""

    @property
    def reflection(self) -> bool:
        """Whether the server describes its services to callers that ask."""


class GrpcServer:
    """The wire side of one running service."""

    def __init__(
        self,
        server: grpc.Server,
        threads: futures.ThreadPoolExecutor,
        health_servicer: health.HealthServicer,
        stopping: threading.Event,
    ) -> None:
        self._server = server
        self._threads = threads
        self._health = health_servicer
        self._stopping = stopping
        self.address = ""
        """Where it listens, with the real port."""

    def listen(self, address: str) -> None:
        """Take the address. Raises AddressError if it is not private to this machine, or taken."""
        check_address(address)
        if address.startswith(_UNIX):
            _make_way(Path(address.removeprefix(_UNIX)))
        else:
            _check_free(address)
        try:
            port = self._server.add_insecure_port(address)
        except RuntimeError as error:
            raise AddressError(_can_not_listen(address)) from error
        if address.startswith(_UNIX):
            Path(address.removeprefix(_UNIX)).chmod(0o600)
            self.address = address
        else:
            self.address = f"{address.rpartition(':')[0]}:{port}"

    def start(self) -> None:
        """Begin to serve. Returns at once."""
        self._server.start()
        for service in ("", *SERVICES):
            self._health.set(service, health_pb2.HealthCheckResponse.SERVING)

    def set_planning(self, is_well: bool) -> None:
        """Say in the health service, under ``PLANNING``, whether the scheduler plans as it should. From any thread."""
        status = health_pb2.HealthCheckResponse
        self._health.set(PLANNING, status.SERVING if is_well else status.NOT_SERVING)

    def stop(self, grace_s: float = 5) -> None:
        """Take no new calls, end the streams, let other calls finish within the grace time, and return then."""
        self._health.enter_graceful_shutdown()
        self._stopping.set()
        self._server.stop(grace_s).wait()
        self._threads.shutdown(wait=False)


def build(app: App, settings: GrpcSettings) -> GrpcServer:
    """The server of this service, listening but not started.

    Raises:
        AddressError: it can not listen there.
        TokenFileError: the token file is not private.
    """
    authenticator = auth.TokenAuthenticator(auth.load_token(settings.token_file))
    stopping = threading.Event()
    threads = futures.ThreadPoolExecutor(UNARY_THREADS + MAX_STREAMS, thread_name_prefix="grpc")
    server = grpc.server(
        threads,
        interceptors=[
            interceptors.Surround(interceptors.translate_errors),
            interceptors.Surround(interceptors.authenticate(authenticator)),
            interceptors.Surround(interceptors.limit_streams(MAX_STREAMS)),
        ],
        options=[
            ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
            ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
            ("grpc.so_reuseport", 0),  # a second server on the same port is an error, not a coin toss
        ],
        maximum_concurrent_rpcs=MAX_STREAMS + MAX_WAITING_CALLS,
    )
    health_servicer = health.HealthServicer()
    job_service_pb2_grpc.add_JobServiceServicer_to_server(JobServicer(app, stopping), server)
    quota_service_pb2_grpc.add_QuotaServiceServicer_to_server(QuotaServicer(app), server)
    health_pb2_grpc.add_HealthServicer_to_server(health_servicer, server)
    if settings.reflection:
        reflection.enable_server_reflection((*SERVICES, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
    built = GrpcServer(server, threads, health_servicer, stopping)
    built.set_planning(is_well=True)
    built.listen(settings.address)
    return built


def check_address(address: str) -> None:
    """Raise AddressError unless only this machine can reach the address: there is no TLS here."""
    if address.startswith(_UNIX):
        path = address.removeprefix(_UNIX)
        if not Path(path).is_absolute():
            raise AddressError(f"{address}: name the socket by an absolute path, such as unix:/run/fairgate.sock")
        if len(path.encode()) > _MAX_SOCKET_PATH_BYTES:
            raise AddressError(f"{path}: longer than {_MAX_SOCKET_PATH_BYTES} bytes; choose a shorter path")
        return
    host, colon, port = address.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise AddressError(f"{address!r} is no address; write unix:/path/to/socket or 127.0.0.1:PORT")
    if not _is_loopback(host):
        raise AddressError(f"{host!r} is not loopback: the token would travel in the clear; use 127.0.0.1 or unix:")


def _check_free(address: str) -> None:
    """Raise AddressError if the port can not be had. Asked before gRPC tries, which would print lines of its own."""
    host, _, port = address.rpartition(":")
    try:
        name = host.removeprefix("[").removesuffix("]")
        family, kind, protocol, _, where = socket.getaddrinfo(name, int(port), type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as gRPC does: closed connections may linger
            probe.bind(where)
    except OSError as error:
        raise AddressError(_can_not_listen(address)) from error


def _can_not_listen(address: str) -> str:
    return f"can not listen on {address}: it is taken, or not allowed; choose another"


def _make_way(path: Path) -> None:
    """Make the socket's folder. gRPC takes the place of a socket that is there, so see that nobody answers on it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as probe, contextlib.suppress(OSError):
        probe.connect(str(path))
        raise AddressError(f"another server listens on {path}; stop it, or choose another path")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False
