"""Does what the plan says, and tells of what others did to our objects."""

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fairgate_scheduler.adapters.kube import names
from fairgate_scheduler.adapters.kube.api import (
    Api,
    ApiError,
    ConflictError,
    Kind,
    Manifest,
    NotFoundError,
    UnavailableError,
)
from fairgate_scheduler.adapters.kube.api.kinds import NAMESPACE
from fairgate_scheduler.adapters.kube.keeping.compare import Path, value_at
from fairgate_scheduler.adapters.kube.keeping.estate import Seen
from fairgate_scheduler.adapters.kube.keeping.plan import (
    Action,
    Apply,
    Clear,
    Delete,
    Make,
    Memo,
    Refuse,
    Release,
    plan,
)
from fairgate_scheduler.adapters.kube.mapping import Key, Wanted, is_ours, key_of
from fairgate_scheduler.adapters.kube.reports import Reports
from fairgate_scheduler.core.manifests.plain import get_map
from fairgate_scheduler.ports import Clock

_logger = logging.getLogger(__name__)
_UNSEEN_MS: Final = 30_000
"""How long what we wrote counts as there while no watch has shown it."""

CORRECTED: Final = "DriftCorrected"
REFUSED: Final = "NotKept"


@dataclass(frozen=True, slots=True)
class Kept:
    """What one pass did. ``problems``: what is not as it is wanted, and why. ``is_settled``: nothing is left to do."""

    done: Sequence[str]
    problems: Sequence[str]
    is_settled: bool


class Keeper:
    """Keeps a cluster as it is wanted. ``counts``: what it wrote, corrected, deleted and refused so far, by word.

    A pass that changes nothing calls nothing. To be used by one thread.
    """

    def __init__(self, api: Api, seen: Seen, reports: Reports, clock: Clock) -> None:
        self._api = api
        self._seen = seen
        self._reports = reports
        self._clock = clock
        self._recent: dict[Key, tuple[int, Manifest | None]] = {}
        self._tolerated: set[tuple[Key, Path, str]] = set()
        self._had: set[Key] = set()
        self._memo = Memo()
        self.counts: Counter[str] = Counter()

    def keep(self, wanted: Sequence[Wanted]) -> Kept:
        """One pass over all that is wanted. Raises UnavailableError: what is left is done by the next one.

        Not before everything was seen at least once: what is not seen might be there.
        """
        if not self._seen.is_complete:
            return Kept((), ("the cluster has not been seen as a whole yet",), is_settled=False)
        done: list[str] = []
        problems: list[str] = []
        is_settled = True
        for action in plan(wanted, _Overlaid(self._seen, self._fresh()), self._memo):
            if isinstance(action, Refuse):
                problems.append(str(action))
                self._refuse(action)
            elif not self._is_tolerated(action):
                is_settled = False
                try:
                    self._do(action)
                    done.append(str(action))
                except UnavailableError:
                    raise
                except ApiError as error:
                    problems.append(f"! {action.key}: {error}")
                    self._refuse(Refuse(action.key, None, str(error)))
        self._had = self._present(each.key for each in wanted)
        return Kept(done, problems, is_settled)

    def _do(self, action: Action) -> None:
        if isinstance(action, Make):
            made = self._make(action.wanted)
            self._remember(action.key, made)
            self._count("made", made, "it was deleted, and is there again" if action.key in self._had else "")
        elif isinstance(action, Apply):
            self._remember(action.key, self._api.apply(action.key.kind, action.wanted.manifest, force=True))
            self._count("changed", action.seen, action.drift)
        elif isinstance(action, Clear):
            self._clear(action)
        elif isinstance(action, Delete):
            uid = action.seen["metadata"].get("uid", "")
            self._api.delete(action.key.kind, action.key.name, action.key.namespace, uid=uid)
            self._remember(action.key, None)
            self.counts["deleted"] += 1
        elif isinstance(action, Release):
            self._release(action)
        _logger.info("%s", action)

    def _make(self, wanted: Wanted) -> Manifest:
        """Never into what somebody else made meanwhile: the server is asked once more."""
        key = wanted.key
        try:
            self._api.get(key.kind, key.name, key.namespace)
        except NotFoundError:
            if wanted.first is not None:
                self._api.create(key.kind, wanted.first)
            return self._api.apply(key.kind, wanted.manifest)
        raise ConflictError("somebody else made it a moment ago")

    def _clear(self, action: Clear) -> None:
        """Take others' fields away. What the server puts back at once is its own way to say what we left open."""
        patch: dict[str, Any] = {"metadata": {"resourceVersion": action.seen["metadata"]["resourceVersion"]}}
        for path in action.paths:
            _put(patch, path, None)
        answer = self._api.patch(action.key.kind, action.key.name, patch, action.key.namespace)
        self._remember(action.key, answer)
        left = [path for path in action.paths if value_at(answer, path) is not None]
        self._tolerated |= {(action.key, path, str(value_at(answer, path))) for path in left}
        if len(left) < len(action.paths):
            self._count("changed", action.seen, action.drift)

    def _release(self, action: Release) -> None:
        """Give up our label. One that somebody else has put on it, too, stays, and is told of."""
        manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": action.key.name}}
        answer = self._api.apply(action.key.kind, manifest)
        self._remember(action.key, answer)
        path = ("metadata", "labels", names.TENANT)
        label = get_map(answer, "metadata", "labels").get(names.TENANT)
        if label is not None:
            self._tolerated.add((action.key, path, label))
            message = f"labelled {names.TENANT}={label} by somebody else; the configuration has no tenant there"
            self._refuse(Refuse(action.key, answer, message))

    def _present(self, keys: Iterable[Key]) -> set[Key]:
        """Those of the keys whose objects are there and ours."""
        wanted, seen = set(keys), _Overlaid(self._seen, self._fresh())
        there = {key_of(kind, each): each for kind in {key.kind for key in wanted} for each in seen.items(kind)}
        return {key for key in wanted & there.keys() if key.kind == NAMESPACE or is_ours(there[key])}

    def _is_tolerated(self, action: Action) -> bool:
        if isinstance(action, Clear):
            values = [(action.key, path, str(value_at(action.seen, path))) for path in action.paths]
            return self._tolerated.issuperset(values)
        if isinstance(action, Release):
            path = ("metadata", "labels", names.TENANT)
            return (action.key, path, get_map(action.seen, "metadata", "labels")[names.TENANT]) in self._tolerated
        return False

    def _count(self, word: str, seen: Manifest, drift: str) -> None:
        self.counts["corrected" if drift else word] += 1
        if drift:
            self._reports.warn(seen, CORRECTED, drift)

    def _refuse(self, action: Refuse) -> None:
        if action.is_waiting:
            return
        self.counts["refused"] += 1
        about = action.seen or {
            "kind": action.key.kind.kind,
            "apiVersion": action.key.kind.api_version,
            "metadata": {"name": action.key.name, "namespace": action.key.namespace or None},
        }
        self._reports.warn(about, REFUSED, action.message)

    def _remember(self, key: Key, manifest: Manifest | None) -> None:
        self._recent[key] = (self._clock.now_ms() + _UNSEEN_MS, manifest)

    def _fresh(self) -> Mapping[Key, Manifest | None]:
        """What we wrote and no watch has shown yet."""
        now_ms = self._clock.now_ms()
        kinds = {key.kind for key in self._recent}
        seen = {key_of(kind, each): each for kind in kinds for each in self._seen.items(kind)}
        for key, (until_ms, manifest) in list(self._recent.items()):
            if until_ms <= now_ms or _has_come(manifest, seen.get(key)):
                del self._recent[key]
        return {key: manifest for key, (_, manifest) in self._recent.items()}


class _Overlaid:
    """What was seen, and what we know better."""

    def __init__(self, seen: Seen, fresh: Mapping[Key, Manifest | None]) -> None:
        self.is_complete = seen.is_complete
        self._seen, self._fresh = seen, fresh

    def items(self, kind: Kind) -> Sequence[Manifest]:
        """See ``Seen``."""
        if all(key.kind != kind for key in self._fresh):
            return self._seen.items(kind)
        items = {key_of(kind, each): each for each in self._seen.items(kind)}
        ours = {key: each for key, each in self._fresh.items() if key.kind == kind}
        return [each for each in {**items, **ours}.values() if each is not None]


def _has_come(written: Manifest | None, seen: Manifest | None) -> bool:
    """Whether a watch is at least as far as what we wrote."""
    if written is None:
        return seen is None or "deletionTimestamp" in seen["metadata"]
    return seen is not None and _version(seen) >= _version(written)


def _version(manifest: Manifest) -> int:
    text = str(manifest["metadata"].get("resourceVersion", ""))
    return int(text) if text.isdigit() else 0


def _put(patch: dict[str, Any], path: Iterable[str], value: object) -> None:
    *parents, last = path
    for part in parents:
        patch = patch.setdefault(part, {})
    patch[last] = value
