"""All objects of an installation, in the order in which they are applied."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml
from fairgate_scheduler.adapters.kube import names
from fairgate_scheduler.adapters.kube.api import Kind
from fairgate_scheduler.adapters.kube.api.kinds import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    DEPLOYMENT,
    ROLE,
    ROLE_BINDING,
    SERVICE,
    SERVICE_ACCOUNT,
)
from fairgate_scheduler.adapters.kube.api.kinds import NAMESPACE as NAMESPACE_KIND

import fairgate_admission.policies
from fairgate_admission.installing.names import ACCOUNT, SECRET, SWEEPER, WEBHOOKS
from fairgate_admission.installing.names import SERVICE as SERVICE_NAME
from fairgate_admission.installing.webhook import webhooks
from fairgate_admission.live.kinds import LOOKED_UP

PORT: Final = 9443
_RBAC: Final = "rbac.authorization.k8s.io"
_REGISTRATION: Final = "admissionregistration.k8s.io"
_BUDGET: Final = Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets")
_CERTIFICATE: Final = Kind("cert-manager.io", "v1", "Certificate", "certificates")
_TLS: Final = "/etc/fairgate-gate"
_STATE: Final = "/var/lib/fairgate"


@dataclass(frozen=True, slots=True)
class Installation:
    """What admins say. ``claim``: the PersistentVolumeClaim with the service's state. ``issuer``: cert-manager's
    ClusterIssuer that makes the certificate; "": the gate makes its own. ``ends_in``: see ``sweeper.sweeper``.
    """

    image: str
    claim: str
    namespace: str = names.SYSTEM_NAMESPACE
    replicas: int = 3
    issuer: str = ""
    ends_in: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()

    @property
    def host(self) -> str:
        """What the API server calls it by."""
        return f"{SERVICE_NAME}.{self.namespace}.svc"


def manifests(site: Installation) -> Iterator[dict[str, Any]]:
    """The webhook comes last: before it, nothing is asked of a gate that is not there yet."""
    yield _object(NAMESPACE_KIND, site.namespace, {})
    yield _object(SERVICE_ACCOUNT, ACCOUNT, {}, site.namespace)
    yield from _rights(site)
    yield from policies()
    if site.issuer:
        issuer = {"kind": "ClusterIssuer", "name": site.issuer}
        spec = {"secretName": SECRET, "dnsNames": [site.host], "issuerRef": issuer}
        yield _object(_CERTIFICATE, SERVICE_NAME, {"spec": spec}, site.namespace)
    ports = [{"name": "https", "port": 443, "targetPort": PORT}]
    selector = {"app.kubernetes.io/name": SERVICE_NAME}
    yield _object(SERVICE, SERVICE_NAME, {"spec": {"selector": selector, "ports": ports}}, site.namespace)
    budget = {"maxUnavailable": 1, "selector": {"matchLabels": selector}}
    yield _object(_BUDGET, SERVICE_NAME, {"spec": budget}, site.namespace)
    yield _deployment(site, SERVICE_NAME, site.replicas, ())
    ends = tuple(f"--end-in={each}" for each in site.ends_in)
    yield _deployment(site, SWEEPER, 1, ("--sweep", *ends))
    injected = {"cert-manager.io/inject-ca-from": f"{site.namespace}/{SERVICE_NAME}"} if site.issuer else None
    yield webhooks(site.namespace, injected)


def policies() -> Iterator[dict[str, Any]]:
    """The policies that the API server applies itself, with their bindings."""
    for folder in fairgate_admission.policies.__path__:
        for file in sorted(Path(folder).glob("*.yaml")):
            yield from yaml.load_all(file.read_text(encoding="utf-8"), yaml.CSafeLoader)


def _rights(site: Installation) -> Iterator[dict[str, Any]]:
    """It reads what it judges by, asks who may use exceptions, and writes its certificate, events, and no more."""
    groups = sorted({each.group for each in LOOKED_UP})
    read = [
        _rule(group, [each.plural for each in LOOKED_UP if each.group == group], ("get", "list")) for group in groups
    ]
    rules = [
        *read,
        _rule("", ("pods",), ("get", "list", "delete")),
        _rule("", ("events",), ("create",)),
        _rule(_RBAC, ("clusterroles",), ("list",)),
        _rule("authorization.k8s.io", ("subjectaccessreviews",), ("create",)),
        {**_rule(_REGISTRATION, ("validatingwebhookconfigurations",), ("get", "patch")), "resourceNames": [WEBHOOKS]},
    ]
    subject = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": site.namespace}
    yield _object(CLUSTER_ROLE, ACCOUNT, {"rules": rules})
    yield _object(CLUSTER_ROLE_BINDING, ACCOUNT, _binding("ClusterRole", subject))
    own = [
        {**_rule("", ("secrets",), ("get", "patch")), "resourceNames": [SECRET]},
        _rule("", ("secrets",), ("create",)),
    ]
    yield _object(ROLE, ACCOUNT, {"rules": own}, site.namespace)
    yield _object(ROLE_BINDING, ACCOUNT, _binding("Role", subject), site.namespace)


def _rule(group: str, resources: Sequence[str], verbs: Sequence[str]) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}


def _binding(kind: str, subject: dict[str, str]) -> dict[str, Any]:
    return {"roleRef": {"apiGroup": _RBAC, "kind": kind, "name": ACCOUNT}, "subjects": [subject]}


def _object(kind: Kind, name: str, body: dict[str, Any], namespace: str = "") -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "labels": {names.MANAGED: names.FIELD_MANAGER}}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **body}


def _deployment(site: Installation, name: str, replicas: int, arguments: Sequence[str]) -> dict[str, Any]:
    labels = {"app.kubernetes.io/name": name}
    template = {"metadata": {"labels": labels}, "spec": _pod(site, name, arguments)}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    if replicas == 1:
        spec["strategy"] = {"type": "Recreate"}
    return _object(DEPLOYMENT, name, {"spec": spec}, site.namespace)


def _pod(site: Installation, name: str, arguments: Sequence[str]) -> dict[str, Any]:
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app.kubernetes.io/name": name}},
    }
    volumes: list[dict[str, Any]] = [
        {"name": "state", "persistentVolumeClaim": {"claimName": site.claim}},
        {"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}},
    ]
    if site.issuer:
        volumes.append({"name": "tls", "secret": {"secretName": SECRET}})
    return {
        "serviceAccountName": ACCOUNT,
        "priorityClassName": "system-cluster-critical",
        "terminationGracePeriodSeconds": 20,
        "topologySpreadConstraints": [spread],
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [_container(site, arguments)],
        "volumes": volumes,
    }


def _container(site: Installation, arguments: Sequence[str]) -> dict[str, Any]:
    own: tuple[str, ...] = ("gate", "serve", f"--store={_STATE}/fairgate.db", f"--namespace={site.namespace}")
    mounts = [{"name": "state", "mountPath": _STATE}, {"name": "tmp", "mountPath": "/tmp"}]
    if site.issuer:
        own = (*own, f"--tls-folder={_TLS}")
        mounts.append({"name": "tls", "mountPath": _TLS})
    return {
        "name": "gate",
        "image": site.image,
        "command": ["fairgate"],
        "args": [*own, *site.arguments, *arguments],
        "ports": [{"name": "https", "containerPort": PORT}],
        "readinessProbe": {"httpGet": _probe("/readyz"), "periodSeconds": 2, "failureThreshold": 1},
        "livenessProbe": {"httpGet": _probe("/healthz"), "periodSeconds": 10, "initialDelaySeconds": 10},
        "resources": {"requests": {"cpu": "200m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": mounts,
    }


def _probe(path: str) -> dict[str, Any]:
    return {"path": path, "port": PORT, "scheme": "HTTPS"}
