"""KubeRay's rules for cleaning up after a RayJob. Attempts are shut down whole, so right ones are only ignored."""

from collections.abc import Mapping
from typing import Any, Final

from fairgate_scheduler.core.manifests.findings import Finding
from fairgate_scheduler.core.manifests.plain import get_int, get_list, get_map, get_text, is_true

_PATH: Final = "spec.deletionStrategy"
_ORDER: Final = ("DeleteWorkers", "DeleteCluster", "DeleteSelf")


def check_deletion(spec: Mapping[str, Any], findings: list[Finding], warnings: list[str]) -> None:
    """Append what KubeRay would refuse in ``spec.deletionStrategy``; warn that the rest of it is ignored."""
    if "deletionStrategy" not in spec:
        return
    known = len(findings)
    strategy = get_map(spec, "deletionStrategy")
    rules = get_list(strategy, "deletionRules")
    legacy = [key for key in ("onSuccess", "onFailure") if key in strategy]
    shutdown = is_true(spec, "shutdownAfterJobFinishes")
    if rules and legacy:
        findings.append(Finding(_PATH, "has both deletionRules and onSuccess or onFailure", "keep one of the two"))
    elif not rules and len(legacy) != 2:
        findings.append(
            Finding(_PATH, "needs deletionRules, or both onSuccess and onFailure", "add them, or remove it")
        )
    if rules and shutdown:
        message = "can not be set beside shutdownAfterJobFinishes"
        findings.append(Finding(f"{_PATH}.deletionRules", message, "remove one of the two"))
    if rules and get_int(spec, "ttlSecondsAfterFinished", 0) > 0:
        message = "can not be set beside deletionRules"
        findings.append(Finding("spec.ttlSecondsAfterFinished", message, "use the rules' ttlSeconds"))
    for key in legacy:
        _check_legacy(get_text(get_map(strategy, key), "policy"), f"{_PATH}.{key}.policy", spec, findings)
    _check_rules(rules, spec, findings)
    if len(findings) == known:
        warnings.append(f"{_PATH} is ignored: the whole cluster is shut down as soon as the job ends")


def _check_legacy(policy: str, path: str, spec: Mapping[str, Any], findings: list[Finding]) -> None:
    if not policy:
        findings.append(Finding(path, "is missing", "write DeleteCluster"))
    elif policy == "DeleteNone" and is_true(spec, "shutdownAfterJobFinishes"):
        findings.append(Finding(path, "DeleteNone contradicts shutdownAfterJobFinishes", "remove one of the two"))
    _check_autoscaled(policy, path, spec, findings)


def _check_autoscaled(policy: str, path: str, spec: Mapping[str, Any], findings: list[Finding]) -> None:
    if policy == "DeleteWorkers" and is_true(get_map(spec, "rayClusterSpec"), "enableInTreeAutoscaling"):
        findings.append(Finding(path, "DeleteWorkers does not work with the autoscaler", "write DeleteCluster"))


def _check_rules(rules: list[Any], spec: Mapping[str, Any], findings: list[Finding]) -> None:
    delays: dict[tuple[str, str], int] = {}
    for index, rule in enumerate(rules):
        path = f"{_PATH}.deletionRules[{index}]"
        condition = get_map(rule, "condition")
        statuses = [get_text(condition, key) for key in ("jobStatus", "jobDeploymentStatus") if key in condition]
        if condition and len(statuses) != 1:
            findings.append(Finding(f"{path}.condition", "needs exactly one status", "write jobStatus"))
            continue
        policy, delay = get_text(rule, "policy"), get_int(condition, "ttlSeconds", 0)
        if delay < 0:
            findings.append(Finding(f"{path}.condition.ttlSeconds", f"{delay} is negative", "write 0 or more"))
        _check_autoscaled(policy, f"{path}.policy", spec, findings)
        key = ("".join(f"{name}={condition[name]}" for name in sorted(condition) if name != "ttlSeconds"), policy)
        if key in delays:
            findings.append(Finding(path, f"is a second rule of {policy} for this status", "remove one of the two"))
        delays.setdefault(key, delay)
    for status in dict.fromkeys(status for status, _ in delays):
        in_order = [delays[status, policy] for policy in _ORDER if (status, policy) in delays]
        if in_order != sorted(in_order):
            message = "ttlSeconds must not fall from DeleteWorkers to DeleteCluster to DeleteSelf"
            findings.append(Finding(f"{_PATH}.deletionRules", message, "raise the later ones"))
