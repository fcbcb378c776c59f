"""The logical resources that Ray nodes have, as KubeRay 1.5 derives them from a pod template and ``rayStartParams``."""

import json
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from fairgate_scheduler.core.amounts import parse_quantity
from fairgate_scheduler.core.jobs import Option
from fairgate_scheduler.core.manifests.options import HEAD
from fairgate_scheduler.core.manifests.plain import get_list, get_map, get_text

RayAmount = int | Fraction

RAY_NAMES: Final[Mapping[str, str]] = {"google.com/tpu": "TPU", "aws.amazon.com/neuroncore": "neuron_cores"}
"""Accelerators that KubeRay tells Ray as a custom resource of this name; GPUs have their own option."""

_PLAIN_NUMBER: Final = re.compile(r"[0-9]{1,18}(\.[0-9]{1,18})?")
_MIG: Final = re.compile(r"nvidia\.com/mig-\d+g\.\d+gb$")


def is_gpu(resource: str) -> bool:
    """Whether KubeRay counts this resource as GPUs of a Ray node."""
    return resource.endswith("gpu") or _MIG.search(resource) is not None


def ray_resources(manifest: Mapping[str, Any], option: Option) -> dict[str, RayAmount]:
    """What the whole Ray cluster of an attempt has: CPU, GPU, TPU and custom resources, head and every worker summed.

    ``manifest`` is the attempt's (``render_for_option``), ``option`` gives the number of pods. Memory is not in it.
    """
    cluster = get_map(manifest, "spec", "rayClusterSpec")
    counts = {group.name: group.count for group in option.groups}
    nodes = [(HEAD, get_map(cluster, "headGroupSpec"))]
    nodes += [(get_text(group, "groupName"), group) for group in get_list(cluster, "workerGroupSpecs")]
    total: dict[str, RayAmount] = {}
    for name, group in nodes:
        for resource, amount in node_resources(group).items():
            total[resource] = _simple(Fraction(total.get(resource, 0)) + Fraction(amount) * counts.get(name, 0))
    return total


def node_resources(group: Mapping[str, Any]) -> dict[str, RayAmount]:
    """What one Ray node of a head or worker group has. ``CPU``, ``GPU`` and ``TPU`` only if there are any.

    ``rayStartParams`` beats the Ray container's limits; for CPUs its requests come last. What can not be read counts as
    not there: ``validate`` has refused it.
    """
    params = start_params(group)
    resources = ray_container_resources(group)
    limits = get_map(resources, "limits")
    out: dict[str, Fraction] = dict(parse_custom(params.get("resources", "")) or {})
    if "num-cpus" in params:
        out["CPU"] = parse_number(params["num-cpus"]) or Fraction(0)
    else:
        out["CPU"] = _whole(limits, "cpu") or _whole(get_map(resources, "requests"), "cpu")
    if "num-gpus" in params:
        out["GPU"] = parse_number(params["num-gpus"]) or Fraction(0)
    else:
        out["GPU"] = next((count for name in sorted(limits) if is_gpu(name) and (count := _whole(limits, name))), _NONE)
    if not any(name in out for name in RAY_NAMES.values()):
        for resource in sorted(limits):
            if resource in RAY_NAMES and (count := _whole(limits, resource)):
                out[RAY_NAMES[resource]] = count
                break  # KubeRay tells Ray of one kind of these only
    return {name: _simple(amount) for name, amount in out.items() if amount > 0}


_NONE: Final = Fraction(0)


def start_params(group: Mapping[str, Any]) -> dict[str, str]:
    """``rayStartParams``, with what the group's own ``resources`` (of Ray, not of the pod) set in it."""
    params = {key: text for key, text in get_map(group, "rayStartParams").items() if isinstance(text, str)}
    custom: dict[str, str] = {}
    for name, text in get_map(group, "resources").items():
        lower = name.lower()
        if lower == "memory":
            continue
        if lower == "cpu" or is_gpu(lower):
            params["num-cpus" if lower == "cpu" else "num-gpus"] = str(_whole({name: text}, name))
        else:
            custom[name] = text
    if custom:
        amounts = (f"{json.dumps(name)}:{_exact(text)}" for name, text in custom.items())
        params["resources"] = "{" + ",".join(amounts) + "}"
    return params


def ray_container_resources(group: Mapping[str, Any]) -> dict[str, Any]:
    """The resources of the group's Ray container, which is the first one."""
    containers = get_list(get_map(group, "template", "spec"), "containers")
    return get_map(containers[0], "resources") if containers else {}


def parse_custom(text: str) -> Mapping[str, Fraction] | None:
    """Custom resources from ``rayStartParams.resources``: a JSON map in shell quotes; else nothing."""
    bare = text.strip("'\"` ")
    if not bare:
        return {}
    for candidate in (bare, bare.replace('\\"', '"')):
        try:
            found = json.loads(candidate, parse_float=_number, parse_int=_number)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and all(isinstance(amount, Fraction) and amount >= 0 for amount in found.values()):
            return found
    return None


def format_custom(amounts: Mapping[str, Fraction]) -> str:
    """Custom resources as KubeRay writes them into ``rayStartParams.resources``: JSON in single quotes."""
    return "'{" + ",".join(f"{json.dumps(name)}:{_decimal(amounts[name])}" for name in sorted(amounts)) + "}'"


def parse_number(text: str) -> Fraction | None:
    """A number in text of at least 0, exactly; nothing if it is none."""
    bare = text.strip("'\"` ")
    return Fraction(bare) if _PLAIN_NUMBER.fullmatch(bare) else None


def _number(text: str) -> Fraction:
    found = parse_number(text)
    if found is None:
        raise ValueError(text)
    return found


def _whole(quantities: Mapping[str, Any], name: str) -> Fraction:
    """The quantity rounded up to a whole number, as Kubernetes' ``Value()``; 0 if it is not there or no quantity."""
    try:
        amount = parse_quantity(quantities.get(name, 0), "memory")
    except ValueError:
        return Fraction(0)
    return Fraction(max(amount, 0))


def _exact(text: object) -> str:
    """A quantity as a plain decimal, to the milli-unit."""
    try:
        milli = parse_quantity(text, "cpu")
    except ValueError:
        return "0"
    return _decimal(Fraction(max(milli, 0), 1000))


def _decimal(amount: Fraction) -> str:
    if amount.denominator == 1:
        return str(amount.numerator)
    digits = f"{round(amount * 10**6):07d}"
    return f"{digits[:-6]}.{digits[-6:]}".rstrip("0")


def _simple(amount: Fraction) -> RayAmount:
    return amount.numerator if amount.denominator == 1 else amount
