"""ResourceFlavors as flavors, WorkloadPriorityClasses as priorities."""

from collections.abc import Iterable, Mapping
from typing import Any

from fairgate_scheduler.adapters.kube.importing.tree import Tree, free_label
from fairgate_scheduler.core.amounts import is_accelerator
from fairgate_scheduler.core.manifests.plain import get_list, get_map, get_text
from fairgate_scheduler.core.tenancy import Flavor

_TOLERATION_KEYS = ("key", "operator", "value", "effect", "tolerationSeconds")


def read_flavors(manifests: Iterable[Mapping[str, Any]], tree: Tree, remarks: list[str]) -> dict[str, Flavor]:
    """By the name of the ResourceFlavor. One that a queue names and nobody has made is there without labels."""
    specs = {get_text(get_map(each, "metadata"), "name"): get_map(each, "spec") for each in manifests}
    for name in sorted({row[0] for node in tree.nodes.values() for row in node.quotas} - specs.keys()):
        remarks.append(f"ResourceFlavor {name} is used by queues and is not there: its labels are not known")
        specs[name] = {}
    names: dict[str, str] = {}
    for name in specs:
        names[name] = free_label(name, names.values())
    flavors = {name: _flavor(name, names[name], spec, tree, remarks) for name, spec in specs.items()}
    plain = [name for name, flavor in flavors.items() if flavor.resource is None]
    if len(plain) == 1:
        only = flavors[plain[0]]
        flavors[plain[0]] = Flavor(
            only.name,
            node_labels=only.node_labels,
            tolerations=only.tolerations,
            kueue_flavor=only.kueue_flavor,
            default_for_cpu_pods=True,
        )
    else:
        which = f"{', '.join(sorted(plain))} could all be it" if plain else "none is without accelerators"
        remarks.append(f"no flavor is default_for_cpu_pods: {which}; say which takes heads and submitters")
    return flavors


def _flavor(name: str, label: str, spec: Mapping[str, Any], tree: Tree, remarks: list[str]) -> Flavor:
    if get_text(spec, "topologyName"):
        remarks.append(f"ResourceFlavor {name} has a topologyName: where pods are put is not planned here")
    offered = sorted(
        {
            row[1]
            for node in tree.nodes.values()
            for row, quota in node.quotas.items()
            if row[0] == name and is_accelerator(row[1]) and quota.nominal
        }
    )
    if len(offered) > 1:
        remarks.append(f"ResourceFlavor {name} has {', '.join(offered)}: the first is its resource, all have quota")
    tolerations = [_words(each) for each in get_list(spec, "tolerations")]
    for taint in get_list(spec, "nodeTaints"):
        operator = {"operator": "Equal"} if taint.get("value") else {"operator": "Exists"}
        tolerations.append(_words({**operator, **taint}))
        remarks.append(f"ResourceFlavor {name}: pods charged to it will tolerate its taint {taint.get('key')}")
    return Flavor(
        label,
        resource=offered[0] if offered else None,
        node_labels={str(key): str(value) for key, value in get_map(spec, "nodeLabels").items()},
        tolerations=tuple(tolerations),
        kueue_flavor=name,
    )


def _words(found: Mapping[str, Any]) -> Mapping[str, str]:
    return {key: str(found[key]) for key in _TOLERATION_KEYS if found.get(key) not in (None, "")}


def read_priorities(manifests: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Names and values."""
    return {get_text(get_map(each, "metadata"), "name"): int(each.get("value", 0)) for each in manifests}
