"""The generated models of Kueue's objects: nothing is lost, nothing is added, and what we write is what they know."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import fairgate_kueue
import pytest
from fairgate_kueue import (
    ClusterQueue,
    ClusterQueueSpec,
    Cohort,
    FlavorResource,
    LocalQueue,
    ResourceFlavor,
    Workload,
    WorkloadPriorityClass,
)
from fairgate_kueue.base import Model
from fairgate_scheduler.adapters.kube.mapping import Site, wanted_objects
from fairgate_scheduler.documents.config_file import read_config
from pydantic import BaseModel, ValidationError

DOCUMENT: Final = Path(__file__).parents[3] / "clients" / "kueue" / "kueue.openapi.json"
KINDS: Final = {
    model.__name__: model for model in (ClusterQueue, Cohort, LocalQueue, ResourceFlavor, WorkloadPriorityClass)
}
CONFIG: Final = """
version: 1
flavors:
  h100: {resource: nvidia.com/gpu, node_labels: {gpu: h100}, tolerations: [{key: nvidia.com/gpu, operator: Exists}]}
  cpu: {default_for_cpu_pods: true}
tenants:
  - {id: org, weight: 1}
  - {id: vision, parent: org, quota: {h100: {nvidia.com/gpu: {nominal: 16, borrowing_limit: 8, lending_limit: 4}}}}
  - {id: nlp, parent: org, namespace: words, quota: {cpu: {cpu: {nominal: 1500m}}}}
priorities: {batch: 0, urgent: 1000}
"""
WORKLOAD: Final = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "Workload",
    "metadata": {"name": "rayjob-train-1", "namespace": "vision", "finalizers": ["kueue.x-k8s.io/resource-in-use"]},
    "spec": {
        "active": True,
        "queueName": "fairgate",
        "podSets": [{"name": "head", "count": 1, "template": {"spec": {"containers": [{"name": "ray"}]}}}],
    },
    "status": {
        "admission": {
            "clusterQueue": "vision",
            "podSetAssignments": [
                {"name": "head", "count": 1, "flavors": {"cpu": "cpu"}, "resourceUsage": {"cpu": "500m"}}
            ],
        },
        "conditions": [
            {
                "type": "QuotaReserved",
                "status": "True",
                "reason": "QuotaReserved",
                "message": "",
                "lastTransitionTime": "2026-03-31T10:00:00Z",
            }
        ],
    },
}


def test_a_workload_comes_back_as_it_was() -> None:
    workload = Workload.model_validate(WORKLOAD)
    assert workload.spec is not None
    assert workload.spec.pod_sets is not None
    assert workload.spec.pod_sets[0].template == {"spec": {"containers": [{"name": "ray"}]}}
    assert workload.manifest() == WORKLOAD


def test_nothing_is_added_to_what_was_set() -> None:
    queue = ClusterQueue(metadata={"name": "vision"}, spec=ClusterQueueSpec(cohort_name="org", stop_policy="Hold"))
    assert queue.manifest() == {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "vision"},
        "spec": {"cohortName": "org", "stopPolicy": "Hold"},
    }


def test_empty_is_not_unset() -> None:
    selected = {"namespaceSelector": {}, "resourceGroups": []}
    assert ClusterQueueSpec.model_validate(selected).manifest() == selected


@pytest.mark.parametrize(("given", "text"), [("500m", "500m"), (4, "4"), (0.5, "0.5")])
def test_a_quantity_is_a_text(given: object, text: str) -> None:
    read = FlavorResource.model_validate({"name": "cpu", "nominalQuota": given})
    assert read.nominal_quota == text
    assert read.manifest() == {"name": "cpu", "nominalQuota": text}


def test_fields_of_a_later_kueue_are_kept() -> None:
    later = {"clusterQueue": "vision", "patience": {"seconds": 5}}
    assert fairgate_kueue.LocalQueueSpec.model_validate(later).manifest() == later


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({"spec": {"stopPolicy": "Stop"}}, ("spec", "stopPolicy")),
        ({"spec": {"resourceGroups": [{"flavors": []}]}}, ("spec", "resourceGroups", 0, "coveredResources")),
        ({"spec": {"cohortName": ["org"]}}, ("spec", "cohortName")),
        ({"kind": "Cohort"}, ("kind",)),
        ({"apiVersion": "kueue.x-k8s.io/v1beta1"}, ("apiVersion",)),
    ],
)
def test_what_is_of_another_type_is_refused_by_field(data: dict[str, Any], field: tuple[str | int, ...]) -> None:
    with pytest.raises(ValidationError) as refused:
        ClusterQueue.model_validate(data)
    assert [error["loc"] for error in refused.value.errors()] == [field]


def test_every_schema_has_its_model_with_all_its_fields() -> None:
    schemas = json.loads(DOCUMENT.read_text())["components"]["schemas"]
    found = {
        name: {each.alias for each in model.model_fields.values()}
        for name, model in vars(fairgate_kueue).items()
        if isinstance(model, type) and issubclass(model, Model)
    }
    assert found == {name: set(schema["properties"]) for name, schema in schemas.items()}
    assert sorted(found) == sorted(fairgate_kueue.__all__)


def test_every_object_of_a_configuration_is_one_that_kueue_knows() -> None:
    ours = [
        wanted.manifest
        for wanted in wanted_objects(read_config(CONFIG), Site())
        if wanted.manifest["apiVersion"] == "kueue.x-k8s.io/v1beta2"
    ]
    read = [KINDS[manifest["kind"]].model_validate(manifest) for manifest in ours]
    assert {type(model).__name__ for model in read} == KINDS.keys()
    assert [model.manifest() for model in read] == ours
    assert [field for model in read for field in _unknown(model)] == []


def _unknown(model: BaseModel) -> Iterator[str]:
    """Fields that the models do not have, at any depth."""
    yield from model.model_extra or ()
    for value in vars(model).values():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, BaseModel):
                yield from _unknown(item)
