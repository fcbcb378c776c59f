"""Where the fields of a YAML document stand: from a path such as ``spec.groups[0].replicas`` to file and line."""

import io
import re
from dataclasses import dataclass
from typing import Any, Final

import yaml

from fairgate._errors import InvalidArgument, Violation

_STEP: Final = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")
_LINE: Final = re.compile(r"^line [0-9]+: ")
_Loader: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file, from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Tree:
    """One document. Its nodes know their file. ``offset``: the lines before it, where it is written in another one."""

    root: yaml.Node
    offset: int = 0

    def place(self, path: str) -> Place:
        """Where a field stands, or the nearest thing around it that is there."""
        node, place = self.root, self._place(self.root)
        steps = [bracket or word for bracket, word in _STEP.findall(path)]
        while steps:
            found = _child(node, steps)
            if found is None:
                break
            key, node, used = found
            place, steps = self._place(key), steps[used:]
        return place

    def text(self, *path: str) -> yaml.ScalarNode | None:
        """The single value of a field, ``None`` if there is none."""
        node: yaml.Node = self.root
        for key in path:
            found = _child(node, [key])
            if found is None:
                return None
            node = found[1]
        return node if isinstance(node, yaml.ScalarNode) else None

    def _place(self, node: yaml.Node) -> Place:
        return Place(str(node.start_mark.name), node.start_mark.line + 1 + self.offset)


class _Named(io.StringIO):
    """Text whose nodes know where it came from."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(text.removeprefix("\ufeff"))
        self.name = name


def read_trees(text: str, file: str) -> list[Tree]:
    """Every document of a text that is not empty.

    Raises:
        InvalidArgument: it is not YAML; the field is the place.
    """
    try:
        roots = yaml.compose_all(_Named(text, file), Loader=_Loader)
        return [Tree(root) for root in roots if not _is_empty(root)]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{file}:{mark.line + 1}" if mark else file
        what = " ".join(filter(None, (error.context, error.problem)))
        raise _refuse(place, f"not YAML: {what}", "check indentation, colons and quotes") from None
    except yaml.YAMLError as error:
        raise _refuse(file, f"not YAML: {error}", "save it as UTF-8 text") from None
    except RecursionError:
        raise _refuse(file, "nested too deeply", "write it flatter") from None


def without_line(message: str) -> str:
    """A message without the line that the service counted: it knows the document, not the file."""
    return _LINE.sub("", message)


def inner_tree(scalar: yaml.ScalarNode) -> Tree | None:
    """The document that is written as a block (``|``) inside of another one; ``None`` if it is not one."""
    if scalar.style != "|":
        return None
    try:
        root = yaml.compose(_Named(scalar.value, str(scalar.start_mark.name)), Loader=_Loader)
    except yaml.YAMLError:
        return None
    return Tree(root, scalar.start_mark.line + 1) if root is not None else None


def _is_empty(root: yaml.Node) -> bool:
    return isinstance(root, yaml.ScalarNode) and not root.value


def _child(node: yaml.Node, steps: list[str]) -> tuple[yaml.Node, yaml.Node, int] | None:
    """The key (or item) and the value of the next step, and how many steps it took: keys may have dots in them."""
    if isinstance(node, yaml.SequenceNode):
        if steps[0].isascii() and steps[0].isdigit() and int(steps[0]) < len(node.value):
            item = node.value[int(steps[0])]
            return item, item, 1
        return None
    if isinstance(node, yaml.MappingNode):
        for used in range(len(steps), 0, -1):
            name = ".".join(steps[:used])
            for key, value in node.value:
                if key.value == name:
                    return key, value, used
    return None


def _refuse(place: str, message: str, remedy: str) -> InvalidArgument:
    return InvalidArgument([Violation(place, message, remedy)])
