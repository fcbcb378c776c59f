"""What any pod takes, whoever made it: by the same rule as the pods of a RayJob, and never less than it could get.

A pod of a RayJob was checked field by field when it was submitted. This is for all others: pods and pod templates that
nobody has looked at, in kinds that nobody has heard of.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from fairgate_scheduler.core.amounts import Amount, add, is_accelerator
from fairgate_scheduler.core.manifests.findings import Finding, child
from fairgate_scheduler.core.manifests.plain import get_list, get_map, get_text
from fairgate_scheduler.core.manifests.pods import Requests, container_requests, pod_requests

_KINDS: Final = ("containers", "initContainers", "ephemeralContainers")


@dataclass(frozen=True, slots=True)
class PodDemand:
    """What one pod takes in canonical units. ``findings``: amounts that can not be counted, and claimed devices.

    With findings the amounts are those that could be read: a pod with findings is none whose demand is known.
    """

    requests: Mapping[str, Amount]
    findings: tuple[Finding, ...] = ()

    @property
    def accelerators(self) -> Mapping[str, Amount]:
        """The devices among the requests."""
        return {name: amount for name, amount in self.requests.items() if is_accelerator(name)}


def pod_demand(template: Mapping[str, Any], path: str) -> PodDemand:
    """The demand of a (normalized) pod or pod template. ``path`` is that of the template; "" for a pod itself."""
    findings: list[Finding] = []
    requests: Requests = pod_requests(template, path, findings)
    spec, at = get_map(template, "spec"), child(path, "spec")
    findings += [
        Finding(child(at, kind), "is not a list, so it can not be counted", "write a list")
        for kind in _KINDS
        if not isinstance(spec.get(kind, []), list)
    ]
    for index, container in enumerate(get_list(spec, "ephemeralContainers")):
        own = container_requests(container, f"{at}.ephemeralContainers[{index}]", findings)
        for resource, amount in own.items():
            requests[resource] = add(requests.get(resource, 0), amount)
    findings += [
        Finding(f"{at}.{kind}[{index}].{place}", "is not a map, so it can not be counted", "write `name: amount` lines")
        for kind in _KINDS
        for index, container in enumerate(get_list(spec, kind))
        for place in _unreadable(container)
    ]
    amounts = {resource: amount for resource, amount in requests.items() if amount}
    return PodDemand(amounts, tuple(dict.fromkeys(findings)))


def _unreadable(container: Any) -> list[str]:
    resources = container.get("resources", {}) if isinstance(container, dict) else None
    if not isinstance(resources, dict):
        return ["resources"]
    return [f"resources.{key}" for key in ("requests", "limits") if not isinstance(resources.get(key, {}), dict)]


def group_of_pod(labels: Mapping[str, Any]) -> str:
    """The pod group that KubeRay's labels say a Ray pod belongs to; "" if they say none."""
    if labels.get("ray.io/node-type") == "head":
        return "head"
    return get_text(dict(labels), "ray.io/group")
