"""All of it put together: tenants with their quotas and namespaces, and what Kueue does otherwise."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

from fairgate_scheduler.adapters.kube import names
from fairgate_scheduler.adapters.kube.api import Manifest
from fairgate_scheduler.adapters.kube.api.kinds import (
    CLUSTER_QUEUE,
    COHORT,
    LOCAL_QUEUE,
    RESOURCE_FLAVOR,
    WORKLOAD_PRIORITY_CLASS,
)
from fairgate_scheduler.adapters.kube.importing.flavors import read_flavors, read_priorities
from fairgate_scheduler.adapters.kube.importing.tree import Node, Tree, read_tree, root_of
from fairgate_scheduler.core.amounts import UNLIMITED, Row, is_accelerator
from fairgate_scheduler.core.manifests.plain import get_list, get_map, get_text
from fairgate_scheduler.core.tenancy import Config, Flavor, Policy, Quota, Tenant

IMPORTED_KINDS: Final = (RESOURCE_FLAVOR, WORKLOAD_PRIORITY_CLASS, COHORT, CLUSTER_QUEUE, LOCAL_QUEUE)
_NOTHING: Final = Quota()


@dataclass(frozen=True, slots=True)
class Imported:
    """The configuration, and in sentences what it does not carry over."""

    config: Config
    remarks: tuple[str, ...]


def import_queues(manifests: Iterable[Manifest]) -> Imported:
    """What these objects say, ours among them; those of other kinds do not count."""
    found: defaultdict[str, list[Manifest]] = defaultdict(list)
    for manifest in manifests:
        if get_text(get_map(manifest, "metadata"), "name") != names.HELD_CLUSTER_QUEUE:
            found[get_text(manifest, "kind")].append(manifest)
    tree = read_tree(found[CLUSTER_QUEUE.kind], found[COHORT.kind])
    remarks = list(tree.remarks)
    flavors = read_flavors(found[RESOURCE_FLAVOR.kind], tree, remarks)
    namespaces = _namespaces(tree, found[LOCAL_QUEUE.kind], remarks)
    quotas = _quotas(tree, flavors, remarks)
    tenants = {
        node.id: _tenant(node, quotas[node.id], namespaces.get(node.id), flavors, remarks)
        for node in tree.nodes.values()
    }
    _compare_policies([node for node in tree.nodes.values() if node.is_leaf], remarks)
    priorities = read_priorities(found[WORKLOAD_PRIORITY_CLASS.kind])
    config = Config({each.name: each for each in flavors.values()}, tenants, Policy(), priorities)
    return Imported(config, tuple(remarks))


def _namespaces(tree: Tree, queues: Iterable[Manifest], remarks: list[str]) -> Mapping[str, str]:
    """The namespace of each leaf: that of its LocalQueue."""
    by_node: defaultdict[str, set[str]] = defaultdict(set)
    owners: dict[str, str] = {}
    for queue in queues:
        metadata, target = get_map(queue, "metadata"), get_text(get_map(queue, "spec"), "clusterQueue")
        if target == names.HELD_CLUSTER_QUEUE:
            continue
        name, namespace = get_text(metadata, "name"), get_text(metadata, "namespace")
        if name == "default":
            remarks.append(f"LocalQueue {namespace}/default takes in all unlabelled jobs of its namespace: delete it")
        elif name != names.LAUNCH_QUEUE:
            remarks.append(
                f"LocalQueue {namespace}/{name} is not carried over: jobs are submitted to Fairgate, or applied with "
                f"the queue name {names.INBOX_QUEUE}"
            )
        by_node[tree.id_of(target, is_leaf=True)].add(namespace)
    out: dict[str, str] = {}
    for node in (each for each in tree.nodes.values() if each.is_leaf):
        free = sorted(each for each in by_node[node.id] if each not in owners)
        taken = sorted(by_node[node.id] - set(free))
        remarks += [
            f"namespace {each} has queues of {owners[each]} and {node.id}: one namespace is one tenant's; "
            f"give {node.id} another one"
            for each in taken
        ]
        if len(free) > 1:
            remarks.append(f"ClusterQueue {node.name} serves {', '.join(free)}: {node.id} gets {free[0]} only")
        if not free and not taken:
            remarks.append(f"ClusterQueue {node.name} has no LocalQueue: the namespace of {node.id} will be {node.id}")
        if free:
            out[node.id] = free[0]
            owners.update(dict.fromkeys(free, node.id))
    return out


def _quotas(tree: Tree, flavors: Mapping[str, Flavor], remarks: list[str]) -> Mapping[str, Mapping[Row, Quota]]:
    """What each says, without what means the same left out, and with what must be said for a tree said at its root."""
    out: dict[str, dict[Row, Quota]] = {}
    written: defaultdict[str, set[Row]] = defaultdict(set)
    for node in tree.nodes.values():
        written[root_of(tree, node.id)].update(node.quotas)
        mine = {row: quota for row, quota in node.quotas.items() if quota != _NOTHING}
        out[node.id] = {row: _capped(node, row, quota, remarks) for row, quota in mine.items()}
    for root, rows in written.items():
        members = [node.id for node in tree.nodes.values() if root_of(tree, node.id) == root]
        for row in sorted(rows):
            said = [each for each in members if row in out[each]]
            is_open = said == [root] and out[root][row] == Quota(UNLIMITED)
            if is_open and len(members) > 1 and not _has_quota_elsewhere(row, out, members):
                del out[root][row]  # not declared by anybody: not limited
            elif not said and not (is_accelerator(row[1]) and flavors[row[0]].resource != row[1]):
                out[root][row] = _NOTHING  # nobody has any: that must be said, or it would be without limit
    renamed = {
        node: {(flavors[row[0]].name, row[1]): quota for row, quota in rows.items()} for node, rows in out.items()
    }
    return {node: renamed.get(node, {}) for node in tree.nodes}


def _has_quota_elsewhere(row: Row, out: Mapping[str, Mapping[Row, Quota]], members: list[str]) -> bool:
    """Whether an accelerator is offered by its flavor only because this root says so."""
    return is_accelerator(row[1]) and all(row not in rows for node, rows in out.items() if node not in members)


def _capped(node: Node, row: Row, quota: Quota, remarks: list[str]) -> Quota:
    if node.parent is None and (quota.borrowing_limit is not None or quota.lending_limit is not None):
        remarks.append(f"{node.name}: {row[0]}, {row[1]}: limits without anybody to borrow from or lend to: left out")
        return Quota(quota.nominal)
    if quota.lending_limit is not None and quota.lending_limit > quota.nominal:
        remarks.append(f"{node.name}: {row[0]}, {row[1]}: lends more than its own quota; with us that is the most")
        return replace(quota, lending_limit=quota.nominal)
    return quota


def _tenant(
    node: Node,
    quota: Mapping[Row, Quota],
    namespace: str | None,
    flavors: Mapping[str, Flavor],
    remarks: list[str],
) -> Tenant:
    weight = Fraction(1)
    text = get_map(node.spec, "fairSharing").get("weight")
    if text is not None:
        weight = _fraction(str(text))
        remarks.append(f"{node.name}: weight {text} counts for all that it uses here, not only for what it borrows")
    listed = {row[0] for row in node.quotas}
    allowed = None
    if node.is_leaf and listed and listed != flavors.keys():
        allowed = frozenset(flavors[name].name for name in listed)
    remarks += [f"ClusterQueue {node.name}: {each}" for each in (_otherwise(node.spec) if node.is_leaf else ())]
    return Tenant(node.id, node.parent, weight, dict(quota), allowed_flavors=allowed, namespace=namespace)


def _otherwise(spec: Mapping[str, Any]) -> Iterator[str]:
    if get_text(spec, "queueingStrategy") == "StrictFIFO":
        yield "StrictFIFO: here a job that can not start blocks nobody; backfill_after keeps it from starving"
    if get_list(spec, "admissionChecks") or get_map(spec, "admissionChecksStrategy"):
        yield "admission checks are not carried over"
    if get_text(spec, "stopPolicy") not in ("", "None"):
        yield f"stopPolicy {get_text(spec, 'stopPolicy')} is not carried over: max_running_jobs: 0 keeps jobs waiting"
    if get_text(get_map(spec, "flavorFungibility"), "whenCanBorrow") == "TryNextFlavor":
        yield "flavors are tried in the order of each job's options, also by borrowing"
    borrowing = get_text(get_map(spec, "preemption", "borrowWithinCohort"), "policy")
    if borrowing not in ("", "Never"):
        yield f"borrowWithinCohort {borrowing}: here nobody is evicted for one who borrows, but with rebalance: true"


def _compare_policies(leaves: list[Node], remarks: list[str]) -> None:
    """One policy for all, which is the default. Our own queues do not count: they say Never because we do all that."""
    theirs = [node for node in leaves if not node.is_ours]
    for key, field_name in (("reclaimWithinCohort", "reclaim"), ("withinClusterQueue", "priority_preemption")):
        said = {get_text(get_map(node.spec, "preemption"), key) or "Never" for node in theirs}
        if said == {"Never"}:
            remarks.append(f"all ClusterQueues say {key}: Never; here it is done: write {field_name}: false against it")
        elif len(said) > 1:
            remarks.append(
                f"ClusterQueues differ in {key} ({', '.join(sorted(said))}); {field_name} is for all tenants"
            )
        if said & {"LowerPriority"} and key == "reclaimWithinCohort":
            remarks.append("reclaimWithinCohort LowerPriority: here a tenant gets its own back whatever the priority")


def _fraction(text: str) -> Fraction:
    is_milli = text.endswith("m")
    try:
        return Fraction(text.removesuffix("m")) / (1000 if is_milli else 1)
    except ValueError:
        return Fraction(1)
