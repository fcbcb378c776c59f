"""What a cluster takes of pods beside what they ask for: the rules that need nothing but the manifest.

The gate applies them to every object of a tenant, a submission to a cluster to what would become an attempt. Both say
the same words, so that nothing is admitted that would be refused when its pods are made.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from fairgate_scheduler.core.manifests.channels import check_channels
from fairgate_scheduler.core.manifests.charge import CLUSTER, HEAD_PATH
from fairgate_scheduler.core.manifests.concerns import Concern, Concerned, concerned
from fairgate_scheduler.core.manifests.findings import Finding, child
from fairgate_scheduler.core.manifests.marks import RAY, RAY_OPTIONS, is_reserved, is_reserved_on_nodes, not_for_users
from fairgate_scheduler.core.manifests.placement import PodLimits, check_placement, check_tolerations
from fairgate_scheduler.core.manifests.plain import Plain, get_list, get_map
from fairgate_scheduler.core.manifests.podsecurity import check_template as check_baseline
from fairgate_scheduler.core.manifests.podsecurity import templates
from fairgate_scheduler.core.manifests.workloads import workload_demand

_KEPT: Final = ("finalizers", "ownerReferences")
_SHELL: Final = re.compile(r"[;&|`$<>\n\r\\]|\$\(")
_REMOVE: Final = "remove it"


def check_pod(template: Plain, path: str, has_devices: bool, limits: PodLimits) -> Iterator[Concerned]:
    """What no pod or pod template of a tenant may have, also not one of an attempt. ``path``: "" for a pod itself."""
    yield from check_channels(template, path)
    findings: list[Finding] = []
    check_baseline(template, path, findings)
    yield from concerned(Concern.BASELINE, findings)
    yield from check_placement(template, path, has_devices, limits)


def check_job(manifest: Mapping[str, Any], limits: PodLimits) -> Iterator[Concerned]:
    """What the pods of a (normalized) RayJob may not have, and what their groups may not tell Ray."""
    demand = workload_demand(manifest)
    yield from concerned(Concern.AMOUNT, demand.findings)
    for pods in demand.pod_sets:
        has_devices = bool(pods.demand.accelerators)
        yield from check_pod(pods.template, pods.path, has_devices, limits)
        yield from check_tolerations(pods.template, pods.path, has_devices, limits)
        if get_list(get_map(pods.template, "spec"), "ephemeralContainers"):
            found = "Kubernetes makes no pod with ephemeral containers: they join one that runs"
            remedy = "remove it, or make it one of the containers"
            yield Concerned(Concern.RUNNABLE, Finding(f"{pods.path}.spec.ephemeralContainers", found, remedy))
    for path, group in _groups(manifest):
        yield from _start_parameters(group, path)
        for key in get_map(group, "labels"):
            if is_reserved_on_nodes(key):
                yield _mark(child(f"{path}.labels", key), key)


def check_keeping(manifest: Mapping[str, Any]) -> Iterator[Concerned]:
    """What says of a RayJob that its pods stay when it has ended."""
    if "deletionStrategy" in get_map(manifest, "spec"):
        found = "can keep pods when the job has ended"
        yield Concerned(Concern.KEEPING, Finding("spec.deletionStrategy", found, _REMOVE))


def check_marks(manifest: Mapping[str, Any]) -> Iterator[Concerned]:
    """What the metadata of a (normalized) RayJob and of its pod templates may not say to Kueue, KubeRay and us.

    Of the RayJob's own only what speaks to KubeRay: an attempt has the other marks anew.
    """
    for kind, allowed in (("labels", ()), ("annotations", RAY_OPTIONS)):
        for key in get_map(manifest, "metadata", kind):
            if key.startswith(RAY) and key not in allowed:
                yield _mark(child(f"metadata.{kind}", key), key)
    for path, template in templates(manifest):
        yield from check_kept(template, path)
        for kind in ("labels", "annotations"):
            for key in get_map(template, "metadata", kind):
                if is_reserved(key):
                    yield _mark(child(f"{path}.metadata.{kind}", key), key)


def check_kept(template: Plain, path: str) -> Iterator[Concerned]:
    """KubeRay copies all of a template's metadata to its pods."""
    for key in _KEPT:
        if get_map(template, "metadata").get(key):
            found = "every pod would get it, and would be kept or taken for another's"
            yield Concerned(Concern.KEPT, Finding(f"{path}.metadata.{key}", found, _REMOVE))


def _mark(field: str, key: str) -> Concerned:
    return Concerned(Concern.MARK, Finding(field, not_for_users("sets", key), _REMOVE))


def _groups(manifest: Mapping[str, Any]) -> Iterator[tuple[str, Plain]]:
    cluster = get_map(manifest, "spec", "rayClusterSpec")
    yield HEAD_PATH, get_map(cluster, "headGroupSpec")
    for index, group in enumerate(get_list(cluster, "workerGroupSpecs")):
        yield f"{CLUSTER}.workerGroupSpecs[{index}]", group


def _start_parameters(group: Plain, path: str) -> Iterator[Concerned]:
    """They become words of a shell command. ``resources`` is JSON in quotes, which the submission's own rules read."""
    for key, value in get_map(group, "rayStartParams").items():
        if _is_command(key, value):
            found = f"{key} holds characters that a shell would act on"
            finding = Finding(child(f"{path}.rayStartParams", key), found, "write a plain value")
            yield Concerned(Concern.START_PARAMETER, finding)


def _is_command(key: str, value: Any) -> bool:
    text = str(value)
    shown = text.replace('\\"', '"') if key == "resources" else text
    return _SHELL.search(shown) is not None or _SHELL.search(key) is not None
