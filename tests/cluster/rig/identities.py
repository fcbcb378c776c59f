"""Who may call the API server: users for tests, and each component under the name that it has in a real cluster."""

import json
import secrets
import subprocess
from dataclasses import dataclass
from typing import Final

from rig.errors import RigError
from rig.site import Site

NODE: Final = "node-0"
KUEUE_NAMES: Final = ("kueue-ca", "kueue-webhook-service.kueue-system.svc")
"""What Kueue wants to find in its authority and its certificate (valid for 90 days at least), or it makes others."""
USERS: Final = ("user-a", "user-b")
"""Ordinary people. They may do nothing until a test binds a role to them."""


@dataclass(frozen=True)
class _Identity:
    user: str
    groups: tuple[str, ...] = ()


def _service_account(namespace: str, name: str) -> _Identity:
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
    return _Identity(f"system:serviceaccount:{namespace}:{name}", groups)


# Roles, admission rules and audit logs see the same names as in production, so what a controller may not do shows here.
_IDENTITIES: Final = {
    "admin": _Identity("admin", ("system:masters",)),
    **{user: _Identity(user) for user in USERS},
    "kube-controller-manager": _Identity("system:kube-controller-manager"),
    "kube-scheduler": _Identity("system:kube-scheduler"),
    "kube-proxy": _Identity("system:kube-proxy"),
    "kubelet": _Identity(f"system:node:{NODE}", ("system:nodes",)),
    "kueue": _service_account("kueue-system", "kueue-controller-manager"),
    "kuberay": _service_account("default", "kuberay-operator"),
}


def write_identities(site: Site) -> None:
    """Make the certificate, a token for each identity, and a kubeconfig with it."""
    _certificate(site)
    folder = site.kubeconfig("admin").parent
    folder.mkdir(parents=True)
    lines = []
    for name, identity in _IDENTITIES.items():
        token = secrets.token_hex(16)
        lines.append(f'{token},{identity.user},{identity.user},"{",".join(identity.groups)}"\n')
        site.kubeconfig(name).write_text(json.dumps(_kubeconfig(site, name, token), indent=1))
        site.kubeconfig(name).chmod(0o600)
    site.write("tokens.csv", "".join(lines))


def _kubeconfig(site: Site, name: str, token: str) -> dict[str, object]:
    cluster = {"server": f"https://{site.at('api')}", "certificate-authority": str(site.certificate)}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "rig", "cluster": cluster}],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": "rig", "user": name}}],
        "current-context": name,
    }


def _certificate(site: Site) -> None:
    addresses = {"127.0.0.1", site.address, "10.96.0.1"}
    hosts = ("localhost", "kubernetes.default.svc", *KUEUE_NAMES)
    names = (*(f"IP:{each}" for each in sorted(addresses)), *(f"DNS:{each}" for each in hosts))
    site.certificate.parent.mkdir(parents=True)
    # Kueue reads keys of this old form only.
    _openssl("genrsa", "-traditional", "-out", str(site.key), "2048")
    _openssl(
        *("req", "-x509", "-key", str(site.key), "-out", str(site.certificate), "-days", "3650", "-subj", "/CN=rig"),
        *("-addext", f"subjectAltName={','.join(names)}"),
        *("-addext", "keyUsage=critical,digitalSignature,keyEncipherment,keyCertSign"),
    )


def _openssl(*arguments: str) -> None:
    done = subprocess.run(["openssl", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RigError(f"openssl {arguments[0]} failed:\n{done.stderr}")
