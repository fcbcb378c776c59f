"""What a request asks for, in a form that is the same for what means the same.

KubeRay and Kueue write a RayJob back as Go has it: amounts as texts (1 becomes "1", 1000m becomes 1), empty maps where
there were none, and the API server fills in defaults. None of that is an edit.
"""

import json
from typing import Any, Final

from fairgate_scheduler.core.amounts import QuantityError, parse_quantity
from fairgate_scheduler.core.manifests.charge import UNBOUNDED

_AMOUNTS: Final = ("requests", "limits")
_EMPTY: Final[tuple[object, ...]] = ({}, [], "", None)
_JOB_DEFAULTS: Final = {"submissionMode": "K8sJobMode", "backoffLimit": 0, "ttlSecondsAfterFinished": 0}
_GROUP_DEFAULTS: Final = {"replicas": 0, "minReplicas": 0, "maxReplicas": UNBOUNDED, "numOfHosts": 1}


def essence_of(content: str) -> str:
    """The essence of a manifest, which is given and returned as JSON; of a text that is none, the text itself."""
    try:
        manifest = json.loads(content)
    except ValueError:
        return content
    if not isinstance(manifest, dict):
        return content
    spec = _without(manifest.get("spec"), _JOB_DEFAULTS)
    cluster = spec.get("rayClusterSpec") if isinstance(spec, dict) else None
    if isinstance(cluster, dict) and isinstance(cluster.get("workerGroupSpecs"), list):
        groups = [_without(each, _GROUP_DEFAULTS) for each in cluster["workerGroupSpecs"]]
        spec = {**spec, "rayClusterSpec": {**cluster, "workerGroupSpecs": groups}}
    return json.dumps(_reduced({**manifest, "spec": spec}), sort_keys=True, separators=(",", ":"))


def _without(fields: Any, defaults: dict[str, Any]) -> Any:
    if not isinstance(fields, dict):
        return fields
    return {key: value for key, value in fields.items() if key not in defaults or value != defaults[key]}


def _reduced(value: Any, key: str = "") -> Any:
    """Without what is empty, and with amounts as numbers."""
    if isinstance(value, dict):
        if key in _AMOUNTS:
            return {resource: _amount(text, resource) for resource, text in value.items()}
        reduced = {name: _reduced(item, name) for name, item in value.items()}
        return {name: item for name, item in reduced.items() if item not in _EMPTY}
    if isinstance(value, list):
        return [_reduced(item) for item in value]
    return value


def _amount(text: Any, resource: str) -> Any:
    try:
        return parse_quantity(text, resource)
    except QuantityError:
        return text
