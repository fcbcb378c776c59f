"""The cluster itself, before anything of Fairgate runs on it."""

import signal
import subprocess

import pytest
import yaml
from rig.cluster import Rig
from rig.errors import RigError
from rig.identities import USERS
from rig.kubectl import Kubectl, KubectlError
from rig.target import Target
from rig.waiting import until

pytestmark = pytest.mark.cluster

QUEUES = """
apiVersion: v1
kind: Namespace
metadata: {{name: {name}}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {{name: {name}}}
spec: {{nodeLabels: {{cloud.google.com/gke-accelerator: nvidia-h100-80gb}}}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: {name}}}
spec:
  namespaceSelector: {{}}
  resourceGroups:
  - coveredResources: [cpu, memory, nvidia.com/gpu]
    flavors:
    - name: {name}
      resources:
      - {{name: cpu, nominalQuota: 20}}
      - {{name: memory, nominalQuota: 100Gi}}
      - {{name: nvidia.com/gpu, nominalQuota: 4}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: queue, namespace: {name}}}
spec: {{clusterQueue: {name}}}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, labels: {{kueue.x-k8s.io/queue-name: queue}}}}
spec:
  parallelism: 1
  template:
    spec:
      restartPolicy: Never
      containers:
      - {{name: main, image: none, resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}}}
"""
RAYJOB = """
apiVersion: ray.io/v1
kind: RayJob
metadata: {{name: squares, labels: {{kueue.x-k8s.io/queue-name: queue}}}}
spec:
  entrypoint: >-
    python3 -c "import ray; ray.init(); f = ray.remote(num_gpus=1)(lambda x: x * x);
    print('squares', ray.get([f.remote(i) for i in range(4)]), 'of', ray.cluster_resources()['GPU'])"
  shutdownAfterJobFinishes: true
  rayClusterSpec:
    rayVersion: "2.60.0"
    headGroupSpec:
      rayStartParams: {{num-cpus: "1", object-store-memory: "100000000"}}
      template:
        spec:
          containers:
          - name: ray-head
            image: {image}
            resources: {{requests: {{cpu: 500m, memory: 1Gi}}, limits: {{cpu: "2", memory: 3Gi}}}}
    workerGroupSpecs:
    - groupName: gpu
      replicas: 1
      minReplicas: 1
      maxReplicas: 1
      rayStartParams: {{object-store-memory: "100000000"}}
      template:
        spec:
          containers:
          - name: ray-worker
            image: {image}
            resources:
              requests: {{cpu: 300m, memory: 1Gi, nvidia.com/gpu: 2}}
              limits: {{cpu: "2", memory: 3Gi, nvidia.com/gpu: 2}}
  submitterPodTemplate:
    spec:
      restartPolicy: Never
      containers:
      - name: submitter
        image: {image}
        resources: {{requests: {{cpu: 100m, memory: 200Mi}}, limits: {{cpu: "1", memory: 1Gi}}}}
"""


def test_nodes_are_ready(cluster: Target) -> None:
    nodes = cluster.kubectl().get("nodes")
    ready = [each for node in nodes for each in node["status"]["conditions"] if each["type"] == "Ready"]
    assert [each["status"] for each in ready] == ["True"] * len(nodes)
    assert nodes
    if cluster.rig:
        assert nodes[0]["status"]["allocatable"]["nvidia.com/gpu"] == "8"
        assert nodes[0]["status"]["allocatable"]["google.com/tpu"] == "4"


def test_kueue_admits_and_kuberay_runs_a_rayjob(cluster: Target) -> None:
    kubectl = cluster.kubectl()
    kubectl.apply(*yaml.safe_load_all(QUEUES.format(name="smoke")))
    kubectl("--namespace=smoke", "create", "--filename=-", stdin=RAYJOB.format(image=cluster.ray_image))
    kubectl.wait("rayjob/squares", "jsonpath={.status.jobStatus}=SUCCEEDED", "--namespace=smoke", longest_s=300)
    [workload] = kubectl.get("workloads", "--namespace=smoke")
    flavors = {each["name"]: each["flavors"] for each in workload["status"]["admission"]["podSetAssignments"]}
    assert flavors["gpu"] == {"cpu": "smoke", "memory": "smoke", "nvidia.com/gpu": "smoke"}
    [pod] = kubectl.get("pods", "--namespace=smoke", "--selector=job-name=squares")
    assert "squares [0, 1, 4, 9] of 2.0" in kubectl("logs", "--namespace=smoke", pod["metadata"]["name"])
    kubectl("delete", "namespace", "smoke")
    kubectl("delete", "clusterqueue,resourceflavor", "smoke")


def test_kueue_admits_to_fake_nodes_what_the_quota_allows(control_plane: Target) -> None:
    kubectl = control_plane.kubectl()
    labels = {"cloud.google.com/gke-accelerator": "nvidia-h100-80gb"}
    control_plane.own().add_fake_nodes([f"h100-{n}" for n in range(3)], labels, {"nvidia.com/gpu": "2"})
    kubectl.apply(*yaml.safe_load_all(QUEUES.format(name="fake")))
    kubectl("--namespace=fake", "create", "--filename=-", stdin=JOB.format(name="within", gpus=2))
    kubectl("--namespace=fake", "create", "--filename=-", stdin=JOB.format(name="beyond", gpus=5))
    kubectl.wait("job/within", "condition=Complete", "--namespace=fake")
    suspended = {each["metadata"]["name"]: each["spec"]["suspend"] for each in kubectl.get("jobs", "--namespace=fake")}
    assert suspended == {"within": False, "beyond": True}


@pytest.mark.parametrize("component", ["kueue", "kuberay", "etcd", "kube-apiserver", "kube-controller-manager"])
def test_a_component_that_was_killed_starts_again(control_plane: Target, component: str) -> None:
    rig = control_plane.own()
    rig.stop(component)
    assert not rig.components()[component]
    rig.start(component)
    assert all(rig.components().values())
    assert control_plane.kubectl().get("namespace", "default")["metadata"]["name"] == "default"


def test_kueue_runs_with_other_gates(control_plane: Target) -> None:
    rig = control_plane.own()
    rig.restart_kueue({"ElasticJobsViaWorkloadSlices": True})
    assert "ElasticJobsViaWorkloadSlices=True" in rig.command_line("kueue")
    rig.stop("kueue", signal.SIGTERM)
    rig.start("kueue")
    assert "ElasticJobsViaWorkloadSlices" not in rig.command_line("kueue")


def test_an_ordinary_user_may_do_what_is_bound_and_no_more(control_plane: Target) -> None:
    alice, bob = USERS
    kubectl = control_plane.kubectl()
    kubectl("create", "namespace", "of-alice")
    kubectl("create", "rolebinding", "edit", "--clusterrole=edit", f"--user={alice}", "--namespace=of-alice")
    assert control_plane.kubectl(alice)("get", "pods", "--namespace=of-alice") == ""
    for user, namespace in ((bob, "of-alice"), (alice, "default")):
        with pytest.raises(KubectlError, match=f'User "{user}" cannot list resource "pods"'):
            control_plane.kubectl(user)("get", "pods", f"--namespace={namespace}")


def test_a_cluster_that_nobody_took_down_is_known_and_goes_without_a_trace() -> None:
    rig = Rig("abandoned")
    before = rig.traces()
    ended = subprocess.Popen(["true"])
    ended.wait()
    rig.up(has_node=False, owner=ended.pid)
    try:
        assert rig.is_abandoned()
        seen = {
            component: sum(f"/{component} " in line for line in rig.traces() - before) for component in rig.components()
        }
        assert seen == dict.fromkeys(rig.components(), 1)
    finally:
        rig.down()
    assert rig.traces() == before


def test_a_second_cluster_with_a_node_is_refused_and_does_the_first_no_harm(cluster: Target) -> None:
    first, second = cluster.own(), Rig("second")
    before = first.traces()
    with pytest.raises(RigError, match="another cluster with a node runs"):
        second.up(has_node=True)
    assert not second.is_up()
    assert first.traces() == before


@pytest.mark.parametrize("component", ["kubelet", "containerd", "kube-proxy", "coredns"])
def test_a_pod_outlives_what_runs_it(cluster: Target, component: str) -> None:
    """The pods stay until the end: what is left of a cluster is looked for after they were taken down with it."""
    rig, kubectl = cluster.own(), cluster.kubectl()
    name = f"outlives-{component}"
    kubectl("run", name, f"--image={cluster.ray_image}", "--", "sleep", "infinity")
    kubectl.wait(f"pod/{name}", "condition=Ready")
    rig.stop(component)
    rig.start(component)
    kubectl.wait("node/node-0", "condition=Ready")
    until(f"{name} can be reached", 30, lambda: _is_reached(kubectl, name))
    assert kubectl("exec", name, "--", "cat", "/proc/1/cmdline") == "sleep\0infinity\0"
    assert kubectl.get("pod", name)["status"]["containerStatuses"][0]["restartCount"] == 0


def test_pods_reach_services_by_name(cluster: Target) -> None:
    kubectl = cluster.kubectl()
    ask = "import urllib.request as r, ssl; c = ssl._create_unverified_context(); "
    ask += "print(r.urlopen('https://kubernetes.default.svc.cluster.local/readyz', context=c).read().decode())"
    options = ("--image", cluster.ray_image, "--restart=Never")
    kubectl("run", "asks", *options, "--", "python3", "-c", ask)
    kubectl.wait("pod/asks", "jsonpath={.status.phase}=Succeeded")
    assert kubectl("logs", "asks") == "ok\n"
    kubectl("delete", "pod", "asks")


def _is_reached(kubectl: Kubectl, pod: str) -> bool:
    try:
        return kubectl("exec", pod, "--", "true") == ""
    except KubectlError:  # a new kubelet does not know its pods at once
        return False
