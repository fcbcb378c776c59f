"""Whether what a group tells Ray is what its pods ask for: nobody may have accelerators in Ray that are not charged."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from fairgate_scheduler.core.amounts import parse_quantity
from fairgate_scheduler.core.manifests.findings import Finding, child
from fairgate_scheduler.core.manifests.plain import get_map, get_text
from fairgate_scheduler.core.manifests.raynodes import (
    RAY_NAMES,
    is_gpu,
    parse_custom,
    parse_number,
    ray_container_resources,
    start_params,
)

_RESERVED: Final = ("CPU", "GPU", "memory", "object_store_memory")
_CLAIMS: Final = ("num-cpus", "num-gpus", "memory", "resources")


def check_ray_claims(group: Mapping[str, Any], path: str, findings: list[Finding]) -> None:
    """Append what is wrong with ``rayStartParams`` and ``resources`` of a head or worker group at this path."""
    params_at, own_at = child(path, "rayStartParams"), child(path, "resources")
    given, own = get_map(group, "rayStartParams"), get_map(group, "resources")
    if own and any(get_text(given, key) for key in _CLAIMS):
        message = "is set beside resources in rayStartParams, which KubeRay refuses"
        findings.append(Finding(own_at, message, "say it in one of the two"))
    if "labels" in given:
        message = "KubeRay does not take labels here"
        findings.append(Finding(child(params_at, "labels"), message, f"use {child(path, 'labels')}"))
    for name, text in own.items():
        _check_quantity(text, child(own_at, name), findings)
    for key in ("num-cpus", "num-gpus"):
        if key in given and parse_number(get_text(given, key)) is None:
            message = f"{given[key]!r} is not a number of at least 0"
            findings.append(Finding(child(params_at, key), message, 'write a number in quotes, such as "4"'))
    params = start_params(group)
    custom = parse_custom(params.get("resources", ""))
    if custom is None:
        remedy = 'write \'"{\\"name\\": 1}"\': a JSON map of numbers in quotes'
        findings.append(Finding(child(params_at, "resources"), "is not a map of resources to numbers", remedy))
        custom = {}
    findings += [
        Finding(child(params_at, "resources"), f"{name} is not a custom resource of Ray", f"use num-{name.lower()}s")
        for name in _RESERVED
        if name in custom
    ]
    gpus = parse_number(params.get("num-gpus", "")) or Fraction(0)
    claimed = {"GPU": gpus, **{name: custom[name] for name in RAY_NAMES.values() if name in custom}}
    places = {
        name: own_at if own else child(params_at, "num-gpus" if name == "GPU" else "resources") for name in claimed
    }
    _check_accelerators(group, claimed, places, findings)


def _check_accelerators(
    group: Mapping[str, Any], claimed: Mapping[str, Fraction], places: Mapping[str, str], findings: list[Finding]
) -> None:
    limits = get_map(ray_container_resources(group), "limits")
    for name, claim in claimed.items():
        resources = [each for each in limits if (is_gpu(each) if name == "GPU" else RAY_NAMES.get(each) == name)]
        there = sum((_count(limits[each]) for each in resources), Fraction(0))
        if claim > there:
            message = f"tells Ray of {claim} {name}, but each pod asks for {there}: the rest would not be charged"
            remedy = "ask for them in the limits of the Ray container, or lower it"
            findings.append(Finding(places[name], message, remedy))


def _check_quantity(text: object, path: str, findings: list[Finding]) -> None:
    try:
        if parse_quantity(text, "memory") < 0:
            findings.append(Finding(path, f"{text} is negative", "write 0 or more"))
    except ValueError as error:
        message, _, remedy = str(error).partition("; ")
        findings.append(Finding(path, message, remedy))


def _count(text: object) -> Fraction:
    try:
        return Fraction(max(parse_quantity(text, "memory"), 0))
    except ValueError:
        return Fraction(0)
