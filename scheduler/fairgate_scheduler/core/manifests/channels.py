"""Ways to a device that no resource request shows: environment, annotations, mounts, ephemeral containers' own.

A container runtime that takes its orders from such variables can be told by an image too, which no manifest shows: that
door is closed on the nodes (see the explanation of the gate).
"""

from collections.abc import Iterator
from typing import Any, Final

from fairgate_scheduler.core.manifests.concerns import Concern, Concerned
from fairgate_scheduler.core.manifests.findings import Finding, child
from fairgate_scheduler.core.manifests.plain import Plain, get_list, get_map, get_text

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
_MIRROR: Final = "kubernetes.io/config.mirror"
_MOUNTS: Final = ("/var/run/nvidia-container-devices", "/run/nvidia-container-devices")
_KINDS: Final = ("initContainers", "containers", "ephemeralContainers")
_REQUEST: Final = "remove it, and ask for devices by their resource name in a RayJob"


def check_channels(template: Plain, path: str) -> Iterator[Concerned]:
    """What no pod or pod template may use, with or without devices. ``path`` is that of the template; "" for a pod."""
    at = f"{path}.metadata.annotations".removeprefix(".")
    for key in get_map(template, "metadata", "annotations"):
        if key.startswith(_ANNOTATIONS):
            found = f"the annotation {key} gives devices that are not counted"
            yield Concerned(Concern.ANNOTATION, Finding(child(at, key), found, _REQUEST))
        elif key == _MIRROR:
            found = "a mirror of a node's own pod has no place in a tenant's namespace"
            yield Concerned(Concern.MIRROR, Finding(child(at, key), found, "remove it"))
    for where, container in _containers(template, path):
        yield from _variables(container, where)
        yield from _mounts(container, where)


def check_env_from(template: Plain, path: str) -> Iterator[Concerned]:
    """Variables that are taken from elsewhere all at once: any of them can be one that gives devices."""
    for where, container in _containers(template, path):
        for index, source in enumerate(get_list(container, "envFrom")):
            if _can_name_a_variable(get_text(source, "prefix")):
                found = "takes over whatever variables there are, also those that give devices"
                remedy = "name the variables one by one under env, or give them a prefix"
                yield Concerned(Concern.ENV_FROM, Finding(f"{where}.envFrom[{index}]", found, remedy))


def _containers(template: Plain, path: str) -> Iterator[tuple[str, Plain]]:
    spec, at = get_map(template, "spec"), child(path, "spec")
    for kind in _KINDS:
        for index, container in enumerate(get_list(spec, kind)):
            if isinstance(container, dict):
                yield f"{at}.{kind}[{index}]", container


def _can_name_a_variable(prefix: str) -> bool:
    return any(name.startswith(prefix) for name in VARIABLES if name not in _HARMLESS)


def _variables(container: Plain, where: str) -> Iterator[Concerned]:
    for index, item in enumerate(get_list(container, "env")):
        name = get_text(item, "name")
        if name not in VARIABLES or name in _HARMLESS:
            continue
        if "valueFrom" in item or str(item.get("value", "")).strip().lower() not in _NO_DEVICES:
            found = f"{name} gives devices that are not counted"
            yield Concerned(Concern.VARIABLE, Finding(f"{where}.env[{index}]", found, _REQUEST))


def _mounts(container: Plain, where: str) -> Iterator[Concerned]:
    for index, mount in enumerate(get_list(container, "volumeMounts")):
        if _gives_devices(mount):
            found = "a mount there gives devices that are not counted"
            yield Concerned(Concern.MOUNT, Finding(f"{where}.volumeMounts[{index}]", found, _REQUEST))


def _gives_devices(mount: Any) -> bool:
    parts = [part for part in get_text(mount, "mountPath").split("/") if part not in ("", ".")]
    return ("/" + "/".join(parts)).startswith(_MOUNTS)
