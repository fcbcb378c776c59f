"""What is seen of the objects that we keep, and of what must be gone before they may go: one mirror for each kind."""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from fairgate_scheduler.adapters.kube.api import Api, Kind, Manifest
from fairgate_scheduler.adapters.kube.api.kinds import (
    CLUSTER_QUEUE,
    COHORT,
    LOCAL_QUEUE,
    NAMESPACE,
    NETWORK_POLICY,
    RAY_JOB,
    RESOURCE_FLAVOR,
    RESOURCE_QUOTA,
    WORKLOAD_PRIORITY_CLASS,
)
from fairgate_scheduler.adapters.kube.watching.mirror import Selection
from fairgate_scheduler.adapters.kube.watching.mirrors import WATCH_S, Mirrors
from fairgate_scheduler.adapters.kube.watching.prune import keeping
from fairgate_scheduler.adapters.kube.watching.shelf import Change
from fairgate_scheduler.ports import Clock

KEPT_KINDS: Final = (
    RESOURCE_FLAVOR,
    WORKLOAD_PRIORITY_CLASS,
    COHORT,
    CLUSTER_QUEUE,
    NAMESPACE,
    RESOURCE_QUOTA,
    NETWORK_POLICY,
    LOCAL_QUEUE,
)
"""What the keeper writes, in the order of making."""


class Seen(Protocol):
    """The cluster's objects of the kinds that we keep, and RayJobs."""

    @property
    def is_complete(self) -> bool:
        """Whether everything was seen at least once."""

    def items(self, kind: Kind) -> Sequence[Manifest]:
        """All objects of a kind."""


class Estate(Mirrors):
    """``Seen`` by watches. ``on_change`` is called, from their threads, when anything changed."""

    def __init__(self, api: Api, clock: Clock, watch_s: int = WATCH_S) -> None:
        """``watch_s``: how long one watch lasts; 0 for those who ``step``."""
        self.on_change: Callable[[], None] = lambda: None
        selections = {**{kind: Selection() for kind in KEPT_KINDS}, RAY_JOB: Selection(prune=keeping())}
        super().__init__(api, clock, selections, watch_s)
        for mirror in self._mirrors.values():
            mirror.subscribe(self._tell)

    def _tell(self, _change: Change) -> None:
        self.on_change()


class Glance:
    """``Seen`` once, by lists: for commands that look and go."""

    is_complete = True

    def __init__(self, api: Api) -> None:
        self._items = {kind: api.list(kind).items for kind in (*KEPT_KINDS, RAY_JOB)}

    def items(self, kind: Kind) -> Sequence[Manifest]:
        """See ``Seen``."""
        return self._items[kind]
