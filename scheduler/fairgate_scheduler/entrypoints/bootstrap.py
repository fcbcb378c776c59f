"""The only wiring: settings in, a server out. Everything that runs is put together here."""

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass

from fairgate_scheduler.adapters.local_ray.plan import Settings as RaySettings
from fairgate_scheduler.adapters.local_ray.planning import make_plan
from fairgate_scheduler.adapters.local_ray.runner import LocalRayRunner, Planner
from fairgate_scheduler.adapters.sql import SqlStore
from fairgate_scheduler.entrypoints import collecting
from fairgate_scheduler.entrypoints.cluster import open_cluster
from fairgate_scheduler.entrypoints.grpc.server import GrpcServer, build
from fairgate_scheduler.entrypoints.loop import Loop, SystemClock
from fairgate_scheduler.entrypoints.settings import Settings
from fairgate_scheduler.entrypoints.state_lock import StartError, StateLock, hold_state_directory
from fairgate_scheduler.ports import Clock, Runner, Store
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.cycle import Scheduler, Timing
from fairgate_scheduler.service.quota import apply_config

__all__ = ["Running", "StartError", "serve", "serve_with"]

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Running:
    """A server that serves. ``address`` is where. ``lock`` is its hold on the state directory."""

    app: App
    address: str
    lock: StateLock


@dataclass(frozen=True)
class Parts:
    """What differs between servers. ``runner``: where attempts run. ``beside``: what works on the service's side."""

    runner: Callable[[Store, Clock], Runner]
    beside: Callable[[App], AbstractContextManager[object]] = nullcontext


@contextmanager
def serve(settings: Settings, config_source: str | None = None, planner: Planner = make_plan) -> Iterator[Running]:
    """Run a server for as long as the block lasts. Jobs that run go on when it ends, and are found again later.

    ``config_source``: a configuration to put in force before the first call is answered. ``planner``: what attempts
    are to do, if not what their manifests say.

    Raises: as ``serve_with``.
    """
    if settings.cluster is None:
        parts = Parts(lambda _store, _clock: _runner(settings, planner))
        with serve_with(settings, parts, config_source) as running:
            yield running
        return
    with (
        open_cluster(settings.cluster, settings.grace_ms) as cluster,
        serve_with(settings, Parts(cluster.runner, cluster.beside), config_source) as running,
    ):
        yield running


@contextmanager
def serve_with(settings: Settings, parts: Parts, config_source: str | None = None) -> Iterator[Running]:
    """As ``serve``, with any runner; it is made when the state directory is ours.

    Raises:
        StartError: another server uses the state directory, or it can not be used.
        AddressError, TokenFileError: as ``grpc.server.build``.
        StoreError: the database can not be opened.
        FairgateError: the configuration is refused.
    """
    with ExitStack() as stack:
        lock = stack.enter_context(hold_state_directory(settings))
        stack.enter_context(collecting.seldom())
        store = SqlStore.open(str(settings.database))
        stack.callback(store.close)
        clock = SystemClock()
        app = App(store, parts.runner(store, clock), clock)
        if config_source is not None:
            applied = apply_config(app, config_source, by="fairgate up", comment="given at the start")
            for text in applied.warnings:
                _logger.warning("the configuration: %s", text)
        server: GrpcServer = build(app, settings)
        stack.callback(server.stop)
        loop = Loop(app, Scheduler(app, Timing(poll_ms=settings.poll_ms), server.set_planning), clock, lock.is_lost)
        loop.start()
        stack.callback(loop.stop)
        stack.enter_context(parts.beside(app))
        server.start()
        yield Running(app, server.address, lock)


def _runner(settings: Settings, planner: Planner) -> LocalRayRunner:
    grace_s = settings.grace_ms / 1000
    return LocalRayRunner(RaySettings(settings.state_dir, settings.job_dir.resolve(), grace_s), planner)
