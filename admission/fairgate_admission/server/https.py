"""HTTPS with a thread for each connection: few callers, which keep their connections."""

import logging
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from fairgate_admission.server.admission_review import uid_of
from fairgate_admission.server.gate import Gate
from fairgate_admission.server.metrics import CONTENT_TYPE, Metrics

BODY_MAX: Final = 8 * 2**20
"""Two objects of the largest size that an API server takes, and all around them."""
PATH: Final = "/review"
_DISCARD_MAX: Final = 64 * 2**20
_PIECE: Final = 2**16
_SILENCE_S: Final = 120.0
"""How long a connection may be without a request; API servers close theirs after 90 seconds."""
_HANDSHAKE_S: Final = 5.0
_CONNECTIONS: Final = 512
_JSON: Final = "application/json"
_logger = logging.getLogger(__name__)


class Server(ThreadingHTTPServer):
    """Serves ``/review``, ``/healthz``, ``/readyz`` and ``/metrics``. ``troubles`` says why it is not ready."""

    daemon_threads = True
    request_queue_size = 512

    def __init__(
        self,
        address: tuple[str, int],
        context: ssl.SSLContext,
        gate: Gate,
        metrics: Metrics,
        troubles: Callable[[], str],
    ) -> None:
        self.gate = gate
        self.metrics = metrics
        self.is_draining = False
        self._context = context
        self._troubles = troubles
        self._slots = threading.BoundedSemaphore(_CONNECTIONS)
        self._busy = 0
        self._changed = threading.Condition()
        super().__init__(address, _Handler)

    @property
    def troubles(self) -> str:
        """Why it is not ready; "": it is."""
        return "is ending" if self.is_draining else self._troubles()

    def start(self) -> None:
        """Serve from now on, in threads of its own."""
        threading.Thread(target=self.serve_forever, args=(0.1,), name="https", daemon=True).start()

    def drain(self, notice_s: float, longest_s: float) -> None:
        """Be not ready for ``notice_s``, take no more connections, wait for answers that are due, and end."""
        self.is_draining = True
        time.sleep(notice_s)
        self.shutdown()
        with self._changed:
            self._changed.wait_for(lambda: self._busy == 0, longest_s)
        self.server_close()

    def answering(self, by: int) -> None:
        """Count requests that are being answered."""
        with self._changed:
            self._busy += by
            self._changed.notify_all()

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """TLS in the connection's own thread: a caller that says nothing keeps nobody else waiting."""
        try:
            request.settimeout(_HANDSHAKE_S)
            # Its socket is a new object, the old one is detached from the connection.
            request = self._context.wrap_socket(request, server_side=True)
            request.settimeout(_SILENCE_S)
        except OSError as error:  # also ssl.SSLError
            _logger.debug("no connection with %s: %s", client_address, error)
            self.shutdown_request(request)
            self._slots.release()
            return
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._slots.release()

    def process_request(self, request: Any, client_address: Any) -> None:
        """No more threads than there are slots."""
        if not self._slots.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that breaks is nothing to tell of."""
        _logger.debug("the connection with %s has failed", client_address, exc_info=True)

    def shutdown_request(self, request: Any) -> None:
        """The end of TLS is said only where it can be."""
        with suppress(OSError):
            if isinstance(request, ssl.SSLSocket):
                request.settimeout(1.0)
                request = request.unwrap()
        super().shutdown_request(request)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "fairgate-gate"
    sys_version = ""
    disable_nagle_algorithm = True
    wbufsize = -1
    server: Server

    def do_GET(self) -> None:
        if self.path == "/healthz":
            self._send(HTTPStatus.OK, b"ok", "text/plain")
        elif self.path == "/readyz":
            troubles = self.server.troubles
            status = HTTPStatus.SERVICE_UNAVAILABLE if troubles else HTTPStatus.OK
            self._send(status, (troubles or "ok").encode(), "text/plain")
        elif self.path == "/metrics":
            self._send(HTTPStatus.OK, self.server.metrics.render().encode(), CONTENT_TYPE)
        else:
            self._send(HTTPStatus.NOT_FOUND, b"not found", "text/plain")

    def do_POST(self) -> None:
        if self.path.partition("?")[0] != PATH:
            self.close_connection = True
            self._send(HTTPStatus.NOT_FOUND, b"not found", "text/plain")
            return
        began_s = time.monotonic()
        self.server.answering(1)
        try:
            self._review(began_s)
        finally:
            self.server.answering(-1)

    def _review(self, began_s: float) -> None:
        try:
            length = int(self.headers.get("Content-Length", ""))
        except ValueError:
            length = -1
        if length < 0 or "Transfer-Encoding" in self.headers:
            self.close_connection = True
            answer = self.server.gate.refuse("", "the AdmissionReview does not say its length", began_s)
        elif length > BODY_MAX:
            self.close_connection = True
            answer = self.server.gate.refuse(self._discard(length), f"it has more than {BODY_MAX} bytes", began_s)
        else:
            body = self.rfile.read(length)
            if len(body) < length:
                self.close_connection = True
                return
            answer = self.server.gate.answer(body, began_s)
        self._send(HTTPStatus.OK, answer, _JSON)

    def _discard(self, length: int) -> str:
        """Read what is too long and forget it, so that the answer is listened to; the uid in its beginning."""
        head = self.rfile.read(_PIECE)
        left = min(length, _DISCARD_MAX) - len(head)
        while left > 0 and (piece := self.rfile.read(min(left, _PIECE))):
            left -= len(piece)
        return uid_of(head)

    def _send(self, status: HTTPStatus, body: bytes, content: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content)
        self.send_header("Content-Length", str(len(body)))
        if self.server.is_draining or self.close_connection:
            self.close_connection = True
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        _logger.debug(format, *args)
