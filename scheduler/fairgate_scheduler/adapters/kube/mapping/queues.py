"""The tenant tree as Cohorts and ClusterQueues, and each tenant's two LocalQueues."""

from collections.abc import Iterator
from typing import Final

import fairgate_kueue as kueue

from fairgate_scheduler.adapters.kube import names
from fairgate_scheduler.adapters.kube.api.kinds import CLUSTER_QUEUE, COHORT, LOCAL_QUEUE
from fairgate_scheduler.adapters.kube.mapping.flavors import flavor_name
from fairgate_scheduler.adapters.kube.mapping.objects import NAMESPACE_LABEL, Wanted, ours
from fairgate_scheduler.adapters.kube.mapping.quantities import quantity
from fairgate_scheduler.adapters.kube.mapping.rows import Numbers
from fairgate_scheduler.core.tenancy import Quota, Tenant

_FIXED: Final = kueue.ClusterQueueSpec(
    queueing_strategy="BestEffortFIFO",
    flavor_fungibility=kueue.FlavorFungibility(when_can_borrow="MayStopSearch", when_can_preempt="TryNextFlavor"),
    preemption=kueue.Preemption(
        reclaim_within_cohort="Never",
        borrow_within_cohort=kueue.BorrowWithinCohort(policy="Never"),
        within_cluster_queue="Never",
    ),
)
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
    says_something = bool(tenant.quota) or tenant.parent is None
    groups = _groups(numbers, tenant) if says_something else None
    spec = kueue.CohortSpec(parent_name=tenant.parent, resource_groups=groups)
    return ours(COHORT, tenant.id, {"spec": spec.manifest()}, tenant=tenant.id)


def cluster_queues(numbers: Numbers) -> Iterator[Wanted]:
    """A ClusterQueue for each leaf, open to its namespace alone, and the held one behind all inboxes."""
    yield ours(CLUSTER_QUEUE, names.HELD_CLUSTER_QUEUE, {"spec": _held().manifest()})
    for tenant in numbers.config.tenants.values():
        if numbers.config.is_leaf(tenant.id):
            yield ours(CLUSTER_QUEUE, tenant.id, {"spec": _leaf(numbers, tenant).manifest()}, tenant=tenant.id)


def _leaf(numbers: Numbers, tenant: Tenant) -> kueue.ClusterQueueSpec:
    its_namespace = kueue.NamespaceSelector(match_labels={NAMESPACE_LABEL: names.namespace_of(tenant)})
    return _FIXED.model_copy(
        update={
            "cohort_name": tenant.parent,
            "stop_policy": "None",
            "namespace_selector": its_namespace,
            "resource_groups": _groups(numbers, tenant),
        }
    )


def _held() -> kueue.ClusterQueueSpec:
    of_a_tenant = kueue.MatchExpression(key=names.TENANT, operator="Exists")
    selector = kueue.NamespaceSelector(match_expressions=[of_a_tenant])
    return _FIXED.model_copy(update={"stop_policy": "Hold", "namespace_selector": selector})


def local_queues(tenant: Tenant) -> Iterator[Wanted]:
    """The launch queue and the inbox of a leaf."""
    for name, cluster_queue in ((names.LAUNCH_QUEUE, tenant.id), (names.INBOX_QUEUE, names.HELD_CLUSTER_QUEUE)):
        spec = kueue.LocalQueueSpec(cluster_queue=cluster_queue, stop_policy="None").manifest()
        yield ours(LOCAL_QUEUE, name, {"spec": spec}, namespace=names.namespace_of(tenant), tenant=tenant.id)


def _groups(numbers: Numbers, tenant: Tenant) -> list[kueue.ResourceGroup] | None:
    """One group: every flavor with every resource, 0 where there is none. Nothing where there are no flavors."""
    flavors = [
        kueue.Flavor(
            name=flavor_name(numbers.config.flavors[flavor]),
            resources=[
                _resource(resource, numbers.table((flavor, resource)).quotas[tenant.id])
                for resource in numbers.resources
            ],
        )
        for flavor in numbers.flavors
    ]
    return [kueue.ResourceGroup(covered_resources=list(numbers.resources), flavors=flavors)] if flavors else None


def _resource(resource: str, quota: Quota) -> kueue.FlavorResource:
    borrowing, lending = quota.borrowing_limit, quota.lending_limit
    return kueue.FlavorResource(
        name=resource,
        nominal_quota=quantity(quota.nominal, resource),
        borrowing_limit=None if borrowing is None else quantity(borrowing, resource),
        lending_limit=None if lending is None else quantity(lending, resource),
    )
