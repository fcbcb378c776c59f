"""KubeRay's rules for the cluster as a whole: fault tolerance, autoscaler, authentication, what can not be charged."""

import re
from collections.abc import Mapping
from typing import Any, Final

from fairgate_scheduler.core.manifests.charge import CLUSTER, HEAD_PATH, is_autoscaled, submission_mode
from fairgate_scheduler.core.manifests.findings import Finding
from fairgate_scheduler.core.manifests.plain import get_int, get_list, get_map, get_text, is_true

_AUTOSCALER_V2: Final = "RAY_enable_autoscaler_v2"
_VERSION: Final = re.compile(r"v?([0-9]{1,6})\.([0-9]{1,6})(\.[0-9]{1,6})?([-+.a-zA-Z0-9]*)")
_FT: Final = "ray.io/ft-enabled"
_NAMESPACE: Final = "ray.io/external-storage-namespace"


def check_cluster(manifest: Mapping[str, Any], findings: list[Finding]) -> None:
    """Append what is wrong with ``spec.rayClusterSpec`` beside its pod groups."""
    cluster = get_map(manifest, "spec", "rayClusterSpec")
    if not cluster:
        return
    if is_true(cluster, "suspend"):
        findings.append(Finding(f"{CLUSTER}.suspend", "a suspended cluster never starts", "remove it"))
    if "historyServerOptions" in cluster:
        message = "adds a container to every pod that is not charged"
        findings.append(Finding(f"{CLUSTER}.historyServerOptions", message, "remove it"))
    if "upgradeStrategy" in cluster:
        findings.append(Finding(f"{CLUSTER}.upgradeStrategy", "KubeRay refuses it in a RayJob", "remove it"))
    env = _head_env(cluster)
    _check_redis(manifest, cluster, env, findings)
    _check_autoscaler(manifest, cluster, env, findings)
    _check_versions(manifest, cluster, findings)


def _check_redis(
    manifest: Mapping[str, Any], cluster: Mapping[str, Any], env: Mapping[str, str], findings: list[Finding]
) -> None:
    """Fault tolerance of the control store is said in one place."""
    annotations = get_map(manifest, "metadata", "annotations")
    params, env_at = get_map(cluster, "headGroupSpec", "rayStartParams"), f"{HEAD_PATH}.template.spec.containers[0].env"
    has_options = "gcsFaultToleranceOptions" in cluster
    options, at = get_map(cluster, "gcsFaultToleranceOptions"), f"{CLUSTER}.gcsFaultToleranceOptions"
    if has_options and options.get("backend", "redis") == "redis" and not get_text(options, "redisAddress"):
        findings.append(Finding(f"{at}.redisAddress", "is missing", "name the Redis server"))
    elsewhere = [
        (has_options and bool(annotations.get(_FT)), f"metadata.annotations[{_FT}]"),
        (has_options and bool(annotations.get(_NAMESPACE)), f"metadata.annotations[{_NAMESPACE}]"),
        (has_options and bool(params.get("redis-password")), f"{HEAD_PATH}.rayStartParams[redis-password]"),
        (has_options and "REDIS_PASSWORD" in env, f"{env_at} (REDIS_PASSWORD)"),
        (bool(params.get("redis-username")), f"{HEAD_PATH}.rayStartParams[redis-username]"),
        ("REDIS_USERNAME" in env, f"{env_at} (REDIS_USERNAME)"),
    ]
    findings += [
        Finding(where, "belongs into gcsFaultToleranceOptions", f"say it in {at}")
        for is_set, where in elsewhere
        if is_set
    ]
    enabled = has_options or str(annotations.get(_FT, "")).lower() == "true"
    if "RAY_REDIS_ADDRESS" in env and (has_options or not enabled):
        message = "turns fault tolerance on behind KubeRay's back"
        findings.append(Finding(f"{env_at} (RAY_REDIS_ADDRESS)", message, f"say it in {at}"))


def _check_autoscaler(
    manifest: Mapping[str, Any], cluster: Mapping[str, Any], env: Mapping[str, str], findings: list[Finding]
) -> None:
    options = get_map(cluster, "autoscalerOptions")
    env_at = f"{HEAD_PATH}.template.spec.containers[0].env ({_AUTOSCALER_V2})"
    if get_int(options, "idleTimeoutSeconds", 0) < 0:
        at = f"{CLUSTER}.autoscalerOptions.idleTimeoutSeconds"
        findings.append(Finding(at, f"{options['idleTimeoutSeconds']} is negative", "write 0 or more"))
    if not is_autoscaled(manifest):
        if env.get(_AUTOSCALER_V2) in ("1", "true"):
            message = "is for the autoscaler, which is off"
            findings.append(Finding(env_at, message, f"remove it, or set {CLUSTER}.enableInTreeAutoscaling"))
        return
    if "version" in options and _AUTOSCALER_V2 in env:
        findings.append(Finding(env_at, "is set beside autoscalerOptions.version", "remove it"))
    if options.get("version") != "v2":
        return
    groups = [(HEAD_PATH, get_map(cluster, "headGroupSpec"))]
    groups += [
        (f"{CLUSTER}.workerGroupSpecs[{i}]", group) for i, group in enumerate(get_list(cluster, "workerGroupSpecs"))
    ]
    for path, group in groups:
        policy = get_text(get_map(group, "template", "spec"), "restartPolicy")
        if policy not in ("", "Never"):
            at = f"{path}.template.spec.restartPolicy"
            findings.append(Finding(at, f"is {policy}; autoscaler v2 wants Never", "remove it, or write Never"))


def _check_versions(manifest: Mapping[str, Any], cluster: Mapping[str, Any], findings: list[Finding]) -> None:
    """Features that KubeRay ties to a version of Ray."""
    text, at = get_text(cluster, "rayVersion"), f"{CLUSTER}.rayVersion"
    match = _VERSION.fullmatch(text)
    version = (int(match[1]), int(match[2])) if match else None
    auth = get_map(cluster, "authOptions")
    if is_true(auth, "enableK8sTokenAuth"):
        message = "KubeRay refuses it in a RayJob"
        findings.append(Finding(f"{CLUSTER}.authOptions.enableK8sTokenAuth", message, "remove it"))
    needs = []
    if auth.get("mode") == "token":
        needs.append((f"{CLUSTER}.authOptions.mode: token", (2, 52)))
    if get_map(manifest, "spec", "metadata") and submission_mode(manifest) in ("K8sJobMode", "SidecarMode"):
        needs.append(("spec.metadata", (2, 6)))
    for feature, least in needs:
        if version is None or version < least:
            message = f"is {text!r}, but {feature} needs Ray {least[0]}.{least[1]}.0 or later"
            findings.append(Finding(at, message, "name the version of the image, such as 2.52.0"))


def _head_env(cluster: Mapping[str, Any]) -> dict[str, str]:
    containers = get_list(get_map(cluster, "headGroupSpec", "template", "spec"), "containers")
    items = get_list(containers[0], "env") if containers else []
    return {get_text(item, "name"): get_text(item, "value") for item in items}
