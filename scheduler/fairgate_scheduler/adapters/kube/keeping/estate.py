"""What is seen of the objects that we keep, and of what must be gone before they may go: one mirror for each kind."""

import threading
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
from fairgate_scheduler.adapters.kube.watching.mirror import Mirror, Selection
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
_WATCH_S: Final = 300


class Seen(Protocol):
    """The cluster's objects of the kinds that we keep, and RayJobs."""

    @property
    def is_complete(self) -> bool:
        """Whether everything was seen at least once."""

    def items(self, kind: Kind) -> Sequence[Manifest]:
        """All objects of a kind."""


class Estate:
    """``Seen`` by watches. ``on_change`` is called, from their threads, when anything changed."""

    def __init__(self, api: Api, clock: Clock, watch_s: int = _WATCH_S) -> None:
        """``watch_s``: how long one watch lasts; 0 for those who ``step``."""
        self.on_change: Callable[[], None] = lambda: None
        selections = {kind: Selection(watch_s=watch_s) for kind in KEPT_KINDS}
        selections[RAY_JOB] = Selection(watch_s=watch_s, prune=keeping())
        self._mirrors = {kind: Mirror(api, kind, clock, each) for kind, each in selections.items()}
        for mirror in self._mirrors.values():
            mirror.subscribe(self._tell)

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
        """See ``Seen``."""
        return all(mirror.synced for mirror in self._mirrors.values())

    @property
    def troubles(self) -> Sequence[str]:
        """What can not be watched now, and why."""
        return [f"{kind.plural}: {each.trouble}" for kind, each in self._mirrors.items() if each.trouble]

    def items(self, kind: Kind) -> Sequence[Manifest]:
        """See ``Seen``."""
        return self._mirrors[kind].items()

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
