"""Ways to a device that no resource request shows: environment, annotations, mounts, ephemeral containers' own.

A container runtime that takes its orders from such variables can be told by an image too, which no gate sees: that door
is closed on the nodes (see the explanation of the gate).
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from fairgate_scheduler.core.manifests.findings import child
from fairgate_scheduler.core.manifests.plain import Plain, get_list, get_map, get_text

from fairgate_admission.facts.verdict import Denial

VARIABLES: Final = (
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES",
    "NVIDIA_MIG_CONFIG_DEVICES",
    "NVIDIA_MIG_MONITOR_DEVICES",
    "NVIDIA_IMEX_CHANNELS",
    "AMD_VISIBLE_DEVICES",
    "HABANA_VISIBLE_DEVICES",
    "HABANA_VISIBLE_MODULES",
    "AWS_NEURON_VISIBLE_DEVICES",
    "NEURON_RT_VISIBLE_CORES",
)
_HARMLESS: Final = ("NVIDIA_DRIVER_CAPABILITIES",)
"""Without a device it gives nothing; with one it says which libraries of the driver are wanted."""
_NO_DEVICES: Final = ("void", "none", "")
_ANNOTATIONS: Final = ("cdi.k8s.io/", "nvidia.cdi.k8s.io/")
_MOUNTS: Final = ("/var/run/nvidia-container-devices", "/run/nvidia-container-devices")
_KINDS: Final = ("initContainers", "containers", "ephemeralContainers")
_REQUEST: Final = "remove it, and ask for devices by their resource name in a RayJob"


def check_channels(template: Plain, path: str) -> list[Denial]:
    """What nobody may use, with or without devices."""
    spec = get_map(template, "spec")
    annotations = get_map(template, "metadata", "annotations")
    at = child(path, "metadata.annotations") if path else "metadata.annotations"
    out = [
        Denial("FG-CHAN-002", child(at, key), f"the annotation {key} gives devices that are not counted", _REQUEST)
        for key in annotations
        if key.startswith(_ANNOTATIONS)
    ]
    for where, container in containers(spec, child(path, "spec")):
        out += _variables(container, where)
        out += _mounts(container, where)
    return out


def check_env_from(template: Plain, path: str) -> list[Denial]:
    """Variables that are taken from elsewhere all at once: any of them can be one that gives devices."""
    return [
        Denial(
            "FG-CHAN-004",
            f"{where}.envFrom[{index}]",
            "takes over whatever variables there are, also those that give devices",
            "name the variables one by one under env, or give them a prefix",
        )
        for where, container in containers(get_map(template, "spec"), child(path, "spec"))
        for index, source in enumerate(get_list(container, "envFrom"))
        if _can_name_a_variable(get_text(source, "prefix"))
    ]


def containers(spec: Plain, at: str) -> Iterable[tuple[str, Plain]]:
    """Every container of a pod with its path."""
    for kind in _KINDS:
        for index, container in enumerate(get_list(spec, kind)):
            if isinstance(container, dict):
                yield f"{at}.{kind}[{index}]", container


def _can_name_a_variable(prefix: str) -> bool:
    return any(name.startswith(prefix) for name in VARIABLES if name not in _HARMLESS)


def _variables(container: Mapping[str, Any], where: str) -> list[Denial]:
    out = []
    for index, item in enumerate(get_list(container, "env")):
        name = get_text(item, "name")
        if name not in VARIABLES or name in _HARMLESS:
            continue
        value = item.get("value", "")
        if "valueFrom" in item or str(value).strip().lower() not in _NO_DEVICES:
            found = f"{name} gives devices that are not counted"
            out.append(Denial("FG-CHAN-001", f"{where}.env[{index}]", found, _REQUEST))
    return out


def _mounts(container: Mapping[str, Any], where: str) -> list[Denial]:
    return [
        Denial(
            "FG-CHAN-003",
            f"{where}.volumeMounts[{index}]",
            "a mount there gives devices that are not counted",
            _REQUEST,
        )
        for index, mount in enumerate(get_list(container, "volumeMounts"))
        if (
            "/" + "/".join(part for part in get_text(mount, "mountPath").split("/") if part not in ("", "."))
        ).startswith(_MOUNTS)
    ]
