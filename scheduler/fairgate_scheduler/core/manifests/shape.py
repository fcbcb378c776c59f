"""Whether a manifest has the shape of a RayJob: no unknown field, no wrong type, nothing required missing."""

from collections.abc import Callable, Mapping, Set
from typing import Any, Final

from fairgate_scheduler.core.manifests.fields import TYPES
from fairgate_scheduler.core.manifests.findings import MISSING, Finding, child, describe, did_you_mean, nearest
from fairgate_scheduler.core.manifests.plain import is_number

_INT32_MAX: Final = 2**31 - 1


def is_integer(value: object) -> bool:
    """Whether it is an integer; booleans are none."""
    return isinstance(value, int) and not isinstance(value, bool)


_SCALARS: Final[Mapping[str, tuple[Callable[[Any], bool], str, str]]] = {
    "s": (lambda value: isinstance(value, str), "a text", "put it in quotes"),
    "b": (lambda value: isinstance(value, bool), "true or false", "write true or false, without quotes"),
    "i": (lambda value: is_integer(value) and -_INT32_MAX <= value <= _INT32_MAX, "a whole 32-bit number", ""),
    "l": (is_integer, "a whole number", ""),
    "n": (is_number, "a number", "write it without quotes"),
    "q": (lambda value: isinstance(value, str) or is_number(value), "a quantity", "write a number such as 2 or 16Gi"),
    "p": (lambda value: isinstance(value, str) or is_integer(value), "a port", "write its number or its name"),
}


def check_shape(value: object, type_name: str, path: str, findings: list[Finding]) -> tuple[str, ...]:
    """Append what is wrong with the shape of a value of this type; return the paths of fields newer than KubeRay 1.5.

    ``value`` is normalized: a null counts as absent.
    """
    newer: list[str] = []
    _check_object(value, type_name, path, (findings, newer))
    return tuple(newer)


def without(value: Any, paths: Set[str], path: str = "") -> Any:
    """A copy without what is at these paths, so that what comes after finds no wrong types. List items leave a gap."""
    if isinstance(value, dict):
        places = {key: child(path, key) for key in value}
        return {key: without(item, paths, places[key]) for key, item in value.items() if places[key] not in paths}
    if isinstance(value, list):
        places_of = [f"{path}[{index}]" for index in range(len(value))]
        return [{} if at in paths else without(item, paths, at) for item, at in zip(value, places_of, strict=True)]
    return value


_Out = tuple[list[Finding], list[str]]


def _check_object(value: object, type_name: str, path: str, out: _Out) -> None:
    fields = TYPES[type_name]
    if not isinstance(value, dict):
        message = f"must be a map of fields, not {describe(value)}"
        out[0].append(Finding(path or "manifest", message, _fields_of(fields)))
        return
    for key, item in value.items():
        at = child(path, key)
        if key not in fields:
            close = nearest(key, fields)
            meant = child(path, close) if close and close not in value else ""
            out[0].append(Finding(at, "unknown field", did_you_mean(key, fields) or "remove it", meant))
            continue
        if fields[key].since:
            out[1].append(f"{at} needs KubeRay {fields[key].since} or later")
        _check(item, fields[key].kind, at, out)
    for key, kind in fields.items():
        if kind.is_required and key not in value:
            out[0].append(Finding(child(path, key), MISSING, "add it"))


def _check(value: object, kind: str, path: str, out: _Out) -> None:
    if kind == "any":
        return
    if kind in TYPES:
        _check_object(value, kind, path, out)
    elif kind.startswith("["):
        _check_list(value, kind[1:-1], path, out)
    elif kind in ("sm", "qm"):
        _check_map(value, kind[0], path, out)
    elif "|" in kind:
        words = sorted(set(kind.split("|")))
        if value not in words:
            out[0].append(Finding(path, f"is {describe(value)}", f"write one of {', '.join(words)}"))
    else:
        is_right, wanted, remedy = _SCALARS[kind]
        if not is_right(value):
            out[0].append(Finding(path, f"must be {wanted}, not {describe(value)}", remedy))


def _check_list(value: object, kind: str, path: str, out: _Out) -> None:
    if not isinstance(value, list):
        out[0].append(Finding(path, f"must be a list, not {describe(value)}", "begin each item with a dash"))
        return
    for index, item in enumerate(value):
        _check(item, kind, f"{path}[{index}]", out)


def _check_map(value: object, kind: str, path: str, out: _Out) -> None:
    if not isinstance(value, dict):
        out[0].append(Finding(path, f"must be a map, not {describe(value)}", "write `key: value` lines"))
        return
    for key, item in value.items():
        _check(item, kind, child(path, key), out)


def _fields_of(fields: Mapping[str, Any]) -> str:
    return f"its fields are {', '.join(fields)}" if len(fields) <= 8 else ""
