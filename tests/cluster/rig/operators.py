"""Kueue and KubeRay as an admin of Fairgate runs them, from the manifests in their own Go modules."""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from rig.build import build, module_folder
from rig.kubectl import Kubectl
from rig.site import Component, Site
from rig.webhooks import call_directly

FRAMEWORKS: Final = (
    "batch/job",
    "ray.io/rayjob",
    "ray.io/raycluster",
    "ray.io/rayservice",
    "pod",
    "deployment",
    "statefulset",
)
# Its API server finds itself by an in-cluster configuration only, which a process outside a pod has not.
_GATES: Final = {"VisibilityOnDemand": False}
# The processes are ours, and nobody serves these APIs.
_LEFT_OUT: Final = ("Deployment", "APIService")


def kueue_source() -> Path:
    """The source of the pinned Kueue: its manifests, and the shapes of its scalability test."""
    return module_folder("kueue", "sigs.k8s.io/kueue")


def kuberay_source() -> Path:
    """The source of the pinned KubeRay operator with its manifests."""
    return module_folder("kuberay", "github.com/ray-project/kuberay/ray-operator")


def install_kueue(site: Site, kubectl: Kubectl) -> None:
    """Its namespace, CRDs, roles and webhooks; the latter are called directly."""
    address = site.at("kueue-webhook")
    manifests = [call_directly(each, address, site.certificate) for each in _rendered(kubectl, kueue_source())]
    # Kueue serves what its Secret holds, and waits until that is mounted in a folder; here it is there from the start.
    [secret] = [each for each in manifests if each["kind"] == "Secret"]
    files = {"ca.crt": site.certificate, "ca.key": site.key, "tls.crt": site.certificate, "tls.key": site.key}
    secret["data"] = {name: base64.b64encode(file.read_bytes()).decode() for name, file in files.items()}
    kubectl.apply(*manifests)


def install_kuberay(kubectl: Kubectl) -> None:
    """Its CRDs, service account and roles."""
    kubectl.apply(*_rendered(kubectl, kuberay_source()))


def kueue(site: Site, gates: Mapping[str, bool] | None = None, **settings: object) -> Component:
    """Kueue, with other feature gates or other fields of its configuration than an admin of Fairgate has."""
    config = _kueue_config(site) | settings
    command = (
        str(build("kueue")["kueue"]),
        f"--config={site.write('kueue.json', json.dumps(config))}",
        f"--kubeconfig={site.kubeconfig('kueue')}",
        f"--feature-gates={','.join(f'{gate}={on}' for gate, on in (_GATES | dict(gates or {})).items())}",
    )
    return Component("kueue", command, f"http://{site.at('kueue-health')}/readyz")


def kuberay(site: Site) -> Component:
    """KubeRay. It reaches Ray's dashboards through the API server, because it is not in the pods' network."""
    command = (
        str(build("kuberay")["kuberay"]),
        f"--kubeconfig={site.kubeconfig('kuberay')}",
        "--use-kubernetes-proxy",
        "--enable-leader-election=false",
        "--metrics-addr=0",
        f"--health-probe-bind-address={site.at('kuberay-health')}",
    )
    return Component("kuberay", command, f"http://{site.at('kuberay-health')}/readyz")


def _kueue_config(site: Site) -> dict[str, object]:
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": "kueue-system",
        "health": {"healthProbeBindAddress": site.at("kueue-health")},
        "metrics": {"bindAddress": site.at("kueue-metrics")},
        "webhook": {
            "host": site.address,
            "port": site.ports["kueue-webhook"],
            "certDir": str(site.certificate.parent),
        },
        "internalCertManagement": {
            "enable": True,
            "webhookServiceName": "kueue-webhook-service",
            "webhookSecretName": "kueue-webhook-server-cert",
        },
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"qps": 50, "burst": 100},
        "manageJobsWithoutQueueName": False,
        "integrations": {"frameworks": list(FRAMEWORKS)},
    }


def _rendered(kubectl: Kubectl, source: Path) -> list[dict[str, Any]]:
    documents = yaml.load_all(kubectl("kustomize", str(source / "config" / "default")), yaml.CSafeLoader)
    return [each for each in documents if each["kind"] not in _LEFT_OUT]
