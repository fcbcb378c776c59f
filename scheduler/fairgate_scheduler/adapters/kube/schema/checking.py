"""A manifest against the types of its CRD. Everything that is wrong is found at once, in the order of the manifest."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

from fairgate_scheduler.adapters.kube.schema.compact import Schema
from fairgate_scheduler.core.manifests.fields import NEWER
from fairgate_scheduler.core.manifests.findings import MISSING, Finding, child, describe, did_you_mean, nearest
from fairgate_scheduler.core.manifests.plain import get_text, is_number, normalize
from fairgate_scheduler.core.manifests.shape import is_integer

DATA: Final = "kuberay.json"
_BITS: Final = {"int32": 31, "int64": 63, "int-or-string": 63}
"""An API server takes more for an int32, and KubeRay then can not read the object at all."""

_TYPES: Final[Mapping[str, tuple[Callable[[Any], bool], str, str]]] = {
    "object": (lambda value: isinstance(value, dict), "a map", "write `key: value` lines"),
    "array": (lambda value: isinstance(value, list), "a list", "begin each item with a dash"),
    "string": (lambda value: isinstance(value, str), "a text", "put it in quotes"),
    "boolean": (lambda value: isinstance(value, bool), "true or false", "write true or false, without quotes"),
    "integer": (is_integer, "a whole number", "write a whole number, without quotes"),
    "number": (is_number, "a number", "write it without quotes"),
    "int-or-string": (
        lambda value: isinstance(value, str) or is_integer(value),
        "a whole number or a text",
        "put it in quotes",
    ),
}
_UNITS: Final = {"Length": "characters", "Items": "items", "Properties": "fields"}


def check_manifest(manifest: object) -> tuple[Finding, ...]:
    """Everything for which an API server with KubeRay 1.5.0 would refuse a RayJob or RayCluster, or drop a field of it.

    An empty value (null) counts as absent.

    Raises:
        ManifestError: nested deeper than any manifest is.
    """
    content = normalize(manifest)
    types, kind = kuberay(), get_text(content, "kind")
    if kind not in types.kinds:
        return (Finding("kind", f"{kind!r} is no kind that is checked", f"write {' or '.join(types.kinds)}"),)
    return tuple(types.check(content, types.kinds[kind], ""))


@dataclass(frozen=True, slots=True)
class Types:
    """The types of kinds, as ``compact`` gives them."""

    kinds: Mapping[str, Schema]
    shared: Mapping[str, Schema]

    def check(self, value: Any, schema: Schema, path: str) -> Iterator[Finding]:
        """What is wrong with a normalized value."""
        schema = self._resolved(schema)
        name = schema.get("type")
        if name is not None:
            is_right, wanted, remedy = _TYPES[name]
            if not is_right(value):
                yield Finding(path, f"must be {wanted}, not {describe(value)}", remedy)
                return
        yield from _narrowed(value, schema, path)
        if isinstance(value, dict):
            yield from self._check_fields(value, schema, path)
        elif isinstance(value, list) and "items" in schema:
            for index, item in enumerate(value):
                yield from self.check(item, schema["items"], f"{path}[{index}]")
            yield from self._check_twins(value, schema, path)

    def _check_fields(self, value: Mapping[str, Any], schema: Schema, path: str) -> Iterator[Finding]:
        fields: Mapping[str, Schema] = schema.get("properties", {})
        misspelt = set()
        for key, item in value.items():
            at = child(path, key)
            if key in fields:
                yield from self.check(item, fields[key], at)
            elif "additionalProperties" in schema:
                yield from self.check(item, schema["additionalProperties"], at)
            elif not schema.get("open"):
                close = "" if key in NEWER else nearest(key, fields)
                misspelt.add(close)
                meant = child(path, close) if close and close not in value else ""
                yield Finding(at, "KubeRay 1.5.0 has no such field", _instead(key, fields), meant)
        for key in schema.get("required", ()):
            has_default = "default" in self._resolved(fields.get(key, {}))
            if key not in value and key not in misspelt and not has_default:
                yield Finding(child(path, key), MISSING, "add it")

    def _check_twins(self, items: list[Any], schema: Schema, path: str) -> Iterator[Finding]:
        """Items of a list that Kubernetes would take for one."""
        keys = schema.get("keys", ())
        if not keys and not schema.get("unique"):
            return
        fields = self._resolved(schema["items"]).get("properties", {})
        defaults = {key: fields[key]["default"] for key in keys if "default" in fields.get(key, {})}
        seen: dict[str, int] = {}
        for index, item in enumerate(items):
            if keys and not isinstance(item, dict):
                continue
            name = {key: item.get(key, defaults.get(key)) for key in keys} if keys else item
            first = seen.setdefault(json.dumps(name, sort_keys=True, default=str), index)
            if first != index:
                said = ", ".join(f"{key} {value}" for key, value in name.items()) if keys else describe(item)
                yield Finding(
                    f"{path}[{index}]", f"{said} is in the list already, at [{first}]", "remove one of the two"
                )

    def _resolved(self, schema: Schema) -> Schema:
        return self.shared[schema["$ref"]] if "$ref" in schema else schema


def _instead(key: str, fields: Iterable[str]) -> str:
    if key in NEWER:
        return f"remove it; it came with KubeRay {NEWER[key]}"
    return did_you_mean(key, fields) or "remove it"


def _narrowed(value: Any, schema: Schema, path: str) -> Iterator[Finding]:
    """What is wrong with a value of the right type."""
    words = schema.get("enum")
    if words is not None and value not in words:
        close = nearest(str(value), map(str, words))
        remedy = f"did you mean {close}?" if close else f"write one of {', '.join(map(str, words))}"
        yield Finding(path, f"is {describe(value)}", remedy)
    bits = _BITS.get(schema.get("format") or schema.get("type", ""))
    if bits is not None and is_integer(value) and not -(2**bits) <= value < 2**bits:
        yield Finding(path, f"{value} has more than {bits + 1} bits", f"write at most {2**bits - 1}")
    pattern = schema.get("pattern")
    if pattern is not None and isinstance(value, str) and not re.search(pattern, value):
        remedy = "write a number such as 2 or 16Gi" if schema.get("type") == "int-or-string" else f"match {pattern}"
        yield Finding(path, f"{describe(value)} is not written as it must be", remedy)
    if "minimum" in schema and value < schema["minimum"]:
        yield Finding(path, f"{value} is too small", f"write {schema['minimum']} or more")
    if "maximum" in schema and value > schema["maximum"]:
        yield Finding(path, f"{value} is too large", f"write {schema['maximum']} or less")
    for key, unit in _UNITS.items():
        if f"min{key}" in schema and len(value) < schema[f"min{key}"]:
            yield Finding(path, f"has {len(value)} {unit}", f"give it {schema[f'min{key}']} or more")
        if f"max{key}" in schema and len(value) > schema[f"max{key}"]:
            yield Finding(path, f"has {len(value)} {unit}", f"give it {schema[f'max{key}']} at most")


@cache
def kuberay() -> Types:
    """The types of KubeRay's kinds."""
    return Types(**json.loads(resources.files(__package__).joinpath(DATA).read_text()))
