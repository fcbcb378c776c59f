"""What a tenant's pod templates may not ask of a node, since it is our account that makes the pods.

The rules are those of Kubernetes' Pod Security Standard "baseline" (https://kubernetes.io/docs/concepts/security/
pod-security-standards/), and that a pod runs only as a service account that the tenant may use.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from fairgate_scheduler.core.manifests.charge import CLUSTER, HEAD_PATH, SUBMITTER_PATH
from fairgate_scheduler.core.manifests.findings import Finding, child
from fairgate_scheduler.core.manifests.plain import Plain, get_int, get_list, get_map, get_text, is_true

_CAPABILITIES: Final = frozenset(
    {"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP"}
    | {"SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"}
)
_SELINUX_TYPES: Final = frozenset({"", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"})
_SYSCTLS: Final = frozenset(
    {
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ping_group_range",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.tcp_wmem",
    }
)
_HOST_FIELDS: Final = ("hostNetwork", "hostPID", "hostIPC")
_APPARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_NOT_ALLOWED: Final = "is not allowed: pods of jobs keep to the Pod Security Standard baseline"
_REMOVE: Final = "remove it"

DEFAULT_ACCOUNTS: Final = ("default",)
"""What pods may run as where a tenant's configuration names no service accounts."""


def templates(manifest: Mapping[str, Any]) -> Iterator[tuple[str, Plain]]:
    """Every pod template of a (normalized) RayJob with its path: head, worker groups, submitter."""
    cluster = get_map(manifest, "spec", "rayClusterSpec")
    yield f"{HEAD_PATH}.template", get_map(cluster, "headGroupSpec", "template")
    for index, group in enumerate(get_list(cluster, "workerGroupSpecs")):
        yield f"{CLUSTER}.workerGroupSpecs[{index}].template", get_map(group, "template")
    yield SUBMITTER_PATH, get_map(manifest, "spec", "submitterPodTemplate")


def check_security(manifest: Mapping[str, Any]) -> list[Finding]:
    """Everything in the pod templates of a (normalized) RayJob that the baseline does not allow, by field."""
    findings: list[Finding] = []
    for path, template in templates(manifest):
        check_template(template, path, findings)
    return findings


def check_template(template: Plain, path: str, findings: list[Finding]) -> None:
    """As ``check_security``, for one pod or pod template."""
    at = child(path, "spec")
    spec = get_map(template, "spec")
    findings += [Finding(child(at, key), _NOT_ALLOWED, _REMOVE) for key in _HOST_FIELDS if is_true(spec, key)]
    findings += [
        Finding(f"{at}.volumes[{index}].hostPath", _NOT_ALLOWED, "use a volume that is not the node's own")
        for index, volume in enumerate(get_list(spec, "volumes"))
        if isinstance(volume, dict) and "hostPath" in volume
    ]
    _check_context(get_map(spec, "securityContext"), child(at, "securityContext"), findings)
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(get_list(spec, kind)):
            _check_container(container, f"{at}.{kind}[{index}]", findings)
    profiles, annotations = (
        get_map(template, "metadata", "annotations"),
        f"{path}.metadata.annotations".removeprefix("."),
    )
    findings += [
        Finding(child(annotations, key), _NOT_ALLOWED, _REMOVE)
        for key, value in profiles.items()
        if key.startswith(_APPARMOR) and value != "runtime/default" and not str(value).startswith("localhost/")
    ]


def check_accounts(manifest: Mapping[str, Any], allowed: Collection[str]) -> list[Finding]:
    """Every pod template of a (normalized) RayJob that runs as a service account which is not allowed."""
    names = ", ".join(sorted(allowed))
    return [
        Finding(f"{path}.spec.{key}", f"{account} is not a service account of the tenant", f"use one of: {names}")
        for path, template in templates(manifest)
        for key in ("serviceAccountName", "serviceAccount")
        if (account := get_text(get_map(template, "spec"), key)) and account not in allowed
    ]


def _check_container(container: Any, path: str, findings: list[Finding]) -> None:
    context, at = get_map(container, "securityContext"), child(path, "securityContext")
    _check_context(context, at, findings)
    if is_true(context, "privileged"):
        findings.append(Finding(child(at, "privileged"), _NOT_ALLOWED, _REMOVE))
    for index, name in enumerate(get_list(get_map(context, "capabilities"), "add")):
        if name not in _CAPABILITIES:
            findings.append(Finding(f"{at}.capabilities.add[{index}]", f"{name} {_NOT_ALLOWED}", _REMOVE))
    if get_text(context, "procMount") not in ("", "Default"):
        findings.append(Finding(child(at, "procMount"), _NOT_ALLOWED, _REMOVE))
    for index, port in enumerate(get_list(container, "ports")):
        if get_int(port, "hostPort", 0):
            findings.append(Finding(f"{path}.ports[{index}].hostPort", _NOT_ALLOWED, "use the pod's own port"))
    for kind in ("livenessProbe", "readinessProbe", "startupProbe"):
        _check_handler(get_map(container, kind), child(path, kind), findings)
    for kind in ("postStart", "preStop"):
        _check_handler(get_map(container, "lifecycle", kind), f"{path}.lifecycle.{kind}", findings)


def _check_handler(handler: Plain, path: str, findings: list[Finding]) -> None:
    """A kubelet connects where a probe says, so that it may name no other host than the pod."""
    findings += [
        Finding(f"{path}.{kind}.host", _NOT_ALLOWED, _REMOVE)
        for kind in ("httpGet", "tcpSocket")
        if get_text(get_map(handler, kind), "host")
    ]


def _check_context(context: Plain, path: str, findings: list[Finding]) -> None:
    """What a pod's and a container's security context have in common."""
    wrong = {
        "seccompProfile.type": get_text(get_map(context, "seccompProfile"), "type") == "Unconfined",
        "appArmorProfile.type": get_text(get_map(context, "appArmorProfile"), "type") == "Unconfined",
        "windowsOptions.hostProcess": is_true(get_map(context, "windowsOptions"), "hostProcess"),
        "seLinuxOptions.type": get_text(get_map(context, "seLinuxOptions"), "type") not in _SELINUX_TYPES,
        "seLinuxOptions.user": bool(get_text(get_map(context, "seLinuxOptions"), "user")),
        "seLinuxOptions.role": bool(get_text(get_map(context, "seLinuxOptions"), "role")),
    }
    findings += [Finding(f"{path}.{key}", _NOT_ALLOWED, _REMOVE) for key, is_wrong in wrong.items() if is_wrong]
    for index, sysctl in enumerate(get_list(context, "sysctls")):
        if get_text(sysctl, "name") not in _SYSCTLS:
            findings.append(Finding(f"{path}.sysctls[{index}].name", _NOT_ALLOWED, _REMOVE))
