"""Manifests of other people's kinds: plain data as Kubernetes understands it, and the line of every field."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from fairgate_scheduler.documents.nodes import Kind, Node, parse_document
from fairgate_scheduler.documents.problems import DocumentError

_STEP: Final = re.compile(r"[^.\[\]]+")
_DECIMAL: Final = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,17})")
_OCTAL: Final = re.compile(r"0o?([0-7]{1,18})")
_HEXADECIMAL: Final = re.compile(r"0x([0-9a-fA-F]{1,15})")
_BOOLEANS: Final[Mapping[str, bool]] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


@dataclass(frozen=True)
class MappingDocument:
    """One document as plain data: mappings, lists, ``None``, booleans, whole numbers and text.

    Numbers that are not whole (``0.5``, ``1e3``) stay text: in a manifest they are quantities, and a quantity is exact.
    ``yes`` and ``on`` stay text too.
    """

    data: dict[str, Any]
    name: str
    _lines: Mapping[tuple[str, ...], int]

    def line_of(self, path: str) -> int:
        """The line of a field, or of the nearest thing around it that is there.

        Keys with dots can be written either way: ``limits[nvidia.com/gpu]`` or ``limits.nvidia.com/gpu``.
        """
        steps = _steps(path)
        while steps and steps not in self._lines:
            steps = steps[:-1]
        return self._lines.get(steps, 1)


def read_mapping(text: str, name: str = "manifest.yaml") -> MappingDocument:
    """The one document of a text, which must be a mapping.

    Raises:
        DocumentError: not YAML, not a mapping, more than one document, a key twice, or beyond measure in size.
    """
    return _convert(parse_document(text, name), name)


def read_list(text: str, name: str) -> list[Any]:
    """The one document of a text, which must be a list, as plain data.

    Raises:
        DocumentError: as ``read_mapping``, but for a list.
    """
    root = parse_document(text, name)
    if root.kind is not Kind.SEQUENCE:
        raise DocumentError([root.problem(f"{root.kind.value} where a list belongs", "begin each item with a dash")])
    return [_plain(item) for item in root.items]


def _convert(root: Node, name: str) -> MappingDocument:
    if root.kind is not Kind.MAPPING:
        raise DocumentError([root.problem(f"{root.kind.value} where a mapping belongs", "write key: value")])
    lines: dict[tuple[str, ...], int] = {(): root.line}
    _collect_lines(root, lines)
    return MappingDocument({key: _plain(child) for key, child in root.entries.items()}, name, lines)


def _collect_lines(node: Node, lines: dict[tuple[str, ...], int]) -> None:
    for key, child in node.entries.items():
        lines[_steps(child.path)] = node.key_lines.get(key, child.line)
        _collect_lines(child, lines)
    for child in node.items:
        lines[_steps(child.path)] = child.line
        _collect_lines(child, lines)


def _steps(path: str) -> tuple[str, ...]:
    return tuple(_STEP.findall(path))


def _plain(node: Node) -> Any:
    if node.kind is Kind.MAPPING:
        return {key: _plain(child) for key, child in node.entries.items()}
    if node.kind is Kind.SEQUENCE:
        return [_plain(item) for item in node.items]
    if node.kind is Kind.NULL:
        return None
    return _scalar(node.text) if node.is_plain else node.text


def _scalar(text: str) -> bool | int | str:
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _DECIMAL.fullmatch(text):
        return int(text)
    octal = _OCTAL.fullmatch(text)
    if octal:
        return int(octal[1], 8)
    hexadecimal = _HEXADECIMAL.fullmatch(text)
    return int(hexadecimal[1], 16) if hexadecimal else text
