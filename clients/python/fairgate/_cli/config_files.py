"""Configuration files: one file, or a folder whose files together are one document, with the place of every field."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from fairgate._cli.manifest_files import read_file
from fairgate._cli.report import usage_error
from fairgate._cli.yaml_nodes import Tree, read_trees, without_line
from fairgate._errors import Violation

_FIELD: Final = "source"


@dataclass(frozen=True, slots=True)
class ConfigSource:
    """The document to apply, and the tree that knows where each part of it came from."""

    text: str
    tree: Tree

    def locate(self, violation: Violation) -> Violation:
        """What is wrong with the file and line instead of the field of the wire."""
        field = violation.field
        if field != _FIELD and not field.startswith((f"{_FIELD}.", f"{_FIELD}[")):
            return violation
        path = field.removeprefix(_FIELD).removeprefix(".")
        place = f"{self.tree.place(path)}" + (f": {path}" if path else "")
        return Violation(place, without_line(violation.message), violation.remedy)


def read_config(path: Path) -> ConfigSource:
    """The configuration of a file, or of all YAML files of a folder by name.

    In a folder the parts of mappings (flavors, priorities, policy) are put together and those of lists (tenants,
    speeds) one after the other. Raises InvalidArgument when a file is no YAML, or when two files say the same.
    """
    if not path.is_dir():
        text = read_file(path)
        return ConfigSource(text, _tree(text, path))
    files = sorted(each for each in path.iterdir() if each.suffix in (".yaml", ".yml"))
    if not files:
        raise usage_error("no configuration in this folder", "its files must end in .yaml", str(path))
    root, *others = [_tree(read_file(file), file).root for file in files]
    for other in others:
        _merge(root, other, "")
    return ConfigSource(yaml.serialize(root, Dumper=yaml.SafeDumper, allow_unicode=True), Tree(root))


def _tree(text: str, file: Path) -> Tree:
    trees = read_trees(text, str(file))
    if len(trees) != 1:
        raise usage_error(f"has {len(trees)} documents", "write one document", str(file))
    if not isinstance(trees[0].root, yaml.MappingNode):
        raise usage_error("is not a mapping", "begin with `version: 1`", str(file))
    return trees[0]


def _merge(into: yaml.Node, other: yaml.Node, path: str) -> None:
    """Put what the other document says into the first one."""
    if isinstance(into, yaml.SequenceNode) and isinstance(other, yaml.SequenceNode):
        into.value.extend(other.value)
        return
    if not isinstance(into, yaml.MappingNode) or not isinstance(other, yaml.MappingNode):
        if path == "version" and getattr(into, "value", None) == getattr(other, "value", None):
            return
        first, second = Tree(into).place(""), Tree(other).place("")
        raise usage_error(f"{path} is said a second time, first in {first}", "keep one of them", str(second))
    known = {key.value: value for key, value in into.value}
    for key, value in other.value:
        if key.value in known and not path:
            _merge(known[key.value], value, str(key.value))
        elif key.value in known:
            _merge_twice(known[key.value], key, f"{path}.{key.value}")
        else:
            into.value.append((key, value))


def _merge_twice(first: yaml.Node, second: yaml.Node, path: str) -> None:
    places = Tree(first).place(""), Tree(second).place("")
    raise usage_error(f"{path} is said a second time, first in {places[0]}", "keep one of them", str(places[1]))
