"""YAML text as a tree of nodes that know their line and path, and nothing of types: scalars are as written.

So ``1e0`` stays a quantity, ``on`` and ``0123`` stay words, and a reader decides what it wants. Refused here: two
documents, a key twice, tags, anything that would grow without measure (size, depth, aliases of aliases).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any, Final

import yaml

from fairgate_scheduler.documents.problems import DocumentError, Problem

MAX_CHARACTERS: Final = 4 * 1024 * 1024
MAX_DEPTH: Final = 50
MAX_NODES: Final = 200_000
"""Of the tree with every alias written out."""

_Loader: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PLAIN_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_NO_ENTRIES: Final[Mapping[str, "Node"]] = MappingProxyType({})
_NO_LINES: Final[Mapping[str, int]] = MappingProxyType({})
_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})


class Kind(Enum):
    """What a node is. NULL: written as ``null``, ``~`` or nothing at all."""

    NULL = "nothing"
    SCALAR = "a single value"
    SEQUENCE = "a list"
    MAPPING = "a mapping"


@dataclass(frozen=True, slots=True)
class Node:
    """One value of a document. ``text`` of a scalar is as written; ``is_plain``: written without quotes."""

    kind: Kind
    line: int
    path: str = ""
    file: str = ""
    text: str = ""
    is_plain: bool = False
    items: Sequence["Node"] = ()
    entries: Mapping[str, "Node"] = field(default_factory=lambda: _NO_ENTRIES)
    key_lines: Mapping[str, int] = field(default_factory=lambda: _NO_LINES)

    def problem(self, message: str, remedy: str = "") -> Problem:
        """Something that is wrong with this node."""
        return Problem(self.path, self.line, message, remedy, self.file)

    def key_problem(self, key: str, message: str, remedy: str = "") -> Problem:
        """Something that is wrong with a key of this mapping."""
        line = self.key_lines.get(key, self.line)
        return Problem(child_path(self.path, key), line, message, remedy, self.file)

    def walk(self) -> Iterator["Node"]:
        """This node and all below it."""
        yield self
        for child in (*self.items, *self.entries.values()):
            yield from child.walk()


def child_path(path: str, key: str | int) -> str:
    """The path of an item or entry, as Kubernetes writes field paths: ``quota.h100[nvidia.com/gpu]``, ``pods[0]``."""
    if isinstance(key, int) or not _PLAIN_KEY.fullmatch(key):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key


def parse_document(text: str, name: str) -> Node:
    """The one document of a text.

    Raises:
        DocumentError: it is not YAML, or more than one document, or one of the things that are refused.
    """
    roots = parse_documents(text, name)
    if len(roots) > 1:
        raise DocumentError([roots[1].problem("a second document", "put each document into a file of its own")])
    if not roots:
        raise DocumentError([Problem("", 1, "the document is empty", "", name)])
    return roots[0]


def parse_documents(text: str, name: str) -> list[Node]:
    """Every document of a text that is not empty.

    Raises:
        DocumentError: it is not YAML, or one of the things that are refused.
    """
    if len(text) > MAX_CHARACTERS:
        message = f"the document has {len(text)} characters"
        raise DocumentError([Problem("", 1, message, f"{MAX_CHARACTERS} at most", name)])
    builder = _Builder(name)
    try:
        for event in yaml.parse(text.removeprefix("\ufeff"), Loader=_Loader):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        raise DocumentError([_syntax_problem(error, name)]) from None
    except (yaml.reader.ReaderError, UnicodeEncodeError) as error:
        line = text.count("\n", 0, getattr(error, "position", None) or getattr(error, "start", 0)) + 1
        raise DocumentError([Problem("", line, "a character that YAML does not allow", "remove it", name)]) from None
    if builder.problems:
        raise DocumentError(builder.problems)
    return [_place(root, "", name) for root in builder.roots if root.kind is not Kind.NULL]


def _syntax_problem(error: yaml.MarkedYAMLError, name: str) -> Problem:
    mark = error.problem_mark or error.context_mark
    message = " ".join(filter(None, (error.context, error.problem)))
    return Problem("", mark.line + 1 if mark else 1, f"not YAML: {message}", "check indentation, colons, quotes", name)


@dataclass(slots=True)
class _Open:
    """A collection whose end has not been seen yet. ``key`` is a mapping's key that waits for its value."""

    kind: Kind
    line: int
    anchor: str | None
    items: list[Node] = field(default_factory=list)
    entries: dict[str, Node] = field(default_factory=dict)
    key_lines: dict[str, int] = field(default_factory=dict)
    merged: dict[str, Node] = field(default_factory=dict)
    key: str | None = None
    is_merge: bool = False
    size: int = 1
    depth: int = 1


class _Builder:
    """Builds trees from parser events without recursion, counting what it builds."""

    def __init__(self, name: str) -> None:
        self.roots: list[Node] = []
        self.problems: list[Problem] = []
        self._name = name
        self._stack: list[_Open] = []
        self._anchors: dict[str, tuple[Node, int, int]] = {}  # node, its size, its depth
        self._finished = 0  # values of the documents that are complete

    def take(self, event: Any) -> None:
        line = event.start_mark.line + 1
        if isinstance(event, yaml.DocumentStartEvent):
            self._anchors = {}
        elif isinstance(event, yaml.ScalarEvent):
            self._refuse_tag(event, line)
            self._scalar(event, line)
        elif isinstance(event, yaml.AliasEvent):
            self._alias(str(event.anchor), line)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._refuse_tag(event, line)
            self._open(Kind.MAPPING if isinstance(event, yaml.MappingStartEvent) else Kind.SEQUENCE, event, line)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._close()

    def _fail(self, line: int, message: str, remedy: str) -> DocumentError:
        return DocumentError([Problem("", line, message, remedy, self._name)])

    def _refuse_tag(self, event: Any, line: int) -> None:
        if event.tag not in (None, "!", "tag:yaml.org,2002:str"):
            raise self._fail(line, f"the tag {event.tag!r}", "tags are not understood: write plain YAML")

    def _scalar(self, event: Any, line: int) -> None:
        is_plain = not event.style and event.tag is None
        kind = Kind.NULL if is_plain and event.value in _NULLS else Kind.SCALAR
        parent = self._stack[-1] if self._stack else None
        if parent is not None and parent.kind is Kind.MAPPING and parent.key is None:
            self._key(parent, event.value, line)
            parent.is_merge = is_plain and event.value == "<<"
            return
        self._add(Node(kind, line, text=event.value, is_plain=is_plain), event.anchor, 1, 0)

    def _key(self, parent: _Open, key: str, line: int) -> None:
        parent.key = key
        if key in parent.key_lines:
            message = f"the key {key!r} a second time, first on line {parent.key_lines[key]}"
            self.problems.append(Problem("", line, message, "keep one of them", self._name))
        parent.key_lines.setdefault(key, line)

    def _open(self, kind: Kind, event: Any, line: int) -> None:
        parent = self._stack[-1] if self._stack else None
        if parent is not None and parent.kind is Kind.MAPPING and parent.key is None:
            raise self._fail(line, "a key that is a list or a mapping", "keys are words")
        if len(self._stack) >= MAX_DEPTH:
            raise self._fail(line, f"nested deeper than {MAX_DEPTH} levels", "write it flatter")
        self._stack.append(_Open(kind, line, event.anchor))

    def _close(self) -> None:
        done = self._stack.pop()
        if done.merged:
            done.key_lines.pop("<<", None)
            done.entries = {**done.merged, **done.entries}
            done.key_lines = {**dict.fromkeys(done.merged, done.line), **done.key_lines}
        node = Node(done.kind, done.line, items=done.items, entries=done.entries, key_lines=done.key_lines)
        self._add(node, done.anchor, done.size, done.depth)

    def _alias(self, anchor: str, line: int) -> None:
        if anchor not in self._anchors:
            raise self._fail(line, f"the alias *{anchor} stands inside what it names, or names nothing", "write it out")
        parent = self._stack[-1] if self._stack else None
        if parent is not None and parent.kind is Kind.MAPPING and parent.key is None:
            raise self._fail(line, "an alias as a key", "keys are words")
        node, size, depth = self._anchors[anchor]
        if len(self._stack) + depth > MAX_DEPTH:
            raise self._fail(line, f"nested deeper than {MAX_DEPTH} levels", "write it flatter")
        self._add(node, None, size, depth)

    def _add(self, node: Node, anchor: str | None, size: int, depth: int) -> None:
        if anchor:
            self._anchors[anchor] = (node, size, depth)
        if not self._stack:
            self.roots.append(node)
            self._finished += size
            return
        parent = self._stack[-1]
        parent.size += size
        parent.depth = max(parent.depth, depth + 1)
        if self._finished + parent.size > MAX_NODES:
            raise self._fail(node.line, f"more than {MAX_NODES} values", "write a smaller document")
        if parent.kind is Kind.SEQUENCE:
            parent.items.append(node)
            return
        assert parent.key is not None, parent
        if parent.is_merge:
            self._merge(parent, node)
        else:
            parent.entries[parent.key] = node
        parent.key = None

    def _merge(self, parent: _Open, node: Node) -> None:
        sources = node.items if node.kind is Kind.SEQUENCE else (node,)
        for source in sources:
            if source.kind is not Kind.MAPPING:
                raise self._fail(node.line, "<< needs a mapping, or a list of mappings", "write *name")
            parent.merged = {**source.entries, **parent.merged}


def _place(node: Node, path: str, name: str) -> Node:
    """The same tree with paths; an alias is placed wherever it is used."""
    return Node(
        node.kind,
        node.line,
        path,
        name,
        node.text,
        node.is_plain,
        tuple(_place(item, child_path(path, index), name) for index, item in enumerate(node.items)),
        {key: _place(child, child_path(path, key), name) for key, child in node.entries.items()},
        node.key_lines,
    )
