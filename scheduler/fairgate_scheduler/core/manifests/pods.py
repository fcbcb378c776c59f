"""What one pod asks for, as the Kubernetes scheduler and Kueue count it, from its template alone.

The rule is Kubernetes' (``k8s.io/component-helpers/resource``): the containers and the restartable init containers run
together; before that each init container runs beside the restartable ones started before it; the larger of both counts,
plus the overhead of the runtime class. Requests at the level of the pod replace that of cpu, memory and hugepages. A
limit without a request is a request. Every quantity is exact and rounded up to whole canonical units.
"""

from collections.abc import Mapping
from typing import Any, Final

from fairgate_scheduler.core.amounts import (
    UNLIMITED,
    Amount,
    add,
    is_accelerator,
    parse_quantity,
)
from fairgate_scheduler.core.manifests.findings import Finding, child, did_you_mean
from fairgate_scheduler.core.manifests.plain import get_list, get_map, get_text

Requests = dict[str, Amount]

_NATIVE: Final = ("cpu", "memory", "ephemeral-storage")
_COMMON: Final = (*_NATIVE, "nvidia.com/gpu", "amd.com/gpu", "google.com/tpu", "aws.amazon.com/neuroncore")
_NO_CLAIMS: Final = "devices that are claimed (DRA) can not be charged"
_ASK_INSTEAD: Final = "ask for the device by its resource name, such as nvidia.com/gpu"


def pod_requests(template: object, path: str, findings: list[Finding]) -> Requests:
    """What one pod of a (normalized) template asks for in canonical units; resources of amount 0 are left out.

    What is wrong is appended to ``findings``: negative or fractional amounts, amounts that are no quantities, requests
    above limits, devices that can not be charged. ``path`` is that of the template.
    """
    spec, at = get_map(template, "spec"), child(path, "spec")
    if spec.get("resourceClaims"):
        findings.append(Finding(child(at, "resourceClaims"), _NO_CLAIMS, _ASK_INSTEAD))
    running, peak = _init_requests(spec, at, findings)
    for index, container in enumerate(get_list(spec, "containers")):
        _increase(running, container_requests(container, f"{at}.containers[{index}]", findings))
    total = _larger(running, peak)
    _replace_at_pod_level(total, spec, at, findings)
    overhead = _amounts(get_map(spec, "overhead"), child(at, "overhead"), findings)
    _increase(total, overhead)
    for resource, amount in total.items():
        if amount >= UNLIMITED:
            findings.append(Finding(at, f"asks for more {resource} than can be counted", "ask for less"))
    return {resource: amount for resource, amount in total.items() if amount > 0}


def container_requests(container: object, path: str, findings: list[Finding]) -> Requests:
    """What one container asks for: its requests, and its limits where it has no request."""
    return _resource_requests(get_map(container, "resources"), child(path, "resources"), findings)


def find_resource(template: object, path: str, resource: str) -> str:
    """The path of the first field of a template that asks for this resource; of its spec if none does."""
    spec, at = get_map(template, "spec"), child(path, "spec")
    places = [
        (get_map(container, "resources"), f"{at}.{kind}[{index}].resources")
        for kind in ("containers", "initContainers")
        for index, container in enumerate(get_list(spec, kind))
    ]
    for resources, place in [*places, (get_map(spec, "resources"), f"{at}.resources")]:
        for kind in ("limits", "requests"):
            if resource in get_map(resources, kind):
                return child(child(place, kind), resource)
    return child(child(at, "overhead"), resource) if resource in get_map(spec, "overhead") else at


def _init_requests(spec: Mapping[str, Any], path: str, findings: list[Finding]) -> tuple[Requests, Requests]:
    """What restartable init containers go on asking for, and the most that is asked while initializing."""
    running: Requests = {}
    peak: Requests = {}
    for index, container in enumerate(get_list(spec, "initContainers")):
        requests = container_requests(container, f"{path}.initContainers[{index}]", findings)
        if get_text(container, "restartPolicy") == "Always":
            _increase(running, requests)
            peak = _larger(peak, running)
        else:
            _increase(requests, running)
            peak = _larger(peak, requests)
    return running, peak


def _replace_at_pod_level(total: Requests, spec: Mapping[str, Any], path: str, findings: list[Finding]) -> None:
    """Requests of the pod itself count instead of its containers'; they can not be less."""
    resources, at = get_map(spec, "resources"), child(path, "resources")
    if not resources:
        return
    names = {**get_map(resources, "requests"), **get_map(resources, "limits")}
    findings += [
        Finding(at, f"{resource} is not a resource of a pod", "ask for it in a container")
        for resource in names
        if is_accelerator(resource)
    ]
    limited = [name for name in get_map(resources, "limits") if name not in get_map(resources, "requests")]
    for resource, amount in _resource_requests(resources, at, findings).items():
        if resource in limited and resource in total:
            continue  # Kubernetes takes a limit as the request only if no container asks for that resource
        if amount < total.get(resource, 0):
            message = f"the pod's {resource} is less than that of its containers together"
            findings.append(Finding(at, message, "raise it to their sum"))
        total[resource] = max(amount, total.get(resource, 0))


def _resource_requests(resources: Mapping[str, Any], path: str, findings: list[Finding]) -> Requests:
    if resources.get("claims"):
        findings.append(Finding(child(path, "claims"), _NO_CLAIMS, _ASK_INSTEAD))
    requests_at, limits_at = child(path, "requests"), child(path, "limits")
    requests = _amounts(get_map(resources, "requests"), requests_at, findings)
    limits = _amounts(get_map(resources, "limits"), limits_at, findings)
    for resource, amount in requests.items():
        limit = limits.get(resource)
        if is_accelerator(resource) or resource.startswith("hugepages-"):
            if limit is None and resource not in get_map(resources, "limits") and amount > 0:
                message = "Kubernetes wants a limit too for this resource"
                findings.append(Finding(child(requests_at, resource), message, f"set the same in {limits_at}"))
            elif limit is not None and limit != amount:
                message = "request and limit of this resource must be the same"
                findings.append(Finding(child(requests_at, resource), message, "set both to the same number"))
        elif limit is not None and amount > limit:
            message = "asks for more than its limit"
            findings.append(Finding(child(requests_at, resource), message, f"lower it, or raise {limits_at}"))
    return {**limits, **requests}


def _amounts(quantities: Mapping[str, Any], path: str, findings: list[Finding]) -> Requests:
    """Name → amount of those that are right."""
    out: Requests = {}
    for resource, text in quantities.items():
        at = child(path, resource)
        amount = read_amount(resource, text, at, findings)
        if amount is not None:
            out[resource] = amount
    return out


def read_amount(resource: str, text: object, path: str, findings: list[Finding]) -> Amount | None:
    """The amount of a resource that a pod can ask for; nothing, with a finding, if it is none."""
    if "/" not in resource and resource not in _NATIVE and not resource.startswith("hugepages-"):
        findings.append(Finding(path, "is not a resource of Kubernetes", did_you_mean(resource, _COMMON)))
        return None
    try:
        amount = parse_quantity(text, resource)
    except ValueError as error:
        message, _, remedy = str(error).partition("; ")
        findings.append(Finding(path, message, remedy))
        return None
    if amount < 0:
        findings.append(Finding(path, f"{text} is negative", "ask for 0 or more"))
        return None
    return amount


def _increase(total: Requests, more: Mapping[str, Amount]) -> None:
    for resource, amount in more.items():
        total[resource] = add(total.get(resource, 0), amount)


def _larger(left: Mapping[str, Amount], right: Mapping[str, Amount]) -> Requests:
    return {name: max(left.get(name, 0), right.get(name, 0)) for name in [*left, *(n for n in right if n not in left)]}
