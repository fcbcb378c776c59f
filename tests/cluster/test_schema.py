"""KubeRay's types as package data: those of the cluster, and refused is what its API server refuses."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from fairgate_scheduler.adapters.kube.api import ApiError
from fairgate_scheduler.adapters.kube.api.connection import Connection
from fairgate_scheduler.adapters.kube.schema import check_manifest, compact
from fairgate_scheduler.adapters.kube.schema.checking import kuberay

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning"),
]

POD = {
    "metadata": {"labels": {"app": "train"}, "annotations": {"note": "x"}},
    "spec": {
        "nodeSelector": {"gpu": "h100"},
        "tolerations": [{"key": "gpu", "operator": "Exists", "tolerationSeconds": 30}],
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 30,
        "automountServiceAccountToken": False,
        "securityContext": {"runAsUser": 1000, "sysctls": [{"name": "a", "value": "b"}]},
        "imagePullSecrets": [{"name": "registry"}],
        "containers": [
            {
                "name": "ray",
                "image": "rayproject/ray:2.52.0",
                "command": ["bash"],
                "env": [
                    {"name": "A", "value": "1"},
                    {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
                ],
                "ports": [{"containerPort": 6379, "name": "gcs"}],
                "resources": {"requests": {"cpu": "500m"}, "limits": {"cpu": 1, "nvidia.com/gpu": 1}},
                "volumeMounts": [{"name": "data", "mountPath": "/data", "readOnly": True}],
                "livenessProbe": {"httpGet": {"path": "/", "port": 8265}, "periodSeconds": 5},
                "securityContext": {"capabilities": {"drop": ["ALL"]}},
            }
        ],
        "volumes": [
            {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
            {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
        ],
    },
}
RAY_JOB = {
    "apiVersion": "ray.io/v1",
    "kind": "RayJob",
    "metadata": {"name": "train", "labels": {"app": "train"}, "annotations": {"note": "x"}},
    "spec": {
        "entrypoint": "python train.py",
        "entrypointNumCpus": 0.5,
        "submissionMode": "K8sJobMode",
        "activeDeadlineSeconds": 3600,
        "shutdownAfterJobFinishes": True,
        "metadata": {"who": "me"},
        "submitterConfig": {"backoffLimit": 2},
        "submitterPodTemplate": {"spec": {"containers": [{"name": "submitter"}]}},
        "rayClusterSpec": {
            "rayVersion": "2.52.0",
            "enableInTreeAutoscaling": True,
            "autoscalerOptions": {
                "upscalingMode": "Default",
                "version": "v2",
                "idleTimeoutSeconds": 60,
                "resources": {"limits": {"cpu": "500m"}},
            },
            "gcsFaultToleranceOptions": {"redisAddress": "redis:6379", "redisPassword": {"value": "x"}},
            "headServiceAnnotations": {"a": "b"},
            "headGroupSpec": {
                "rayStartParams": {"num-cpus": "0"},
                "serviceType": "ClusterIP",
                "headService": {"spec": {"ports": [{"port": 80, "targetPort": "dashboard"}]}},
                "template": {"spec": {"containers": [{"name": "ray"}]}},
            },
            "workerGroupSpecs": [
                {
                    "groupName": "gpu",
                    "replicas": 1,
                    "minReplicas": 0,
                    "maxReplicas": 4,
                    "numOfHosts": 2,
                    "scaleStrategy": {"workersToDelete": ["a"]},
                    "template": POD,
                }
            ],
        },
    },
}
VALUES: tuple[Any, ...] = (
    "x", "1", -1, 7, 0.5, 2.0, 2**63, True, [], {}, ["x", "x"], {"x": "y"}, [{"name": "a"}, {"name": "a"}]
)  # fmt: skip
Path = tuple[str | int, ...]
NOT_TYPES = ("metadata", "spec.managedBy", "spec.rayClusterSpec.managedBy", "spec.deletionStrategy")
"""Where an API server has rules beside the types: those of names and labels, and KubeRay's in CEL."""


@pytest.fixture(scope="module")
def connection(kubeconfig):
    connection = Connection.load(kubeconfig)
    yield connection
    connection.close()


def test_the_types_are_those_of_the_cluster(connection):
    crds = [
        connection.send_json("GET", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.ray.io")
        for plural in ("rayclusters", "rayjobs")
    ]
    found = compact(crds, "v1")
    assert found == {"kinds": kuberay().kinds, "shared": kuberay().shared}


def test_what_the_api_server_refuses_is_refused_and_nothing_else(connection):
    assert (check_manifest(RAY_JOB), _refusal(connection, RAY_JOB)) == ((), "")
    wrong = []
    for what, changed in _changes(RAY_JOB):
        findings, refusal = check_manifest(changed), _refusal(connection, changed)
        if bool(findings) != bool(refusal) and not (refusal and what.startswith(NOT_TYPES)):
            wrong.append(f"{what}: ours {[str(each) for each in findings]}, the API server's {refusal or 'none'}")
    assert not wrong, "\n".join(wrong)


def _refusal(connection: Connection, manifest: dict[str, Any]) -> str:
    """What the API server says of a manifest that it is asked to create, but for the form; "": it would."""
    path = "/apis/ray.io/v1/namespaces/default/rayjobs?dryRun=All&fieldValidation=Strict"
    try:
        connection.send("POST", path, body=manifest)
    except ApiError as error:
        return str(error)
    return ""


def _changes(manifest: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every way to spoil one field: another value, not there, an unknown one beside it, twice."""
    for path, value in _fields(manifest, ()):
        where = ".".join(map(str, path))
        for other in VALUES:
            yield f"{where} = {json.dumps(other)}", _with(manifest, path, other)
        if isinstance(value, dict):
            yield f"{where}.unknwn", _with(manifest, (*path, "unknwn"), "x")
        if isinstance(value, list):
            yield f"{where} twice", _with(manifest, path, [*value, value[0]])
        yield f"{where} missing", _with(manifest, path, None)


def _fields(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key), item
        yield from _fields(item, (*path, key))


def _with(manifest: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """A copy with this value there; None: with nothing there."""
    out = copy.deepcopy(manifest)
    place: Any = out
    for key in path[:-1]:
        place = place[key]
    if value is not None:
        place[path[-1]] = value
    else:
        del place[path[-1]]
    return out
