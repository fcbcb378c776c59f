"""Where a pod goes and before whom: only the scheduler chooses nodes, and nobody puts himself in front."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from fairgate_scheduler.core.manifests.concerns import Concern, Concerned
from fairgate_scheduler.core.manifests.findings import Finding, child
from fairgate_scheduler.core.manifests.plain import Plain, get_int, get_list, get_map, get_text

ACCELERATORS: Final = (
    "nvidia.com/",
    "amd.com/",
    "google.com/tpu",
    "aws.amazon.com/neuron",
    "habana.ai/",
    "gpu.intel.com/",
)
_NVIDIA: Final = "nvidia"
_REMOVE: Final = "remove it"


@dataclass(frozen=True, slots=True)
class PodLimits:
    """What admins allow pods of tenants.

    ``accelerators``: prefixes of the names of devices, and of their nodes' taints. ``runtime_classes`` may be used by
    pods without devices, ``schedulers`` and ``priority_classes`` by any pod.
    """

    accelerators: tuple[str, ...] = ACCELERATORS
    schedulers: tuple[str, ...] = ("default-scheduler",)
    runtime_classes: tuple[str, ...] = ()
    priority_classes: tuple[str, ...] = ()
    grace_period_max_s: int = 600


def check_placement(template: Plain, path: str, has_devices: bool, limits: PodLimits) -> Iterator[Concerned]:
    """What no pod or pod template of a tenant may ask for, wherever it comes from."""
    spec, at = get_map(template, "spec"), child(path, "spec")
    if get_text(spec, "nodeName"):
        found = "chooses its node itself, past scheduler and taints"
        yield Concerned(Concern.NODE, Finding(f"{at}.nodeName", found, "remove it; use a nodeSelector"))
    scheduler = get_text(spec, "schedulerName")
    if scheduler and scheduler not in limits.schedulers:
        found = f"the scheduler {scheduler!r} is not one that is used here"
        yield Concerned(Concern.SCHEDULER, Finding(f"{at}.schedulerName", found, _REMOVE))
    runtime_class = get_text(spec, "runtimeClassName")
    is_for_devices = has_devices and runtime_class.startswith(_NVIDIA)
    if runtime_class and runtime_class not in limits.runtime_classes and not is_for_devices:
        found = f"the runtime class {runtime_class!r} is not for pods without devices"
        remedy = "remove it, or ask the admins to allow it"
        yield Concerned(Concern.RUNTIME_CLASS, Finding(f"{at}.runtimeClassName", found, remedy))
    priority = get_text(spec, "priorityClassName")
    if priority and (priority.startswith("system-") or priority not in limits.priority_classes):
        found = f"the priority class {priority!r} would put it in front of others' pods"
        remedy = "remove it; jobs have a priority of their own"
        yield Concerned(Concern.PRIORITY, Finding(f"{at}.priorityClassName", found, remedy))
    grace_s = get_int(spec, "terminationGracePeriodSeconds", 0)
    if grace_s > limits.grace_period_max_s:
        found = f"takes {grace_s} s to end; {limits.grace_period_max_s} s at most"
        yield Concerned(Concern.GRACE, Finding(f"{at}.terminationGracePeriodSeconds", found, "write less"))


def check_tolerations(template: Plain, path: str, has_devices: bool, limits: PodLimits) -> Iterator[Concerned]:
    """Pods without devices stay off the nodes that are kept for those with."""
    if has_devices:
        return
    at = f"{child(path, 'spec')}.tolerations"
    for index, toleration in enumerate(get_list(get_map(template, "spec"), "tolerations")):
        if _tolerates_devices(toleration, limits):
            found = "would run on nodes that are kept for pods with devices, and asks for none"
            remedy = "remove it; name the taint that is meant, if it is another one"
            yield Concerned(Concern.TOLERATION, Finding(f"{at}[{index}]", found, remedy))


def _tolerates_devices(toleration: Any, limits: PodLimits) -> bool:
    """An empty key tolerates every taint."""
    key = get_text(toleration, "key")
    return not key or key.startswith(limits.accelerators)
