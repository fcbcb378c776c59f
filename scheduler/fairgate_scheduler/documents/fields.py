"""Reading a mapping field by field, collecting every problem on the way instead of stopping at the first."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeVar

from fairgate_scheduler.documents.nodes import Kind, Node
from fairgate_scheduler.documents.problems import Problem, suggest
from fairgate_scheduler.documents.scalars import Unreadable

Value = TypeVar("Value")
Default = TypeVar("Default")


class Fields:
    """The entries of one mapping. Unknown keys and missing required ones are problems as soon as it is made.

    An entry that is there but empty (``null``) counts as left out. Every problem goes to ``problems``, and what was
    wrong reads as the default, so that reading can go on.
    """

    def __init__(
        self, node: Node, problems: list[Problem], known: Collection[str], required: Iterable[str] = ()
    ) -> None:
        self.node = node
        self._problems = problems
        if node.kind not in (Kind.MAPPING, Kind.NULL):
            message = f"{node.kind.value} where a mapping belongs"
            problems.append(node.problem(message, f"write keys: {', '.join(known)}"))
            return
        problems.extend(
            node.key_problem(key, f"unknown key {key!r}", suggest(key, known))
            for key in node.entries
            if key not in known
        )
        problems.extend(node.problem(f"{key} is missing", f"add {key}: …") for key in required if not self.has(key))

    def __getitem__(self, key: str) -> Node:
        return self.node.entries[key]

    def has(self, key: str) -> bool:
        """Whether there is a value for this key."""
        return key in self.node.entries and self.node.entries[key].kind is not Kind.NULL

    def read(self, key: str, reader: Callable[[Node], Value], default: Default) -> Value | Default:
        """The value of a key, or the default if it is left out or wrong."""
        if not self.has(key):
            return default
        return attempt(self.node.entries[key], reader, default, self._problems)

    def each(self, key: str, reader: Callable[[Node], Value]) -> dict[str, Value]:
        """A mapping from names to values, without the entries that are wrong."""
        return each_entry(self.node.entries[key], reader, self._problems) if self.has(key) else {}

    def listed(self, key: str, reader: Callable[[Node], Value]) -> tuple[Value, ...]:
        """A list of values, without the items that are wrong."""
        return each_item(self.node.entries[key], reader, self._problems) if self.has(key) else ()


def itself(node: Node) -> Node:
    """The reader of what is read later."""
    return node


def attempt(node: Node, reader: Callable[[Node], Value], default: Default, problems: list[Problem]) -> Value | Default:
    """What the reader makes of the node; the default if it can not, with a problem."""
    try:
        return reader(node)
    except Unreadable as error:
        problems.append(error.problem)
        return default


def each_entry(node: Node, reader: Callable[[Node], Value], problems: list[Problem]) -> dict[str, Value]:
    """Every entry of a mapping, read; nothing at all counts as an empty mapping."""
    if node.kind not in (Kind.MAPPING, Kind.NULL):
        problems.append(node.problem(f"{node.kind.value} where a mapping belongs", "write name: value"))
        return {}
    out: dict[str, Value] = {}
    for key, child in node.entries.items():
        try:
            out[key] = reader(child)
        except Unreadable as error:
            problems.append(error.problem)
    return out


def each_item(node: Node, reader: Callable[[Node], Value], problems: list[Problem]) -> tuple[Value, ...]:
    """Every item of a list, read; nothing at all counts as an empty list."""
    if node.kind not in (Kind.SEQUENCE, Kind.NULL):
        problems.append(node.problem(f"{node.kind.value} where a list belongs", "write [one, two]"))
        return ()
    out: list[Value] = []
    for item in node.items:
        try:
            out.append(reader(item))
        except Unreadable as error:
            problems.append(error.problem)
    return tuple(out)


def locate(node: Node, names: Sequence[str], message: str, remedy: str) -> Problem:
    """A problem at the entry that these names lead to from this node, or at the last one of them that is there."""
    problem = node.problem(message, remedy)
    for name in names:
        if name not in node.entries:
            break
        problem = node.key_problem(name, message, remedy)
        node = node.entries[name]
    return problem
