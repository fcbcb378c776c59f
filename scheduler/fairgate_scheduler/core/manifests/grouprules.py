"""The rules of head and worker groups that KubeRay, Kueue and the API server would apply later."""

import re
from collections.abc import Mapping
from typing import Any, Final

from fairgate_scheduler.core.manifests.charge import (
    CLUSTER,
    HEAD_PATH,
    REDIS_CLEANUP,
    SUBMITTER_PATH,
    UNBOUNDED,
    has_redis,
    is_autoscaled,
    pods_of_group,
    submission_mode,
)
from fairgate_scheduler.core.manifests.findings import Finding, child
from fairgate_scheduler.core.manifests.options import HEAD, SUBMITTER
from fairgate_scheduler.core.manifests.plain import get_int, get_list, get_map, get_text, is_true
from fairgate_scheduler.core.manifests.pods import container_requests, pod_requests
from fairgate_scheduler.core.manifests.rayclaims import check_ray_claims
from fairgate_scheduler.core.manifests.raynodes import node_resources

MAX_POD_SETS: Final = 8
"""How many pod sets a Workload of Kueue 0.17 can have: head, worker groups, submitter."""

_GROUP_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.IGNORECASE)
_LABEL_KEY: Final = re.compile(r"([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?", re.ASCII)
_LABEL_VALUE: Final = re.compile(r"([A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?)?", re.ASCII)


def check_groups(manifest: Mapping[str, Any], findings: list[Finding], warnings: list[str]) -> None:
    """Append what is wrong with head, worker groups and submitter of a (normalized) manifest, and what to know."""
    cluster = get_map(manifest, "spec", "rayClusterSpec")
    head, groups = get_map(cluster, "headGroupSpec"), get_list(cluster, "workerGroupSpecs")
    check_ray_group(head, HEAD_PATH, findings)
    _check_cpus(HEAD, head, warnings)
    _check_names(manifest, groups, findings)
    for index, group in enumerate(groups):
        path = f"{CLUSTER}.workerGroupSpecs[{index}]"
        check_ray_group(group, path, findings)
        _check_counts(group, path, findings)
        _warn_counts(group, path, is_autoscaled(manifest), (findings, warnings))
        if pods_of_group(group, is_autoscaled(manifest)):
            _check_cpus(get_text(group, "groupName"), group, warnings)
    submitter = get_map(manifest, "spec", "submitterPodTemplate")
    if submitter:
        _check_template(submitter, SUBMITTER_PATH, findings)
        if submission_mode(manifest) == "K8sJobMode" and not pod_requests(submitter, SUBMITTER_PATH, []):
            warnings.append(f"{SUBMITTER_PATH} asks for nothing: it gets KubeRay's default, cpu 500m and memory 200Mi")
    options = get_map(cluster, "autoscalerOptions")
    if not container_requests(options, f"{CLUSTER}.autoscalerOptions", findings) and "resources" in options:
        message = "the autoscaler asks for nothing, so it could not be charged"
        findings.append(
            Finding(f"{CLUSTER}.autoscalerOptions.resources", message, "request cpu and memory, or remove it")
        )


def check_ray_group(group: Mapping[str, Any], path: str, findings: list[Finding]) -> None:
    """The rules that hold for head and workers alike."""
    if not group:
        return
    _check_template(get_map(group, "template"), f"{path}.template", findings)
    check_ray_claims(group, path, findings)
    check_labels(get_map(group, "labels"), child(path, "labels"), findings)


def check_labels(labels: Mapping[str, Any], path: str, findings: list[Finding]) -> None:
    """Keys and values as Kubernetes takes them."""
    for key, value in labels.items():
        if not _LABEL_KEY.fullmatch(key) or (isinstance(value, str) and not _LABEL_VALUE.fullmatch(value)):
            message = f"{key}={value} is not a label of Kubernetes"
            findings.append(Finding(child(path, key), message, "use letters, digits, - _ . and at most 63 characters"))


def _check_template(template: Mapping[str, Any], path: str, findings: list[Finding]) -> None:
    pod, at = get_map(template, "spec"), f"{path}.spec"
    containers = get_list(pod, "containers")
    if pod and isinstance(pod.get("containers"), list) and not containers:
        findings.append(Finding(f"{at}.containers", "there is no container", "add the Ray container"))
    names = [get_text(container, "name") for container in [*containers, *get_list(pod, "initContainers")]]
    findings += [
        Finding(at, f"two containers are named {name}", "give each its own name")
        for name in dict.fromkeys(names)
        if name and names.count(name) > 1
    ]
    if get_text(pod, "nodeName"):
        message = "goes round the scheduler, to nodes that may not be the flavor's"
        findings.append(Finding(f"{at}.nodeName", message, "remove it"))
    pod_requests(template, path, findings)


def _check_names(manifest: Mapping[str, Any], groups: list[Any], findings: list[Finding]) -> None:
    seen: dict[str, int] = {}
    reserved = {HEAD, SUBMITTER, *([REDIS_CLEANUP] if has_redis(manifest) else [])}
    for index, group in enumerate(groups):
        name, at = get_text(group, "groupName"), f"{CLUSTER}.workerGroupSpecs[{index}].groupName"
        lower = name.lower()
        if isinstance(group, dict) and "groupName" in group and not _GROUP_NAME.fullmatch(name):
            message = f"{name!r} can not name a pod set"
            findings.append(Finding(at, message, "use at most 63 letters, digits and -"))
        elif lower in reserved:
            findings.append(Finding(at, f"{name!r} is the name of another pod group", "choose another name"))
        elif name and lower in seen:
            message = f"{name!r} is also group {seen[lower]}; Kueue does not tell capitals apart"
            findings.append(Finding(at, message, "choose another name"))
        seen.setdefault(lower, index)
    others = 1 + (submission_mode(manifest) == "K8sJobMode") + has_redis(manifest)
    if len(groups) + others > MAX_POD_SETS:
        message = f"{len(groups)} groups and {others} other pod sets; Kueue takes {MAX_POD_SETS} in all"
        remedy = "merge groups" + (", or use HTTPMode or SidecarMode" if others > 1 else "")
        findings.append(Finding(f"{CLUSTER}.workerGroupSpecs", message, remedy))


def _check_counts(group: Mapping[str, Any], path: str, findings: list[Finding]) -> None:
    findings += [
        Finding(child(path, key), f"{group[key]} is negative", "write 0 or more")
        for key in ("replicas", "minReplicas", "maxReplicas", "idleTimeoutSeconds")
        if get_int(group, key, 0) < 0
    ]
    if get_int(group, "numOfHosts", 1) < 1:
        message = f"{group['numOfHosts']} hosts make no replica"
        findings.append(Finding(child(path, "numOfHosts"), message, "write 1 or more"))
    least, most = get_int(group, "minReplicas", 0), get_int(group, "maxReplicas", UNBOUNDED)
    if least > most >= 0:
        message = f"{least} is more than maxReplicas, {most}"
        findings.append(Finding(child(path, "minReplicas"), message, "lower it, or raise maxReplicas"))
    if is_true(group, "suspend"):
        message = "a suspended group has no pods, and KubeRay refuses it without a feature gate"
        findings.append(Finding(child(path, "suspend"), message, "remove it, or set replicas to 0"))


def _warn_counts(group: Mapping[str, Any], path: str, autoscaled: bool, out: tuple[list[Finding], list[str]]) -> None:
    findings, warnings = out
    most = get_int(group, "maxReplicas", UNBOUNDED)
    if autoscaled:
        if most >= UNBOUNDED:
            message = "the autoscaler has no bound, so there is nothing that could be reserved"
            findings.append(Finding(child(path, "maxReplicas"), message, "set the most replicas that it may reach"))
        else:
            warnings.append(f"{path}: autoscaled, so maxReplicas ({most}) are reserved and charged all the time")
        return
    if "replicas" not in group:
        least = get_int(group, "minReplicas", 0)
        warnings.append(f"{path}.replicas is not set: KubeRay makes minReplicas of it ({least})")
        return
    hosts = max(get_int(group, "numOfHosts", 1), 1)
    clamped = pods_of_group(group, False) // hosts
    if clamped != max(get_int(group, "replicas", 0), 0) and not is_true(group, "suspend"):
        warnings.append(f"{path}.replicas is outside minReplicas and maxReplicas: {clamped} run and are charged")


def _check_cpus(name: str, group: Mapping[str, Any], warnings: list[str]) -> None:
    requests = pod_requests(get_map(group, "template"), "", [])
    given = get_map(group, "rayStartParams")
    if requests and "CPU" not in node_resources(group) and "num-cpus" not in given:
        warnings.append(f"{name}: its Ray container asks for no cpu, so tasks that need one do not run there")
