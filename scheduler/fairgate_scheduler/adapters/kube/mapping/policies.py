"""Who may do what in the cluster, until an admission gate looks at every pod: two policies and our own rights.

They stand in the API server itself and so hold while we are down. They say who, not how much: a tenant's pods that no
attempt made are not their matter.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fairgate_scheduler.adapters.kube import names
from fairgate_scheduler.adapters.kube.api.kinds import (
    ADMISSION_POLICY,
    ADMISSION_POLICY_BINDING,
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    ROLE,
    ROLE_BINDING,
    SERVICE_ACCOUNT,
)
from fairgate_scheduler.adapters.kube.api.kinds import NAMESPACE as NAMESPACE_KIND
from fairgate_scheduler.adapters.kube.mapping.objects import Wanted, ours

LAUNCH_POLICY: Final = "fairgate-attempts"
QUEUE_POLICY: Final = "fairgate-queues"
EXEMPT_GROUP: Final = "fairgate.internal"
"""Who may ``use`` the ``exemptions`` of this API group is let through: cluster admins may do everything."""

_IS_EXEMPT: Final = f"authorizer.group('{EXEMPT_GROUP}').resource('exemptions').check('use').allowed()"
_WORKLOADS: Final[Mapping[str, str]] = {
    "": "pods",
    "apps": "*",
    "batch": "*",
    "ray.io": "*",
    "jobset.x-k8s.io": "*",
    "kubeflow.org": "*",
    "leaderworkerset.x-k8s.io": "*",
    "trainer.kubeflow.org": "*",
}
"""By API group: what makes pods, and could ask for a queue of Kueue's."""
_RBAC: Final = "rbac.authorization.k8s.io"
_CONTROLLERS: Final = (
    "system:kube-controller-manager",
    "system:serviceaccount:kube-system:generic-garbage-collector",
    "system:serviceaccount:kube-system:job-controller",
    "system:serviceaccount:kube-system:namespace-controller",
)
_READ: Final = ("get", "list", "watch")
_KEEP: Final = (*_READ, "create", "patch", "delete")
CLUSTER_RIGHTS: Final[Sequence[tuple[str, Sequence[str], Sequence[str]]]] = (
    (
        "kueue.x-k8s.io",
        ("resourceflavors", "cohorts", "clusterqueues", "localqueues", "workloadpriorityclasses"),
        _KEEP,
    ),
    ("kueue.x-k8s.io", ("workloads",), _READ),
    ("ray.io", ("rayjobs",), _KEEP),
    ("ray.io", ("rayjobs/status",), ("patch",)),
    ("ray.io", ("rayclusters",), _READ),
    ("", ("namespaces",), (*_READ, "create", "patch")),
    ("", ("resourcequotas",), _KEEP),
    ("networking.k8s.io", ("networkpolicies",), _KEEP),
    ("", ("pods",), (*_READ, "patch")),
    ("", ("pods/log",), ("get",)),
    ("", ("nodes", "limitranges"), _READ),
    ("", ("events",), (*_READ, "create")),
    ("node.k8s.io", ("runtimeclasses",), _READ),
    ("apiextensions.k8s.io", ("customresourcedefinitions",), ("get",)),
)
"""What our service account may do everywhere, and nothing else."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where the other parts of the platform are. ``kueue`` and ``kuberay``: the user names of their controllers.

    ``system_namespaces``: whose pods may reach those of tenants.
    """

    namespace: str = names.SYSTEM_NAMESPACE
    service_account: str = names.SERVICE_ACCOUNT
    kueue: Sequence[str] = ("system:serviceaccount:kueue-system:kueue-controller-manager",)
    kuberay: Sequence[str] = (
        "system:serviceaccount:kuberay-system:kuberay-operator",
        "system:serviceaccount:ray-system:kuberay-operator",
        "system:serviceaccount:default:kuberay-operator",
    )
    system_namespaces: tuple[str, ...] = (names.SYSTEM_NAMESPACE, "kuberay-system", "ray-system")

    @property
    def user(self) -> str:
        """Who we are to the API server."""
        return f"system:serviceaccount:{self.namespace}:{self.service_account}"


def installation(site: Site) -> Iterator[Wanted]:
    """What has to be there before the service starts; whoever installs it applies this, the service itself never."""
    yield ours(NAMESPACE_KIND, site.namespace, {})
    yield ours(SERVICE_ACCOUNT, site.service_account, {}, namespace=site.namespace)
    rules = [_rule(group, resources, verbs) for group, resources, verbs in CLUSTER_RIGHTS]
    subject = {"kind": "ServiceAccount", "name": site.service_account, "namespace": site.namespace}
    name = site.service_account
    yield ours(CLUSTER_ROLE, name, {"rules": rules})
    yield ours(CLUSTER_ROLE_BINDING, name, _binding("ClusterRole", name, subject))
    leases = [_rule("coordination.k8s.io", ("leases",), ("get", "create", "patch"))]
    yield ours(ROLE, name, {"rules": leases}, namespace=site.namespace)
    yield ours(ROLE_BINDING, name, _binding("Role", name, subject), namespace=site.namespace)
    for policy, spec in ((LAUNCH_POLICY, _attempts(site)), (QUEUE_POLICY, _queues(site))):
        yield ours(ADMISSION_POLICY, policy, {"spec": spec})
        bound = {"policyName": policy, "validationActions": ["Deny"]}
        yield ours(ADMISSION_POLICY_BINDING, policy, {"spec": bound})


def _rule(group: str, resources: Sequence[str], verbs: Sequence[str]) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}


def _binding(kind: str, name: str, subject: Mapping[str, str]) -> dict[str, Any]:
    return {"roleRef": {"apiGroup": _RBAC, "kind": kind, "name": name}, "subjects": [dict(subject)]}


def _attempts(site: Site) -> dict[str, Any]:
    """Only we, and the controllers that act on what we made, write what says that it is of an attempt of ours."""
    is_marked = f"{_marked('object')} || (request.operation == 'UPDATE' && {_marked('oldObject')})"
    message = (
        f"attempts of Fairgate and its queue {names.LAUNCH_QUEUE!r} are its scheduler's alone: "
        f"apply a RayJob with the label {names.QUEUE_LABEL}: {names.INBOX_QUEUE}"
    )
    conditions = [
        {"name": "of-an-attempt", "expression": is_marked},
        _by_others(site.user, *site.kueue, *site.kuberay, *_CONTROLLERS),
    ]
    return _policy(_WORKLOADS, ("CREATE", "UPDATE"), conditions, message)


def _marked(where: str) -> str:
    labels = f"{where}.metadata.?labels"
    return (
        f"({labels}[?'{names.ATTEMPT}'].hasValue()"
        f" || {labels}[?'{names.QUEUE_LABEL}'].orValue('') == '{names.LAUNCH_QUEUE}')"
    )


def _queues(site: Site) -> dict[str, Any]:
    """Only we and Kueue write Kueue's objects: who could make a Workload or a queue could take any quota."""
    message = "Kueue's objects are written by Fairgate and Kueue alone: change Fairgate's configuration"
    conditions = [_by_others(site.user, *site.kueue, *_CONTROLLERS)]
    return _policy({"kueue.x-k8s.io": "*/*"}, ("CREATE", "UPDATE", "DELETE"), conditions, message)


def _policy(
    resources: Mapping[str, str], operations: Sequence[str], conditions: Sequence[Mapping[str, str]], message: str
) -> dict[str, Any]:
    """Refuses what meets the conditions, unless its author may use exemptions. Says all that is default, too."""
    rules = [
        {
            "apiGroups": [group],
            "apiVersions": ["*"],
            "operations": list(operations),
            "resources": [resource],
            "scope": "*",
        }
        for group, resource in resources.items()
    ]
    return {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "matchPolicy": "Equivalent",
            "namespaceSelector": {},
            "objectSelector": {},
            "resourceRules": rules,
        },
        "matchConditions": [dict(each) for each in conditions],
        "validations": [{"expression": _IS_EXEMPT, "message": message, "reason": "Forbidden"}],
    }


def _by_others(*users: str) -> dict[str, str]:
    known = ", ".join(f"'{user}'" for user in users)
    return {"name": "by-others", "expression": f"!(request.userInfo.username in [{known}])"}
