"""What a program in an attempt's pods is told: which attempt it is, and by a file when it is asked to end.

The file shows an annotation of the pod (downward API): it is empty until then, and the kubelet writes it anew when the
pod changes. Ray's own way to stop a job is not used: KubeRay would count the job as done.
"""

from collections.abc import Mapping
from typing import Any, Final

from fairgate_scheduler.adapters.kube import names
from fairgate_scheduler.core.manifests.plain import Plain, get_list, get_map, get_text

_VOLUME: Final = "fairgate-notice"


def with_notice(template: Plain, env: Mapping[str, str]) -> Plain:
    """A pod template whose containers see the notice and have these variables; the manifest's own of these names go."""
    spec = get_map(template, "spec")
    field = {"fieldRef": {"fieldPath": f"metadata.annotations['{names.NOTICE}']"}, "path": names.NOTICE_NAME}
    volumes = [each for each in get_list(spec, "volumes") if get_text(each, "name") != _VOLUME]
    told = {**env, names.NOTICE_VARIABLE: f"{names.NOTICE_FOLDER}/{names.NOTICE_NAME}"}
    placed = {**spec, "volumes": [*volumes, {"name": _VOLUME, "downwardAPI": {"items": [field]}}]}
    placed["containers"] = [_told(each, told) for each in get_list(spec, "containers")]
    return {**template, "spec": placed}


def _told(container: Any, env: Mapping[str, str]) -> Plain:
    own = [each for each in get_list(container, "env") if get_text(each, "name") not in env]
    mounts = [each for each in get_list(container, "volumeMounts") if get_text(each, "name") != _VOLUME]
    return {
        **container,
        "env": [*own, *({"name": name, "value": value} for name, value in env.items())],
        "volumeMounts": [*mounts, {"name": _VOLUME, "mountPath": names.NOTICE_FOLDER, "readOnly": True}],
    }
