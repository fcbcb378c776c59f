"""etcd, API server, controller manager and scheduler: what every cluster has."""

from rig.build import build
from rig.site import Component, Site

SERVICES = "10.96.0.0/16"


def components(site: Site) -> list[Component]:
    """In the order in which they are started."""
    return [_etcd(site), _api_server(site), _controller_manager(site), _scheduler(site)]


def _etcd(site: Site) -> Component:
    client, peer = f"http://{site.at('etcd')}", f"http://{site.at('etcd-peer')}"
    command = (
        str(build("etcd")["etcd"]),
        f"--data-dir={site.folder / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",  # what it holds is not worth the wait
    )
    return Component("etcd", command, f"{client}/health")


def _api_server(site: Site) -> Component:
    # Without a node nobody looks at the endpoints of the Service `kubernetes`, and they may not be on loopback.
    endpoints = (f"--advertise-address={site.address}",) if site.has_node else ("--endpoint-reconciler-type=none",)
    command = (
        str(build("kube-apiserver")["kube-apiserver"]),
        f"--etcd-servers=http://{site.at('etcd')}",
        f"--bind-address={site.address}",
        f"--secure-port={site.ports['api']}",
        f"--tls-cert-file={site.certificate}",
        f"--tls-private-key-file={site.key}",
        f"--service-cluster-ip-range={SERVICES}",
        f"--service-account-key-file={site.key}",
        f"--service-account-signing-key-file={site.key}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--token-auth-file={site.folder / 'config' / 'tokens.csv'}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--kubelet-preferred-address-types=InternalIP",
        "--enable-aggregator-routing=true",  # a webhook's Service is looked up by its EndpointSlices
        "--allow-privileged",
        *endpoints,
    )
    return Component("kube-apiserver", command, f"https://{site.at('api')}/readyz")


def _controller_manager(site: Site) -> Component:
    command = (
        str(build("kube-controller-manager")["kube-controller-manager"]),
        f"--kubeconfig={site.kubeconfig('kube-controller-manager')}",
        f"--bind-address={site.address}",
        f"--secure-port={site.ports['controller-manager']}",
        f"--cert-dir={site.folder / 'pki'}",
        f"--service-account-private-key-file={site.key}",
        f"--root-ca-file={site.certificate}",
        "--use-service-account-credentials=true",
        "--leader-elect=false",
    )
    return Component("kube-controller-manager", command, f"https://{site.at('controller-manager')}/healthz")


def _scheduler(site: Site) -> Component:
    command = (
        str(build("kube-scheduler")["kube-scheduler"]),
        f"--kubeconfig={site.kubeconfig('kube-scheduler')}",
        f"--bind-address={site.address}",
        f"--secure-port={site.ports['scheduler']}",
        f"--cert-dir={site.folder / 'pki'}",
        "--leader-elect=false",
    )
    return Component("kube-scheduler", command, f"https://{site.at('scheduler')}/healthz")
