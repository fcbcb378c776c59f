"""Who may do what tenants may not: exact names of accounts in namespaces that tenants can not write to.

A group says nothing (whoever may impersonate one has it), nor does an account in a tenant's namespace: everybody there
can get its token.
"""

from typing import Final

_KUBE: Final = "system:serviceaccount:kube-system:"
KUEUE: Final = "system:serviceaccount:kueue-system:kueue-controller-manager"
KUBERAY: Final = "system:serviceaccount:kuberay-system:kuberay-operator"
SCHEDULER: Final = "system:serviceaccount:fairgate-system:fairgate-scheduler"
KUBE_SCHEDULER: Final = "system:kube-scheduler"
CONTROLLER_MANAGER: Final = "system:kube-controller-manager"
"""Who all built-in controllers are where they have no accounts of their own."""
COLLECTOR: Final = f"{_KUBE}generic-garbage-collector"
NAMESPACES: Final = f"{_KUBE}namespace-controller"
CLAIMS: Final = f"{_KUBE}resource-claim-controller"
NODE: Final = "system:node:"

_BUILT_IN: Final = {
    "Job": "job-controller",
    "ReplicaSet": "replicaset-controller",
    "ReplicationController": "replication-controller",
    "StatefulSet": "statefulset-controller",
    "DaemonSet": "daemon-set-controller",
    "Deployment": "deployment-controller",
    "CronJob": "cronjob-controller",
}
_GROUPS: Final = {"Job": "batch", "CronJob": "batch", "ReplicationController": ""}
WORKLOAD_CONTROLLERS: Final = frozenset({f"{_KUBE}{name}" for name in _BUILT_IN.values()} | {CONTROLLER_MANAGER})
_HOUSEKEEPERS: Final = frozenset(
    f"{_KUBE}{name}"
    for name in (
        "node-controller",
        "pod-garbage-collector",
        "taint-eviction-controller",
        "disruption-controller",
        "ttl-after-finished-controller",
        "resourcequota-controller",
        "endpoint-controller",
        "endpointslice-controller",
    )
)
TRUSTED: Final = (
    WORKLOAD_CONTROLLERS | _HOUSEKEEPERS | {KUEUE, KUBERAY, SCHEDULER, KUBE_SCHEDULER, COLLECTOR, NAMESPACES, CLAIMS}
)
"""Parts of the system. Everybody else is a tenant to the gate, people of the platform and accounts of robots too."""
ADMIN_GROUPS: Final = frozenset({"system:masters", "kubeadm:cluster-admins", "fairgate:admins"})
"""Who may change what the gate itself rests on: namespaces' labels, nodes, device classes, quota objects."""

Owner = tuple[str, str]
"""(API group, kind)."""

RAY_CLUSTER: Final[Owner] = ("ray.io", "RayCluster")
RAY_JOB: Final[Owner] = ("ray.io", "RayJob")


def _controllers(kind: str) -> frozenset[str]:
    return frozenset({f"{_KUBE}{_BUILT_IN[kind]}", CONTROLLER_MANAGER})


CONTROLLERS: Final[dict[Owner, frozenset[str]]] = {
    **{(_GROUPS.get(kind, "apps"), kind): _controllers(kind) for kind in _BUILT_IN},
    RAY_CLUSTER: frozenset({KUBERAY}),
    RAY_JOB: frozenset({KUBERAY}),
    ("ray.io", "RayService"): frozenset({KUBERAY}),
    ("ray.io", "RayCronJob"): frozenset({KUBERAY}),
    ("kueue.x-k8s.io", "Workload"): frozenset({KUEUE}),
}
"""Kind of owner → who alone may make objects that name it as their owner."""

CHILDREN: Final[dict[str, frozenset[Owner]]] = {
    "Pod": frozenset(
        {RAY_CLUSTER, ("batch", "Job"), ("apps", "ReplicaSet"), ("apps", "StatefulSet"), ("apps", "DaemonSet")}
        | {("", "ReplicationController")}
    ),
    "RayCluster": frozenset({RAY_JOB}),
    "Job": frozenset({RAY_JOB, RAY_CLUSTER, ("batch", "CronJob")}),
    "ReplicaSet": frozenset({("apps", "Deployment")}),
}
"""Kind → the kinds of owner that really make it."""


def is_trusted(username: str) -> bool:
    """Whether this is a part of the system, by its exact name."""
    return username in TRUSTED


def is_admin(groups: tuple[str, ...]) -> bool:
    """Whether one of the groups owns the platform."""
    return not ADMIN_GROUPS.isdisjoint(groups)


def autoscaler_of(namespace: str, cluster: str) -> str:
    """The account of a RayCluster's autoscaler. It is in the tenant's namespace: bounded, never trusted."""
    return f"system:serviceaccount:{namespace}:{cluster}"
