"""A RayJob that somebody applies is a request: checked as a submission is, suspended for ever, in the inbox.

Each attempt is a RayJob of the scheduler's own, made when the request is admitted.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from fairgate_scheduler.core.manifests import ManifestError, understand, validate
from fairgate_scheduler.core.manifests.charge import CLUSTER, HEAD_PATH
from fairgate_scheduler.core.manifests.findings import Finding, child
from fairgate_scheduler.core.manifests.plain import Plain, get_list, get_map
from fairgate_scheduler.core.manifests.podsecurity import check_accounts
from fairgate_scheduler.core.manifests.workloads import workload_demand
from fairgate_scheduler.documents.annotations import Annotations, read_annotations
from fairgate_scheduler.documents.problems import DocumentError

from fairgate_admission.facts import names
from fairgate_admission.facts.request import Request
from fairgate_admission.facts.verdict import Denial
from fairgate_admission.facts.world import World
from fairgate_admission.review.families.pod_rules import check_always, check_unproven, denials

_SHELL: Final = re.compile(r"[;&|`$<>\n\r\\]|\$\(")
_ADD: Final = "add the label kueue.x-k8s.io/queue-name: inbox to metadata.labels; it is started when it is its turn"


def check(request: Request, world: World, tenant: str) -> list[Denial]:
    """Whether this RayJob may be made or changed so, by somebody who is no part of the system."""
    queue = request.labels().get(names.QUEUE)
    if queue != world.settings.inbox and (not request.is_update or request.old_labels().get(names.QUEUE) == queue):
        found = "is not in the inbox, so it would go round the queue" if queue is None else f"is in the queue {queue!r}"
        return [Denial("FG-RAY-001", child("metadata.labels", names.QUEUE), found, _ADD)]
    annotated, out = _read_annotations(request, tenant)
    return [
        *out,
        *_suspension(request),
        *_keeping(request),
        *denials("FG-RAY-003", _not_understood(request, annotated, world, tenant)),
        *_pods(request, world),
        *_start_params(request.object),
    ]


def _suspension(request: Request) -> Iterator[Denial]:
    new, old = (get_map(of, "spec").get("suspend") for of in (request.object, request.old))
    if new is False or (old is True and new is not True):
        found = "would start it without admission"
        yield Denial("FG-RAY-004", "spec.suspend", found, "leave it out; what is admitted is started for you")


def _keeping(request: Request) -> Iterator[Denial]:
    spec = get_map(request.object, "spec")
    if spec.get("shutdownAfterJobFinishes") is not True:
        found = "the cluster would keep its pods when the job has ended"
        yield Denial("FG-RAY-006", "spec.shutdownAfterJobFinishes", found, "write shutdownAfterJobFinishes: true")
    if "deletionStrategy" in spec:
        found = "can keep pods when the job has ended"
        yield Denial("FG-RAY-006", "spec.deletionStrategy", found, "remove it")


def _not_understood(
    request: Request, annotated: Annotations, world: World, tenant: str
) -> tuple[Finding, ...] | list[Finding]:
    """The findings of a submission, word for word."""
    if world.config is None:
        return validate(request.object)
    accounts = world.config.tenants[tenant].service_accounts if tenant in world.config.tenants else ()
    found = check_accounts(request.object, accounts) if accounts else []
    try:
        understand(request.object, annotated.options, world.config, tenant, annotated.workload)
    except ManifestError as error:
        return (*error.findings, *found)
    return found


def _read_annotations(request: Request, tenant: str) -> tuple[Annotations, list[Denial]]:
    """What the annotations say, those left out that were there before: they are ours then, or were read."""
    old = request.old_labels("annotations")
    changed = {key: value for key, value in request.labels("annotations").items() if old.get(key) != value}
    try:
        said = read_annotations({"metadata": {"annotations": changed}})
    except DocumentError as error:
        return Annotations(), [
            Denial("FG-RAY-012", each.path, each.message, each.remedy or "remove it") for each in error.problems
        ]
    if said.tenant not in (None, tenant):
        found = "names another tenant than this namespace's"
        return said, [Denial("FG-RAY-012", "metadata.annotations[fairgate.internal/tenant]", found, "remove it")]
    return said, []


def _pods(request: Request, world: World) -> Iterator[Denial]:
    for pods in workload_demand(request.object).pod_sets:
        has_devices = bool(pods.demand.accelerators)
        yield from check_always(pods.template, pods.path, has_devices, world.settings)
        unproven = check_unproven(pods.template, pods.path, has_devices, world.settings)
        yield from (each for each in unproven if each.rule == "FG-PLACE-003")


def _start_params(manifest: Plain) -> Iterator[Denial]:
    """They become words of a shell command. ``resources`` is JSON in quotes, which the submission's own rules read."""
    cluster = get_map(manifest, "spec", "rayClusterSpec")
    groups = [(HEAD_PATH, get_map(cluster, "headGroupSpec"))]
    groups += [
        (f"{CLUSTER}.workerGroupSpecs[{i}]", each) for i, each in enumerate(get_list(cluster, "workerGroupSpecs"))
    ]
    for path, group in groups:
        for key, value in get_map(group, "rayStartParams").items():
            if _is_command(key, value):
                found = f"{key} holds characters that a shell would act on"
                yield Denial("FG-RAY-007", child(f"{path}.rayStartParams", key), found, "write a plain value")


def _is_command(key: str, value: Any) -> bool:
    text = str(value)
    return _SHELL.search(text.replace('\\"', '"') if key == "resources" else text) is not None or bool(
        _SHELL.search(key)
    )


def changed_spec(request: Request) -> Mapping[str, Any]:
    """The fields of the spec that an update changes, as they become."""
    new, old = get_map(request.object, "spec"), get_map(request.old, "spec")
    return {key: new.get(key) for key in dict.fromkeys([*new, *old]) if new.get(key) != old.get(key)}
