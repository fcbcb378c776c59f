"""What Kueue, KubeRay, a kubelet and the garbage collector do with attempts, in the twin of an API server.

As far as the runner looks at it: reservation, suspension, a RayCluster with its pods, the submitter, statuses, the
notice and the end. The rest of what they do is for tests on a real cluster.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from fairgate_scheduler.adapters.kube import names
from fairgate_scheduler.adapters.kube.api import Kind, Manifest
from fairgate_scheduler.adapters.kube.api.kinds import POD, RAY_CLUSTER, RAY_JOB, WORKLOAD
from fairgate_scheduler.core.manifests.plain import get_list, get_map, get_text
from fairgate_scheduler.testing.fake_api import FakeApi

LOG_CONTAINER = "ray-job-submitter"


@dataclass(frozen=True, slots=True)
class Program:
    """How an entrypoint behaves. ``heeds_notice``: it ends with 143 as soon as it is asked to."""

    run_ms: int
    output: bytes = b"hello\n"
    exit_code: int = 0
    heeds_notice: bool = False


@dataclass
class FakeCluster:
    """Acts when ``step`` is called. ``programs``: by entrypoint. ``reserves``: whether Kueue has room for a RayJob."""

    api: FakeApi
    programs: Mapping[str, Program]
    reserves: Callable[[Manifest], bool] = lambda _ray_job: True
    starts: list[str] = field(default_factory=list)
    """Each start of a program: the job and the number of the attempt, with a slash between them."""

    def step(self) -> None:
        """Let everybody do once what is to be done."""
        for ray_job in self.api.list(RAY_JOB).items:
            if get_text(get_map(ray_job, "metadata", "labels"), names.QUEUE_LABEL) == names.LAUNCH_QUEUE:
                self._queue(ray_job)
                self._run(ray_job)
        self.api.collect_garbage()
        for pod in self.api.list(POD).items:
            if "deletionTimestamp" in pod["metadata"]:
                self.api.finish_pod(pod["metadata"]["namespace"], pod["metadata"]["name"])

    def _queue(self, ray_job: Manifest) -> None:
        metadata = ray_job["metadata"]
        place = f"rayjob-{metadata['name']}"
        if not any(each["metadata"]["name"] == place for each in self._in(WORKLOAD, metadata["namespace"])):
            reserved = self.reserves(ray_job)
            labels = {names.WORKLOAD_OF: metadata["uid"]}
            self._create(WORKLOAD, place, ray_job, {"spec": {"queueName": names.LAUNCH_QUEUE}}, labels)
            state = {"type": "QuotaReserved", "status": str(reserved), "reason": "Fake", "message": "no room"}
            self._status(WORKLOAD, place, metadata["namespace"], {"conditions": [state]})
            if reserved:
                patch = {"spec": {"suspend": False}}
                self.api.acting_as("kueue").patch(RAY_JOB, metadata["name"], patch, metadata["namespace"])

    def _run(self, ray_job: Manifest) -> None:
        metadata, status = ray_job["metadata"], get_map(ray_job, "status")
        is_over = get_text(status, "jobDeploymentStatus") in ("Complete", "Failed")
        if is_over or get_map(ray_job, "spec").get("suspend") or "deletionTimestamp" in metadata:
            return
        if not status:
            self._start(ray_job)
            return
        program = self.programs[ray_job["spec"]["entrypoint"]]
        noticed = any(self._has_notice(pod) for pod in self._pods(ray_job))
        now_ms, began_ms = self.api.clock.now_ms(), _instant_ms(status["rayJobInfo"]["startTime"])
        if program.heeds_notice and noticed:
            self._end(ray_job, 143)
        elif now_ms - began_ms >= program.run_ms:
            self._end(ray_job, program.exit_code)

    def _start(self, ray_job: Manifest) -> None:
        metadata, spec = ray_job["metadata"], ray_job["spec"]
        self.starts.append(f"{metadata['annotations'][names.JOB]}/{metadata['labels'][names.ATTEMPT]}")
        cluster = f"{metadata['name']}-raycluster"
        labels = {"ray.io/originated-from-cr-name": metadata["name"], "ray.io/originated-from-crd": "RayJob"}
        made = self._create(RAY_CLUSTER, cluster, ray_job, {"spec": spec["rayClusterSpec"]}, labels)
        head = spec["rayClusterSpec"]["headGroupSpec"]["template"]
        self._pod(f"{cluster}-head", made, head, {"ray.io/node-type": "head"})
        for group in get_list(spec["rayClusterSpec"], "workerGroupSpecs"):
            for number in range(group["replicas"]):
                name = f"{cluster}-{group['groupName']}-{number}"
                self._pod(name, made, group["template"], {"ray.io/node-type": "worker"})
        submitter = f"{metadata['name']}-submitter"
        self._pod(submitter, ray_job, spec["submitterPodTemplate"], {})
        container = spec["submitterPodTemplate"]["spec"]["containers"][0]["name"]
        self.api.logs[metadata["namespace"], submitter, container] = self.programs[spec["entrypoint"]].output
        began = self._now()
        status = {
            "jobDeploymentStatus": "Running",
            "jobStatus": "RUNNING",
            "startTime": began,
            "rayJobInfo": {"startTime": began},
        }
        self._status(RAY_JOB, metadata["name"], metadata["namespace"], status)

    def _end(self, ray_job: Manifest, exit_code: int) -> None:
        metadata = ray_job["metadata"]
        name, namespace = metadata["name"], metadata["namespace"]
        is_well = exit_code == 0
        status = {
            "jobDeploymentStatus": "Complete" if is_well else "Failed",
            "jobStatus": "SUCCEEDED" if is_well else "FAILED",
            "endTime": self._now(),
            "message": "" if is_well else f"Job entrypoint command failed with exit code {exit_code}, last logs: …",
        }
        self._status(RAY_JOB, name, namespace, status)
        for cluster in self._in(RAY_CLUSTER, namespace):
            if any(owner["uid"] == metadata["uid"] for owner in get_list(cluster["metadata"], "ownerReferences")):
                self.api.delete(RAY_CLUSTER, cluster["metadata"]["name"], namespace)
        for pod in self._pods(ray_job):
            if not get_text(get_map(pod, "metadata", "labels"), "ray.io/node-type"):
                self._status(POD, pod["metadata"]["name"], namespace, {"phase": "Succeeded"})
        done = {"type": "Finished", "status": "True", "reason": "Fake", "message": ""}
        self._status(WORKLOAD, f"rayjob-{name}", namespace, {"conditions": [done]})

    def _pod(self, name: str, owner: Manifest, template: Manifest, labels: Mapping[str, str]) -> None:
        metadata = get_map(template, "metadata")
        content = {"spec": {**template["spec"], "nodeName": "node-0"}}
        marks = {**get_map(metadata, "labels"), **labels}
        self._create(POD, name, owner, content, marks, get_map(metadata, "annotations"))
        self._status(POD, name, owner["metadata"]["namespace"], {"phase": "Running"})

    def _create(
        self,
        kind: Kind,
        name: str,
        owner: Manifest,
        content: Mapping[str, Any],
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> Manifest:
        reference = {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "controller": True,
        }
        metadata = {
            "name": name,
            "namespace": owner["metadata"]["namespace"],
            "ownerReferences": [reference],
            "labels": dict(labels or {}),
            "annotations": dict(annotations or {}),
        }
        return self.api.acting_as("fake").create(kind, {"metadata": metadata, **content})

    def _pods(self, ray_job: Manifest) -> list[Manifest]:
        uid, number = (get_text(get_map(ray_job, "metadata", "labels"), key) for key in (names.JOB_UID, names.ATTEMPT))
        selector = f"{names.JOB_UID}={uid},{names.ATTEMPT}={number}"
        return list(self.api.list(POD, ray_job["metadata"]["namespace"], selector).items)

    def _has_notice(self, pod: Manifest) -> bool:
        """What the downward API would show in the pod's file."""
        notice = get_text(get_map(pod, "metadata", "annotations"), names.NOTICE)
        return bool(notice) and bool(json.loads(notice)["kill_at_ms"])

    def _in(self, kind: Kind, namespace: str) -> list[Manifest]:
        return list(self.api.list(kind, namespace).items)

    def _status(self, kind: Kind, name: str, namespace: str, status: Mapping[str, Any]) -> None:
        self.api.acting_as("fake").patch(kind, name, {"status": status}, namespace, subresource="status")

    def _now(self) -> str:
        return datetime.fromtimestamp(self.api.clock.now_ms() / 1000, UTC).isoformat(timespec="milliseconds")


def _instant_ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)
