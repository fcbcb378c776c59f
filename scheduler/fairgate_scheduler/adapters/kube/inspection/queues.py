"""Queues and quotas of others that get in our way in tenants' namespaces or among our Cohorts."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fairgate_scheduler.adapters.kube import names
from fairgate_scheduler.adapters.kube.api import Api, Manifest, NotFoundError
from fairgate_scheduler.adapters.kube.api.kinds import (
    CLUSTER_QUEUE,
    COHORT,
    LOCAL_QUEUE,
    NAMESPACE,
    RESOURCE_QUOTA,
)
from fairgate_scheduler.adapters.kube.inspection.findings import Finding, error, warning
from fairgate_scheduler.adapters.kube.mapping import is_ours
from fairgate_scheduler.core.amounts import is_accelerator
from fairgate_scheduler.core.manifests.plain import get_list, get_map, get_text
from fairgate_scheduler.core.tenancy import Config

_ENFORCE: Final = "pod-security.kubernetes.io/enforce"


def queues(api: Api, config: Config) -> Iterator[Finding]:
    """Of a cluster that has Kueue; of one that does not, nothing."""
    leaves = {names.namespace_of(each): each.id for each in config.tenants.values() if config.is_leaf(each.id)}
    namespaces = {each["metadata"]["name"]: each for each in api.list(NAMESPACE).items}
    try:
        yield from _local_queues(api, leaves)
        yield from _cluster_queues(api, config, {name: namespaces[name] for name in leaves if name in namespaces})
        yield from _cohorts(api, config)
    except NotFoundError:
        return
    yield from _namespaces(leaves, namespaces)
    yield from _resource_quotas(api, leaves)


def _local_queues(api: Api, leaves: Mapping[str, str]) -> Iterator[Finding]:
    for each in api.list(LOCAL_QUEUE).items:
        metadata = each["metadata"]
        if metadata["namespace"] not in leaves or is_ours(each):
            continue
        where = f"LocalQueue {metadata['namespace']}/{metadata['name']}"
        if metadata["name"] == "default":
            message = "takes in every job, deployment and pod of the namespace that names no queue"
            yield error(where, message, "delete it")
        elif metadata["name"] in (names.LAUNCH_QUEUE, names.INBOX_QUEUE):
            yield error(where, "has the name of one of ours and is not", "delete it")
        else:
            yield warning(where, "jobs in it do not count in Fairgate's shares", "delete it once it is empty")


def _cluster_queues(api: Api, config: Config, namespaces: Mapping[str, Manifest]) -> Iterator[Finding]:
    for each in api.list(CLUSTER_QUEUE).items:
        if is_ours(each):
            continue
        where, spec = f"ClusterQueue {each['metadata']['name']}", get_map(each, "spec")
        if each["metadata"]["name"] in {*config.tenants, names.HELD_CLUSTER_QUEUE}:
            yield error(where, "has the name of one of ours and is not", "delete it, or name the tenant otherwise")
        if get_text(spec, "cohortName") in config.tenants:
            message = f"is in the Cohort {spec['cohortName']}: it would borrow what belongs to tenants"
            yield error(where, message, "take it out, or name the tenant otherwise")
        open_to = [name for name, namespace in namespaces.items() if _selects(spec.get("namespaceSelector"), namespace)]
        if open_to:
            message = f"is open to namespaces of tenants: {_some(open_to)}"
            yield warning(where, message, "narrow its namespaceSelector")


def _cohorts(api: Api, config: Config) -> Iterator[Finding]:
    for each in api.list(COHORT).items:
        if is_ours(each):
            continue
        where = f"Cohort {each['metadata']['name']}"
        if each["metadata"]["name"] in config.tenants:
            yield error(where, "has the name of one of ours and is not", "delete it, or name the tenant otherwise")
        if get_text(get_map(each, "spec"), "parentName") in config.tenants:
            yield error(where, "is below one of ours: it would borrow what belongs to tenants", "take it out")


def _namespaces(leaves: Mapping[str, str], namespaces: Mapping[str, Manifest]) -> Iterator[Finding]:
    for name, tenant in leaves.items():
        labels = get_map(namespaces.get(name), "metadata", "labels")
        if name not in namespaces:
            yield warning(f"Namespace {name}", f"of tenant {tenant} is not there", "it is made by the service")
        elif labels.get(_ENFORCE) not in ("baseline", "restricted"):
            message = f"of tenant {tenant} lets in privileged pods: they can use any device"
            yield warning(f"Namespace {name}", message, f"label it {_ENFORCE}=baseline")


def _resource_quotas(api: Api, leaves: Mapping[str, str]) -> Iterator[Finding]:
    for each in api.list(RESOURCE_QUOTA).items:
        metadata = each["metadata"]
        if metadata["namespace"] not in leaves or is_ours(each):
            continue
        where = f"ResourceQuota {metadata['namespace']}/{metadata['name']}"
        hard = [key.removeprefix("requests.") for key in get_map(each, "spec", "hard")]
        devices = [key for key in hard if "/" in key and not key.startswith("count/") and is_accelerator(key)]
        if devices:
            message = f"limits {', '.join(devices)}, too: attempts that have quota may not get their pods"
            yield warning(where, message, "leave accelerators to the one that the service keeps")
        elif hard:
            message = f"limits {', '.join(hard[:3])}: attempts that have quota may not get their pods"
            yield warning(where, message, "make it wide enough for all that the tenant may run")


def _selects(selector: Any, namespace: Manifest) -> bool:
    """Whether a label selector takes in a namespace; none takes in nothing, an empty one everything."""
    if selector is None:
        return False
    labels = get_map(namespace, "metadata", "labels")
    if any(labels.get(key) != value for key, value in get_map(selector, "matchLabels").items()):
        return False
    return all(_is_met(each, labels) for each in get_list(selector, "matchExpressions"))


def _is_met(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value, values = labels.get(get_text(expression, "key")), get_list(expression, "values")
    return {
        "In": value in values,
        "NotIn": value not in values,
        "Exists": value is not None,
        "DoesNotExist": value is None,
    }.get(get_text(expression, "operator"), False)


def _some(names_found: list[str]) -> str:
    more = f" and {len(names_found) - 3} more" if len(names_found) > 3 else ""
    return ", ".join(sorted(names_found)[:3]) + more
