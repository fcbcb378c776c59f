"""A copy in memory of all objects of one kind, kept by one watch. While nothing happens it asks the server nothing."""

import math
import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from fairgate_scheduler.adapters.kube.api import Api, ApiError, GoneError, Kind, Manifest, Watch, Watched
from fairgate_scheduler.adapters.kube.watching.prune import Prune, without_managed_fields
from fairgate_scheduler.adapters.kube.watching.shelf import Change, Shelf
from fairgate_scheduler.ports import Clock

_FIRST_S: Final = 0.5
_MOST_S: Final = 30.0
_SHORTEST_MS: Final = 1_000
"""A watch that is over sooner and told nothing counts as a failure: its server would be asked without end."""
_JOIN_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects of the kind, and what of them. ``watch_s``: how long one watch lasts until it is taken up again;
    0 is for ``step``: what is there already."""

    namespace: str = ""
    labels: str = ""
    index: str = ""
    """The label by whose values ``labelled`` finds objects."""
    prune: Prune = without_managed_fields
    watch_s: int = 300


class Mirror:
    """All objects of a kind as they were at the last event. May be read by several threads.

    It is driven by its own thread (``start``, ``stop``) or by calls of ``step``, never by both. A watch that ends is
    taken up where it was; one that is lost, or too old, is begun with a new list, and what has vanished or changed
    meanwhile is told like any other change. Waits after failures double up to 30 seconds, less up to half by chance
    from ``seed``.
    """

    def __init__(
        self, api: Api, kind: Kind, clock: Clock, selection: Selection | None = None, *, seed: int = 0
    ) -> None:
        self.kind = kind
        self._api = api
        self._clock = clock
        self._selection = selection or Selection()
        self._random = random.Random(seed)
        self._shelf = Shelf(self._selection.index)
        self._subscribers: list[Callable[[Change], None]] = []
        self._version: str | None = None
        self._failures = 0
        self._trouble = ""
        self._heard_at_ms: int | None = None
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._synced = threading.Event()
        self._guard = threading.Lock()
        self._watch: Watch | None = None

    def items(self) -> Sequence[Manifest]:
        """All objects, in no order. Not to be changed: they are shared."""
        return self._shelf.items()

    def get(self, namespace: str, name: str) -> Manifest | None:
        """One object, or None. ``namespace`` "" is that of kinds without one."""
        return self._shelf.get(namespace, name)

    def labelled(self, value: str) -> Sequence[Manifest]:
        """The objects whose label of the selection's ``index`` has this value."""
        return self._shelf.labelled(value)

    def subscribe(self, callback: Callable[[Change], None]) -> None:
        """Have each change told from now on, after it can be read here, in the thread that drives the mirror.

        The callback is to be quick, and must not raise: what it raises ends that thread.
        """
        self._subscribers.append(callback)

    @property
    def synced(self) -> bool:
        """Whether all objects were seen at least once. Before that, what is missing says nothing."""
        return self._synced.is_set()

    @property
    def age_s(self) -> float:
        """How long ago the server last said anything of this kind; infinite before the first list.

        Servers say every minute how far a quiet watch has come, so more than two minutes mean that it is lost; of
        events (the kind) they say nothing until the watch ends.
        """
        return math.inf if self._heard_at_ms is None else (self._clock.now_ms() - self._heard_at_ms) / 1000

    @property
    def trouble(self) -> str:
        """Why the last attempt to list or watch failed; "" while all is well."""
        return self._trouble

    def wait_synced(self, timeout_s: float) -> bool:
        """Wait for the first list; whether it came in time."""
        return self._synced.wait(timeout_s)

    def step(self) -> float:
        """List if that is due, then watch until the watch ends; how many seconds to wait before the next step."""
        try:
            if self._version is None:
                self._list()
            self._follow(self._version or "")
        except ApiError as error:
            self._version = None
            self._trouble = str(error)
            self._failures += 1
            if isinstance(error, GoneError) and self._failures == 1:
                return 0.0  # nothing is wrong with the server: we were slow
        return self._wait_s()

    def start(self) -> None:
        """Drive it by a thread of its own from now on."""
        assert self._thread is None, "started already"
        self._stopping.clear()
        self._thread = threading.Thread(target=self._run, name=f"mirror-{self.kind.plural}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread; what is mirrored stays readable. A call that hangs is left to itself after 5 seconds."""
        self._stopping.set()
        with self._guard:
            if self._watch is not None:
                self._watch.close()
        if self._thread is not None:
            self._thread.join(_JOIN_S)
            self._thread = None

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._stopping.wait(self.step())

    def _list(self) -> None:
        chosen = self._selection
        listing = self._api.list(self.kind, chosen.namespace, chosen.labels)
        changes = self._shelf.replace([chosen.prune(item) for item in listing.items])
        self._version = listing.resource_version
        self._hear()
        self._synced.set()
        self._tell(changes)

    def _follow(self, version: str) -> None:
        chosen, began_ms, told = self._selection, self._clock.now_ms(), 0
        watch = self._api.watch(self.kind, version, chosen.namespace, chosen.labels, chosen.watch_s)
        self._hold(watch)
        self._trouble = ""
        self._hear()
        try:
            for event in watch:
                told += 1
                self._take_in(event)
        finally:
            self._hold(None)
            watch.close()
            is_good = told > 0 or self._clock.now_ms() - began_ms >= min(_SHORTEST_MS, chosen.watch_s * 1000)
            self._failures = 0 if is_good else self._failures
        if is_good:
            self._hear()
        else:
            self._failures += 1

    def _take_in(self, event: Watched) -> None:
        changes: Sequence[Change] = ()
        if event.type == "DELETED":
            changes = self._shelf.take(event.object)
        elif event.type != "BOOKMARK":
            changes = self._shelf.put(self._selection.prune(event.object))
        self._version = event.object["metadata"]["resourceVersion"]
        self._hear()
        self._tell(changes)

    def _hold(self, watch: Watch | None) -> None:
        """Have ``stop`` end this watch, also one that was opened while it was told to stop."""
        with self._guard:
            self._watch = watch
            if watch is not None and self._stopping.is_set():
                watch.close()

    def _hear(self) -> None:
        self._heard_at_ms = self._clock.now_ms()

    def _tell(self, changes: Sequence[Change]) -> None:
        for change in changes:
            for callback in tuple(self._subscribers):
                callback(change)

    def _wait_s(self) -> float:
        if not self._failures:
            return 0.0
        longest_s: float = min(_MOST_S, _FIRST_S * 2 ** min(self._failures - 1, 10))
        return longest_s * self._random.uniform(0.5, 1.0)
