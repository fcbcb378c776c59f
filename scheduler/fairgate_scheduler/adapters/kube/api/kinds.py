"""The kinds of objects that we read or write, each with where the API server serves it."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of object. ``group`` "" is the core group; ``plural`` is its word in paths."""

    group: str
    version: str
    kind: str
    plural: str
    is_namespaced: bool = True

    @property
    def api_version(self) -> str:
        """What manifests of this kind say as ``apiVersion``."""
        return f"{self.group}/{self.version}" if self.group else self.version


NAMESPACE: Final = Kind("", "v1", "Namespace", "namespaces", is_namespaced=False)
NODE: Final = Kind("", "v1", "Node", "nodes", is_namespaced=False)
POD: Final = Kind("", "v1", "Pod", "pods")
EVENT: Final = Kind("", "v1", "Event", "events")
SERVICE: Final = Kind("", "v1", "Service", "services")
CONFIG_MAP: Final = Kind("", "v1", "ConfigMap", "configmaps")
RESOURCE_QUOTA: Final = Kind("", "v1", "ResourceQuota", "resourcequotas")
LIMIT_RANGE: Final = Kind("", "v1", "LimitRange", "limitranges")
SECRET: Final = Kind("", "v1", "Secret", "secrets")
SERVICE_ACCOUNT: Final = Kind("", "v1", "ServiceAccount", "serviceaccounts")
JOB: Final = Kind("batch", "v1", "Job", "jobs")
DEPLOYMENT: Final = Kind("apps", "v1", "Deployment", "deployments")
LEASE: Final = Kind("coordination.k8s.io", "v1", "Lease", "leases")
RUNTIME_CLASS: Final = Kind("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", is_namespaced=False)
NETWORK_POLICY: Final = Kind("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies")
ROLE: Final = Kind("rbac.authorization.k8s.io", "v1", "Role", "roles")
ROLE_BINDING: Final = Kind("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings")
CLUSTER_ROLE: Final = Kind("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", is_namespaced=False)
CLUSTER_ROLE_BINDING: Final = Kind(
    "rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", is_namespaced=False
)
VALIDATING_WEBHOOKS: Final = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    is_namespaced=False,
)
ADMISSION_POLICY: Final = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingAdmissionPolicy",
    "validatingadmissionpolicies",
    is_namespaced=False,
)
ADMISSION_POLICY_BINDING: Final = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
    is_namespaced=False,
)
SUBJECT_ACCESS_REVIEW: Final = Kind(
    "authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", is_namespaced=False
)
CRD: Final = Kind(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", is_namespaced=False
)

RAY_JOB: Final = Kind("ray.io", "v1", "RayJob", "rayjobs")
RAY_CLUSTER: Final = Kind("ray.io", "v1", "RayCluster", "rayclusters")

RESOURCE_FLAVOR: Final = Kind("kueue.x-k8s.io", "v1beta2", "ResourceFlavor", "resourceflavors", is_namespaced=False)
COHORT: Final = Kind("kueue.x-k8s.io", "v1beta2", "Cohort", "cohorts", is_namespaced=False)
CLUSTER_QUEUE: Final = Kind("kueue.x-k8s.io", "v1beta2", "ClusterQueue", "clusterqueues", is_namespaced=False)
LOCAL_QUEUE: Final = Kind("kueue.x-k8s.io", "v1beta2", "LocalQueue", "localqueues")
WORKLOAD: Final = Kind("kueue.x-k8s.io", "v1beta2", "Workload", "workloads")
WORKLOAD_PRIORITY_CLASS: Final = Kind(
    "kueue.x-k8s.io", "v1beta2", "WorkloadPriorityClass", "workloadpriorityclasses", is_namespaced=False
)
