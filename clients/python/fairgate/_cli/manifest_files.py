"""Manifest files: reading them, one document after the other, and finding the line of a field that was refused."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from fairgate._cli.report import usage_error
from fairgate._cli.yaml_nodes import Tree, inner_tree, read_trees, without_line
from fairgate._errors import Violation

SUFFIXES: Final = (".yaml", ".yml", ".json")
PREFIX: Final = "fairgate.internal/"
OPTIONS_ANNOTATION: Final = f"{PREFIX}options"
_MANIFEST: Final = "job.manifest"
_ANNOTATIONS: Final = {
    "parent": "tenant",
    "tenant": "tenant",
    "job.priority": "priority",
    "job.priority_class": "priority",
    "job.time_limit": "time-limit",
    "job.preemptible": "preemptible",
    "job.fallback": "fallback",
    "job.fallback_after": "fallback-after",
    "job.workload": "workload",
}


@dataclass(frozen=True, slots=True)
class ManifestDocument:
    """One document of a manifest file. ``text`` is the document as it is written there."""

    file: str
    text: str
    tree: Tree

    @property
    def kind(self) -> str:
        """The kind that it says it is, "" if it says none."""
        node = self.tree.text("kind")
        return "" if node is None else str(node.value)

    @property
    def name(self) -> str:
        """The name that it gives its job, "" if it gives none."""
        node = self.tree.text("metadata", "name")
        return "" if node is None else str(node.value)

    @property
    def is_of_kubernetes(self) -> bool:
        """Whether it is something else than Ray's: a ConfigMap, a Secret …"""
        version = self.tree.text("apiVersion")
        return bool(self.kind) and version is not None and not str(version.value).startswith("ray.io/")

    def locate(self, violation: Violation) -> Violation:
        """What is wrong with the place in the file instead of the field of the wire, where it is in the file."""
        field = violation.field
        if field == _MANIFEST or field.startswith((f"{_MANIFEST}.", f"{_MANIFEST}[")):
            path = field.removeprefix(_MANIFEST).removeprefix(".")
            place = str(self.tree.place(path)) + (f": {path}" if path else "")
            return Violation(place, without_line(violation.message), violation.remedy)
        if field.startswith("job.options"):
            return self._option(violation)
        name = _ANNOTATIONS.get(field)
        if name is None or self.tree.text("metadata", "annotations", PREFIX + name) is None:
            return violation
        place = str(self.tree.place(f"metadata.annotations[{PREFIX}{name}]"))
        return Violation(f"{place}: {PREFIX}{name}", violation.message, violation.remedy)

    def _option(self, violation: Violation) -> Violation:
        scalar = self.tree.text("metadata", "annotations", OPTIONS_ANNOTATION)
        if scalar is None:
            return violation
        inner = inner_tree(scalar)
        path = violation.field.removeprefix("job.options")
        place = inner.place(path) if inner else self.tree.place(f"metadata.annotations[{OPTIONS_ANNOTATION}]")
        return Violation(f"{place}: {OPTIONS_ANNOTATION}{path}", violation.message, violation.remedy)


def read_documents(names: Sequence[str]) -> Iterator[ManifestDocument]:
    """Every document of files, folders (their YAML and JSON files by name) and ``-``, the standard input.

    Raises:
        InvalidArgument: one can not be read, or is no YAML.
    """
    for name in names:
        if name == "-":
            yield from _documents(sys.stdin.read(), "<stdin>")
            continue
        path = Path(name)
        files = sorted(each for each in path.iterdir() if each.suffix in SUFFIXES) if path.is_dir() else [path]
        if not files:
            raise usage_error("no manifests in this folder", f"its files must end in {', '.join(SUFFIXES)}", name)
        for file in files:
            yield from _documents(read_file(file), str(file))


def read_file(file: Path) -> str:
    """A file's text. Raises InvalidArgument."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise usage_error(f"can not be read: {error.strerror}", "name a file that exists", str(file)) from None
    except UnicodeDecodeError:
        raise usage_error("is not text", "name a YAML or JSON file in UTF-8", str(file)) from None


def _documents(text: str, file: str) -> Iterator[ManifestDocument]:
    trees = read_trees(text, file)
    if not trees:
        raise usage_error("is empty", "write a RayJob manifest", file)
    if len(trees) == 1:
        yield ManifestDocument(file, text, trees[0])
        return
    lines = text.splitlines(keepends=True)
    for tree in trees:
        yield ManifestDocument(file, _slice(lines, tree.root), tree)


def _slice(lines: Sequence[str], root: yaml.Node) -> str:
    """The lines of one document of several."""
    end = root.end_mark.line + (1 if root.end_mark.column else 0)
    return "".join(lines[root.start_mark.line : end])
