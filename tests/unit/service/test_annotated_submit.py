"""Fairgate's own fields: given beside the manifest, else as its annotations say, else the default."""

import json
from typing import Any

import pytest
from fairgate_scheduler.core.jobs import Fallback
from fairgate_scheduler.documents.config_file import read_config
from fairgate_scheduler.service.errors import InvalidArgument
from fairgate_scheduler.service.reading import JobSpec, Prepared, SubmitRequest, prepare

CONFIG = read_config(
    """
version: 1
flavors: {h100: {resource: nvidia.com/gpu}, v5e: {resource: google.com/tpu}, cpu: {default_for_cpu_pods: true}}
tenants:
  - {id: org, quota: {h100: {nvidia.com/gpu: {nominal: 8}}, v5e: {google.com/tpu: {nominal: 8}}}}
  - {id: a, parent: org}
priorities: {production: 100}
"""
)


def prepared(spec: JobSpec | None = None, **annotations: str) -> Prepared:
    container = {"name": "ray", "image": "ray", "resources": {"limits": {"cpu": 1, "nvidia.com/gpu": 1}}}
    manifest: dict[str, Any] = {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {
            "name": "train",
            "annotations": {f"fairgate.internal/{key.replace('_', '-')}": value for key, value in annotations.items()},
        },
        "spec": {
            "entrypoint": "python train.py",
            "rayClusterSpec": {"headGroupSpec": {"template": {"spec": {"containers": [container]}}}},
        },
    }
    return prepare(SubmitRequest("a", None, json.dumps(manifest), spec or JobSpec()), CONFIG, 5)


def test_annotations_are_read() -> None:
    job = prepared(
        priority="production",
        time_limit="10m",
        preemptible="false",
        fallback_after="30s",
        options="[{flavor: h100, speed: 2}]",
    ).job
    assert (job.priority, job.time_limit_ms, job.preemptible, job.fallback_after_ms) == (100, 600_000, False, 30_000)
    assert [(option.flavor, option.speed) for option in job.options] == [("h100", 2)]


def test_what_is_given_beside_the_manifest_wins() -> None:
    spec = JobSpec(priority=3, time_limit_ms=1000, preemptible=True, fallback_after_ms=0)
    job = prepared(spec, priority="production", time_limit="10m", preemptible="false", fallback_after="30s").job
    assert (job.priority, job.time_limit_ms, job.preemptible, job.fallback_after_ms) == (3, 1000, True, 0)


def test_without_either_the_defaults_count() -> None:
    job = prepared().job
    assert (job.priority, job.preemptible, job.fallback, job.fallback_after_ms) == (0, True, Fallback.ORDERED, 0)


@pytest.mark.parametrize(
    ("annotations", "field"),
    [
        ({"prority": "1"}, "manifest.metadata.annotations[fairgate.internal/prority]"),
        ({"time_limit": "soon"}, "manifest.metadata.annotations[fairgate.internal/time-limit]"),
        ({"priority": "prodution"}, "priority_class"),
        ({"options": "[{flavor: h200}]"}, "options[0].flavor"),
    ],
)
def test_what_is_wrong_in_an_annotation_is_refused_by_field(annotations: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        prepared(**annotations)
    assert [violation.field for violation in caught.value.violations] == [field]
