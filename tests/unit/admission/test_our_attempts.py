"""What our scheduler and KubeRay really make for an admitted job passes the gate, to the last pod and no further."""

import copy
from dataclasses import replace

import pytest
from fairgate_admission.facts import identities
from fairgate_admission.facts.request import read_request
from fairgate_admission.facts.world import reservation_of
from fairgate_admission.offline.cases import Setting
from fairgate_admission.offline.document_world import DocumentWorld
from fairgate_admission.review import review
from fairgate_scheduler.adapters.kube.attempts import digest_of, render
from fairgate_scheduler.core.jobs import Attempt, Job
from fairgate_scheduler.core.manifests import understand
from fairgate_scheduler.core.manifests.workloads import workload_demand
from fairgate_scheduler.ports import Launch
from fairgate_scheduler.testing.rayjobs import GPU, TPU, container, fleet, group, head_group, ray_job, template

JOB_CONTROLLER = "system:serviceaccount:kube-system:job-controller"
WORKERS = group("gpu", 2, {"cpu": 4, "memory": "8Gi", GPU: 4})
SECRET = {"secretRef": {"name": "token"}}
TO_TPU = [
    {"flavor": "h100"},
    {"flavor": "v5e", "groups": {"gpu": {"resources": {TPU: "4"}, "replicas": 3, "num_of_hosts": 2}}},
]
JOBS = {
    "plain": (ray_job(WORKERS), None, 0),
    "submitted from the head": (ray_job(WORKERS, submissionMode="SidecarMode"), None, 0),
    "without a submitter": (ray_job(WORKERS, submissionMode="HTTPMode"), None, 0),
    "a submitter of its own": (
        ray_job(WORKERS, submitterPodTemplate=template(container("s", {"cpu": 1}), restartPolicy="Never")), None, 0
    ),
    "autoscaled": (
        ray_job({**WORKERS, "minReplicas": 0, "maxReplicas": 3}, cluster={"enableInTreeAutoscaling": True}), None, 0
    ),
    "several groups": (ray_job(WORKERS, group("more", 1, {"cpu": 1, GPU: 1}), group("cpu", 2)), None, 0),
    "a head with a GPU": (ray_job(WORKERS, head=head_group({"cpu": 2, GPU: 1})), None, 0),
    "on TPUs, with hosts": (ray_job(WORKERS), TO_TPU, 1),
    "fault tolerant": (ray_job(WORKERS, cluster={"gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}}), None, 0),
    "no devices": (ray_job(group("cpu", 2)), None, 0),
    "variables from elsewhere": (
        ray_job(WORKERS, head=head_group(template=template(container("h", {"cpu": 1}, envFrom=[SECRET])))), None, 0
    ),
}  # fmt: skip


@pytest.fixture(params=JOBS.values(), ids=JOBS)
def admitted(request):
    """The RayJob of an attempt as our scheduler makes it, and the world in which it is admitted."""
    manifest, options, index = copy.deepcopy(request.param)
    config = fleet()
    understood = understand(manifest, options, config, "vision")
    job = Job("tenants/vision/jobs/train", "vision", 0, 1, understood.options, time_limit_ms=3_600_000, uid="j")
    launch = Launch(
        job, Attempt(job.id, 1, index, job.options[index].demand, 1, 0), manifest, {"options": options or []}, config
    )
    made = render(launch, "train-1")
    reservation = reservation_of("vision", "train-1", "job-uid", job.options[index], digest_of(made))
    return made, DocumentWorld(Setting({"vision": "vision"}, admitted=(reservation,)))


def judged(world, manifest, username, **fields):
    fields = {"operation": "CREATE", "object": manifest, "username": username, **fields}
    return review(read_request(fields), world)


def living(manifest, uid, owner=None):
    """The object as the server keeps it."""
    made = copy.deepcopy(manifest)
    made["metadata"] |= {"uid": uid, "namespace": "vision"}
    if owner is not None:
        made["metadata"]["ownerReferences"] = [owner]
    return made


def reference(manifest):
    metadata = manifest["metadata"]
    who = {"apiVersion": manifest["apiVersion"], "kind": manifest["kind"]}
    return {**who, "name": metadata["name"], "uid": metadata["uid"], "controller": True}


def cluster_of(attempt):
    spec = attempt["spec"]["rayClusterSpec"]
    made = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "train-1-x"}, "spec": spec}
    return living(made, "cluster-uid", reference(attempt))


def pods_of(cluster):
    """The pods that KubeRay makes, one after the other, with what it adds to their labels."""
    for pods in workload_demand(cluster).pod_sets:
        if pods.name == "redis-cleanup":
            continue
        kind = {"ray.io/node-type": "head" if pods.name == "head" else "worker", "ray.io/group": pods.name}
        for index in range(pods.count):
            metadata = copy.deepcopy(pods.template.get("metadata", {}))
            metadata["labels"] = {**metadata.get("labels", {}), **kind, "ray.io/cluster": "train-1-x"}
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {**metadata, "name": f"{pods.name}-{index}"}}
            yield living({**pod, "spec": pods.template["spec"]}, f"{pods.name}-{index}", reference(cluster))


def test_the_attempt_its_cluster_and_every_pod_are_allowed(admitted):
    made, world = admitted
    verdict = judged(world, made, identities.SCHEDULER)
    assert verdict.allowed, verdict.message
    attempt = living(made, "job-uid")
    started = copy.deepcopy(attempt)
    started["spec"]["suspend"] = False
    assert judged(world, started, identities.KUEUE, operation="UPDATE", old=attempt).allowed
    cluster = cluster_of(started)
    verdict = judged(world, cluster, identities.KUBERAY)
    assert verdict.allowed, verdict.message
    objects = [started, cluster]
    last = None
    for pod in pods_of(cluster):
        world = DocumentWorld(replace(world.setting, objects=tuple(objects)))
        verdict = judged(world, pod, identities.KUBERAY)
        assert verdict.allowed, verdict.message
        objects.append(pod)
        last = pod if any(GPU in str(each) or TPU in str(each) for each in pod["spec"]["containers"]) else last
    if last is not None:
        one_more = living({**last, "metadata": {**last["metadata"], "name": "one-more"}}, "m", reference(cluster))
        world = DocumentWorld(replace(world.setting, objects=tuple(objects)))
        assert judged(world, one_more, identities.KUBERAY).rule == "FG-POD-004"


def test_another_spec_than_was_reserved_is_refused(admitted):
    made, world = admitted
    other = copy.deepcopy(made)
    other["metadata"]["annotations"]["fairgate.internal/digest"] = "sha256:other"
    assert judged(world, other, identities.SCHEDULER).rule == "FG-RAY-008"
    larger = copy.deepcopy(made)
    workers = larger["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]
    workers |= {"replicas": 50, "minReplicas": 50, "maxReplicas": 50}
    assert judged(world, larger, identities.SCHEDULER).rule == "FG-RAY-009"
    assert judged(world, cluster_of(living(larger, "job-uid")), identities.KUBERAY).rule == "FG-RAY-009"


def test_what_submits_is_allowed(admitted):
    made, world = admitted
    attempt = living(made, "job-uid")
    submitter = made["spec"].get("submitterPodTemplate")
    if submitter is None:
        return
    job = living(
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "s"}, "spec": {"template": submitter}},
        "s-uid",
        reference(attempt),
    )
    assert judged(world, job, identities.KUBERAY).allowed
    world = DocumentWorld(replace(world.setting, objects=(attempt, job)))
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "s-1", "labels": submitter["metadata"]["labels"]}}
    pod = living({**pod, "spec": submitter["spec"]}, "p", reference(job))
    verdict = judged(world, pod, JOB_CONTROLLER)
    assert verdict.allowed, verdict.message
