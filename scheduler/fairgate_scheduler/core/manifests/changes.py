"""A manifest as it looks on one option: resources, replicas, hosts, image, environment and start parameters."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from fairgate_scheduler.core.amounts import is_accelerator, parse_quantity
from fairgate_scheduler.core.manifests.charge import is_autoscaled, submitter_template
from fairgate_scheduler.core.manifests.options import HEAD, SUBMITTER, GroupChange, OptionSpec
from fairgate_scheduler.core.manifests.plain import Plain, get_int, get_list, get_map, get_text
from fairgate_scheduler.core.manifests.raynodes import RAY_NAMES, format_custom, is_gpu, parse_custom


def apply_changes(manifest: Mapping[str, Any], spec: OptionSpec) -> Plain:
    """A new (normalized) manifest with what the option changes in each pod group; the given one stays as it is."""
    job = get_map(manifest, "spec")
    cluster = get_map(job, "rayClusterSpec")
    autoscaled = is_autoscaled(manifest)
    groups = [
        _change_group(group, spec.change_of(get_text(group, "groupName")), autoscaled)
        for group in get_list(cluster, "workerGroupSpecs")
    ]
    head = _change_group(get_map(cluster, "headGroupSpec"), spec.change_of(HEAD), autoscaled)
    changed: Plain = {**cluster, "headGroupSpec": head}
    if groups:
        changed["workerGroupSpecs"] = groups
    out: Plain = {**job, "rayClusterSpec": changed}
    if SUBMITTER in spec.groups:
        submitter = _change_group({"template": submitter_template(manifest)}, spec.change_of(SUBMITTER), False)
        out["submitterPodTemplate"] = submitter["template"]
    return {**manifest, "spec": out}


def variants(manifest: Mapping[str, Any], specs: Sequence[OptionSpec]) -> Iterator[tuple[int, Plain]]:
    """The options that change something in a (normalized) manifest, by index, each with what it makes of it."""
    for index, spec in enumerate(specs):
        if spec.groups and (changed := apply_changes(manifest, spec)) != manifest:
            yield index, changed


def _change_group(group: Plain, change: GroupChange, autoscaled: bool) -> Plain:
    out = {**group, **_counts(group, change, autoscaled)}
    template = get_map(group, "template")
    pod = get_map(template, "spec")
    containers = get_list(pod, "containers")
    if containers and isinstance(containers[0], dict):
        others = containers[1:]
        if change.accelerators:
            others = [_without_accelerators(container) for container in others]
        containers = [_change_container(containers[0], change), *others]
        out["template"] = {**template, "spec": {**pod, "containers": containers}}
    if change.accelerators:
        out.update(_ray_level(group, change))
    if change.ray_start_params:
        out["rayStartParams"] = {**get_map(out, "rayStartParams"), **change.ray_start_params}
    return out


def _counts(group: Mapping[str, Any], change: GroupChange, autoscaled: bool) -> Plain:
    """The counts that change. A new number of replicas moves the bounds that would not let it be."""
    named = {
        "replicas": change.replicas,
        "minReplicas": change.min_replicas,
        "maxReplicas": change.max_replicas,
        "numOfHosts": change.num_of_hosts,
    }
    out: Plain = {key: value for key, value in named.items() if value is not None}
    if change.replicas is not None and not autoscaled:
        if change.min_replicas is None and get_int(group, "minReplicas", 0) > change.replicas:
            out["minReplicas"] = change.replicas
        if change.max_replicas is None and get_int(group, "maxReplicas", change.replicas) < change.replicas:
            out["maxReplicas"] = change.replicas
    return out


def _change_container(container: Plain, change: GroupChange) -> Plain:
    out = dict(container)
    if change.image is not None:
        out["image"] = change.image
    if change.env:
        kept = [item for item in get_list(container, "env") if get_text(item, "name") not in change.env]
        out["env"] = [*kept, *({"name": name, "value": value} for name, value in change.env.items())]
    if change.resources:
        base = get_map(_without_accelerators(container) if change.accelerators else container, "resources")
        out["resources"] = {
            **base,
            "requests": {**get_map(base, "requests"), **change.resources},
            "limits": {**get_map(base, "limits"), **change.resources},
        }
    return out


def _without_accelerators(container: Any) -> Any:
    if not get_map(container, "resources"):
        return container
    resources = {
        kind: {name: text for name, text in amounts.items() if not is_accelerator(name)}
        if isinstance(amounts, dict)
        else amounts
        for kind, amounts in get_map(container, "resources").items()
    }
    return {**container, "resources": resources}


def _ray_level(group: Mapping[str, Any], change: GroupChange) -> Plain:
    """What Ray is told of the accelerators: the manifest's words would claim those that are not there any more."""
    amounts = {name: parse_quantity(text, name) for name, text in change.accelerators.items()}
    gpus = next((amount for name, amount in amounts.items() if is_gpu(name) and amount), None)
    others = {RAY_NAMES[name]: amount for name, amount in amounts.items() if name in RAY_NAMES and amount}
    own = get_map(group, "resources")
    if own:  # KubeRay refuses a group that says it in both places
        texts = {name: str(amount) for name, amount in others.items()}
        kept = {name: text for name, text in own.items() if not is_gpu(name.lower()) and name not in RAY_NAMES.values()}
        return {"resources": {**kept, **({"GPU": str(gpus)} if gpus else {}), **texts}}
    params = {name: text for name, text in get_map(group, "rayStartParams").items() if name != "num-gpus"}
    custom = dict(parse_custom(get_text(params, "resources")) or {})
    custom = {name: amount for name, amount in custom.items() if name not in RAY_NAMES.values()}
    custom.update({name: Fraction(amount) for name, amount in others.items()})
    params.pop("resources", None)
    if gpus is not None:
        params["num-gpus"] = str(gpus)
    if custom:
        params["resources"] = format_custom(custom)
    return {"rayStartParams": params}
