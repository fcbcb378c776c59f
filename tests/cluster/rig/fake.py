"""Nodes that exist only as objects, by the thousand: KWOK keeps them Ready and says of their pods that they run."""

from collections.abc import Mapping
from typing import Any, Final

from rig.build import build, module_folder
from rig.kubectl import Kubectl
from rig.site import Component, Site

_FAKE: Final = "kwok.x-k8s.io/node"


def kwok(site: Site, kubectl: Kubectl) -> Component:
    """KWOK. Pods of a Job complete at once unless a Stage object says otherwise; others run until they are deleted."""
    stages = module_folder("kwok", "sigs.k8s.io/kwok") / "kustomize" / "stage" / "fast"
    command = (
        str(build("kwok")["kwok"]),
        f"--config={site.write('kwok.yaml', kubectl('kustomize', str(stages)))}",
        f"--kubeconfig={site.kubeconfig('admin')}",
        "--manage-all-nodes=false",
        f"--manage-nodes-with-annotation-selector={_FAKE}=fake",
        f"--server-address={site.at('kwok')}",
    )
    return Component("kwok", command, f"http://{site.at('kwok')}/healthz")


def fake_node(name: str, labels: Mapping[str, str], resources: Mapping[str, str]) -> dict[str, Any]:
    """The manifest of a fake node: ``labels`` place it in a flavor, ``resources`` are devices beside CPU and memory."""
    has = {"cpu": "64", "memory": "512Gi", "pods": "110", **resources}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": dict(labels), "annotations": {_FAKE: "fake"}},
        "spec": {},
        "status": {"capacity": has, "allocatable": has},
    }
