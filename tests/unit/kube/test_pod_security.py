"""Pod templates keep to the Pod Security Standard baseline and to the tenant's service accounts."""

from typing import Any

import pytest
from fairgate_scheduler.core.manifests.podsecurity import check_accounts, check_security
from fairgate_scheduler.testing.rayjobs import container, group, ray_job, template

WORKERS = "spec.rayClusterSpec.workerGroupSpecs[0].template.spec"


def job_of(pod: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    worker = container("ray-worker", {"cpu": 1}, **fields)
    return ray_job(group("w", template=template(worker, **(pod or {}))))


@pytest.mark.parametrize(
    ("pod", "field"),
    [
        ({"hostNetwork": True}, "hostNetwork"),
        ({"hostPID": True}, "hostPID"),
        ({"hostIPC": True}, "hostIPC"),
        ({"volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "hostPath": {"path": "/"}}]}, "volumes[1].hostPath"),
        (
            {"securityContext": {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}},
            "securityContext.sysctls[0].name",
        ),
        ({"securityContext": {"seccompProfile": {"type": "Unconfined"}}}, "securityContext.seccompProfile.type"),
        ({"securityContext": {"seLinuxOptions": {"type": "spc_t"}}}, "securityContext.seLinuxOptions.type"),
        ({"securityContext": {"windowsOptions": {"hostProcess": True}}}, "securityContext.windowsOptions.hostProcess"),
        (
            {"initContainers": [{"name": "i", "securityContext": {"privileged": True}}]},
            "initContainers[0].securityContext.privileged",
        ),
    ],
)
def test_of_a_pod(pod: dict[str, Any], field: str) -> None:
    assert [each.field for each in check_security(job_of(pod))] == [f"{WORKERS}.{field}"]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"securityContext": {"privileged": True}}, "securityContext.privileged"),
        ({"securityContext": {"capabilities": {"add": ["KILL", "SYS_ADMIN"]}}}, "securityContext.capabilities.add[1]"),
        ({"securityContext": {"procMount": "Unmasked"}}, "securityContext.procMount"),
        ({"securityContext": {"appArmorProfile": {"type": "Unconfined"}}}, "securityContext.appArmorProfile.type"),
        ({"ports": [{"containerPort": 80}, {"containerPort": 81, "hostPort": 81}]}, "ports[1].hostPort"),
        ({"livenessProbe": {"httpGet": {"host": "10.0.0.1", "port": 1}}}, "livenessProbe.httpGet.host"),
        ({"lifecycle": {"preStop": {"tcpSocket": {"host": "h", "port": 1}}}}, "lifecycle.preStop.tcpSocket.host"),
    ],
)
def test_of_a_container(fields: dict[str, Any], field: str) -> None:
    assert [each.field for each in check_security(job_of(None, **fields))] == [f"{WORKERS}.containers[0].{field}"]


def test_head_and_submitter_are_looked_at_too() -> None:
    manifest = job_of()
    bad = template(container("c", {"cpu": 1}), hostNetwork=True)
    manifest["spec"]["submitterPodTemplate"] = bad
    manifest["spec"]["rayClusterSpec"]["headGroupSpec"]["template"] = bad
    assert [each.field for each in check_security(manifest)] == [
        "spec.rayClusterSpec.headGroupSpec.template.spec.hostNetwork",
        "spec.submitterPodTemplate.spec.hostNetwork",
    ]


def test_what_the_baseline_allows_is_allowed() -> None:
    pod = {
        "securityContext": {
            "runAsUser": 0,
            "seccompProfile": {"type": "RuntimeDefault"},
            "sysctls": [{"name": "net.ipv4.tcp_rmem", "value": "1"}],
            "seLinuxOptions": {"type": "container_t"},
        },
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
    }
    manifest = job_of(pod, securityContext={"capabilities": {"add": ["CHOWN"], "drop": ["ALL"]}})
    assert check_security(manifest) == []


def test_service_accounts() -> None:
    manifest = job_of({"serviceAccountName": "admin"})
    (finding,) = check_accounts(manifest, ("default", "trainer"))
    assert str(finding) == (
        f"{WORKERS}.serviceAccountName: admin is not a service account of the tenant; use one of: default, trainer"
    )
    assert check_accounts(job_of({"serviceAccountName": "trainer"}), ("default", "trainer")) == []
