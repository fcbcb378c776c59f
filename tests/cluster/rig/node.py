"""One real node: containerd, kubelet, kube-proxy and the cluster's DNS, with accelerators that are only counted."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rig.build import build
from rig.host import CGROUP
from rig.identities import NODE
from rig.kubectl import Kubectl
from rig.site import Component, Site

_PODS: Final = "10.88.0.0/16"
LABELS: Final = {
    "pool": "cpu",
    "cloud.google.com/gke-accelerator": "nvidia-h100-80gb",
    "cloud.google.com/gke-tpu-accelerator": "tpu-v5-lite-podslice",
}
DEVICES: Final = {"nvidia.com/gpu": "8", "google.com/tpu": "4"}

_CONTAINERD: Final = """\
version = 2
root = "{folder}/containerd/root"
state = "{folder}/containerd/state"

[grpc]
  address = "{socket}"

[plugins."io.containerd.internal.v1.opt"]
  path = "{folder}/containerd/opt"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "docker.io/rig/pause:1"
  # Where we may not lower oom_score_adj, runc says: "can't get final child's PID from pipe: EOF".
  restrict_oom_score_adj = true

[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "/usr/lib/cni"
  conf_dir = "{folder}/cni"
"""
_COREFILE: Final = """\
.:53 {{
    bind {address}
    errors
    kubernetes cluster.local in-addr.arpa ip6.arpa {{
        kubeconfig {kubeconfig}
    }}
    cache 5
}}
"""


def containerd(site: Site) -> Component:
    """The container runtime. Once it answers, images can be imported."""
    network = {
        "cniVersion": "0.4.0",
        "name": "rig",
        "plugins": [
            {
                "type": "bridge",
                "bridge": "cni0",
                "isGateway": True,
                "hairpinMode": True,
                "ipam": {
                    "type": "host-local",
                    "ranges": [[{"subnet": _PODS}]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                    "dataDir": str(site.folder / "ipam"),
                },
            },
        ],
    }
    (site.folder / "cni").mkdir(exist_ok=True)
    (site.folder / "cni" / "10-rig.conflist").write_text(json.dumps(network))
    text = _CONTAINERD.format(folder=site.folder, socket=socket(site))
    command = ("containerd", f"--config={site.write('containerd.toml', text)}")
    return Component("containerd", command, ctr(site, "version"))


def images_folder(site: Site) -> Path:
    """Where containerd keeps images and containers. In memory they are there and gone in no time: some 30,000 files."""
    return site.folder / "containerd"


def socket(site: Site) -> Path:
    """Where containerd listens."""
    return images_folder(site) / "socket"


def ctr(site: Site, *arguments: str) -> tuple[str, ...]:
    """A command of containerd's own client."""
    return ("ctr", f"--address={socket(site)}", "--namespace=k8s.io", *arguments)


def components(site: Site) -> list[Component]:
    """All but containerd, in the order in which they are started."""
    return [_coredns(site), _kubelet(site), _kube_proxy(site)]


def label_and_equip(kubectl: Kubectl) -> None:
    """Give the node its labels and devices; kubelet keeps and counts what it finds in its status."""
    kubectl("label", "node", NODE, "--overwrite", *(f"{key}={value}" for key, value in LABELS.items()))
    equip(kubectl, DEVICES)


def equip(kubectl: Kubectl, devices: Mapping[str, str]) -> None:
    """Set how many of each extended resource the real node has."""
    patch = {"status": {"capacity": dict(devices), "allocatable": dict(devices)}}
    kubectl("patch", "node", NODE, "--subresource=status", "--type=merge", f"--patch={json.dumps(patch)}")


def _coredns(site: Site) -> Component:
    text = _COREFILE.format(address=site.address, kubeconfig=site.kubeconfig("admin"))
    return Component("coredns", (str(build("coredns")["coredns"]), f"-conf={site.write('Corefile', text)}"))


def _kubelet(site: Site) -> Component:
    config = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": site.address,
        "healthzBindAddress": site.address,
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "containerRuntimeEndpoint": f"unix://{socket(site)}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{CGROUP}",
        "failCgroupV1": False,  # it also runs where the host has only the old cgroups
        "failSwapOn": False,
        "enforceNodeAllocatable": [],
        "evictionHard": {"nodefs.available": "1%", "imagefs.available": "1%", "memory.available": "100Mi"},
        "imageGCHighThresholdPercent": 100,
        "clusterDNS": [site.address],
        "clusterDomain": "cluster.local",
        "resolvConf": "",
        "volumePluginDir": str(site.folder / "volume-plugins"),
        "nodeStatusUpdateFrequency": "5s",
    }
    command = (
        str(build("kubelet")["kubelet"]),
        f"--config={site.write('kubelet.json', json.dumps(config))}",
        f"--kubeconfig={site.kubeconfig('kubelet')}",
        f"--root-dir={site.folder / 'kubelet'}",
        f"--hostname-override={NODE}",
        f"--node-ip={site.address}",
    )
    return Component("kubelet", command, f"http://{site.address}:10248/healthz")


def _kube_proxy(site: Site) -> Component:
    config = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "hostnameOverride": NODE,
        "clusterCIDR": _PODS,
        "healthzBindAddress": f"{site.address}:10256",
        "metricsBindAddress": f"{site.address}:10249",
        "clientConnection": {"kubeconfig": str(site.kubeconfig("kube-proxy"))},
        # Connection tracking is sized for the whole host; leave it alone.
        "conntrack": {"maxPerCore": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
    }
    text = json.dumps(config)
    command = (str(build("kube-proxy")["kube-proxy"]), f"--config={site.write('kube-proxy.json', text)}")
    return Component("kube-proxy", command, f"http://{site.address}:10256/healthz")
