"""Several mirrors that are one view of a cluster: begun and ended together, complete when all are."""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from fairgate_scheduler.adapters.kube.api import Api, Kind, Manifest
from fairgate_scheduler.adapters.kube.watching.mirror import Mirror, Selection
from fairgate_scheduler.ports import Clock

WATCH_S: Final = 300
"""How long one watch lasts until it is taken up again."""


class Mirrors:
    """One mirror for each kind. May be looked at by several threads, and is fed by one for each kind."""

    def __init__(self, api: Api, clock: Clock, selections: Mapping[Kind, Selection], watch_s: int = WATCH_S) -> None:
        """``watch_s``: how long one watch lasts; 0 for those who ``step``."""
        self._mirrors = {
            kind: Mirror(api, kind, clock, replace(selection, watch_s=watch_s))
            for kind, selection in selections.items()
        }

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

    def items(self, kind: Kind) -> Sequence[Manifest]:
        """All objects of a kind."""
        return self._mirrors[kind].items()
