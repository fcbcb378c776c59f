"""The cluster as the runner sees it: one mirror for each kind that matters."""

from collections.abc import Callable, Sequence
from typing import Final

from fairgate_scheduler.adapters.kube import names
from fairgate_scheduler.adapters.kube.api import Api, Manifest
from fairgate_scheduler.adapters.kube.api.kinds import NODE, POD, RAY_CLUSTER, RAY_JOB, WORKLOAD
from fairgate_scheduler.adapters.kube.watching.mirror import Selection
from fairgate_scheduler.adapters.kube.watching.mirrors import WATCH_S, Mirrors
from fairgate_scheduler.adapters.kube.watching.prune import keeping
from fairgate_scheduler.adapters.kube.watching.shelf import Change
from fairgate_scheduler.adapters.kube.watching.traces import Objects
from fairgate_scheduler.core.manifests.plain import get_map
from fairgate_scheduler.ports import Clock

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


class Scene(Mirrors):
    """What the cluster shows.

    ``on_change`` is called, from those threads, when something changed that an attempt may be waiting for.
    """

    def __init__(self, api: Api, clock: Clock, watch_s: int = WATCH_S) -> None:
        """``watch_s``: how long one watch lasts; 0 for those who ``step``."""
        self.on_change: Callable[[], None] = lambda: None
        super().__init__(api, clock, _SELECTIONS, watch_s)
        for kind in (RAY_JOB, RAY_CLUSTER, WORKLOAD, NODE):
            self._mirrors[kind].subscribe(self._tell)
        self._mirrors[POD].subscribe(self._tell_of_pod)

    def objects(self) -> Objects:
        """The objects that may be traces of attempts."""
        return Objects(self.items(RAY_JOB), self.items(WORKLOAD), self.items(RAY_CLUSTER), self.items(POD))

    def nodes(self) -> Sequence[Manifest]:
        """All nodes."""
        return self.items(NODE)

    def pods(self) -> Sequence[Manifest]:
        """All pods of the cluster, whosever."""
        return self.items(POD)

    def _tell(self, _change: Change) -> None:
        self.on_change()

    def _tell_of_pod(self, change: Change) -> None:
        """Pods of others come and go all the time; what they leave free is seen at the next look."""
        pod = change.after or change.before
        if names.ATTEMPT in get_map(pod, "metadata", "labels"):
            self.on_change()
