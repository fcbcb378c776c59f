"""CRDs made small: of each kind's structural schema what a manifest is checked against, equal objects only once."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

Schema = Mapping[str, Any]
"""A node: ``type`` (that of JSON schema, or ``int-or-string``) and what narrows it; or ``$ref``, the name of a node.

``open``: an object may hold fields that are not named. ``keys``: the fields that tell the items of a list apart.
``unique``: no item may come twice. Other words mean what they do in JSON schema.
"""

_KEPT: Final = (
    "type", "required", "enum", "pattern", "default", "nullable",
    "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
)  # fmt: skip
_TEXT: Final = {"type": "string"}
_FLAG: Final = {"type": "boolean"}
_NUMBER: Final = {"type": "integer", "format": "int64"}
_TEXTS: Final = {"type": "object", "additionalProperties": _TEXT}
_ANYTHING: Final = {"open": True}
_OWNER: Final = {
    "type": "object",
    "required": ["apiVersion", "kind", "name", "uid"],
    "properties": {
        **dict.fromkeys(("apiVersion", "kind", "name", "uid"), _TEXT),
        **dict.fromkeys(("blockOwnerDeletion", "controller"), _FLAG),
    },
}
_METADATA: Final = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("name", "generateName", "namespace", "resourceVersion", "selfLink", "uid"), _TEXT),
        **dict.fromkeys(("annotations", "labels"), _TEXTS),
        **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), _TEXT),
        **dict.fromkeys(("deletionGracePeriodSeconds", "generation"), _NUMBER),
        "finalizers": {"type": "array", "items": _TEXT},
        "managedFields": {"type": "array", "items": _ANYTHING},
        "ownerReferences": {"type": "array", "items": _OWNER},
    },
}
"""Kubernetes' own, which a CRD only mentions."""


def compact(crds: Sequence[Mapping[str, Any]], version: str) -> dict[str, Any]:
    """``kinds``: the schema of each CRD's kind in this version; ``shared``: what ``$ref`` in them names.

    Status is left out: nobody submits one.
    """
    roots = {crd["spec"]["names"]["kind"]: _root(crd, version) for crd in crds}
    texts = Counter(_text(node) for root in roots.values() for _, node in _objects(root, ""))
    names = _names(roots, {text for text, count in texts.items() if count > 1})
    shared = {name: _shared(json.loads(text), names) for text, name in names.items()}
    return {"kinds": {kind: _shared(root, names) for kind, root in roots.items()}, "shared": shared}


def _root(crd: Mapping[str, Any], version: str) -> dict[str, Any]:
    (schema,) = (each["schema"]["openAPIV3Schema"] for each in crd["spec"]["versions"] if each["name"] == version)
    fixed = {"apiVersion": f"{crd['spec']['group']}/{version}", "kind": crd["spec"]["names"]["kind"]}
    properties = {
        **_small(schema)["properties"],
        **{name: {"type": "string", "enum": [text]} for name, text in fixed.items()},
        "metadata": _METADATA,
        "status": _ANYTHING,
    }
    return {"type": "object", "required": ["apiVersion", "kind", "metadata"], "properties": properties}


def _small(schema: Schema) -> dict[str, Any]:
    out: dict[str, Any] = {key: schema[key] for key in _KEPT if key in schema}
    if schema.get("format") in ("int32", "int64"):
        out["format"] = schema["format"]
    if schema.get("x-kubernetes-int-or-string"):
        out["type"] = "int-or-string"
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        out["open"] = True
    if schema.get("x-kubernetes-list-type") == "map":
        out["keys"] = schema["x-kubernetes-list-map-keys"]
    if schema.get("x-kubernetes-list-type") == "set":
        out["unique"] = True
    if "properties" in schema:
        out["properties"] = {name: _small(each) for name, each in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), Mapping):
            out[key] = _small(schema[key])
        elif schema.get(key):
            out["open"] = True
    return out


def _objects(node: Schema, name: str) -> Iterator[tuple[str, Schema]]:
    """Every object with fields in a schema, itself included, with the name of its field."""
    if "properties" in node:
        yield name, node
        for key in sorted(node["properties"]):
            yield from _objects(node["properties"][key], key)
    for key in ("items", "additionalProperties"):
        if key in node:
            yield from _objects(node[key], name)


def _names(roots: Mapping[str, Schema], texts: set[str]) -> dict[str, str]:
    """Shared object → its name: that of the first field that holds it, numbered where others are called so too."""
    names: dict[str, str] = {}
    taken = Counter[str]()
    for kind in sorted(roots):
        for name, node in _objects(roots[kind], kind):
            text = _text(node)
            if text in texts and text not in names:
                taken[name] += 1
                names[text] = name if taken[name] == 1 else f"{name}-{taken[name]}"
    return names


def _shared(node: Schema, names: Mapping[str, str]) -> dict[str, Any]:
    """The node with references in the place of the shared objects in it."""
    out = dict(node)
    if "properties" in node:
        out["properties"] = {name: _reference(each, names) for name, each in node["properties"].items()}
    for key in ("items", "additionalProperties"):
        if key in node:
            out[key] = _reference(node[key], names)
    return out


def _reference(node: Schema, names: Mapping[str, str]) -> dict[str, Any]:
    name = names.get(_text(node)) if "properties" in node else None
    return {"$ref": name} if name else _shared(node, names)


def _text(node: Schema) -> str:
    return json.dumps(node, sort_keys=True)
