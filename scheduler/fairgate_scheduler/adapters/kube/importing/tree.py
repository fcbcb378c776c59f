"""Cohorts and ClusterQueues as tenants: who is below whom, under which id, and what each says of its quotas."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from fairgate_scheduler.adapters.kube.mapping import is_ours
from fairgate_scheduler.core.amounts import UNLIMITED, Amount, QuantityError, Row, parse_quantity
from fairgate_scheduler.core.manifests.plain import get_list, get_map, get_text
from fairgate_scheduler.core.tenancy import Quota

_NOT_OF_A_LABEL: Final = re.compile(r"[^a-z0-9]+")
_LONGEST: Final = 63
_ENDLESS: Final[Amount] = 2**56
"""A quota from here on means "not limited": people write such numbers where Kueue wants one."""


@dataclass
class Node:
    """One Cohort or ClusterQueue. ``name`` is Kueue's, ``id`` ours; ``parent`` is the id of a Cohort.

    ``is_ours``: a service of ours wrote it.
    """

    name: str
    id: str
    is_leaf: bool
    spec: Mapping[str, Any]
    parent: str | None = None
    is_ours: bool = False
    quotas: dict[Row, Quota] = field(default_factory=dict)


@dataclass
class Tree:
    """All nodes by id, and what could not be read."""

    nodes: dict[str, Node] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    _ids: dict[tuple[bool, str], str] = field(default_factory=dict)

    def id_of(self, name: str, *, is_leaf: bool) -> str:
        """The id of a Cohort or ClusterQueue; the same name again has the same id."""
        known = self._ids.get((is_leaf, name))
        if known is None:
            known = free_label(name, self._ids.values(), "" if is_leaf else "-cohort")
            self._ids[is_leaf, name] = known
            if known != name:
                self.remarks.append(f"{_word(is_leaf)} {name} becomes tenant {known}: ids are unique DNS labels")
        return known


def free_label(name: str, taken: Iterable[str], ending: str = "") -> str:
    """A DNS label as near to the name as can be, that is none of those taken."""
    used = set(taken)
    stem = _NOT_OF_A_LABEL.sub("-", name.lower()).strip("-")[:_LONGEST] or "tenant"
    tries = [stem, *([f"{stem[: _LONGEST - len(ending)]}{ending}"] if ending else [])]
    tries += [f"{stem[: _LONGEST - 4]}-{number}" for number in range(2, 999)]
    return next(each for each in tries if each not in used)


def read_tree(queues: Iterable[Mapping[str, Any]], cohorts: Iterable[Mapping[str, Any]]) -> Tree:
    """All ClusterQueues and Cohorts; a Cohort that is only named is there, too."""
    tree = Tree()
    for manifest in queues:
        _add(tree, manifest, is_leaf=True)
    for manifest in cohorts:
        _add(tree, manifest, is_leaf=False)
    for node in list(tree.nodes.values()):
        spec = node.spec
        above = get_text(spec, "cohortName") or get_text(spec, "cohort")
        above = above if node.is_leaf else get_text(spec, "parentName") or get_text(spec, "parent")
        if above:
            node.parent = tree.id_of(above, is_leaf=False)
            tree.nodes.setdefault(node.parent, Node(above, node.parent, False, {}))
    return tree


def _add(tree: Tree, manifest: Mapping[str, Any], *, is_leaf: bool) -> None:
    name, spec = get_text(get_map(manifest, "metadata"), "name"), get_map(manifest, "spec")
    node = Node(name, tree.id_of(name, is_leaf=is_leaf), is_leaf, spec, is_ours=is_ours(manifest))
    tree.nodes[node.id] = node
    groups = get_list(spec, "resourceGroups")
    if len(groups) > 1:
        tree.remarks.append(
            f"{_word(is_leaf)} {name} has {len(groups)} resource groups: here all resources of a pod are of one flavor"
        )
    for flavor in (each for group in groups for each in get_list(group, "flavors")):
        for resource in get_list(flavor, "resources"):
            row = (get_text(flavor, "name"), get_text(resource, "name"))
            try:
                node.quotas[row] = _quota(resource, row[1])
            except QuantityError as error:
                tree.remarks.append(f"{_word(is_leaf)} {name}: {row[0]}, {row[1]}: {error}; left out")


def _quota(resource: Mapping[str, Any], name: str) -> Quota:
    nominal = _amount(resource.get("nominalQuota", 0), name)
    borrowing, lending = (
        None if resource.get(key) is None else _amount(resource[key], name)
        for key in ("borrowingLimit", "lendingLimit")
    )
    return Quota(nominal, None if borrowing == UNLIMITED else borrowing, None if lending == UNLIMITED else lending)


def _amount(text: object, name: str) -> Amount:
    amount = max(0, parse_quantity(text, name))
    return UNLIMITED if amount >= _ENDLESS else amount


def _word(is_leaf: bool) -> str:
    return "ClusterQueue" if is_leaf else "Cohort"


def root_of(tree: Tree, node: str) -> str:
    """The root above a node; of a cycle, any."""
    seen = {node}
    parent = tree.nodes[node].parent
    while parent is not None and parent not in seen:
        seen.add(parent)
        node, parent = parent, tree.nodes[parent].parent
    return node
