"""RayJobs with a program of several lines, which can keep a checkpoint."""

from typing import Any, Final

from rig.kubectl import Manifest
from serving import ray_job

# Its step outlives it; asked to end, it writes down where it is. Begun anew after a checkpoint, it comes to its end.
TRAINING: Final = """
import os, sys, time, ray
ray.init()
path = "/checkpoint/step"
begin = step = int(open(path).read()) if os.path.exists(path) else 0
print("begins at", begin, flush=True)
while step < (begin + 5 if begin else 100_000):
    if os.path.getsize(os.environ["FAIRGATE_NOTICE"]):
        print("notice:", open(os.environ["FAIRGATE_NOTICE"]).read(), "at", step, flush=True)
        with open(path, "w") as file:
            file.write(str(step))
        sys.exit(143)
    step += 1
    time.sleep(0.2)
print("done at", step, flush=True)
"""
SHORT: Final = """
import time, ray
ray.init()
time.sleep(3)
print("done on", ray.cluster_resources().get("GPU"), "GPU", ray.cluster_resources().get("TPU"), "TPU", flush=True)
"""
_PROGRAM: Final = "program"


def program(namespace: str, name: str, text: str) -> Manifest:
    """The ConfigMap that holds a program."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{_PROGRAM}-{name}", "namespace": namespace},
        "data": {"main.py": text},
    }


def checkpoint(namespace: str, claim: str) -> list[Manifest]:
    """A volume for checkpoints: a folder of the only node."""
    size = {"storage": "1Mi"}
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": f"{namespace}-{claim}"},
            "spec": {
                "capacity": size,
                "accessModes": ["ReadWriteOnce"],
                "persistentVolumeReclaimPolicy": "Retain",
                "storageClassName": "",
                "claimRef": {"namespace": namespace, "name": claim},
                "hostPath": {"path": f"/var/lib/fairgate-test/{namespace}-{claim}", "type": "DirectoryOrCreate"},
            },
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": claim, "namespace": namespace},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "",
                "volumeName": f"{namespace}-{claim}",
                "resources": {"requests": size},
            },
        },
    ]


def driven(image: str, name: str, resources: dict[str, Any], claim: str = "") -> dict[str, Any]:
    """The RayJob that runs ``program`` of this name. ``claim``: of the volume that keeps its checkpoint."""
    manifest = ray_job(image, "", resources, name)
    manifest["spec"]["entrypoint"] = "python3 -u /program/main.py"
    head = manifest["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]
    volumes: list[dict[str, Any]] = [{"name": "program", "configMap": {"name": f"{_PROGRAM}-{name}"}}]
    mounts = [{"name": "program", "mountPath": "/program"}]
    if claim:
        volumes.append({"name": "checkpoint", "persistentVolumeClaim": {"claimName": claim}})
        mounts.append({"name": "checkpoint", "mountPath": "/checkpoint"})
    head["volumes"], head["containers"][0]["volumeMounts"] = volumes, mounts
    return manifest
