"""All checks, the worst first."""

from collections.abc import Sequence

from fairgate_scheduler.adapters.kube.api import Api
from fairgate_scheduler.adapters.kube.inspection.findings import Finding, Severity
from fairgate_scheduler.adapters.kube.inspection.nodes import nodes
from fairgate_scheduler.adapters.kube.inspection.operators import operators
from fairgate_scheduler.adapters.kube.inspection.queues import queues
from fairgate_scheduler.adapters.kube.inspection.rights import own_rights, tenants_rights
from fairgate_scheduler.adapters.kube.mapping.policies import Site
from fairgate_scheduler.core.tenancy import Config


def inspect(api: Api, config: Config, site: Site) -> Sequence[Finding]:
    """Everything in a cluster that would break a service with this configuration. Raises ApiError."""
    found = [
        *operators(api),
        *own_rights(api, site),
        *tenants_rights(api, config),
        *queues(api, config),
        *nodes(api, config),
    ]
    return sorted(found, key=lambda each: each.severity is not Severity.ERROR)
