"""The cluster as the runner sees it: one mirror for each kind that matters."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from fairgate_scheduler.adapters.kube import names
from fairgate_scheduler.adapters.kube.api import Api, Kind, Manifest
from fairgate_scheduler.adapters.kube.api.kinds import NODE, POD, RAY_CLUSTER, RAY_JOB, WORKLOAD
from fairgate_scheduler.adapters.kube.watching.mirror import Mirror, Selection
from fairgate_scheduler.adapters.kube.watching.prune import keeping
from fairgate_scheduler.adapters.kube.watching.shelf import Change
from fairgate_scheduler.adapters.kube.watching.traces import Objects
from fairgate_scheduler.core.manifests.plain import get_map
from fairgate_scheduler.ports import Clock

_WATCH_S: Final = 300
_OURS: Final = f"{names.MANAGED}={names.FIELD_MANAGER}"
_SELECTIONS: Final = {
    RAY_JOB: Selection(labels=_OURS),
    RAY_CLUSTER: Selection(labels="ray.io/originated-from-crd=RayJob", prune=keeping("status.state")),
    WORKLOAD: Selection(prune=keeping("status.conditions", "spec.queueName")),
    POD: Selection(
        prune=keeping(
            "spec.nodeName",
            "spec.containers",
            "spec.initContainers",
            "spec.overhead",
            "spec.resources",
            "status.phase",
            "status.conditions",
        )
    ),
    NODE: Selection(prune=keeping("spec.unschedulable", "spec.taints", "status.allocatable", "status.conditions")),
}


class Scene:
    """What the cluster shows. May be looked at by several threads, and is fed by one for each kind.

    ``on_change`` is called, from those threads, when something changed that an attempt may be waiting for.
    """

    def __init__(self, api: Api, clock: Clock, watch_s: int = _WATCH_S) -> None:
        """``watch_s``: how long one watch lasts; 0 for those who ``step``."""
        self.on_change: Callable[[], None] = lambda: None
        self._mirrors = {
            kind: Mirror(api, kind, clock, replace(selection, watch_s=watch_s))
            for kind, selection in _SELECTIONS.items()
        }
        for kind in (RAY_JOB, RAY_CLUSTER, WORKLOAD, NODE):
            self._mirrors[kind].subscribe(self._tell)
        self._mirrors[POD].subscribe(self._tell_of_pod)

    def start(self) -> None:
        """Begin to watch."""
        for mirror in self._mirrors.values():
            mirror.start()

    def stop(self) -> None:
        """End all watches, side by side."""
        threads = [threading.Thread(target=mirror.stop) for mirror in self._mirrors.values()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def step(self) -> None:
        """Take in what is there already: for those who drive it without threads."""
        for mirror in self._mirrors.values():
            mirror.step()

    @property
    def is_complete(self) -> bool:
        """Whether everything was seen at least once: before that, what is missing says nothing."""
        return all(mirror.synced for mirror in self._mirrors.values())

    def wait_complete(self, timeout_s: float) -> bool:
        """Wait until everything was seen at least once; whether it was in time."""
        until_s = time.monotonic() + timeout_s
        return all(each.wait_synced(max(until_s - time.monotonic(), 0.01)) for each in self._mirrors.values())

    @property
    def troubles(self) -> Sequence[str]:
        """What can not be watched now, and why."""
        return [f"{kind.plural}: {each.trouble}" for kind, each in self._mirrors.items() if each.trouble]

    def objects(self) -> Objects:
        """The objects that may be traces of attempts."""
        return Objects(self._items(RAY_JOB), self._items(WORKLOAD), self._items(RAY_CLUSTER), self._items(POD))

    def nodes(self) -> Sequence[Manifest]:
        """All nodes."""
        return self._items(NODE)

    def pods(self) -> Sequence[Manifest]:
        """All pods of the cluster, whosever."""
        return self._items(POD)

    def _items(self, kind: Kind) -> Sequence[Manifest]:
        return self._mirrors[kind].items()

    def _tell(self, _change: Change) -> None:
        self.on_change()

    def _tell_of_pod(self, change: Change) -> None:
        """Pods of others come and go all the time; what they leave free is seen at the next look."""
        pod = change.after or change.before
        if names.ATTEMPT in get_map(pod, "metadata", "labels"):
            self.on_change()
