"""A digest of what an attempt's RayJob runs and asks for, to see when somebody else has changed it."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from fairgate_scheduler.core.amounts import QuantityError, parse_quantity
from fairgate_scheduler.core.manifests.charge import UNBOUNDED
from fairgate_scheduler.core.manifests.plain import Plain, get_int, get_list, get_map, get_text, normalize

_JOB: Final = ("entrypoint", "runtimeEnvYAML", "submissionMode", "backoffLimit")
_COUNTS: Final = {"replicas": 0, "minReplicas": 0, "maxReplicas": UNBOUNDED, "numOfHosts": 1}
"""Each with the default that the API server fills in."""
_CONTAINER: Final = ("name", "image", "command", "args", "restartPolicy")
_AMOUNTS: Final = ("requests", "limits")
_DEFAULTS: Final = {"submissionMode": "K8sJobMode", "backoffLimit": 0}


def digest_of(manifest: Mapping[str, Any]) -> str:
    """Of what decides what runs: the program, and for each pod set its counts, images, commands and resources.

    Not of the whole spec: the API server adds defaults, KubeRay empty maps, and Kueue selectors and tolerations to what
    we wrote; both write quantities in their own way, 1000m as 1.
    """
    spec = get_map(normalize(manifest), "spec")
    cluster = get_map(spec, "rayClusterSpec")
    content = {
        "job": {key: spec.get(key) or _DEFAULTS.get(key, "") for key in _JOB},
        "autoscaling": cluster.get("enableInTreeAutoscaling") is True,
        "head": _containers(get_map(cluster, "headGroupSpec", "template")),
        "groups": [_group(group) for group in get_list(cluster, "workerGroupSpecs")],
        "submitter": _containers(get_map(spec, "submitterPodTemplate")),
    }
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _group(group: Plain) -> Plain:
    counts = {key: get_int(group, key, default) for key, default in _COUNTS.items()}
    return {"name": get_text(group, "groupName"), **counts, "pods": _containers(get_map(group, "template"))}


def _containers(template: Plain) -> list[Plain]:
    spec = get_map(template, "spec")
    kinds = ("initContainers", "containers")
    return [
        {"kind": kind, **_container(each)} for kind in kinds for each in get_list(spec, kind) if isinstance(each, dict)
    ]


def _container(container: Plain) -> Plain:
    kept = {key: container[key] for key in _CONTAINER if container.get(key)}
    resources = get_map(container, "resources")
    amounts = {key: _amounts(get_map(resources, key)) for key in _AMOUNTS if resources.get(key)}
    return {**kept, **amounts, **({"claims": resources["claims"]} if resources.get("claims") else {})}


def _amounts(quantities: Plain) -> Plain:
    return {resource: _amount(text, resource) for resource, text in quantities.items()}


def _amount(text: object, resource: str) -> object:
    try:
        return parse_quantity(text, resource)
    except QuantityError:
        return text
