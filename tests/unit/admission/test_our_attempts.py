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
from fairgate_scheduler.adapters.kube.checks import check
from fairgate_scheduler.core.jobs import Attempt, Job
from fairgate_scheduler.core.manifests import ManifestError, normalize, read_option_specs, understand
from fairgate_scheduler.core.manifests.changes import variants
from fairgate_scheduler.core.manifests.workloads import workload_demand
from fairgate_scheduler.ports import Launch
from fairgate_scheduler.testing.rayjobs import GPU, TPU, container, fleet, group, head_group, ray_job, template
from hypothesis import given, settings
from hypothesis import strategies as st

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
    return attempt_of(manifest, options, index, understand(manifest, options, fleet(), "vision").options)


def attempt_of(manifest, options, index, charged):
    job = Job("tenants/vision/jobs/train", "vision", 0, 1, charged, time_limit_ms=3_600_000, uid="j")
    launch = Launch(
        job, Attempt(job.id, 1, index, charged[index].demand, 1, 0), manifest, {"options": options or []}, fleet()
    )
    made = render(launch, "train-1")
    reservation = reservation_of("vision", "train-1", "job-uid", charged[index], digest_of(made))
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


def labels_of(cluster, name):
    """Those of its group, which KubeRay gives to Ray and to the pods."""
    spec = cluster["spec"]
    groups = {"head": spec["headGroupSpec"], **{each["groupName"]: each for each in spec["workerGroupSpecs"]}}
    return groups[name].get("labels", {})


def pods_of(cluster):
    """The pods that KubeRay makes, one after the other, with what it adds to their labels."""
    for pods in workload_demand(cluster).pod_sets:
        if pods.name == "redis-cleanup":
            continue
        labels = labels_of(cluster, pods.name)
        kind = {"ray.io/node-type": "head" if pods.name == "head" else "worker", "ray.io/group": pods.name}
        for index in range(pods.count):
            metadata = copy.deepcopy(pods.template.get("metadata", {}))
            metadata["labels"] = {**metadata.get("labels", {}), **labels, **kind, "ray.io/cluster": "train-1-x"}
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {**metadata, "name": f"{pods.name}-{index}"}}
            yield living({**pod, "spec": pods.template["spec"]}, f"{pods.name}-{index}", reference(cluster))


def test_the_attempt_its_cluster_and_every_pod_are_allowed(admitted):
    made, world = admitted
    world, pods = run(made, world)
    devices = [pod for pod in pods if any(GPU in str(each) or TPU in str(each) for each in pod["spec"]["containers"])]
    if devices:
        last = devices[-1]
        one_more = living({**last, "metadata": {**last["metadata"], "name": "one-more"}}, "m")
        assert judged(world, one_more, identities.KUBERAY).rule == "FG-POD-004"


def run(made, world):
    """The attempt made, started and its cluster filled with pods, each allowed; the world then, and the pods."""
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
    for pod in pods_of(cluster):
        world = DocumentWorld(replace(world.setting, objects=tuple(objects)))
        verdict = judged(world, pod, identities.KUBERAY)
        assert verdict.allowed, verdict.message
        objects.append(pod)
    return DocumentWorld(replace(world.setting, objects=tuple(objects))), objects[2:]


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
    submit(*admitted)


def submit(made, world):
    """The job that submits, and its pod, allowed."""
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
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {**copy.deepcopy(submitter["metadata"]), "name": "s-1"}}
    pod = living({**pod, "spec": submitter["spec"]}, "p", reference(job))
    verdict = judged(world, pod, JOB_CONTROLLER)
    assert verdict.allowed, verdict.message


POD = (
    {"schedulerName": "volcano"}, {"schedulerName": "default-scheduler"}, {"runtimeClassName": "nvidia"},
    {"runtimeClassName": "gvisor"}, {"priorityClassName": "system-node-critical"}, {"priorityClassName": "high"},
    {"terminationGracePeriodSeconds": 600}, {"terminationGracePeriodSeconds": 601}, {"nodeName": "n"},
    {"tolerations": [{"operator": "Exists"}]}, {"tolerations": [{"key": GPU, "operator": "Exists"}]},
    {"tolerations": [{"key": "spot", "operator": "Exists"}]}, {"hostNetwork": True}, {"overhead": {"cpu": "1"}},
    {"overhead": {GPU: "1"}}, {"volumes": [{"name": "d", "hostPath": {"path": "/dev"}}]},
    {"volumes": [{"name": "s", "emptyDir": {}}]}, {"serviceAccountName": "admin"}, {"serviceAccountName": "default"},
    {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}, {"restartPolicy": "Never"},
    {"securityContext": {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}}, {"nodeSelector": {"disk": "ssd"}},
    {"initContainers": [container("i", {"cpu": 1}, env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}])]},
    {"initContainers": [container("i", {"cpu": 1, GPU: 1}, restartPolicy="Always")]},
    {"ephemeralContainers": [container("e", env=[{"name": "AMD_VISIBLE_DEVICES", "value": "0"}])]},
    {"ephemeralContainers": [container("e", {GPU: 1})]}, {"resources": {"limits": {"cpu": "9"}}},
    {"resourceClaims": [{"name": "c", "resourceClaimTemplateName": "gpu"}]}, {"hostUsers": True},
)  # fmt: skip
CONTAINER = (
    {"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]},
    {"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}]},
    {"env": [{"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "all"}]},
    {"env": [{"name": "NEURON_RT_VISIBLE_CORES", "valueFrom": {"configMapKeyRef": {"name": "a", "key": "b"}}}]},
    {"envFrom": [SECRET]}, {"envFrom": [{**SECRET, "prefix": "APP_"}]},
    {"volumeMounts": [{"name": "d", "mountPath": "/var/run//nvidia-container-devices/0"}]},
    {"volumeMounts": [{"name": "d", "mountPath": "/data"}]}, {"securityContext": {"privileged": True}},
    {"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}, {"ports": [{"containerPort": 1, "hostPort": 1}]},
    {"livenessProbe": {"httpGet": {"port": 1, "host": "h"}}}, {"volumeDevices": [{"name": "d", "devicePath": "/x"}]},
)  # fmt: skip
METADATA = (
    {"finalizers": ["team.example/keep"]}, {"name": "p"}, {"namespace": "other"}, {"labels": {"app": "a"}},
    {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "b"}]}, {"generateName": "p-"},
    {"labels": {"kueue.x-k8s.io/queue-name": "inbox"}}, {"labels": {"ray.io/group": "other"}},
    {"labels": {"fairgate.internal/attempt": "9"}}, {"annotations": {"nvidia.cdi.k8s.io/c": "nvidia.com/gpu=all"}},
    {"annotations": {"kubernetes.io/config.mirror": "x"}}, {"annotations": {"note": "x"}},
    {"annotations": {"ray.io/overwrite-container-cmd": "true"}},
    {"annotations": {"container.apparmor.security.beta.kubernetes.io/ray": "unconfined"}},
)  # fmt: skip
GROUP = (
    {"rayStartParams": {"block": "true; sleep inf"}}, {"rayStartParams": {"dashboard-host": "$(id)"}},
    {"rayStartParams": {"num-cpus": "2"}}, {"labels": {"ray.io/group": "other"}}, {"labels": {"ray.io/region": "a"}},
    {"labels": {"kueue.x-k8s.io/queue-name": "x"}}, {"labels": {"fairgate.internal/attempt": "9"}},
)  # fmt: skip
JOB = (
    {"deletionStrategy": {"onSuccess": {"policy": "DeleteNone"}, "onFailure": {"policy": "DeleteNone"}}},
    {"shutdownAfterJobFinishes": False}, {"suspend": False}, {"ttlSecondsAfterFinished": 60}, {"backoffLimit": 2},
    {"submissionMode": "HTTPMode"}, {"submissionMode": "SidecarMode"}, {"activeDeadlineSeconds": 60},
    {"managedBy": "kueue.x-k8s.io/multikueue"},
)  # fmt: skip
OWN = (
    {"labels": {"kueue.x-k8s.io/queue-name": "theirs"}}, {"annotations": {"ray.io/ft-enabled": "false"}},
    {"labels": {"ray.io/gang-scheduling-enabled": "true"}}, {"finalizers": ["team.example/keep"]},
    {"annotations": {"ray.io/other": "x"}}, {"labels": {"fairgate.internal/flavor": "a100"}},
    {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "b"}]},
)  # fmt: skip
CHANGE = (
    {"env": {"NVIDIA_VISIBLE_DEVICES": "all"}}, {"env": {"A": "b"}}, {"ray_start_params": {"block": "`id`"}},
    {"image": "other:1"}, {"resources": {GPU: "1"}}, {"resources": {GPU: "0"}},
)  # fmt: skip


def templates_of(manifest):
    cluster = manifest["spec"]["rayClusterSpec"]
    pods = [each["template"] for each in [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]]
    return [*pods, *([manifest["spec"]["submitterPodTemplate"]] if "submitterPodTemplate" in manifest["spec"] else [])]


def changed(manifest, where, index, what):
    """The manifest with one of the fields above, in one of the places where such fields are."""
    out = copy.deepcopy(manifest)
    cluster = out["spec"]["rayClusterSpec"]
    pods = templates_of(out)
    pod = pods[index % len(pods)]
    groups = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]
    places = {
        "pod": pod["spec"], "container": pod["spec"]["containers"][0], "metadata": pod.setdefault("metadata", {}),
        "group": groups[index % len(groups)], "job": out["spec"], "own": out["metadata"],
    }  # fmt: skip
    places[where] |= copy.deepcopy(what)
    return out


FIELDS = {"pod": POD, "container": CONTAINER, "metadata": METADATA, "group": GROUP, "job": JOB, "own": OWN}
PLACES = [(where, index, what) for where, many in FIELDS.items() for what in many for index in range(3)]
MANIFESTS = [(manifest, options) for manifest, options, _ in JOBS.values()]


def submitted(manifest, options):
    """What the job would be charged for in a cluster; nothing if it is refused."""
    try:
        charged = understand(manifest, options, fleet(), "vision").options
    except ManifestError:
        return None
    looks = [normalize(manifest), *(each for _, each in variants(normalize(manifest), read_option_specs(options)))]
    return None if any(check(each, fleet().tenants["vision"]) for each in looks) else charged


def passes(manifest, options):
    """Whether it is taken; every option of what is taken passes the gate, to its last pod."""
    charged = submitted(manifest, options)
    for index in range(len(charged or ())):
        made, world = attempt_of(manifest, options, index, charged)
        run(made, world)
        submit(made, world)
    return charged is not None


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(MANIFESTS),
    st.lists(st.sampled_from(PLACES), max_size=3),
    st.none() | st.tuples(st.sampled_from(("head", "gpu", "submitter")), st.sampled_from(CHANGE)),
)
def test_what_is_taken_in_a_cluster_passes_the_gate(base, places, change):
    manifest, options = base
    for place in places:
        manifest = changed(manifest, *place)
    if change is not None:
        group, what = change
        options = [*(options or [{"flavor": "h100"}]), {"flavor": "h100", "groups": {group: what}}]
    passes(manifest, options)


@pytest.mark.parametrize("where", FIELDS)
def test_some_of_the_fields_are_taken_and_some_are_not(where):
    """Else the test above would show nothing."""
    manifest = JOBS["a submitter of its own"][0]
    assert {passes(changed(manifest, where, 1, what), None) for what in FIELDS[where]} == {True, False}


@pytest.mark.parametrize("what", CHANGE, ids=str)
def test_what_an_option_changes_is_looked_at(what):
    manifest, options, _ = JOBS["on TPUs, with hosts"]
    is_taken = passes(manifest, [*options, {"flavor": "h100", "groups": {"gpu": what}}])
    assert is_taken == (what not in (CHANGE[0], CHANGE[2], CHANGE[5]))


@pytest.mark.parametrize(
    ("where", "what", "rule", "said"),
    [
        ("container", CONTAINER[0], "FG-CHAN-001", "NVIDIA_VISIBLE_DEVICES gives devices that are not counted"),
        ("pod", POD[3], "FG-PLACE-004", "the runtime class 'gvisor' is not for pods without devices"),
        ("pod", POD[5], "FG-PRIO-001", "the priority class 'high' would put it in front of others' pods"),
        ("pod", POD[7], "FG-GRACE-001", "takes 601 s to end; 600 s at most"),
        ("metadata", METADATA[0], "FG-FIN-001", "every pod would get it, and would be kept or taken for another's"),
        ("metadata", METADATA[7], "FG-LABEL-001", "sets ray.io/group, which is not for users to write"),
        ("group", GROUP[0], "FG-RAY-007", "block holds characters that a shell would act on"),
        ("group", GROUP[3], "FG-LABEL-001", "sets ray.io/group, which is not for users to write"),
        ("job", JOB[0], "FG-RAY-006", "can keep pods when the job has ended"),
    ],
)  # fmt: skip
def test_submit_and_gate_say_the_same_words(where, what, rule, said):
    manifest = changed(JOBS["plain"][0], where, 1, what)
    told = check(manifest, fleet().tenants["vision"])
    request = copy.deepcopy(manifest)
    request["metadata"] |= {"namespace": "vision", "labels": {"kueue.x-k8s.io/queue-name": "inbox"}}
    verdict = judged(DocumentWorld(Setting({"vision": "vision"})), request, "ann")
    denials = [each for each in verdict.denials if each.rule == rule]
    assert [f"{each.field}: {each.found}; {each.remedy}" for each in denials] == told
    assert [each.found for each in denials] == [said]
