"""The cluster as the runner sees it: one mirror for each kind that matters."""

from collections.abc import Sequence
from typing import Protocol

from fairgate_scheduler.adapters.kube.api import Manifest
from fairgate_scheduler.adapters.kube.watching.traces import Objects


class Scene(Protocol):
    """What the cluster shows. May be looked at by several threads."""

    @property
    def is_complete(self) -> bool:
        """Whether everything was seen at least once: before that, what is missing says nothing."""

    def objects(self) -> Objects:
        """The objects that may be traces of attempts."""

    def nodes(self) -> Sequence[Manifest]:
        """All nodes."""

    def pods(self) -> Sequence[Manifest]:
        """All pods of the cluster, whosever."""
