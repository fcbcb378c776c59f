"""What a sound configuration says that can not be said to Kueue or to Kubernetes: found before it is in force."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from fairgate_scheduler.adapters.kube import names
from fairgate_scheduler.adapters.kube.mapping.flavors import flavor_name
from fairgate_scheduler.adapters.kube.mapping.quantities import TOP
from fairgate_scheduler.adapters.kube.mapping.rows import Numbers
from fairgate_scheduler.core.amounts import UNLIMITED, Row
from fairgate_scheduler.core.config_checks import Fault
from fairgate_scheduler.core.tenancy import Config, Flavor

SYSTEM_NAMESPACES: Final = frozenset(
    {
        "default", "kube-system", "kube-public", "kube-node-lease", "kueue-system", "kuberay-system", "ray-system",
        names.SYSTEM_NAMESPACE,
    }
)  # fmt: skip
_MOST_FLAVORS: Final = 64
_MOST_RESOURCES: Final = 64
_MOST_PAIRS: Final = 512
_MOST_LABELS: Final = 8
_MOST_TOLERATIONS: Final = 8
_MOST_REPORTED: Final = 16
_LABEL_VALUE: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?")
_RESOURCE: Final = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


def check_mapping(config: Config) -> tuple[Fault, ...]:
    """All faults of a configuration that has none of ``core.config_checks``."""
    return (
        *_namespaces(config),
        *_names(config),
        *_flavors(config),
        *_sizes(config),
        *_sums(config),
    )


def remarks_on_mapping(config: Config) -> Iterator[str]:
    """What works, but not as well as it could."""
    if len(config.flavors) > _MOST_REPORTED:
        yield (
            f"flavors: {len(config.flavors)} are more than the {_MOST_REPORTED} that the status of a LocalQueue has "
            "room for: Kueue can not report what each tenant uses; it is reported here all the same"
        )


def _namespaces(config: Config) -> Iterator[Fault]:
    owners: dict[str, str] = {}
    for tenant in config.tenants.values():
        if not config.is_leaf(tenant.id):
            continue
        name, where = names.namespace_of(tenant), ("tenants", tenant.id, "namespace")
        owner = owners.setdefault(name, tenant.id)
        if owner != tenant.id:
            message = f"the namespace {name!r} belongs to {owner!r} already"
            yield Fault(where, message, "a tenant without a namespace has the one of its id: name another one")
        if name in SYSTEM_NAMESPACES:
            yield Fault(where, f"the namespace {name!r} is not a tenant's", "give the tenant one of its own")


def _names(config: Config) -> Iterator[Fault]:
    if names.HELD_CLUSTER_QUEUE in config.tenants:
        message = f"{names.HELD_CLUSTER_QUEUE!r} is the ClusterQueue behind all inboxes"
        yield Fault(("tenants", names.HELD_CLUSTER_QUEUE, "id"), message, "give the tenant another id")
    for name in config.priorities:
        if not _LABEL_VALUE.fullmatch(name):
            message = f"{name!r} can not be the name of a WorkloadPriorityClass"
            remedy = "write lower-case letters, digits, '-' and '.', 63 at most"
            yield Fault(("priorities", name), message, remedy)
    for resource in Numbers(config).resources:
        if not _RESOURCE.fullmatch(resource):
            where = next((("flavors", name) for name, each in config.flavors.items() if each.resource == resource), ())
            yield Fault(where or ("tenants",), f"{resource!r} is no name of a resource", "write DOMAIN/NAME")


def _flavors(config: Config) -> Iterator[Fault]:
    taken: dict[str, str] = {}
    labelled: dict[tuple[tuple[str, str], ...], str] = {}
    for name, flavor in config.flavors.items():
        where = ("flavors", name)
        other = taken.setdefault(flavor_name(flavor), name)
        if other != name:
            message = f"{other!r} has the ResourceFlavor {flavor_name(flavor)!r} already"
            yield Fault((*where, "kueue_flavor"), message, "each flavor needs one of its own")
        other = labelled.setdefault(tuple(sorted(flavor.node_labels.items())), name)
        if other != name:
            message = f"the same nodes as {other!r}: {_labels(flavor)}"
            remedy = "give each flavor a label that its nodes alone have; one flavor at most can be without labels"
            yield Fault((*where, "node_labels"), message, remedy)
        if len(flavor.node_labels) > _MOST_LABELS:
            message = f"{len(flavor.node_labels)} labels; a ResourceFlavor has {_MOST_LABELS} at most"
            yield Fault((*where, "node_labels"), message, "name those that tell its nodes from others")
        yield from _tolerations(flavor)


def _labels(flavor: Flavor) -> str:
    return (
        ", ".join(f"{key}={value}" for key, value in sorted(flavor.node_labels.items())) or "all that are of no other"
    )


def _tolerations(flavor: Flavor) -> Iterator[Fault]:
    where = ("flavors", flavor.name, "tolerations")
    if len(flavor.tolerations) > _MOST_TOLERATIONS:
        message = f"{len(flavor.tolerations)} tolerations; a ResourceFlavor has {_MOST_TOLERATIONS} at most"
        yield Fault(where, message, "one with a key and operator: Exists tolerates all values and effects")
    for each in flavor.tolerations:
        if "key" not in each and each.get("operator") != "Exists":
            yield Fault(where, "a toleration without a key", "name the key, or write operator: Exists")
        if "tolerationSeconds" in each and each.get("effect") != "NoExecute":
            yield Fault(where, "tolerationSeconds without effect: NoExecute", "add it, or remove tolerationSeconds")


def _sizes(config: Config) -> Iterator[Fault]:
    flavors, resources = len(config.flavors), len(Numbers(config).resources)
    sizes = (
        ("flavors", flavors, _MOST_FLAVORS),
        ("resources", resources, _MOST_RESOURCES),
        ("pairs of flavor and resource", flavors * resources, _MOST_PAIRS),
    )
    for what, count, most in sizes:
        if count > most:
            message = f"{count} {what}; Kueue has room for {most}"
            yield Fault(("flavors",), message, "bring together flavors that nobody needs to tell apart")


def _sums(config: Config) -> Iterator[Fault]:
    totals: dict[tuple[str, Row], int] = {}
    for tenant in config.tenants.values():
        root = config.paths[tenant.id][-1]
        for row, quota in tenant.quota.items():
            if quota.nominal >= UNLIMITED:
                continue
            before = totals.get((root, row), 0)
            totals[root, row] = before + quota.nominal
            if before < TOP <= totals[root, row]:
                message = f"with this the tree of {root!r} owns more than Kueue can count"
                yield Fault(("tenants", tenant.id, "quota", *row), message, "write UNLIMITED where it is not limited")


def located(faults: Iterable[Fault]) -> Iterator[str]:
    """Faults as sentences, where no document is at hand to say the line."""
    for fault in faults:
        yield f"{'.'.join(fault.where)}: {fault.message} ({fault.remedy})"
