"""The ValidatingWebhookConfiguration: which requests the API server asks the gate about."""

from typing import Any, Final

from fairgate_scheduler.adapters.kube import names
from fairgate_scheduler.adapters.kube.api.kinds import VALIDATING_WEBHOOKS

from fairgate_admission.installing.names import SERVICE, WEBHOOK, WEBHOOKS
from fairgate_admission.policy.backstop import SYSTEM_NAMESPACES

NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"
TIMEOUT_S: Final = 3
_BOTH: Final = ("CREATE", "UPDATE")
_SCALABLE: Final = ("deployments", "replicasets", "statefulsets")
_RULES: Final = (
    ("", ("pods", "replicationcontrollers"), _BOTH),
    ("", ("pods/ephemeralcontainers", "pods/resize", "replicationcontrollers/scale"), ("UPDATE",)),
    ("apps", (*_SCALABLE, "daemonsets"), _BOTH),
    ("apps", tuple(f"{each}/scale" for each in _SCALABLE), ("UPDATE",)),
    ("batch", ("jobs", "cronjobs"), _BOTH),
    ("ray.io", ("rayjobs", "rayclusters", "rayservices", "raycronjobs"), _BOTH),
    ("resource.k8s.io", ("resourceclaims", "resourceclaimtemplates"), _BOTH),
    *((group, ("*",), _BOTH) for group in (
        "jobset.x-k8s.io", "leaderworkerset.x-k8s.io", "kubeflow.org", "trainer.kubeflow.org", "batch.volcano.sh",
        "sparkoperator.k8s.io", "workload.codeflare.dev", "argoproj.io",
    )),
    ("leaderworkerset.x-k8s.io", ("leaderworkersets/scale",), ("UPDATE",)),
)  # fmt: skip
"""(API group, resources, operations). Of every other kind we see the pods. No DELETE, no status, no leases: what goes
wrong with us must not keep anything from ending or from telling how it is."""
_WATCHED: Final = ("labels", "annotations", "finalizers", "ownerReferences")


def webhooks(namespace: str, annotations: dict[str, str] | None = None) -> dict[str, Any]:
    """The configuration. ``annotations``: of its metadata, for whoever else writes its ``caBundle``."""
    selector = [
        {"key": names.TENANT, "operator": "Exists"},
        {"key": NAMESPACE_NAME, "operator": "NotIn", "values": list(SYSTEM_NAMESPACES)},
    ]
    webhook = {
        "name": WEBHOOK,
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"name": SERVICE, "namespace": namespace, "path": "/review", "port": 443}},
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "timeoutSeconds": TIMEOUT_S,
        "namespaceSelector": {"matchExpressions": selector},
        "objectSelector": {},
        "matchConditions": [{"name": "changes-something", "expression": _changes()}],
        "rules": [
            {
                "apiGroups": [group],
                "apiVersions": ["*"],
                "operations": list(operations),
                "resources": list(resources),
                "scope": "Namespaced",
            }
            for group, resources, operations in _RULES
        ],
    }
    metadata: dict[str, Any] = {"name": WEBHOOKS, "labels": {names.MANAGED: names.FIELD_MANAGER}}
    if annotations:
        metadata["annotations"] = annotations
    kind = VALIDATING_WEBHOOKS
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "webhooks": [webhook]}


def _changes() -> str:
    """True unless an update leaves spec, labels, annotations, finalizers and owners as they are; true if unsure."""
    parts = ["request.operation != 'UPDATE'", "!has(object.spec)", "!has(oldObject.spec)"]
    parts += ["object.spec != oldObject.spec"]
    for key in _WATCHED:
        empty = "{}" if key in ("labels", "annotations") else "[]"
        parts.append(f"object.metadata.?{key}.orValue({empty}) != oldObject.metadata.?{key}.orValue({empty})")
    return " || ".join(parts)
