"""KubeRay's types: what a manifest says wrong is told by field, and the core's rules know the same fields."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest
from fairgate_scheduler.adapters.kube.schema import check_manifest, compact
from fairgate_scheduler.adapters.kube.schema.checking import DATA, Types, kuberay
from fairgate_scheduler.adapters.kube.schema.generate import OUT, encode
from fairgate_scheduler.core.manifests.fields import TYPES
from fairgate_scheduler.testing.rayjobs import GPU, container, group, head_group, ray_job, template

GROUP: Final = "spec.rayClusterSpec.workerGroupSpecs[0]"
POD: Final = f"{GROUP}.template.spec"
AFFINITY: Final = f"{POD}.affinity.podAffinity"
RAY: Final = f"{POD}.containers[0]"
RULE: Final = "spec.deletionStrategy.deletionRules[0]"
NO_FIELD: Final = "KubeRay 1.5.0 has no such field"


def job(**fields: Any) -> dict[str, Any]:
    """A RayJob whose worker has these fields beside its name and limits."""
    return ray_job(group(template=template(container("ray", {"cpu": 1}, **fields))))


def pod(**fields: Any) -> dict[str, Any]:
    return ray_job(group(template=template(container("ray", {"cpu": 1}), **fields)))


CASES: Final[list[tuple[Any, list[str]]]] = [
    (job(), []),
    (job(env=[{"name": "A", "value": None}]), []),  # empty counts as absent
    (ray_job(group(minReplicas=1.0)), []),
    ([], ["kind: '' is no kind that is checked; write RayCluster or RayJob"]),
    ({"kind": "RayService"}, ["kind: 'RayService' is no kind that is checked; write RayCluster or RayJob"]),
    (
        {"kind": "RayJob", "apiVersion": "ray.io/v1alpha1"},
        ["apiVersion: is 'ray.io/v1alpha1'; did you mean ray.io/v1?", "metadata: is missing; add it"],
    ),
    (ray_job(replicas=3), ["spec.replicas: KubeRay 1.5.0 has no such field; remove it"]),
    (ray_job(backofLimit=3), ["spec.backofLimit: KubeRay 1.5.0 has no such field; did you mean backoffLimit?"]),
    (
        ray_job(preRunningDeadlineSeconds=5),
        ["spec.preRunningDeadlineSeconds: KubeRay 1.5.0 has no such field; remove it; it came with KubeRay 1.6"],
    ),
    (
        ray_job(cluster={"authOptions": {"mode": "token"}}),
        [f"spec.rayClusterSpec.authOptions: {NO_FIELD}; remove it; it came with KubeRay 1.5.1"],
    ),
    (
        ray_job(group(template={"metadata": {"generation": 1}, **template(container())})),
        [f"{GROUP}.template.metadata.generation: {NO_FIELD}; known: annotations, finalizers, labels, name, namespace"],
    ),
    (job(env=[{"name": "A", "value": 1}]), [f"{RAY}.env[0].value: must be a text, not 1; put it in quotes"]),
    (job(env=[{"nme": "A"}]), [f"{RAY}.env[0].nme: KubeRay 1.5.0 has no such field; did you mean name?"]),
    (job(env=[{"value": "A"}]), [f"{RAY}.env[0].name: is missing; add it"]),
    (job(env={"A": "1"}), [f"{RAY}.env: must be a list, not a map; begin each item with a dash"]),
    (
        job(env=[{"name": "A", "value": "1"}, {"name": "B"}, {"name": "A", "value": "2"}]),
        [f"{RAY}.env[2]: name A is in the list already, at [0]; remove one of the two"],
    ),
    (
        job(ports=[{"containerPort": 80, **protocol} for protocol in ({}, {"protocol": "TCP"}, {"protocol": "UDP"})]),
        [f"{RAY}.ports[1]: containerPort 80, protocol TCP is in the list already, at [0]; remove one of the two"],
    ),
    (
        job(resources={"limits": {"cpu": 0.5}}),
        [f"{RAY}.resources.limits.cpu: must be a whole number or a text, not 0.5; put it in quotes"],
    ),
    (
        job(resources={"limits": {GPU: "four"}}),
        [f"{RAY}.resources.limits[{GPU}]: 'four' is not written as it must be; write a number such as 2 or 16Gi"],
    ),
    (
        job(resources={"limits": {"cpu": 2**63}}),
        [f"{RAY}.resources.limits.cpu: {2**63} has more than 64 bits; write at most {2**63 - 1}"],
    ),
    (
        job(livenessProbe={"tcpSocket": {"port": True}}),
        [f"{RAY}.livenessProbe.tcpSocket.port: must be a whole number or a text, not true; put it in quotes"],
    ),
    (
        pod(affinity={"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}}),
        [f"{AFFINITY}.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm: is missing; add it"],
    ),
    (
        pod(volumes=[{"name": "a", "csi": {"driver": 5}}]),
        [f"{POD}.volumes[0].csi.driver: must be a text, not 5; put it in quotes"],
    ),
    (
        ray_job(group(replicas=2**31)),
        [f"{GROUP}.replicas: {2**31} has more than 32 bits; write at most {2**31 - 1}"],
    ),
    (
        ray_job(group(replicas="2")),
        [f"{GROUP}.replicas: must be a whole number, not '2'; write a whole number, without quotes"],
    ),
    (
        ray_job(head=head_group(rayStartParams={"num-cpus": 0})),
        ["spec.rayClusterSpec.headGroupSpec.rayStartParams[num-cpus]: must be a text, not 0; put it in quotes"],
    ),
    (
        ray_job(cluster={"autoscalerOptions": {"upscalingMode": "Agressive"}}),
        ["spec.rayClusterSpec.autoscalerOptions.upscalingMode: is 'Agressive'; did you mean Aggressive?"],
    ),
    (
        ray_job(deletionStrategy={"deletionRules": [{"policy": "Never", "condition": {"ttlSeconds": -1}}]}),
        [
            f"{RULE}.policy: is 'Never'; write one of DeleteCluster, DeleteWorkers, DeleteSelf, DeleteNone",
            f"{RULE}.condition.ttlSeconds: -1 is too small; write 0 or more",
            f"{RULE}.condition.jobStatus: is missing; add it",
        ],
    ),
    (
        ray_job(deletionStrategy={"deletionRules": []}),
        ["spec.deletionStrategy.deletionRules: has 0 items; give it 1 or more"],
    ),
    (
        ray_job(shutdownAfterJobFinishes="true"),
        ["spec.shutdownAfterJobFinishes: must be true or false, not 'true'; write true or false, without quotes"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("manifest", "expected"), CASES)
def test_what_is_wrong_is_told_by_field(manifest: Any, expected: list[str]) -> None:
    assert [str(finding) for finding in check_manifest(manifest)] == expected


def test_a_raycluster_is_checked_too() -> None:
    spec = ray_job(group(replicas=-1))["spec"]["rayClusterSpec"]
    cluster = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "a"}, "spec": spec}
    assert check_manifest(cluster) == ()
    spec["suspended"] = True
    assert [str(each) for each in check_manifest(cluster)] == [
        "spec.suspended: KubeRay 1.5.0 has no such field; did you mean suspend?"
    ]


def test_the_data_is_as_it_was_generated_and_small() -> None:
    assert OUT.name == DATA
    text = OUT.read_text()
    assert encode(json.loads(text)) == text
    assert len(text) < 40_000
    assert set(_references(json.loads(text))) == kuberay().shared.keys()


CRD: Final = {
    "spec": {
        "group": "example.com",
        "names": {"kind": "Thing"},
        "versions": [
            {
                "name": "v1",
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "description": "A thing.",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["size"],
                                "properties": {
                                    "size": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}]},
                                    "names": {
                                        "type": "array",
                                        "items": {"type": "string"},
                                        "x-kubernetes-list-type": "set",
                                    },
                                    "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                                    "first": {"type": "object", "properties": {"a": {"type": "string"}}},
                                    "second": {"type": "object", "properties": {"a": {"type": "string"}}},
                                },
                            },
                        },
                    }
                },
            }
        ],
    }
}


def test_a_crd_made_small() -> None:
    made = compact([CRD], "v1")
    assert made["shared"] == {"first": {"type": "object", "properties": {"a": {"type": "string"}}}}
    assert made["kinds"]["Thing"]["properties"]["spec"] == {
        "type": "object",
        "required": ["size"],
        "properties": {
            "size": {"type": "int-or-string"},
            "names": {"type": "array", "items": {"type": "string"}, "unique": True},
            "any": {"type": "object", "open": True},
            "first": {"$ref": "first"},
            "second": {"$ref": "first"},
        },
    }
    types = Types(**made)
    thing = {"size": 1, "names": ["a", "b", "a"], "any": {"b": 1}, "first": {"b": 1}}
    assert [str(each) for each in types.check(thing, types.kinds["Thing"]["properties"]["spec"], "spec")] == [
        "spec.names[2]: 'a' is in the list already, at [0]; remove one of the two",
        "spec.first.b: KubeRay 1.5.0 has no such field; known: a",
    ]


def test_the_rules_of_the_core_know_the_fields_of_the_crd() -> None:
    """No field that only one of them has, but for later ones that the core marks, and of the same type."""
    assert sorted(set(_differences("RayJob", kuberay().kinds["RayJob"], ()))) == [
        # Pod templates have five of them in the CRD, and nobody writes the others.
        *(
            f"ObjectMeta.{name}: not in the CRD"
            for name in sorted(TYPES["ObjectMeta"])
            if name not in _TEMPLATE_METADATA
        )
    ]


_TEMPLATE_METADATA: Final = {"annotations", "finalizers", "labels", "name", "namespace"}
_SCALARS: Final = {
    "s": ("string", None), "b": ("boolean", None), "i": ("integer", "int32"), "l": ("integer", "int64"),
    "n": ("number", None), "q": ("int-or-string", None), "p": ("int-or-string", None),
}  # fmt: skip


def _differences(name: str, schema: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[str]:
    fields, found = TYPES[name], _resolved(schema).get("properties", {})
    if name in above:
        return
    for field, kind in fields.items():
        if (field in found) == bool(kind.since):
            yield f"{name}.{field}: {'is no later field' if kind.since else 'not in the CRD'}"
        elif field in found:
            yield from _unlike(kind.kind, found[field], f"{name}.{field}", (*above, name))
    yield from (f"{name}.{field}: only in the CRD" for field in found.keys() - fields.keys())


def _unlike(kind: str, schema: Mapping[str, Any], path: str, above: tuple[str, ...]) -> Iterator[str]:
    schema = _resolved(schema)
    if kind in TYPES:
        yield from _differences(kind, schema, above)
    elif kind.startswith("["):
        yield from _unlike(kind[1:-1], schema["items"], path, above)
    elif kind in ("sm", "qm"):
        yield from _unlike(kind[0], schema["additionalProperties"], path, above)
    elif "|" in kind:
        if set(kind.split("|")) != set(schema["enum"]):
            yield f"{path}: {kind}, in the CRD {schema['enum']}"
    elif kind != "any" and (schema["type"], schema.get("format")) != _SCALARS[kind]:
        yield f"{path}: {kind}, in the CRD {schema['type']}"


def _resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return kuberay().shared[schema["$ref"]] if "$ref" in schema else schema


def _references(node: Any) -> Iterator[str]:
    items = node.values() if isinstance(node, dict) else ()
    if isinstance(node, dict) and isinstance(node.get("$ref"), str):
        yield node["$ref"]
    for item in items:
        yield from _references(item)
