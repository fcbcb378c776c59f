"""Plain data: a manifest as maps, lists, texts and numbers, and safe ways to look into one that may be wrong.

The accessors return an empty value where something has the wrong type: ``shape`` has already found that, and the rules
that come after it can go on to find the rest.
"""

import json
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from fairgate_scheduler.core.manifests.findings import Finding, ManifestError

Plain = dict[str, Any]

_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_DEPTH_MAX: Final = 60


def normalize(value: object, depth: int = 0) -> Any:
    """A deep copy as dicts, lists and scalars. Empty values (null) are left out of maps, whole numbers become integers.

    YAML and JSON readers differ in both, and the API server drops nulls: what means the same must look the same.

    Raises:
        ManifestError: nested deeper than any RayJob is.
    """
    if depth > _DEPTH_MAX:
        raise ManifestError([Finding("manifest", f"is nested more than {_DEPTH_MAX} levels deep")])
    if isinstance(value, Mapping):
        return {str(key): normalize(item, depth + 1) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [normalize(item, depth + 1) for item in value]
    return whole_number(value) if is_number(value) and whole_number(value) is not None else value


def canonical(manifest: Mapping[str, Any]) -> str:
    """The manifest as JSON that is the same for the same content: sorted keys, no spaces, no nulls.

    What the server adds to a stored RayJob (``status``, ``metadata.uid`` …) is no content and is left out.

    Raises:
        ManifestError: it holds something that JSON does not have, such as a date (which YAML makes of 2026-01-31).
    """
    content = normalize(manifest)
    content.pop("status", None)
    metadata = content.get("metadata")
    if isinstance(metadata, dict):
        for key in _SERVER_METADATA:
            metadata.pop(key, None)
    try:
        return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        finding = Finding("manifest", f"is not plain JSON data ({error})", "put dates in quotes")
        raise ManifestError([finding]) from error


_SERVER_METADATA: Final = (
    "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
    "managedFields", "selfLink",
)  # fmt: skip


def is_number(value: object) -> bool:
    """Whether it is a finite number; texts and booleans are none."""
    if isinstance(value, int):
        return not isinstance(value, bool)
    return not isinstance(value, str | bytes) and _NUMBER.fullmatch(str(value)) is not None


def whole_number(value: object) -> int | None:
    """The number as an integer if it is one."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    exact = Fraction(str(value)) if is_number(value) else Fraction(1, 2)
    return exact.numerator if exact.denominator == 1 else None


def get_map(value: object, *keys: str) -> Plain:
    """The map under these keys, or an empty one."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def get_list(value: object, key: str) -> list[Any]:
    """The list under this key, or an empty one."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def get_text(value: object, key: str) -> str:
    """The text under this key, or an empty one."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def get_int(value: object, key: str, default: int) -> int:
    """The whole number under this key, or the default."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, int) and not isinstance(found, bool) else default


def is_true(value: object, key: str) -> bool:
    """Whether the field is there and true."""
    return isinstance(value, dict) and value.get(key) is True
