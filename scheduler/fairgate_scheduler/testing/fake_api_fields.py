"""Server-side apply in small: the fields of a manifest as paths, merging by them, and who owns which.

A path is written as in ``managedFields``: ``f:NAME`` is a field, ``k:{…}`` an item by its keys, ``v:…`` one of a set.
"""

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, Final

from fairgate_scheduler.testing.fake_api_rules import (
    SYSTEM_METADATA,
    default_of_key,
    has_whole_items,
    is_set,
    is_whole_map,
    keys_of_list,
)

Path = tuple[str, ...]
Fields = tuple[str, ...]

_ITEM: Final = object()
"""The value at the path of an item itself: it is there."""
_NOTHING: Final = object()


def leaves(kind: str, manifest: Mapping[str, Any]) -> dict[Path, Any]:
    """What of a manifest can be owned, by path."""
    return {path: value for path, value in _leaves(kind, manifest, (), ()) if not _is_system(path)}


def merge(kind: str, live: Any, applied: Any, fields: Fields = ()) -> Any:
    """The live value with what is applied put into it."""
    if isinstance(live, dict) and isinstance(applied, dict) and not is_whole_map(fields):
        return {**live, **{name: merge(kind, live.get(name), applied[name], (*fields, name)) for name in applied}}
    if isinstance(live, list) and isinstance(applied, list) and fields:
        if is_set(fields):
            return live + [value for value in applied if value not in live]
        if keys_of_list(kind, fields):
            return _merge_items(kind, live, applied, fields)
    return deepcopy(applied)


def without(manifest: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The manifest without what is at a path; maps and lists that this leaves empty go with it."""
    found = _without(manifest, path)
    return {} if found is _NOTHING else found


def as_managed_fields(paths: frozenset[Path]) -> dict[str, Any]:
    """Paths as a ``fieldsV1`` tree."""
    tree: dict[str, Any] = {}
    for path in sorted(paths):
        node = tree
        for part in path:
            node = node.setdefault(part, {})
        if path[-1].startswith("k:"):
            node["."] = {}
    return tree


def key_path(kind: str, fields: Fields, item: Mapping[str, Any]) -> str:
    """The last part of the path of an item of a list with keys."""
    keys = {key: item.get(key, default_of_key(key)) for key in keys_of_list(kind, fields)}
    return "k:" + json.dumps(keys, separators=(",", ":"), sort_keys=True)


def _leaves(kind: str, value: Any, fields: Fields, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict) and value and not is_whole_map(fields):
        for name, child in value.items():
            yield from _leaves(kind, child, (*fields, name), (*path, f"f:{name}"))
    elif isinstance(value, list) and value and is_set(fields):
        yield from (((*path, f"v:{json.dumps(each)}"), each) for each in value)
    elif isinstance(value, list) and value and keys_of_list(kind, fields):
        for item in value:
            place = (*path, key_path(kind, fields, item))
            yield place, item if has_whole_items(fields) else _ITEM
            if not has_whole_items(fields):
                yield from _leaves(kind, item, fields, place)
    else:
        yield path, value


def _merge_items(kind: str, live: list[Any], applied: list[Any], fields: Fields) -> list[Any]:
    by_key = {key_path(kind, fields, item): item for item in live}
    for item in applied:
        key = key_path(kind, fields, item)
        is_merged = key in by_key and not has_whole_items(fields)
        # The fields of an item are those of the list: the list's own name says nothing of a map in it.
        by_key[key] = _merge_item(kind, by_key[key], item, fields) if is_merged else deepcopy(item)
    return list(by_key.values())


def _merge_item(kind: str, live: dict[str, Any], applied: dict[str, Any], fields: Fields) -> dict[str, Any]:
    return {**live, **{name: merge(kind, live.get(name), applied[name], (*fields, name)) for name in applied}}


def _without(value: Any, path: Path) -> Any:
    part, *rest = path
    if part.startswith("f:"):
        name = part[2:]
        if not isinstance(value, dict) or name not in value:
            return value
        child = _without(value[name], tuple(rest)) if rest else _NOTHING
        left = {each: value[each] for each in value if each != name}
        return (left or _NOTHING) if child is _NOTHING else {**value, name: child}
    if not isinstance(value, list):
        return value
    kept = []
    for item in value:
        if _is_at(item, part):
            item = _without(item, tuple(rest)) if rest else _NOTHING
        if item is not _NOTHING:
            kept.append(item)
    return kept or _NOTHING


def _is_at(item: Any, part: str) -> bool:
    if part.startswith("v:"):
        return bool(json.dumps(item) == part[2:])
    keys = json.loads(part[2:])
    return all(item.get(key, default_of_key(key)) == value for key, value in keys.items())


def _is_system(path: Path) -> bool:
    if not path or path[0] in ("f:apiVersion", "f:kind"):
        return True
    return path[0] == "f:metadata" and (len(path) == 1 or path[1][2:] in SYSTEM_METADATA)
