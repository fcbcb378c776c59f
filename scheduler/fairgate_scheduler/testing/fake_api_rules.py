"""What the twin of an API server knows of the kinds we use: which lists have keys, what is one value, who has a status.

Read from the OpenAPI documents of Kubernetes 1.35, Kueue 0.17 and KubeRay 1.5.
"""

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STATUS_KINDS: Final = _words(
    "Namespace Node Pod Service ResourceQuota Job Deployment ValidatingAdmissionPolicy "
    "CustomResourceDefinition RayJob RayCluster Cohort ClusterQueue LocalQueue Workload"
)
"""Kinds whose status is written apart from the rest."""

GENERATION_KINDS: Final = _words(
    "Pod Job Deployment NetworkPolicy ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding "
    "CustomResourceDefinition RayJob RayCluster ResourceFlavor Cohort ClusterQueue LocalQueue Workload "
    "WorkloadPriorityClass"
)
"""Kinds of which ``metadata.generation`` counts the changes."""

SYSTEM_METADATA: Final = _words(
    "name namespace uid resourceVersion generation creationTimestamp deletionTimestamp "
    "deletionGracePeriodSeconds managedFields generateName selfLink"
)
"""What nobody owns of the metadata: only the server writes it, or it never changes."""

_KEYS: Final[dict[str, tuple[str, ...]]] = {
    "admissionChecks": ("name",),
    "claims": ("name",),
    "conditions": ("type",),
    "containers": ("name",),
    "env": ("name",),
    "ephemeralContainers": ("name",),
    "flavors": ("name",),
    "flavorsReservation": ("name",),
    "flavorsUsage": ("name",),
    "hostAliases": ("ip",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "matchConditions": ("name",),
    "ownerReferences": ("uid",),
    "podSetAssignments": ("name",),
    "podSets": ("name",),
    "ports": ("containerPort", "protocol"),
    "reclaimablePods": ("name",),
    "resourceClaims": ("name",),
    "resourceRequests": ("name",),
    "resources": ("name",),
    "schedulingGates": ("name",),
    "secrets": ("name",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "variables": ("name",),
    "volumeDevices": ("devicePath",),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
}
_WHOLE_LISTS: Final = frozenset(
    {
        ("autoscalerOptions", "env"),
        ("autoscalerOptions", "volumeMounts"),
        ("ServiceAccount", "imagePullSecrets"),
    }
)
"""Lists that have keys elsewhere, by the field that they stand in, or by the kind."""
_SERVICE_PORTS: Final = ("port", "protocol")
_WHOLE_ITEMS: Final = frozenset({"imagePullSecrets", "ownerReferences", "secrets", "variables"})
_WHOLE_MAPS: Final = _words(
    "configMapKeyRef configMapRef dataSource fieldRef fileKeyRef involvedObject labelSelector "
    "matchConstraints matchResources namespaceSelector nodeLabels nodeSelector objectSelector paramKind "
    "paramRef podSelector related resourceFieldRef roleRef scopeSelector secretKeyRef secretRef selector"
)
_DEFAULTS: Final = {"protocol": "TCP"}


def keys_of_list(kind: str, fields: tuple[str, ...]) -> tuple[str, ...]:
    """By which fields the items of a list are told apart; empty for a list that is one value, or a set."""
    name, parent = fields[-1], fields[-2] if len(fields) > 1 else kind
    if (parent, name) in _WHOLE_LISTS or (kind, name) == ("Job", "conditions"):
        return ()
    if name == "ports" and parent == "spec":
        return _SERVICE_PORTS
    return _KEYS.get(name, ())


def is_set(fields: tuple[str, ...]) -> bool:
    """Whether a list is a set of values, each owned for itself."""
    return fields in (("metadata", "finalizers"), ("spec", "validationActions"))


def is_whole_map(fields: tuple[str, ...]) -> bool:
    """Whether a map is one value: it is replaced, never merged."""
    return bool(fields) and fields[-1] in _WHOLE_MAPS


def has_whole_items(fields: tuple[str, ...]) -> bool:
    """Whether each item of a list with keys is one value."""
    return fields[-1] in _WHOLE_ITEMS


def default_of_key(key: str) -> object:
    """What a key of an item is where the item does not say."""
    return _DEFAULTS.get(key)
