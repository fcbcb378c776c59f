"""The parts of a server that work with a cluster: its runner, the keeper of its objects, and the inbox of requests."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from fairgate_scheduler.adapters.kube import names
from fairgate_scheduler.adapters.kube.api import ApiError, UnavailableError
from fairgate_scheduler.adapters.kube.api.http import HttpApi
from fairgate_scheduler.adapters.kube.api.kinds import RAY_JOB
from fairgate_scheduler.adapters.kube.keeping import Estate, Keeper
from fairgate_scheduler.adapters.kube.logs import Archive
from fairgate_scheduler.adapters.kube.mapping import Site, Wishes, check_mapping, overruns
from fairgate_scheduler.adapters.kube.reports import Reports
from fairgate_scheduler.adapters.kube.runner import KubeRunner, KubeSettings
from fairgate_scheduler.adapters.kube.watching.mirror import Mirror, Selection
from fairgate_scheduler.adapters.kube.watching.scene import Scene
from fairgate_scheduler.core.tenancy import Config
from fairgate_scheduler.entrypoints.loop import SystemClock
from fairgate_scheduler.entrypoints.requests.inbox import Inbox
from fairgate_scheduler.entrypoints.settings import ClusterSettings
from fairgate_scheduler.entrypoints.state_lock import StartError
from fairgate_scheduler.ports import Clock, Store
from fairgate_scheduler.service.app import App, Signal

_logger = logging.getLogger(__name__)
_RETRY_S: Final = 1.0
_REST_S: Final = 30.0
"""What is woken by changes looks by itself this often, too: a wake-up that was missed costs no more than that."""
_KEEPER_S: Final = 1.0
_INBOX_S: Final = 0.1
_FIRST_LOOK_S: Final = 15.0


@dataclass(frozen=True)
class Cluster:
    """A cluster that is watched."""

    api: HttpApi
    scene: Scene
    settings: KubeSettings

    def runner(self, store: Store, clock: Clock) -> KubeRunner:
        """The runner of its attempts."""
        return KubeRunner(self.api, self.scene, Archive(store), clock, self.settings)

    @contextmanager
    def beside(self, app: App) -> Iterator[None]:
        """Keep its objects and take its requests for as long as the block lasts."""
        self.scene.on_change = app.changes.notify
        reports = Reports(self.api, app.clock)
        estate = Estate(self.api, app.clock)
        estate.on_change = app.changes.notify
        selection = Selection(labels=f"{names.QUEUE_LABEL}={names.INBOX_QUEUE}")
        requests = Mirror(self.api, RAY_JOB, app.clock, selection)
        requests.subscribe(lambda _change: app.changes.notify())
        keeping = _Keeping(app, Keeper(self.api, estate, reports, app.clock))
        keeper = Worker("keeper", app.changes, keeping.step, _KEEPER_S)
        inbox = Worker("inbox", app.changes, Inbox(app, self.api, requests, reports).step, _INBOX_S)
        try:
            for start in (estate.start, requests.start, keeper.start, inbox.start):
                start()
            yield
        finally:
            for stop in (keeper.stop, inbox.stop, requests.stop, estate.stop):
                stop()


@contextmanager
def open_cluster(settings: ClusterSettings, grace_ms: int) -> Iterator[Cluster]:
    """Watch a cluster for as long as the block lasts.

    Raises:
        StartError: it is not known where it is.
    """
    try:
        api = HttpApi.load(settings.kubeconfig, settings.context)
    except ApiError as error:
        raise StartError(f"the cluster: {error}; name a file with --kubeconfig") from error
    scene = Scene(api, SystemClock())
    scene.start()
    try:
        if not scene.wait_complete(_FIRST_LOOK_S):
            _logger.warning("the cluster can not be seen yet, nothing is started before: %s", "; ".join(scene.troubles))
        yield Cluster(api, scene, KubeSettings(grace_ms=grace_ms))
    finally:
        scene.stop()
        api.close()


class _Keeping:
    """Keeps a cluster as the configuration in force wants it."""

    def __init__(self, app: App, keeper: Keeper) -> None:
        self._app = app
        self._keeper = keeper
        self._wishes = Wishes(Site())
        self._looked_at: Config | None = None
        self._can_be_kept = False

    def step(self) -> bool:
        """One pass; whether something is left to do."""
        with self._app.world() as world:
            config = world.config
            attempts = [
                (world.jobs[each.job].tenant, each) for each in world.attempts.values() if each.job in world.jobs
            ]
        if config is not self._looked_at:
            self._looked_at, self._can_be_kept = config, _can_be_kept(config)
        if not self._can_be_kept:
            return False
        there = [(tenant, each.demand) for tenant, each in attempts if each.is_present]
        held = [(tenant, each.demand) for tenant, each in attempts if each.holds_quota]
        kept = self._keeper.keep(self._wishes.of(config, overruns(config, there, held)))
        return not kept.is_settled


def _can_be_kept(config: Config) -> bool:
    """A configuration that was applied while jobs ran on one machine may be one that no cluster can hold."""
    faults = [f"{'.'.join(fault.where)}: {fault.message}; {fault.remedy}" for fault in check_mapping(config)]
    for fault in faults:
        _logger.error("the configuration can not be kept in a cluster, apply another one: %s", fault)
    return bool(config.tenants) and not faults


class Worker:
    """A thread that does a step when something has changed, when something was left to do, and now and then."""

    def __init__(self, name: str, changes: Signal, step: Callable[[], bool], least_s: float) -> None:
        """``least_s``: the least time between two steps, however much changes."""
        self._name = name
        self._changes = changes
        self._step = step
        self._least_s = least_s
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Finish the step that is under way, and no other one."""
        self._stopping.set()
        self._changes.notify()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            seen, is_left = self._changes.count, True
            try:
                is_left = self._step()
            except UnavailableError as error:
                _logger.warning("the %s can not reach the cluster: %s", self._name, error)
            except Exception:
                _logger.exception("the %s failed; it is tried again", self._name)
            self._stopping.wait(_RETRY_S if is_left else self._least_s)
            if not is_left and not self._stopping.is_set():
                self._changes.wait(seen, _REST_S)
