"""What we may do that we need, and what tenants may do that they must not, as the API server itself judges."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fairgate_scheduler.adapters.kube import names
from fairgate_scheduler.adapters.kube.api import Api
from fairgate_scheduler.adapters.kube.api.kinds import SUBJECT_ACCESS_REVIEW
from fairgate_scheduler.adapters.kube.inspection.findings import Finding, error
from fairgate_scheduler.adapters.kube.mapping.policies import CLUSTER_RIGHTS, Site
from fairgate_scheduler.core.manifests.plain import get_map, is_true
from fairgate_scheduler.core.tenancy import Config, Tenant

_AUTHENTICATED: Final = "system:authenticated"
_FORBIDDEN: Final = (
    ("kueue.x-k8s.io", "localqueues", "create"),
    ("kueue.x-k8s.io", "localqueues", "patch"),
    ("kueue.x-k8s.io", "workloads", "create"),
    ("kueue.x-k8s.io", "workloads", "patch"),
    ("kueue.x-k8s.io", "workloads/status", "patch"),
    ("ray.io", "rayclusters", "create"),
    ("ray.io", "rayclusters", "patch"),
    ("ray.io", "rayservices", "create"),
    ("ray.io", "rayjobs/status", "patch"),
    ("", "resourcequotas", "patch"),
    ("", "namespaces", "patch"),
)
"""What nobody of a tenant may do in its namespace: each is a way to accelerators that nobody admitted."""


def own_rights(api: Api, site: Site) -> Iterator[Finding]:
    """Each right that our service account lacks."""
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{site.namespace}", _AUTHENTICATED]
    for group, resources, verbs in CLUSTER_RIGHTS:
        for resource in resources:
            who = {"user": site.user, "groups": groups}
            missing = [verb for verb in verbs if not _may(api, who, group, resource, verb)]
            if missing:
                what = f"{resource}.{group}" if group else resource
                message = f"may not {', '.join(missing)} {what}"
                yield error(f"ServiceAccount {site.namespace}/{site.service_account}", message, _REMEDY)


_REMEDY: Final = "apply what `fairgate kube render` prints"


def tenants_rights(api: Api, config: Config) -> Iterator[Finding]:
    """What people and pods of each leaf tenant may do and must not, where its roles name them."""
    for tenant in config.tenants.values():
        if config.is_leaf(tenant.id):
            namespace = names.namespace_of(tenant)
            for name, who in _people(config, tenant):
                held = [
                    f"{verb} {resource}"
                    for group, resource, verb in _FORBIDDEN
                    if _may(api, who, group, resource, verb, namespace)
                ]
                if held:
                    message = f"may {', '.join(held)} in namespace {namespace}"
                    yield error(name, message, "take that out of their roles; RayJobs are all that they need to make")


def _people(config: Config, tenant: Tenant) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Whom the roles of a tenant and of those above it name, and its own service accounts."""
    named = {
        each for above in config.paths[tenant.id] for people in config.tenants[above].roles.values() for each in people
    }
    namespace = names.namespace_of(tenant)
    named |= {f"serviceaccount:{namespace}/{account}" for account in tenant.service_accounts or ("default",)}
    for each in sorted(named):
        kind, _, name = each.partition(":")
        if kind == "group":
            yield each, {"groups": [name, _AUTHENTICATED]}
        elif kind == "user":
            yield each, {"user": name, "groups": [_AUTHENTICATED]}
        else:
            home, _, account = name.partition("/")
            groups = ["system:serviceaccounts", f"system:serviceaccounts:{home}", _AUTHENTICATED]
            yield each, {"user": f"system:serviceaccount:{home}:{account}", "groups": groups}


def _may(api: Api, who: Mapping[str, Any], group: str, resource: str, verb: str, namespace: str = "") -> bool:
    name, _, subresource = resource.partition("/")
    asked = {"group": group, "resource": name, "subresource": subresource, "verb": verb, "namespace": namespace}
    spec = {**who, "resourceAttributes": {key: text for key, text in asked.items() if text}}
    return is_true(get_map(api.create(SUBJECT_ACCESS_REVIEW, {"spec": spec}), "status"), "allowed")
