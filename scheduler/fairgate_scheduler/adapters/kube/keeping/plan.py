"""What has to be done in a cluster so that it has what is wanted: pure, from what was seen."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairgate_scheduler.adapters.kube.api import Manifest
from fairgate_scheduler.adapters.kube.api.kinds import CLUSTER_QUEUE, LOCAL_QUEUE, NAMESPACE
from fairgate_scheduler.adapters.kube.keeping.adoption import objections
from fairgate_scheduler.adapters.kube.keeping.compare import Path, additions, differences, is_as_applied, value_at
from fairgate_scheduler.adapters.kube.keeping.estate import KEPT_KINDS, Seen
from fairgate_scheduler.adapters.kube.keeping.pruning import Holds, released_namespaces, unwanted
from fairgate_scheduler.adapters.kube.mapping import Key, Wanted, is_ours, key_of
from fairgate_scheduler.core.manifests.plain import get_map


@dataclass(frozen=True, slots=True)
class Make:
    """There is no such object yet."""

    wanted: Wanted

    @property
    def key(self) -> Key:
        """Which one."""
        return self.wanted.key

    def __str__(self) -> str:
        return f"+ {self.key}"


@dataclass(frozen=True, slots=True)
class Apply:
    """It does not say what is wanted. ``drift``: what others changed; "": the configuration has changed."""

    wanted: Wanted
    seen: Manifest
    paths: Sequence[Path]
    drift: str = ""

    @property
    def key(self) -> Key:
        """Which one."""
        return self.wanted.key

    def __str__(self) -> str:
        where = ", ".join(".".join(path) for path in self.paths) or "fields that are wanted no longer"
        return f"~ {self.key}: {where}"


@dataclass(frozen=True, slots=True)
class Clear:
    """Others have added fields that change what it means."""

    key: Key
    seen: Manifest
    paths: Sequence[Path]
    drift: str

    def __str__(self) -> str:
        return f"~ {self.key}: without {', '.join('.'.join(path) for path in self.paths)}"


@dataclass(frozen=True, slots=True)
class Delete:
    """It is wanted no longer, and nobody holds on to it."""

    key: Key
    seen: Manifest

    def __str__(self) -> str:
        return f"- {self.key}"


@dataclass(frozen=True, slots=True)
class Release:
    """A namespace that is no tenant's any more loses its label."""

    key: Key
    seen: Manifest

    def __str__(self) -> str:
        return f"~ {self.key}: without the label of a tenant"


@dataclass(frozen=True, slots=True)
class Refuse:
    """It can not be as it is wanted, and why. Nothing is done. ``is_waiting``: time will help."""

    key: Key
    seen: Manifest | None
    message: str
    is_waiting: bool = False

    def __str__(self) -> str:
        return f"! {self.key}: {self.message}"


Action = Make | Apply | Clear | Delete | Release | Refuse


class Memo:
    """Which objects were found to be as they are wanted, so that only what has changed since is compared again."""

    def __init__(self) -> None:
        self._known: dict[Key, tuple[Wanted, Manifest]] = {}

    def holds(self, wanted: Wanted, seen: Manifest) -> bool:
        """Whether this very object was found to be as this very wish says."""
        known = self._known.get(wanted.key)
        return known is not None and known[0] is wanted and known[1] is seen

    def keep(self, wanted: Wanted, seen: Manifest) -> None:
        """It is as it is wanted."""
        self._known[wanted.key] = (wanted, seen)


def plan(wanted: Sequence[Wanted], seen: Seen, memo: Memo | None = None) -> Iterator[Action]:
    """What differs, in the order in which it is to be done; nothing if all is as it should be."""
    memo = memo or Memo()
    there = {key_of(kind, each): each for kind in KEPT_KINDS for each in seen.items(kind)}
    holds = Holds(seen)
    for each in wanted:
        yield from _keep(each, there, holds, memo)
    keys = {each.key for each in wanted}
    for key, manifest in unwanted(seen, keys):
        if "deletionTimestamp" in manifest["metadata"]:
            continue
        holder = holds.holder(key, manifest)
        if holder:
            yield Refuse(key, manifest, f"wanted no longer, but still used by {holder}", is_waiting=True)
        else:
            yield Delete(key, manifest)
    for manifest in released_namespaces(seen, keys, holds):
        yield Release(key_of(NAMESPACE, manifest), manifest)


def _keep(wanted: Wanted, there: Mapping[Key, Manifest], holds: Holds, memo: Memo) -> Iterator[Action]:
    seen = there.get(wanted.key)
    home = there.get(Key(NAMESPACE, "", wanted.key.namespace))
    if _is_going(seen) or _is_going(home):
        what = "it" if _is_going(seen) else "its namespace"
        yield Refuse(wanted.key, seen or home, f"{what} is being deleted; it is made anew after that", is_waiting=True)
    elif seen is None:
        yield Make(wanted)
    elif not wanted.is_shared and not is_ours(seen):
        yield from (Refuse(wanted.key, seen, message) for message in objections(wanted, seen))
    elif _is_bound_elsewhere(wanted, seen):
        yield _rebind(wanted, seen, holds)
    elif not memo.holds(wanted, seen):
        actions = list(_set_back(wanted, seen))
        yield from actions
        if not actions:
            memo.keep(wanted, seen)


def _set_back(wanted: Wanted, seen: Manifest) -> Iterator[Action]:
    """One thing at a time: what others added shows once the rest is as it was applied."""
    paths = list(differences(wanted.manifest, seen))
    is_by_hand = wanted.is_shared or is_as_applied(wanted.manifest, seen)
    if paths or not is_by_hand:
        yield Apply(wanted, seen, paths, _told(paths, wanted.manifest, seen) if is_by_hand else "")
    elif not wanted.is_shared and (added := list(additions(wanted.manifest, seen))):
        yield Clear(wanted.key, seen, added, _told(added, wanted.manifest, seen))


def _told(paths: Sequence[Path], wanted: Manifest, seen: Manifest) -> str:
    return "; ".join(
        f"{'.'.join(path)} was {_short(value_at(seen, path))}, is {_short(value_at(wanted, path))} again"
        for path in paths
    )


def _short(value: Any) -> str:
    text = "not there" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _is_bound_elsewhere(wanted: Wanted, seen: Manifest) -> bool:
    """Whether it is a LocalQueue of another ClusterQueue, which never changes."""
    if wanted.key.kind != LOCAL_QUEUE:
        return False
    return bool(get_map(seen, "spec").get("clusterQueue") != wanted.manifest["spec"]["clusterQueue"])


def _rebind(wanted: Wanted, seen: Manifest, holds: Holds) -> Action:
    holder = holds.holder(wanted.key, seen)
    if not holder:
        return Delete(wanted.key, seen)
    other = Key(CLUSTER_QUEUE, "", get_map(seen, "spec").get("clusterQueue", ""))
    return Refuse(wanted.key, seen, f"it leads to {other} until it is no longer used by {holder}", is_waiting=True)


def _is_going(manifest: Manifest | None) -> bool:
    return manifest is not None and "deletionTimestamp" in manifest["metadata"]
