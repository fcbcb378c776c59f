"""What a cluster would refuse, or not do, said when it is submitted or configured."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fairgate_scheduler.adapters.kube.mapping import remarks_on_mapping
from fairgate_scheduler.adapters.kube.schema import check_manifest
from fairgate_scheduler.core.manifests import normalize
from fairgate_scheduler.core.manifests.podsecurity import check_accounts, check_security
from fairgate_scheduler.core.tenancy import Config, Tenant

DEFAULT_ACCOUNTS: Final = ("default",)
"""What pods may run as where a tenant's configuration names no service accounts."""


def check(manifest: Mapping[str, Any], tenant: Tenant) -> Sequence[str]:
    """Everything in a tenant's valid RayJob that can not run in a cluster, as sentences."""
    content = normalize(manifest)
    accounts = tenant.service_accounts or DEFAULT_ACCOUNTS
    findings = [*check_manifest(content), *check_security(content), *check_accounts(content, accounts)]
    return [str(finding) for finding in findings]


def remarks(config: Config) -> Sequence[str]:
    """Everything in a valid configuration that is kept but has no effect in a cluster, as sentences."""
    vain = [
        f"flavors.{name}.capacity: has no effect on Kubernetes; the nodes are watched"
        for name, flavor in config.flavors.items()
        if flavor.capacity is not None
    ]
    return [*vain, *remarks_on_mapping(config)]
