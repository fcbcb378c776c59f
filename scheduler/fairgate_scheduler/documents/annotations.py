"""Fairgate's own fields in a manifest: the annotations ``fairgate.internal/*``, for people who apply files.

Whoever calls the service can give the same fields beside the manifest; what is given there wins.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fairgate_scheduler.core.jobs import Fallback
from fairgate_scheduler.core.manifests.marks import FAIRGATE
from fairgate_scheduler.documents.mapping import read_list
from fairgate_scheduler.documents.nodes import Kind, Node, child_path
from fairgate_scheduler.documents.problems import DocumentError, Problem, suggest
from fairgate_scheduler.documents.scalars import (
    INTEGER_MAX,
    Unreadable,
    read_boolean,
    read_choice,
    read_duration,
    read_integer,
    read_positive_duration,
    read_text,
)

PREFIX: Final = FAIRGATE
_PATH: Final = "metadata.annotations"


@dataclass(frozen=True, slots=True)
class JobFields:
    """Fairgate's own fields of a job, wherever they are given. ``None``: not said.

    ``options`` are maps as ``core.manifests.read_option_specs`` takes them; none: derived from the manifest.
    ``priority_class`` names a priority of the configuration. ``workload`` names the class that gives speeds.
    """

    priority: int | None = None
    priority_class: str | None = None
    time_limit_ms: int | None = None
    preemptible: bool | None = None
    fallback: Fallback | None = None
    fallback_after_ms: int | None = None
    options: Sequence[Mapping[str, Any]] = ()
    workload: str | None = None


@dataclass(frozen=True, slots=True)
class Annotations(JobFields):
    """What a manifest says to Fairgate; besides the fields, whose job it is."""

    tenant: str | None = None


def _read_priority(node: Node) -> int | str:
    """A number, or one of the configured names, which is looked up later."""
    text = read_text(node)
    return read_integer(-INTEGER_MAX)(node) if text.lstrip("+-").isdigit() else text


def _read_options(node: Node) -> tuple[Mapping[str, Any], ...]:
    try:
        return tuple(read_list(read_text(node), node.path))
    except DocumentError as error:
        first = error.problems[0]
        raise Unreadable(node.problem(f"line {first.line} of it: {first.message}", first.remedy)) from None


_READERS: Final[Mapping[str, tuple[str, Callable[[Node], Any]]]] = {
    "tenant": ("tenant", read_text),
    "priority": ("priority", _read_priority),
    "time-limit": ("time_limit_ms", read_positive_duration),
    "preemptible": ("preemptible", read_boolean),
    "fallback": ("fallback", read_choice(Fallback)),
    "fallback-after": ("fallback_after_ms", read_duration),
    "workload": ("workload", read_text),
    "options": ("options", _read_options),
}


def read_annotations(manifest: Mapping[str, Any]) -> Annotations:
    """Fairgate's fields of a manifest that is plain data. Annotations of others are not looked at.

    Raises:
        DocumentError: an unknown ``fairgate.internal/`` annotation or a wrong value, by field (lines are unknown: 0).
    """
    metadata = manifest.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    if not isinstance(annotations, Mapping):
        return Annotations()
    problems: list[Problem] = []
    values: dict[str, Any] = {}
    for key, value in annotations.items():
        if not str(key).startswith(PREFIX):
            continue
        path, name = child_path(_PATH, key), key.removeprefix(PREFIX)
        if name not in _READERS:
            problems.append(Problem(path, 0, f"unknown annotation {key!r}", suggest(name, _READERS)))
            continue
        field, reader = _READERS[name]
        try:
            values[field] = reader(_node(path, value))
        except Unreadable as error:
            problems.append(error.problem)
    if problems:
        raise DocumentError(problems)
    if isinstance(values.get("priority"), str):
        values["priority_class"] = values.pop("priority")
    return Annotations(**values)


def _node(path: str, value: object) -> Node:
    """Kubernetes takes only text as an annotation's value; people write numbers and booleans, and mean them."""
    if isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, str | int):
        text = str(value)
    else:
        return Node(Kind.NULL if value is None else Kind.MAPPING, 0, path)
    return Node(Kind.SCALAR, 0, path, text=text, is_plain=True)
