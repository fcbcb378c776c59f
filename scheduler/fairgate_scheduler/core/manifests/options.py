"""Fairgate's own words about the ways to run a job: what an option changes in the manifest, group by group.

Read strictly from plain data (YAML, JSON or the wire contract); names are taken in snake_case and in KubeRay's
camelCase.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final

from fairgate_scheduler.core.amounts import is_accelerator
from fairgate_scheduler.core.manifests.findings import Finding, ManifestError, child, did_you_mean
from fairgate_scheduler.core.manifests.plain import is_number, normalize, whole_number
from fairgate_scheduler.core.manifests.pods import read_amount

HEAD: Final = "head"
SUBMITTER: Final = "submitter"

_INT32_MAX: Final = 2**31 - 1
_MAX_OPTIONS: Final = 32
_DIGITS_MAX: Final = 40
_RATIO: Final = re.compile(r"[0-9]+(\.[0-9]+)?|\.[0-9]+|[0-9]+/0*[1-9][0-9]*")


@dataclass(frozen=True, slots=True)
class GroupChange:
    """What differs in one pod group on some option; ``None`` and empty: as the manifest has it.

    ``resources`` are set as request and limit of the group's Ray container; when they name an accelerator, the
    manifest's accelerators that they do not name are taken away.
    """

    flavor: str | None = None
    resources: Mapping[str, str] = field(default_factory=dict)
    replicas: int | None = None
    min_replicas: int | None = None
    max_replicas: int | None = None
    num_of_hosts: int | None = None
    image: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    ray_start_params: Mapping[str, str] = field(default_factory=dict)

    @property
    def accelerators(self) -> Mapping[str, str]:
        """The accelerators that it names."""
        return {name: text for name, text in self.resources.items() if is_accelerator(name)}


@dataclass(frozen=True, slots=True)
class OptionSpec:
    """One way to run a job as it was asked for. ``flavor`` is that of the workers and names the option.

    ``speed`` ``None``: the configured one of the job's workload class, else 1. ``groups`` maps a worker group, ``head``
    or ``submitter`` to what differs there.
    """

    flavor: str
    speed: Fraction | None = None
    groups: Mapping[str, GroupChange] = field(default_factory=dict)

    def change_of(self, group: str) -> GroupChange:
        """What differs in this group."""
        return self.groups.get(group, _NO_CHANGE)


_NO_CHANGE: Final = GroupChange()


def read_option_specs(data: object, path: str = "options") -> tuple[OptionSpec, ...]:
    """Options from plain data: a list of maps with ``flavor``, ``speed`` and ``groups``. Nothing: no options.

    Raises:
        ManifestError: with everything that is wrong, by field.
    """
    findings: list[Finding] = []
    specs = collect_option_specs(data, path, findings)
    if findings:
        raise ManifestError(findings)
    return specs


def collect_option_specs(data: object, path: str, findings: list[Finding]) -> tuple[OptionSpec, ...]:
    """As ``read_option_specs``, but appends what is wrong to ``findings`` and leaves such options out."""
    if data is None:
        return ()
    items = normalize(data)
    if not isinstance(items, list):
        findings.append(Finding(path, "must be a list of options", "begin each option with a dash"))
        return ()
    if len(items) > _MAX_OPTIONS:
        findings.append(Finding(path, f"{len(items)} options; {_MAX_OPTIONS} at most", "leave some out"))
        return ()
    return tuple(spec for index, item in enumerate(items) if (spec := _read_option(item, f"{path}[{index}]", findings)))


def _read_option(item: object, path: str, findings: list[Finding]) -> OptionSpec | None:
    known = len(findings)
    fields = _fields(item, path, {"flavor": "flavor", "speed": "speed", "groups": "groups"}, findings)
    flavor = _text(fields.get("flavor", ""), child(path, "flavor"), findings)
    if not flavor and len(findings) == known:
        findings.append(Finding(child(path, "flavor"), "is missing", "name the flavor that the workers run on"))
    speed = _speed(fields.get("speed", ""), child(path, "speed"), findings)
    groups = fields.get("groups", {})
    changes: dict[str, GroupChange] = {}
    if isinstance(groups, dict):
        at = child(path, "groups")
        changes = {name: _read_change(name, item, child(at, name), findings) for name, item in groups.items()}
    else:
        findings.append(Finding(child(path, "groups"), "must be a map of pod groups", "write `workers: {…}`"))
    if len(findings) > known:
        return None
    return OptionSpec(flavor, speed, MappingProxyType(changes))


_GROUP_FIELDS: Final = {
    **{name: name for name in ("flavor", "resources", "replicas", "image", "env")},
    **{name: name for name in ("min_replicas", "max_replicas", "num_of_hosts", "ray_start_params")},
    "minReplicas": "min_replicas",
    "maxReplicas": "max_replicas",
    "numOfHosts": "num_of_hosts",
    "rayStartParams": "ray_start_params",
}
_COUNTS: Final = ("replicas", "min_replicas", "max_replicas", "num_of_hosts")


def _read_change(name: str, item: object, path: str, findings: list[Finding]) -> GroupChange:
    fields = _fields(item, path, _GROUP_FIELDS, findings)
    counts: dict[str, int] = {}
    for key in _COUNTS:
        if key in fields:
            least = 1 if key == "num_of_hosts" else 0
            counts[key] = _count(fields[key], child(path, key), least, findings)
            if name in (HEAD, SUBMITTER):
                findings.append(Finding(child(path, key), f"there is exactly one {name}", "leave it out"))
    return GroupChange(
        flavor=_text(fields.get("flavor", ""), child(path, "flavor"), findings) or None,
        resources=_quantities(fields.get("resources", {}), child(path, "resources"), findings),
        image=_text(fields.get("image", ""), child(path, "image"), findings) or None,
        env=_texts(fields.get("env", {}), child(path, "env"), findings),
        ray_start_params=_texts(fields.get("ray_start_params", {}), child(path, "ray_start_params"), findings),
        **counts,
    )


def _fields(item: object, path: str, names: Mapping[str, str], findings: list[Finding]) -> dict[str, Any]:
    if not isinstance(item, dict):
        known = ", ".join(sorted(set(names.values())))
        findings.append(Finding(path, "must be a map of fields", f"its fields are {known}"))
        return {}
    out: dict[str, Any] = {}
    for key, value in item.items():
        if key not in names:
            findings.append(Finding(child(path, key), "unknown field", did_you_mean(key, names)))
        elif names[key] in out:
            findings.append(Finding(child(path, key), "is there twice, in two spellings", "leave one out"))
        else:
            out[names[key]] = value
    return out


def _text(value: object, path: str, findings: list[Finding]) -> str:
    if isinstance(value, str):
        return value
    findings.append(Finding(path, f"must be a text, not {value!r}", "put it in quotes"))
    return ""


def _texts(value: object, path: str, findings: list[Finding]) -> Mapping[str, str]:
    if not isinstance(value, dict):
        findings.append(Finding(path, "must be a map of texts", "write `name: value` lines"))
        return {}
    return {key: _text(item, child(path, key), findings) for key, item in value.items()}


def _quantities(value: object, path: str, findings: list[Finding]) -> Mapping[str, str]:
    if not isinstance(value, dict):
        findings.append(Finding(path, "must be a map of quantities", "write `google.com/tpu: 4`"))
        return {}
    out: dict[str, str] = {}
    for name, text in value.items():
        at = child(path, name)
        if name in ("requests", "limits"):
            message = "the resources of an option are both requests and limits"
            findings.append(Finding(at, message, f"write them directly in {path}, such as `google.com/tpu: 4`"))
            continue
        read_amount(name, text, at, findings)
        out[name] = str(text)
    return out


def _count(value: object, path: str, least: int, findings: list[Finding]) -> int:
    number = whole_number(value)
    if number is None or not least <= number <= _INT32_MAX:
        findings.append(Finding(path, f"{value!r} is no such number", f"write a whole number of at least {least}"))
        return least
    return number


def _speed(value: object, path: str, findings: list[Finding]) -> Fraction | None:
    if value == "":
        return None
    if isinstance(value, Fraction):
        value = str(value)
    text = str(value) if is_number(value) or isinstance(value, str) else ""
    if len(text) > _DIGITS_MAX or _RATIO.fullmatch(text.strip()) is None:
        remedy = "write a ratio of at least 0, such as 2, 0.45 or 1/3 (0: does not run there)"
        findings.append(Finding(path, f"{value!r} is not a speed", remedy))
        return None
    return Fraction(text.strip())
