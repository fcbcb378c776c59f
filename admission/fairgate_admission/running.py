"""The gate as a process: its parts put together, from the start to an orderly end."""

import logging
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fairgate_scheduler.adapters.kube import names
from fairgate_scheduler.adapters.kube.api.connection import Patience
from fairgate_scheduler.adapters.kube.api.http import HttpApi
from fairgate_scheduler.adapters.sql import SqlStore

from fairgate_admission.certificates.secret import Place
from fairgate_admission.certificates.serving import FolderSource, SecretSource, Serving, keep_serving
from fairgate_admission.facts.world import Settings
from fairgate_admission.installing.names import SECRET, SERVICE, WEBHOOKS
from fairgate_admission.live.books import DEADLINE_S, Books
from fairgate_admission.live.judge import Judge
from fairgate_admission.server.audit import Audit
from fairgate_admission.server.gate import Gate
from fairgate_admission.server.https import Server
from fairgate_admission.server.metrics import Metrics
from fairgate_admission.sweeper.sweeper import Sweeper

PORT: Final = 9443
LOOKUP: Final = Patience(connect_s=0.5, read_s=1.0, retries=1)
"""For the API server, which calls us while we call it: a look-up that takes longer is a refusal."""
_CERTIFICATES_S: Final = 10.0
_LONGEST_ANSWER_S: Final = 4.0
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Options:
    """How one process runs.

    ``tls_folder``: where somebody else keeps ``tls.crt`` and ``tls.key``; ``None``: we keep our own in a Secret.
    ``hosts``: what it is called by, the first by the API server. ``sweeps``: whether it looks at living pods, too;
    ``ends_in``: in which namespaces it ends those outside. ``notice_s``: from not being ready to taking no more calls.
    """

    store: str
    kubeconfig: Path | None = None
    context: str | None = None
    address: tuple[str, int] = ("0.0.0.0", PORT)
    namespace: str = names.SYSTEM_NAMESPACE
    hosts: tuple[str, ...] = (f"{SERVICE}.{names.SYSTEM_NAMESPACE}.svc",)
    tls_folder: Path | None = None
    sweeps: bool = False
    ends_in: frozenset[str] = frozenset()
    notice_s: float = 5.0
    settings: Settings = field(default_factory=Settings)


class SystemClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        """See ``ports.Clock``."""
        return time.time_ns() // 1_000_000


def run(options: Options, until: Callable[[], None]) -> None:
    """Serve until ``until`` returns, then end in order.

    Raises:
        StoreError: the store can not be read.
        ApiError: it is not known where the cluster is.
        OSError: the address is taken.
    """
    clock = SystemClock()
    store = SqlStore.open_existing(options.store, busy_timeout_ms=int(DEADLINE_S * 1000))
    books = Books(store)
    api = HttpApi.load(options.kubeconfig, options.context, LOOKUP)
    audit, metrics = Audit(clock), Metrics()
    gate = Gate(Judge(api, books, options.settings, clock), audit, metrics)
    serving = _serving(options, api)
    serving.step(None)
    server = Server(options.address, serving.context, gate, metrics, lambda: serving.trouble)
    server.start()
    stopping = threading.Event()
    port = server.server_address[1]
    threads = [
        threading.Thread(
            target=keep_serving, args=(serving, ("127.0.0.1", port), stopping, _CERTIFICATES_S), name="certificates"
        )
    ]
    if options.sweeps:
        sweeper = Sweeper(api, books, options.settings, clock, (audit, metrics))
        sweeper.ends_in = options.ends_in
        threads.append(threading.Thread(target=sweeper.run, args=(stopping,), name="sweeper"))
    for thread in threads:
        thread.daemon = True
        thread.start()
    _logger.info("listening on %s:%d", options.address[0], port)
    until()
    _logger.info("ending: no more calls after %g s", options.notice_s)
    server.drain(options.notice_s, _LONGEST_ANSWER_S)
    stopping.set()
    gate.close()
    books.close()
    api.close()


def until_signal() -> None:
    """Wait for SIGTERM or SIGINT."""
    ended = threading.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: ended.set())
    ended.wait()


def _serving(options: Options, api: HttpApi) -> Serving:
    if options.tls_folder is not None:
        return Serving(FolderSource(options.tls_folder), api, WEBHOOKS, options.hosts[0])
    place = Place(options.namespace, SECRET, WEBHOOKS, options.hosts)
    return Serving(SecretSource(api, place), api, WEBHOOKS, options.hosts[0])
