"""All about a RayJob that KubeRay, Kueue or quota would refuse later, found at submit; and what to know of it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

from fairgate_scheduler.core.amounts import is_accelerator
from fairgate_scheduler.core.manifests.charge import CLUSTER, SUBMISSION_MODES, SUBMITTER_PATH, submission_mode
from fairgate_scheduler.core.manifests.clusterrules import check_cluster
from fairgate_scheduler.core.manifests.deletion import check_deletion
from fairgate_scheduler.core.manifests.findings import MISSING, Finding, did_you_mean
from fairgate_scheduler.core.manifests.grouprules import check_groups, check_labels
from fairgate_scheduler.core.manifests.marks import KUEUE
from fairgate_scheduler.core.manifests.options import HEAD
from fairgate_scheduler.core.manifests.plain import (
    Plain,
    get_int,
    get_list,
    get_map,
    get_text,
    is_number,
    is_true,
    normalize,
)
from fairgate_scheduler.core.manifests.pods import pod_requests
from fairgate_scheduler.core.manifests.raynodes import parse_custom
from fairgate_scheduler.core.manifests.shape import check_shape, without

MAX_NAME: Final = 47
"""The longest name of a RayJob that KubeRay takes; longer ones fail after they were admitted."""

_NAME: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_KUBERAY: Final = "ray.io/kuberay-operator"
_NUMBERS: Final = {
    "activeDeadlineSeconds": 1,
    "backoffLimit": 0,
    "ttlSecondsAfterFinished": 0,
    "preRunningDeadlineSeconds": 1,
}


@dataclass
class Inspection:
    """What was found in a manifest. ``has_shape``: its fields are known and of the right types."""

    findings: list[Finding] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    has_shape: bool = True


def validate(manifest: object) -> list[Finding]:
    """All that is wrong with a RayJob manifest in itself, whatever the configuration. Empty: it can be run."""
    return inspect(normalize(manifest)).findings


def inspect(manifest: object) -> Inspection:
    """As ``validate``, for a normalized manifest, with the warnings: what is set, ignored or charged unexpectedly."""
    out = Inspection()
    if not isinstance(manifest, dict):
        out.findings.append(Finding("manifest", "is not a map of fields", "give one RayJob"))
    else:
        _check_kind(manifest, out.findings)
    if not isinstance(manifest, dict) or manifest.get("kind", "RayJob") != "RayJob":
        out.has_shape = False  # of another kind: that its fields are others says nothing
        return out
    told, found = out.findings, list[Finding]()
    out.warnings += check_shape(manifest, "RayJob", "", found)
    shape, out.findings = [*told, *(finding for finding in found if not _is_told(finding, told))], []
    out.has_shape = not shape
    _check_rules(without(manifest, {finding.field for finding in shape}), out)
    found = [*shape, *(finding for finding in out.findings if not _is_told(finding, shape))]
    misspelt = {finding.meant for finding in shape if finding.meant}
    out.findings = [each for each in found if each.message != MISSING or each.field not in misspelt]
    return out


def _check_rules(manifest: Plain, out: Inspection) -> None:
    _check_metadata(manifest, out)
    if not isinstance(manifest.get("spec"), dict):
        return
    spec = get_map(manifest, "spec")
    _check_job(spec, out)
    _check_submission(spec, out)
    _check_entrypoint(spec, out)
    check_deletion(spec, out.findings, out.warnings)
    check_cluster(manifest, out.findings)
    check_groups(manifest, out.findings, out.warnings)
    _warn_head(spec, out.warnings)


def _is_told(finding: Finding, shape: list[Finding]) -> bool:
    """Whether the shape of this field, or of one that it lies in, was found to be wrong already."""
    return any(
        finding.field == told.field or finding.field.startswith((f"{told.field}.", f"{told.field}[")) for told in shape
    )


def _check_kind(manifest: Plain, findings: list[Finding]) -> None:
    for key, wanted in (("apiVersion", "ray.io/v1"), ("kind", "RayJob")):
        if key not in manifest:
            findings.append(Finding(key, MISSING, f"write {wanted}"))
        elif manifest[key] != wanted:
            findings.append(
                Finding(key, f"is {manifest[key]!r}; only RayJobs of ray.io/v1 are taken", f"write {wanted}")
            )


def _check_metadata(manifest: Plain, out: Inspection) -> None:
    metadata = get_map(manifest, "metadata")
    key = "name" if "name" in metadata or "generateName" not in metadata else "generateName"
    name, at = get_text(metadata, key), f"metadata.{key}"
    bare = name.rstrip("-") if key == "generateName" else name
    longest = MAX_NAME - 5 if key == "generateName" else MAX_NAME
    if not name:
        out.findings.append(Finding(at, MISSING, "name the job"))
    elif len(name) > longest:
        message = f"has {len(name)} characters; KubeRay takes {longest}"
        out.findings.append(Finding(at, message, "choose a shorter name"))
    if name and not _NAME.fullmatch(bare):
        message = f"{name!r} is not a name that KubeRay takes"
        out.findings.append(Finding(at, message, "use lower-case letters, digits and -, beginning with a letter"))
    check_labels(get_map(metadata, "labels"), "metadata.labels", out.findings)
    for kind in ("labels", "annotations"):
        ours = [key for key in get_map(metadata, kind) if key.startswith(KUEUE)]
        out.warnings += [f"metadata.{kind}[{key}] is ignored: Fairgate queues the job" for key in ours]
    if "status" in manifest:
        out.warnings.append("status is ignored")


def _check_job(spec: Plain, out: Inspection) -> None:
    for key, least in _NUMBERS.items():
        if get_int(spec, key, least) < least:
            out.findings.append(Finding(f"spec.{key}", f"{spec[key]} is too small", f"write {least} or more"))
    if get_map(spec, "clusterSelector"):
        message = "runs in a cluster that is there already, which can not be charged to the job"
        remedy = "describe the job's own cluster in spec.rayClusterSpec"
        out.findings.append(Finding("spec.clusterSelector", message, remedy))
    elif "rayClusterSpec" not in spec:
        out.findings.append(Finding(CLUSTER, MISSING, "describe the cluster that the job runs in"))
    for value, at in ((spec, "spec"), (get_map(spec, "rayClusterSpec"), CLUSTER)):
        manager = value.get("managedBy", _KUBERAY)
        if manager != _KUBERAY:
            message = f"{manager!r} would keep KubeRay from running it"
            out.findings.append(Finding(f"{at}.managedBy", message, "remove it"))
    if not is_true(spec, "shutdownAfterJobFinishes"):
        out.warnings.append("spec.shutdownAfterJobFinishes is set to true: what has ended gives its quota back")
    if get_int(spec, "ttlSecondsAfterFinished", 0) > 0:
        out.warnings.append("spec.ttlSecondsAfterFinished is ignored: the cluster is shut down as soon as the job ends")
    if is_true(spec, "suspend"):
        out.warnings.append("spec.suspend is ignored: the job starts when it is admitted")
    if get_int(spec, "backoffLimit", 0) > 0:
        out.warnings.append(
            "spec.backoffLimit counts retries by KubeRay within an attempt; a local attempt is not retried"
        )


def _check_submission(spec: Plain, out: Inspection) -> None:
    mode = submission_mode({"spec": spec})
    if mode not in SUBMISSION_MODES:
        remedy = did_you_mean(mode, SUBMISSION_MODES) or f"write one of {', '.join(SUBMISSION_MODES)}"
        out.findings.append(Finding("spec.submissionMode", f"is {mode!r}", remedy))
    if mode == "SidecarMode":
        for key in ("submitterPodTemplate", "submitterConfig"):
            if key in spec:
                out.findings.append(Finding(f"spec.{key}", "is not for SidecarMode", "remove it, or use K8sJobMode"))
        policy = get_text(get_map(spec, "rayClusterSpec", "headGroupSpec", "template", "spec"), "restartPolicy")
        if policy not in ("", "Never"):
            at = f"{CLUSTER}.headGroupSpec.template.spec.restartPolicy"
            out.findings.append(Finding(at, f"is {policy}; SidecarMode wants Never", "remove it, or write Never"))
    if mode == "InteractiveMode":
        if get_int(spec, "backoffLimit", 0) > 0:
            out.findings.append(Finding("spec.backoffLimit", "is not for InteractiveMode", "remove it"))
        if get_text(spec, "entrypoint"):
            out.warnings.append("spec.entrypoint is ignored in InteractiveMode")
        out.warnings.append(
            "spec.submissionMode: an interactive cluster holds its quota until a job that somebody submits to it ends,"
            " or its time limit is over"
        )
    if mode != "K8sJobMode" and mode != "SidecarMode" and get_map(spec, "submitterPodTemplate"):
        out.warnings.append(f"{SUBMITTER_PATH} is ignored: {mode} has no submitter")


def _check_entrypoint(spec: Plain, out: Inspection) -> None:
    mode, entrypoint = submission_mode({"spec": spec}), get_text(spec, "entrypoint").strip()
    containers = get_list(get_map(spec, "submitterPodTemplate", "spec"), "containers")
    has_command = bool(get_list(containers[0], "command")) if containers else False
    if not entrypoint and mode == "K8sJobMode" and has_command:
        out.warnings.append("spec.entrypoint is not set: only the submitter's own command runs, and only on Kubernetes")
    elif not entrypoint and mode in SUBMISSION_MODES and mode != "InteractiveMode":
        out.findings.append(Finding("spec.entrypoint", MISSING, "write the command that the job runs"))
    for key in ("entrypointNumCpus", "entrypointNumGpus"):
        value = spec.get(key, 0)
        if is_number(value) and Fraction(str(value)) < 0:
            out.findings.append(Finding(f"spec.{key}", f"{value} is negative", "write 0 or more"))
    if parse_custom(get_text(spec, "entrypointResources")) is None:
        message = "is not a map of resources to numbers"
        out.findings.append(Finding("spec.entrypointResources", message, "write JSON such as '{\"name\": 1}'"))


def _warn_head(spec: Mapping[str, Any], warnings: list[str]) -> None:
    cluster = get_map(spec, "rayClusterSpec")
    head = get_map(cluster, "headGroupSpec")
    accelerators = [name for name in pod_requests(get_map(head, "template"), "", []) if is_accelerator(name)]
    if accelerators:
        warnings.append(
            f"{HEAD} asks for {', '.join(accelerators)}: it is charged to the accelerator's flavor, cpu included"
        )
    groups = [(HEAD, head), *((get_text(group, "groupName"), group) for group in get_list(cluster, "workerGroupSpecs"))]
    for name, group in groups:
        containers = get_list(get_map(group, "template", "spec"), "containers")
        if containers and not get_text(containers[0], "image"):
            warnings.append(
                f"{name}: its Ray container names no image; Kubernetes would refuse the pod, a local attempt runs"
            )
