"""The tenant tree as Cohorts and ClusterQueues, and each tenant's two LocalQueues."""

from collections.abc import Iterator
from typing import Any, Final

from fairgate_scheduler.adapters.kube import names
from fairgate_scheduler.adapters.kube.api.kinds import CLUSTER_QUEUE, COHORT, LOCAL_QUEUE
from fairgate_scheduler.adapters.kube.mapping.flavors import flavor_name
from fairgate_scheduler.adapters.kube.mapping.objects import NAMESPACE_LABEL, Wanted, ours
from fairgate_scheduler.adapters.kube.mapping.quantities import quantity
from fairgate_scheduler.adapters.kube.mapping.rows import Numbers
from fairgate_scheduler.core.tenancy import Quota, Tenant

_FIXED: Final[dict[str, Any]] = {
    "queueingStrategy": "BestEffortFIFO",
    "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
    "preemption": {
        "reclaimWithinCohort": "Never",
        "borrowWithinCohort": {"policy": "Never"},
        "withinClusterQueue": "Never",
    },
}
"""Whom to evict is decided by us alone, and what waits in Kueue has been decided on: none of it holds back another."""


def cohorts(numbers: Numbers) -> Iterator[Wanted]:
    """A Cohort for each inner tenant, parents first."""
    waiting = list(numbers.config.children.get(None, ()))
    for tenant in waiting:
        children = numbers.config.children.get(tenant, ())
        waiting.extend(children)
        if children:
            yield _cohort(numbers, numbers.config.tenants[tenant])


def _cohort(numbers: Numbers, tenant: Tenant) -> Wanted:
    spec: dict[str, Any] = {"parentName": tenant.parent} if tenant.parent else {}
    if tenant.quota or tenant.parent is None:
        spec |= _groups(numbers, tenant)
    return ours(COHORT, tenant.id, {"spec": spec}, tenant=tenant.id)


def cluster_queues(numbers: Numbers) -> Iterator[Wanted]:
    """A ClusterQueue for each leaf, open to its namespace alone, and the held one behind all inboxes."""
    yield ours(CLUSTER_QUEUE, names.HELD_CLUSTER_QUEUE, {"spec": _held()})
    for tenant in numbers.config.tenants.values():
        if numbers.config.is_leaf(tenant.id):
            yield ours(CLUSTER_QUEUE, tenant.id, {"spec": _leaf(numbers, tenant)}, tenant=tenant.id)


def _leaf(numbers: Numbers, tenant: Tenant) -> dict[str, Any]:
    return {
        **({"cohortName": tenant.parent} if tenant.parent else {}),
        **_FIXED,
        "stopPolicy": "None",
        "namespaceSelector": {"matchLabels": {NAMESPACE_LABEL: names.namespace_of(tenant)}},
        **_groups(numbers, tenant),
    }


def _held() -> dict[str, Any]:
    selector = {"matchExpressions": [{"key": names.TENANT, "operator": "Exists"}]}
    return {**_FIXED, "stopPolicy": "Hold", "namespaceSelector": selector}


def local_queues(tenant: Tenant) -> Iterator[Wanted]:
    """The launch queue and the inbox of a leaf."""
    for name, cluster_queue in ((names.LAUNCH_QUEUE, tenant.id), (names.INBOX_QUEUE, names.HELD_CLUSTER_QUEUE)):
        spec = {"clusterQueue": cluster_queue, "stopPolicy": "None"}
        yield ours(LOCAL_QUEUE, name, {"spec": spec}, namespace=names.namespace_of(tenant), tenant=tenant.id)


def _groups(numbers: Numbers, tenant: Tenant) -> dict[str, Any]:
    """One group: every flavor with every resource, 0 where there is none. Nothing where there are no flavors."""
    flavors = [
        {
            "name": flavor_name(numbers.config.flavors[flavor]),
            "resources": [
                _resource(resource, numbers.table((flavor, resource)).quotas[tenant.id])
                for resource in numbers.resources
            ],
        }
        for flavor in numbers.flavors
    ]
    group = {"coveredResources": list(numbers.resources), "flavors": flavors}
    return {"resourceGroups": [group]} if flavors else {}


def _resource(resource: str, quota: Quota) -> dict[str, str]:
    limits = (("borrowingLimit", quota.borrowing_limit), ("lendingLimit", quota.lending_limit))
    return {
        "name": resource,
        "nominalQuota": quantity(quota.nominal, resource),
        **{key: quantity(limit, resource) for key, limit in limits if limit is not None},
    }
