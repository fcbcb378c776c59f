"""Where a pod goes and before whom: only the scheduler chooses nodes, and nobody puts himself in front."""

from typing import Any, Final

from fairgate_scheduler.core.manifests.findings import child
from fairgate_scheduler.core.manifests.plain import Plain, get_int, get_list, get_map, get_text

from fairgate_admission.facts.verdict import Denial
from fairgate_admission.facts.world import Settings

_NVIDIA: Final = "nvidia"
_REMOVE: Final = "remove it"


def check_placement(template: Plain, path: str, has_devices: bool, settings: Settings) -> list[Denial]:
    """What no pod of a tenant may ask for, wherever it comes from."""
    spec, at = get_map(template, "spec"), child(path, "spec")
    out = []
    if get_text(spec, "nodeName"):
        found = "chooses its node itself, past scheduler and taints"
        out.append(Denial("FG-PLACE-001", f"{at}.nodeName", found, "remove it; use a nodeSelector"))
    scheduler = get_text(spec, "schedulerName")
    if scheduler and scheduler not in settings.schedulers:
        found = f"the scheduler {scheduler!r} is not one that is used here"
        out.append(Denial("FG-PLACE-002", f"{at}.schedulerName", found, _REMOVE))
    out += _runtime_class(spec, at, has_devices, settings)
    out += _priority(spec, at, settings)
    grace_s = get_int(spec, "terminationGracePeriodSeconds", 0)
    if grace_s > settings.grace_period_max_s:
        found = f"takes {grace_s} s to end; {settings.grace_period_max_s} s at most"
        out.append(Denial("FG-GRACE-001", f"{at}.terminationGracePeriodSeconds", found, "write less"))
    return out


def check_tolerations(template: Plain, path: str, has_devices: bool, settings: Settings) -> list[Denial]:
    """Pods without devices stay off the nodes that are kept for those with."""
    if has_devices:
        return []
    return [
        Denial(
            "FG-PLACE-003",
            f"{child(path, 'spec')}.tolerations[{index}]",
            "would run on nodes that are kept for pods with devices, and asks for none",
            "remove it; name the taint that is meant, if it is another one",
        )
        for index, toleration in enumerate(get_list(get_map(template, "spec"), "tolerations"))
        if _tolerates_devices(toleration, settings)
    ]


def _tolerates_devices(toleration: Any, settings: Settings) -> bool:
    """An empty key tolerates every taint."""
    key = get_text(toleration, "key")
    return not key or key.startswith(settings.accelerators)


def _runtime_class(spec: Plain, at: str, has_devices: bool, settings: Settings) -> list[Denial]:
    name = get_text(spec, "runtimeClassName")
    if not name or name in settings.runtime_classes or (has_devices and name.startswith(_NVIDIA)):
        return []
    found = f"the runtime class {name!r} is not for pods without devices"
    return [Denial("FG-PLACE-004", f"{at}.runtimeClassName", found, "remove it, or ask the admins to allow it")]


def _priority(spec: Plain, at: str, settings: Settings) -> list[Denial]:
    name = get_text(spec, "priorityClassName")
    if name and (name.startswith("system-") or name not in settings.priority_classes):
        found = f"the priority class {name!r} would put it in front of others' pods"
        return [Denial("FG-PRIO-001", f"{at}.priorityClassName", found, "remove it; jobs have a priority of their own")]
    return []
