"""Manifests as plain data: what each scalar becomes, and which line an error names."""

import pytest
from fairgate_scheduler.documents.mapping import read_mapping
from fairgate_scheduler.documents.problems import DocumentError

MANIFEST = """\
apiVersion: ray.io/v1
kind: RayJob
spec:
  shutdownAfterJobFinishes: true
  rayClusterSpec:
    workerGroupSpecs:
      - replicas: 2
        template:
          spec:
            containers:
              - resources:
                  limits:
                    nvidia.com/gpu: 1e0
                    cpu: 0.5
"""


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("2", 2),
        ("-3", -3),
        ("0644", 0o644),
        ("0o17", 15),
        ("0x1F", 31),
        ("0900", "0900"),
        ("1e3", "1e3"),
        ("0.5", "0.5"),
        ("500m", "500m"),
        ("true", True),
        ("False", False),
        ("yes", "yes"),
        ("'true'", "true"),
        ('"2"', "2"),
        ("~", None),
        ("", None),
        ("2001-01-01", "2001-01-01"),
        ("99999999999999999999", "99999999999999999999"),
    ],
)
def test_scalars(written, value):
    data = read_mapping(f"a: {written}\n").data
    assert data == {"a": value}
    assert type(data["a"]) is type(value)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("spec", 3),
        ("spec.rayClusterSpec.workerGroupSpecs[0].replicas", 7),
        ("spec.rayClusterSpec.workerGroupSpecs[0].template.spec.containers[0].resources.limits[nvidia.com/gpu]", 13),
        ("spec.rayClusterSpec.workerGroupSpecs[0].template.spec.containers[0].resources.limits.cpu", 14),
        ("spec.rayClusterSpec.headGroupSpec.template", 5),
        ("metadata.name", 1),
        ("", 1),
    ],
)
def test_lines(path, line):
    assert read_mapping(MANIFEST).line_of(path) == line


def test_data():
    limits = read_mapping(MANIFEST).data["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["template"]["spec"]
    assert limits == {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "1e0", "cpu": "0.5"}}}]}


def test_a_second_document():
    with pytest.raises(DocumentError, match=r"m\.yaml:3: a second document"):
        read_mapping("kind: RayJob\n---\nkind: ConfigMap\n---\n", "m.yaml")


def test_not_a_mapping():
    with pytest.raises(DocumentError, match=r"manifest\.yaml:1: a list where a mapping belongs"):
        read_mapping("- a\n")
