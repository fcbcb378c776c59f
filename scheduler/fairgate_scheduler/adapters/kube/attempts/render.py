"""A launch as a RayJob: on its option's flavors, in the launch queue, marked as ours on every pod."""

from collections.abc import Mapping
from typing import Any, Final

from fairgate_scheduler.adapters.kube import names
from fairgate_scheduler.adapters.kube.attempts.digest import digest_of
from fairgate_scheduler.adapters.kube.attempts.notice import with_notice
from fairgate_scheduler.core.jobs import Job, Option
from fairgate_scheduler.core.lifecycle import left_ms
from fairgate_scheduler.core.manifests import render_for_option, spec_of
from fairgate_scheduler.core.manifests.charge import submission_mode, submitter_template
from fairgate_scheduler.core.manifests.marks import RAY_OPTIONS, is_reserved, is_reserved_on_nodes
from fairgate_scheduler.core.manifests.options import HEAD, SUBMITTER
from fairgate_scheduler.core.manifests.plain import Plain, get_list, get_map, get_text
from fairgate_scheduler.core.tenancy import Config
from fairgate_scheduler.ports import Launch

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_MARGIN_S: Final = 600
"""What KubeRay's own deadline leaves beyond ours, which counts only from when the attempt is ready."""


def render(launch: Launch, name: str, request: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The RayJob of an attempt. ``request``: the RayJob that somebody applied, which then owns it.

    The owner is no controller: Kueue would take the attempt for a part of the request and not queue it.
    """
    job, option = launch.job, launch.job.options[launch.attempt.option]
    spec = spec_of(launch.spec.get("options"), option, launch.attempt.option)
    manifest = _with_submitter(render_for_option(launch.manifest, spec, option, launch.config))
    marks = _marks(launch, option)
    _mark_pods(manifest, launch, option, marks)
    manifest["spec"]["suspend"] = True
    manifest["spec"].setdefault("activeDeadlineSeconds", _deadline_s(launch, option))
    metadata = manifest["metadata"]
    metadata.pop("generateName", None)
    metadata["name"] = name
    metadata["namespace"] = names.namespace_of(launch.config.tenants[job.tenant])
    metadata["labels"] = {
        **_own(metadata, "labels"),
        **marks,
        names.QUEUE_LABEL: names.LAUNCH_QUEUE,
        **_priority(job, launch.config),
    }
    told = {key: text for key, text in get_map(metadata, "annotations").items() if key in RAY_OPTIONS}
    metadata["annotations"] = {
        **_own(metadata, "annotations"),
        **told,
        names.JOB: job.id,
        names.DIGEST: digest_of(manifest),
    }
    if request is not None:
        metadata["ownerReferences"] = [_reference(request)]
    return manifest


def _marks(launch: Launch, option: Option) -> dict[str, str]:
    return {
        names.MANAGED: names.FIELD_MANAGER,
        names.TENANT: launch.job.tenant,
        names.JOB_UID: launch.job.uid,
        names.ATTEMPT: str(launch.attempt.number),
        names.OPTION: option.flavor,
    }


def _with_submitter(manifest: Plain) -> Plain:
    """With KubeRay's submitter pod written out, so that it can be marked and placed as every other pod."""
    if submission_mode(manifest) != "K8sJobMode":
        return manifest
    return {**manifest, "spec": {**manifest["spec"], "submitterPodTemplate": submitter_template(manifest)}}


def _mark_pods(manifest: Plain, launch: Launch, option: Option, marks: Mapping[str, str]) -> None:
    """Mark every pod template of a manifest that is ours alone, in place."""
    flavors = {group.name: group.flavor for group in option.groups}
    spec = manifest["spec"]
    cluster = spec["rayClusterSpec"]
    head, groups = get_map(cluster, "headGroupSpec"), get_list(cluster, "workerGroupSpecs")
    for name, group in [(HEAD, head), *((get_text(group, "groupName"), group) for group in groups)]:
        group["template"] = _marked(get_map(group, "template"), launch, marks, flavors.get(name))
        if "labels" in group:  # KubeRay gives them to the pods, too
            group["labels"] = {
                key: text for key, text in get_map(group, "labels").items() if not is_reserved_on_nodes(key)
            }
    if "submitterPodTemplate" in spec:
        spec["submitterPodTemplate"] = _marked(spec["submitterPodTemplate"], launch, marks, flavors.get(SUBMITTER))


def _marked(template: Plain, launch: Launch, marks: Mapping[str, str], flavor: str | None) -> Plain:
    """With our marks. Of its metadata nothing else is kept: pods get all of it, also what would keep them for ever."""
    own = get_map(template, "metadata")
    placed = {names.FLAVOR: flavor} if flavor else {}
    metadata = {
        "labels": {**_own(own, "labels"), **marks, **placed},
        "annotations": {**_own(own, "annotations"), names.JOB: launch.job.id},
    }
    env = {
        "FAIRGATE_JOB": launch.job.id,
        "FAIRGATE_TENANT": launch.job.tenant,
        "FAIRGATE_ATTEMPT": str(launch.attempt.number),
        "FAIRGATE_FLAVOR": marks[names.OPTION],
    }
    return with_notice({**template, "metadata": metadata}, env)


def _deadline_s(launch: Launch, option: Option) -> int:
    """When KubeRay ends what our service did not: the time to get ready and the time limit, with a margin."""
    left_s = -(-left_ms(launch.job, option) // 1000)
    return left_s + launch.config.policy.ready_timeout_ms // 1000 + _MARGIN_S


def _priority(job: Job, config: Config) -> dict[str, str]:
    name = min((name for name, number in config.priorities.items() if number == job.priority), default=None)
    return {names.PRIORITY_LABEL: name} if name else {}


def _reference(request: Mapping[str, Any]) -> dict[str, Any]:
    metadata = request["metadata"]
    return {
        "apiVersion": request["apiVersion"],
        "kind": request["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": False,
        "blockOwnerDeletion": False,
    }


def _own(metadata: Plain, kind: str) -> Plain:
    """The user's labels or annotations: none that speak to Kueue, KubeRay or us, nor what kubectl keeps for itself."""
    return {key: text for key, text in get_map(metadata, kind).items() if not is_reserved(key) and key != _LAST_APPLIED}
