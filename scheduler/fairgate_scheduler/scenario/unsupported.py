"""What the format knows and this version does not do yet, refused by name and line instead of ignored."""

from collections.abc import Iterator
from typing import Final

from fairgate_scheduler.documents.nodes import Kind, Node
from fairgate_scheduler.documents.problems import Problem

_POLICY: Final = ("backfill_after",)


def find_unsupported(root: Node) -> list[Problem]:
    """One problem for each place that asks for something that is not built yet."""
    return [
        mapping.key_problem(key, f"{key} is not supported by this version", "remove it")
        for mapping, key in _places(root)
        if key in mapping.entries and mapping.entries[key].kind is not Kind.NULL
    ] + [
        job.key_problem("fallback", "fallback: soonest is not supported by this version", "write ordered, or remove it")
        for job in _items(root, "jobs")
        if "fallback" in job.entries and job.entries["fallback"].text == "soonest"
    ]


def _places(root: Node) -> Iterator[tuple[Node, str]]:
    if "policy" in root.entries:
        yield from ((root.entries["policy"], key) for key in _POLICY)
    yield from ((expectation, "forecast") for expectation in _items(root, "expect"))


def _items(root: Node, section: str) -> list[Node]:
    return list(root.entries[section].items) if section in root.entries else []
