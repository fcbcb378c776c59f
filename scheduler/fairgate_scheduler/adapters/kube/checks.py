"""What a cluster would refuse, or not do, said when it is submitted or configured."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fairgate_scheduler.adapters.kube.mapping import remarks_on_mapping
from fairgate_scheduler.adapters.kube.schema import check_manifest
from fairgate_scheduler.core.manifests import normalize
from fairgate_scheduler.core.manifests.findings import Finding
from fairgate_scheduler.core.manifests.placement import PodLimits
from fairgate_scheduler.core.manifests.plain import get_map, is_true
from fairgate_scheduler.core.manifests.podrules import check_job, check_keeping, check_marks
from fairgate_scheduler.core.manifests.podsecurity import DEFAULT_ACCOUNTS, check_accounts, check_security
from fairgate_scheduler.core.tenancy import Config, Tenant

_SCALES: Final = "enableInTreeAutoscaling"


def check(manifest: Mapping[str, Any], tenant: Tenant) -> Sequence[str]:
    """Everything in a tenant's valid RayJob that can not run in a cluster, as sentences; the gate says the same."""
    content = normalize(manifest)
    accounts = tenant.service_accounts or DEFAULT_ACCOUNTS
    findings = [*check_manifest(content), *check_security(content), *check_accounts(content, accounts)]
    found = [*check_job(content, PodLimits()), *check_keeping(content), *check_marks(content)]
    findings += [*(each.finding for each in found), *_check_scaling(content)]
    return [str(finding) for finding in dict.fromkeys(findings)]


def _check_scaling(content: Mapping[str, Any]) -> list[Finding]:
    """Kueue 0.17 refuses it without the gate ElasticJobsViaWorkloadSlices. With that gate it would let pods run that
    nobody has reserved: the gate is not to be used beside us."""
    if not is_true(get_map(content, "spec", "rayClusterSpec"), _SCALES):
        return []
    message = "Kueue does not admit a RayJob that changes its size"
    remedy = "remove it, and set replicas to the number of workers that the job needs (maxReplicas is what was charged)"
    return [Finding(f"spec.rayClusterSpec.{_SCALES}", message, remedy)]


def remarks(config: Config) -> Sequence[str]:
    """Everything in a valid configuration that is kept but has no effect in a cluster, as sentences."""
    vain = [
        f"flavors.{name}.capacity: has no effect on Kubernetes; the nodes are watched"
        for name, flavor in config.flavors.items()
        if flavor.capacity is not None
    ]
    return [*vain, *remarks_on_mapping(config)]
