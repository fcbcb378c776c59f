"""Makes kueue.openapi.json, what the models are generated from, out of the CRDs that a release of Kueue publishes.

usage: python clients/kueue/crds_to_openapi.py kueue-v0.17.0.zip [OUT]

The zip is that of the Go module, from https://proxy.golang.org/sigs.k8s.io/kueue/@v/v0.17.0.zip. Only what gives a type
is kept: descriptions, defaults and rules stay with the API server, which applies them, and times are texts. Nested
objects become schemas of their own, named after their field, and equal ones become one.
"""

import json
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

KINDS: Final = {
    "AdmissionCheck": "admissionchecks",
    "ClusterQueue": "clusterqueues",
    "Cohort": "cohorts",
    "LocalQueue": "localqueues",
    "ResourceFlavor": "resourceflavors",
    "Topology": "topologies",
    "Workload": "workloads",
    "WorkloadPriorityClass": "workloadpriorityclasses",
}
VERSION: Final = "v1beta2"
FREE_FORM: Final = {("Workload", "spec", "podSets", "template")}
"""Kept as plain data: the pod template alone is more than all the rest."""
_NESTING: Final = ("items", "additionalProperties")
DOCUMENT: Final = Path(__file__).with_name("kueue.openapi.json")

Schema = dict[str, Any]
Place = tuple[str, ...]  # the kind, then the fields down to a schema


def main(arguments: list[str]) -> None:
    archive = Path(arguments[0])
    release = re.search(r"v\d+\.\d+\.\d+", archive.stem)
    if release is None:
        sys.exit(f"{archive}: the file's name does not tell the release; name it kueue-v0.17.0.zip, or as it is")
    document = openapi(read_crds(archive), release.group())
    out = Path(arguments[1]) if len(arguments) > 1 else DOCUMENT
    out.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")


def read_crds(archive: Path) -> dict[str, Schema]:
    """Kind → its structural schema, plain and stripped."""
    found: dict[str, Schema] = {}
    with zipfile.ZipFile(archive) as module:
        files = {Path(name).name: name for name in module.namelist() if "/config/components/crd/bases/" in name}
        for kind, plural in KINDS.items():
            crd = yaml.safe_load(module.read(files[f"kueue.x-k8s.io_{plural}.yaml"]))
            (version,) = (each for each in crd["spec"]["versions"] if each["name"] == VERSION)
            found[kind] = stripped(version["schema"]["openAPIV3Schema"], (kind,))
            fixed = {"apiVersion": f"{crd['spec']['group']}/{VERSION}", "kind": kind}
            found[kind]["properties"] |= {
                name: {"type": "string", "enum": [text], "default": text} for name, text in fixed.items()
            }
    return found


def stripped(schema: Mapping[str, Any], place: Place) -> Schema:
    """The schema's types alone. Texts that may be numbers are ``format: quantity``."""
    if schema.get("x-kubernetes-int-or-string"):
        return {"type": "string", "format": "quantity"}
    kept: Schema = {key: schema[key] for key in ("type", "enum") if key in schema}
    is_open = schema["type"] == "object" and not schema.keys() & {"properties", "additionalProperties"}
    if is_open or place in FREE_FORM:
        return {**kept, "additionalProperties": True}
    if "properties" in schema:
        kept["properties"] = {name: stripped(each, (*place, name)) for name, each in schema["properties"].items()}
        kept["required"] = sorted(schema.get("required", ()))
    for key in _NESTING:
        if key in schema:
            kept[key] = stripped(schema[key], place)
    return kept


def openapi(kinds: Mapping[str, Schema], release: str) -> Schema:
    """The document with a named schema for every object that has fields."""
    places: dict[str, list[Place]] = {}
    for kind, schema in kinds.items():
        for place, nested in objects(schema, (kind,)):
            places.setdefault(canonical(nested), []).append(place)
    names = named(places)
    schemas = {
        name: {**(nested := json.loads(text)), "properties": referring(nested["properties"], names)}
        for text, name in names.items()
    }
    return {
        "openapi": "3.0.3",
        "info": {"title": "Kueue", "version": f"{release} {VERSION}"},
        "paths": {},
        "components": {"schemas": schemas},
    }


def objects(schema: Schema, place: Place) -> Iterator[tuple[Place, Schema]]:
    """Every object with fields in it, itself first."""
    if "properties" in schema:
        yield place, schema
        for name, each in schema["properties"].items():
            yield from objects(each, (*place, name))
    for key in _NESTING:
        if isinstance(schema.get(key), dict):
            yield from objects(schema[key], (*place[:-1], singular(place[-1])))


def referring(properties: Mapping[str, Schema], names: Mapping[str, str]) -> Schema:
    """The fields with references in the place of objects."""
    return {name: _referring(each, names) for name, each in properties.items()}


def _referring(schema: Schema, names: Mapping[str, str]) -> Schema:
    if "properties" in schema:
        return {"$ref": f"#/components/schemas/{names[canonical(schema)]}"}
    nested = {key: _referring(schema[key], names) for key in _NESTING if isinstance(schema.get(key), dict)}
    return {**schema, **nested}


def named(places: Mapping[str, list[Place]]) -> dict[str, str]:
    """Schema → its name: that of its field, with as many fields above it as make it the only one."""
    first = {text: min(found, key=lambda place: (len(place), place)) for text, found in places.items()}
    depth = dict.fromkeys(first, 1)
    while True:
        names = {text: pascal(place[-depth[text] :]) for text, place in first.items()}
        counts = Counter(names.values())
        ambiguous = [text for text in names if counts[names[text]] > 1 and depth[text] < len(first[text])]
        if not ambiguous:
            return names
        for text in ambiguous:
            depth[text] += 1


def canonical(schema: Schema) -> str:
    return json.dumps(schema, sort_keys=True)


def singular(name: str) -> str:
    return re.sub(r"ies$", "y", name) if name.endswith("ies") else re.sub(r"(?<![su])s$", "", name)


def pascal(place: Place) -> str:
    return "".join(name[:1].upper() + name[1:] for name in place)


if __name__ == "__main__":
    main(sys.argv[1:])
