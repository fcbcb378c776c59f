"""Writing YAML that reads back exactly: block style, with small things on one line."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

LINE_WIDTH: Final = 100

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_./@+-]*(?::[A-Za-z0-9_./@+-]+)*")
_NOT_TEXT: Final = re.compile(r"(?i:true|false|yes|no|on|off|y|n|null|~)|[0-9.+-].*", re.DOTALL)


class Written(str):
    """Text that is written as it is, without quotes: numbers, quantities, durations."""

    __slots__ = ()


def emit_document(entries: Mapping[str, object]) -> str:
    """A mapping as one document."""
    return "".join(f"{line}\n" for line in _block(entries, ""))


def emit_flow(value: object) -> str:
    """Anything on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_scalar(key)}: {emit_flow(child)}" for key, child in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(emit_flow(child) for child in value) + "]"
    return _scalar(value)


def _block(value: object, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, child in value.items():
            yield from _entry(f"{indent}{_scalar(key)}:", child, indent)
    elif isinstance(value, Sequence):
        for child in value:
            yield from _item(child, indent)


def _entry(head: str, child: object, indent: str) -> Iterator[str]:
    if _is_small(child, head):
        yield f"{head} {emit_flow(child)}"
        return
    yield head
    yield from _block(child, indent + "  ")


def _item(child: object, indent: str) -> Iterator[str]:
    if _is_small(child, indent):
        yield f"{indent}- {emit_flow(child)}"
        return
    lines = list(_block(child, indent + "  "))
    yield f"{indent}- {lines[0].lstrip()}"
    yield from lines[1:]


def _is_small(value: object, before: str) -> bool:
    """Whether it is written on one line: a scalar, nothing, or a flat collection that the line has room for."""
    children: list[object] = []
    if isinstance(value, Mapping):
        children = list(value.values())
    elif isinstance(value, Sequence) and not isinstance(value, str):
        children = list(value)
    if not children:
        return True
    is_flat = not any(isinstance(child, Mapping | list | tuple) for child in children)
    return is_flat and len(before) + len(emit_flow(value)) < LINE_WIDTH


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Written | int):
        return str(value)
    text = str(value)
    if _PLAIN.fullmatch(text) and not _NOT_TEXT.fullmatch(text):
        return text
    return "".join(_escape(char) for char in json.dumps(text, ensure_ascii=False))


def _escape(char: str) -> str:
    """YAML reads JSON's strings, but for characters that it wants escaped."""
    if char.isprintable():
        return char
    number = ord(char)
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}" if number < 65536 else f"\\U{number:08x}"
