"""What a leaf tenant's namespace gets: a label, a quota of accelerators, a wall against other tenants."""

from collections.abc import Iterator
from typing import Any, Final

from fairgate_scheduler.adapters.kube import names
from fairgate_scheduler.adapters.kube.api.kinds import NAMESPACE, NETWORK_POLICY, RESOURCE_QUOTA
from fairgate_scheduler.adapters.kube.mapping.objects import NAMESPACE_LABEL, Key, Wanted, ours
from fairgate_scheduler.adapters.kube.mapping.quantities import quantity
from fairgate_scheduler.adapters.kube.mapping.rows import Numbers
from fairgate_scheduler.core.amounts import UNLIMITED, is_accelerator
from fairgate_scheduler.core.tenancy import Tenant

ACCELERATOR_QUOTA: Final = "fairgate-accelerators"
TENANT_WALL: Final = "fairgate-tenant"
_BASELINE: Final = {"pod-security.kubernetes.io/enforce": "baseline"}


def namespace(tenant: Tenant) -> Wanted:
    """Labelled as the tenant's. One that is not there is made, and then also held to PodSecurity ``baseline``."""
    name = names.namespace_of(tenant)
    head = {"apiVersion": NAMESPACE.api_version, "kind": NAMESPACE.kind}
    labels = {names.TENANT: tenant.id}
    manifest = {**head, "metadata": {"name": name, "labels": labels}}
    first = {**head, "metadata": {"name": name, "labels": dict(_BASELINE)}}
    return Wanted(Key(NAMESPACE, "", name), manifest, is_shared=True, first=first)


def accelerator_quota(numbers: Numbers, tenant: Tenant) -> Iterator[Wanted]:
    """A ResourceQuota of the accelerators that the tenant could ever use, at most; nothing if none is limited.

    One only, and of accelerators only: the API server counts it in one step, and pods without devices are not its
    matter.
    """
    hard = {}
    for resource in filter(is_accelerator, numbers.resources):
        most = [numbers.table((flavor, resource)).most[tenant.id] for flavor in numbers.flavors]
        if UNLIMITED not in most:
            hard[f"requests.{resource}"] = quantity(sum(most), resource)
    if hard:
        namespace_name = names.namespace_of(tenant)
        spec = {"spec": {"hard": hard}}
        yield ours(RESOURCE_QUOTA, ACCELERATOR_QUOTA, spec, namespace=namespace_name, tenant=tenant.id)


def tenant_wall(tenant: Tenant, system_namespaces: tuple[str, ...]) -> Wanted:
    """A NetworkPolicy: only the tenant's own pods, and those of the system, reach its pods."""
    peers: list[dict[str, Any]] = [{"podSelector": {}}]
    if system_namespaces:
        among = {"key": NAMESPACE_LABEL, "operator": "In", "values": list(system_namespaces)}
        peers.append({"namespaceSelector": {"matchExpressions": [among]}})
    spec = {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{"from": peers}]}
    return ours(NETWORK_POLICY, TENANT_WALL, {"spec": spec}, namespace=names.namespace_of(tenant), tenant=tenant.id)
