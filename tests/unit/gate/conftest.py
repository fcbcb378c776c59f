"""A tenant ``vision`` with one admitted attempt, in a store and in a cluster, as our scheduler would write both."""

import json
from dataclasses import dataclass, replace

import pytest
from fairgate_admission.facts.world import Settings
from fairgate_admission.live.books import Books
from fairgate_admission.live.judge import Judge
from fairgate_admission.live.kinds import LOOKED_UP, PRIORITY_CLASS
from fairgate_scheduler.adapters.kube.api.kinds import NAMESPACE, POD, RAY_CLUSTER, RAY_JOB
from fairgate_scheduler.adapters.kube.attempts import render
from fairgate_scheduler.core.jobs import Attempt, AttemptState, Job, JobState
from fairgate_scheduler.core.manifests import understand
from fairgate_scheduler.ports import ConfigVersion, Launch, Submission
from fairgate_scheduler.testing.fake_api import FakeApi
from fairgate_scheduler.testing.memory_store import MemoryStore
from fairgate_scheduler.testing.rayjobs import GPU, fleet, group, ray_job
from fairgate_scheduler.testing.sim_clock import SimClock

KUBERAY = "system:serviceaccount:kuberay-system:kuberay-operator"


@dataclass
class Place:
    """A store, a cluster, and a judge over both."""

    store: MemoryStore
    api: FakeApi
    books: Books
    clock: SimClock
    launch: Launch

    @property
    def judge(self) -> Judge:
        return Judge(self.api, self.books, Settings(), self.clock)

    @property
    def rayjob(self):
        return render(self.launch, "train-1")

    def run(self):
        """The attempt's RayJob and RayCluster in the cluster; the latter comes back."""
        made = self.api.create(RAY_JOB, self.rayjob)
        cluster = {"name": "train-1-c", "namespace": "vision", "ownerReferences": [self.owner("RayJob", made)]}
        return self.api.create(RAY_CLUSTER, {"metadata": cluster, "spec": made["spec"]["rayClusterSpec"]})

    def pod(self, cluster, name, **changes):
        """A pod as KubeRay makes it for the group of GPUs."""
        [workers] = cluster["spec"]["workerGroupSpecs"]
        template = workers["template"]
        labels = {**template["metadata"]["labels"], "ray.io/group": "gpu", "ray.io/cluster": "train-1-c"}
        metadata = {"name": name, "namespace": "vision", "labels": labels}
        metadata["ownerReferences"] = [self.owner("RayCluster", cluster)]
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {**metadata, **changes}, "spec": template["spec"]}

    def add_pod(self, cluster, name, **changes):
        return self.api.create(POD, self.pod(cluster, name, **changes))

    @staticmethod
    def owner(kind, manifest):
        metadata = manifest["metadata"]
        reference = {"apiVersion": "ray.io/v1", "kind": kind, "name": metadata["name"], "uid": metadata["uid"]}
        return {**reference, "controller": True}

    def ask(self, manifest, username=KUBERAY, operation="CREATE", **fields):
        """The judgement on a request as it comes from an AdmissionReview."""
        request = {"operation": operation, "username": username, "object": manifest, "namespace": "vision", **fields}
        return self.judge(request)

    def change_attempt(self, **changes):
        attempt = replace(self.launch.attempt, **changes)
        with self.store.transaction() as transaction:
            transaction.put_attempt(attempt)
        self.launch = replace(self.launch, attempt=attempt)


@pytest.fixture
def place():
    """The attempt ``train-1`` of ``vision``: two workers of four GPUs."""
    config, manifest = fleet(), ray_job(group("gpu", 2, {"cpu": 4, "memory": "8Gi", GPU: 4}))
    manifest["metadata"]["name"] = "train"
    options = understand(manifest, None, config, "vision").options
    job = Job("tenants/vision/jobs/train", "vision", 0, 1, options, 3_600_000, uid="u-train", state=JobState.RUNNING)
    attempt = Attempt(job.id, 1, 0, options[0].demand, 1, 0, state=AttemptState.RUNNING)
    store, clock = MemoryStore(), SimClock()
    with store.transaction() as transaction:
        transaction.put_config(ConfigVersion("e-1", "", config, 0, "admin"))
        transaction.insert_job(job, Submission(json.dumps(manifest)))
        transaction.put_attempt(attempt)
    api = FakeApi(clock)
    api.served |= {*LOOKED_UP, PRIORITY_CLASS}
    for name in ("vision", "nlp"):
        api.create(NAMESPACE, {"metadata": {"name": name, "labels": {"fairgate.internal/tenant-id": name}}})
    books = Books(store)
    yield Place(store, api, books, clock, Launch(job, attempt, manifest, {}, config))
    books.close()
