"""Whether an object in the cluster still says what we wrote."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from fairgate_scheduler.adapters.kube.api import Manifest
from fairgate_scheduler.adapters.kube.mapping.objects import APPLIED
from fairgate_scheduler.adapters.kube.mapping.quantities import is_same_quantity
from fairgate_scheduler.core.manifests.plain import get_map

Path = tuple[str, ...]

_QUANTITIES: Final = frozenset({"nominalQuota", "borrowingLimit", "lendingLimit"})
_HEAD: Final = ("apiVersion", "kind")


def is_as_applied(wanted: Manifest, seen: Manifest) -> bool:
    """Whether what is wanted is what we applied last; if the object differs all the same, somebody else changed it."""
    annotation = get_map(wanted, "metadata", "annotations").get(APPLIED)
    return annotation == get_map(seen, "metadata", "annotations").get(APPLIED)


def differences(wanted: Manifest, seen: Manifest) -> Iterator[Path]:
    """Where the object does not say what is wanted. What is wanted says nothing of does not count."""
    for key, value in wanted.items():
        if key not in _HEAD:
            yield from _differences(value, seen.get(key), (key,))


def additions(wanted: Manifest, seen: Manifest) -> Iterator[Path]:
    """Fields of the spec that others have added. We say all that the server fills in by itself, so these mean more."""
    if isinstance(wanted.get("spec"), Mapping):
        yield from _additions(wanted["spec"], seen.get("spec", {}), ("spec",))


def value_at(manifest: Any, path: Path) -> Any:
    """What stands there; ``None``: nothing."""
    for part in path:
        manifest = manifest.get(part) if isinstance(manifest, Mapping) else None
    return manifest


def _differences(wanted: Any, seen: Any, path: Path) -> Iterator[Path]:
    if isinstance(wanted, Mapping) and isinstance(seen, Mapping):
        for key, value in wanted.items():
            yield from _differences(value, seen.get(key), (*path, key))
    elif not _is_same(wanted, seen, path):
        yield path


def _additions(wanted: Any, seen: Any, path: Path) -> Iterator[Path]:
    if not isinstance(wanted, Mapping) or not isinstance(seen, Mapping):
        return
    for key, value in seen.items():
        if key not in wanted:
            yield (*path, key)
        else:
            yield from _additions(wanted[key], value, (*path, key))


def _is_same(wanted: Any, seen: Any, path: Path) -> bool:
    """Wholly the same: lists and what is in them are one value."""
    if isinstance(wanted, Mapping) and isinstance(seen, Mapping):
        return wanted.keys() == seen.keys() and all(_is_same(wanted[key], seen[key], (*path, key)) for key in wanted)
    if _is_list(wanted) and _is_list(seen):
        pairs = zip(wanted, seen, strict=False)
        return len(wanted) == len(seen) and all(_is_same(one, other, path) for one, other in pairs)
    if wanted in ({}, []) and seen is None:
        return True  # a server may leave out what is empty
    if path[-1] in _QUANTITIES or "hard" in path:
        return is_same_quantity(wanted, seen)
    return bool(wanted == seen)


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def changes(wanted: Manifest, seen: Manifest) -> Iterator[str]:
    """The differences for people to read, field by field, also within lists; ``seen → wanted``."""
    for path in differences(wanted, seen):
        if APPLIED not in path:
            yield from _changes(value_at(seen, path), value_at(wanted, path), ".".join(path))


def _changes(before: Any, after: Any, where: str) -> Iterator[str]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted({*before, *after}):
            if not _is_same(before.get(key), after.get(key), (key,)):
                yield from _changes(before.get(key), after.get(key), f"{where}.{key}")
    elif _is_list(before) and _is_list(after) and all(isinstance(each, Mapping) for each in (*before, *after)):
        old, new = _by_name(before), _by_name(after)
        yield from _changes(old, new, where)
    else:
        yield f"{where}: {_said(before)} → {_said(after)}"


def _by_name(items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {str(item.get("name", place)): item for place, item in enumerate(items)}


def _said(value: Any) -> str:
    return "nothing" if value is None else str(value)
