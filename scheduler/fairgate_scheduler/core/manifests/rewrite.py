"""The RayJob that an attempt runs: the manifest on one option, placed on its flavors, cleaned of what others decide."""

from collections.abc import Mapping
from typing import Any, Final

from fairgate_scheduler.core.jobs import Option
from fairgate_scheduler.core.manifests.changes import apply_changes
from fairgate_scheduler.core.manifests.charge import is_autoscaled, pods_of_group, submission_mode, submitter_template
from fairgate_scheduler.core.manifests.marks import KUEUE
from fairgate_scheduler.core.manifests.options import HEAD, SUBMITTER, OptionSpec
from fairgate_scheduler.core.manifests.plain import Plain, get_int, get_list, get_map, get_text, normalize
from fairgate_scheduler.core.tenancy import Config, Flavor

DROPPED: Final = ("suspend", "deletionStrategy", "ttlSecondsAfterFinished", "clusterSelector", "managedBy")
"""Fields of the spec that an attempt never has: they would keep capacity, or hold back what was admitted."""


def render_for_option(
    manifest: Mapping[str, Any], option_spec: OptionSpec, option: Option, config: Config
) -> dict[str, Any]:
    """The manifest of an attempt on this option: changed as ``option_spec`` says, every pod set on its flavor's nodes.

    The cluster is always shut down when the job ends. Replicas are written as they were charged; without an autoscaler
    the bounds are closed on them, so that nobody can scale what was admitted.
    """
    out = apply_changes(normalize(manifest), option_spec)
    autoscaled = is_autoscaled(out)
    flavors = {group.name: config.flavors.get(group.flavor) for group in option.groups}
    cluster = get_map(out, "spec", "rayClusterSpec")
    groups = [
        _place({**group, **_closed(group, autoscaled)}, flavors.get(get_text(group, "groupName")), config)
        for group in get_list(cluster, "workerGroupSpecs")
    ]
    placed: Plain = {**cluster, "headGroupSpec": _place(get_map(cluster, "headGroupSpec"), flavors.get(HEAD), config)}
    placed.pop("managedBy", None)
    if groups:
        placed["workerGroupSpecs"] = groups
    spec = {key: value for key, value in get_map(out, "spec").items() if key not in DROPPED}
    spec.update(rayClusterSpec=placed, shutdownAfterJobFinishes=True)
    if submission_mode(out) == "K8sJobMode" and (flavor := flavors.get(SUBMITTER)) is not None:
        own = get_map(spec, "submitterPodTemplate")
        if own or flavor.node_labels or flavor.tolerations:
            spec["submitterPodTemplate"] = _place({"template": submitter_template(out)}, flavor, config)["template"]
    return {
        "apiVersion": out.get("apiVersion"),
        "kind": out.get("kind"),
        "metadata": _metadata(get_map(out, "metadata")),
        "spec": spec,
    }


def _metadata(metadata: Mapping[str, Any]) -> Plain:
    out = {key: metadata[key] for key in ("name", "generateName", "namespace") if key in metadata}
    for kind in ("labels", "annotations"):
        kept = {key: text for key, text in get_map(metadata, kind).items() if not key.startswith(KUEUE)}
        if kept:
            out[kind] = kept
    return out


def _closed(group: Mapping[str, Any], autoscaled: bool) -> Plain:
    if autoscaled:
        return {}
    replicas = pods_of_group(group, False) // max(get_int(group, "numOfHosts", 1), 1)
    return {"replicas": replicas, "minReplicas": replicas, "maxReplicas": replicas}


def _place(group: Plain, flavor: Flavor | None, config: Config) -> Plain:
    """Put the pods of a group on the nodes of its flavor: selectors of other flavors give way to its own."""
    if flavor is None:
        return group
    template = get_map(group, "template")
    pod = dict(get_map(template, "spec"))
    others = [other.node_labels for other in config.flavors.values() if other.name != flavor.name]
    selector = {
        key: value
        for key, value in get_map(pod, "nodeSelector").items()
        if not any(labels.get(key) == value for labels in others)
    }
    selector.update(flavor.node_labels)
    tolerations = get_list(pod, "tolerations")
    tolerations = [*tolerations, *(dict(item) for item in flavor.tolerations if dict(item) not in tolerations)]
    for key, value in (("nodeSelector", selector), ("tolerations", tolerations)):
        pod.pop(key, None)
        if value:
            pod[key] = value
    return {**group, "template": {**template, "spec": pod}}
