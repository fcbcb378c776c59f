"""What any object of any kind can run: exact for the kinds that say how often, and found wherever it hides."""

import pytest
from fairgate_scheduler.core.amounts import UNLIMITED
from fairgate_scheduler.core.manifests.anypods import group_of_pod, pod_demand
from fairgate_scheduler.core.manifests.workloads import workload_demand
from fairgate_scheduler.testing.rayjobs import GPU, TPU, container, group, head_group, ray_job, template

MIG = "nvidia.com/mig-1g.10gb"
TWO = template(container(limits={GPU: 2}))


def obj(api_version, kind, **spec):
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}


@pytest.mark.parametrize(
    ("manifest", "gpus"),
    [
        pytest.param({"kind": "Pod", "apiVersion": "v1", **TWO}, 2, id="Pod"),
        pytest.param({"kind": "PodTemplate", "apiVersion": "v1", "template": TWO}, 2, id="PodTemplate"),
        pytest.param(obj("apps/v1", "Deployment", replicas=3, template=TWO), 6, id="Deployment"),
        pytest.param(obj("apps/v1", "ReplicaSet", template=TWO), 2, id="replicas default to 1"),
        pytest.param(obj("v1", "ReplicationController", replicas=2, template=TWO), 4, id="ReplicationController"),
        pytest.param(obj("apps/v1", "StatefulSet", replicas=5, template=TWO), 10, id="StatefulSet"),
        pytest.param(obj("apps/v1", "DaemonSet", template=TWO), UNLIMITED, id="DaemonSet"),
        pytest.param(obj("batch/v1", "Job", parallelism=3, template=TWO), 6, id="Job"),
        pytest.param(
            obj("batch/v1", "Job", parallelism=3, completions=2, template=TWO), 4, id="never more than needed"
        ),
        pytest.param(
            obj("batch/v1", "CronJob", jobTemplate={"spec": {"template": TWO}}), UNLIMITED, id="CronJob has no end"
        ),
        pytest.param(
            obj(
                "jobset.x-k8s.io/v1alpha2",
                "JobSet",
                replicatedJobs=[
                    {"replicas": 2, "template": {"spec": {"parallelism": 3, "template": TWO}}},
                    {"template": {"spec": {"template": TWO}}},
                ],
            ),
            14,
            id="JobSet",
        ),
        pytest.param(
            obj(
                "leaderworkerset.x-k8s.io/v1",
                "LeaderWorkerSet",
                replicas=2,
                leaderWorkerTemplate={"size": 4, "workerTemplate": TWO},
            ),
            16,
            id="LeaderWorkerSet: the worker's template leads too",
        ),
        pytest.param(
            obj(
                "leaderworkerset.x-k8s.io/v1",
                "LeaderWorkerSet",
                leaderWorkerTemplate={
                    "size": 4,
                    "workerTemplate": TWO,
                    "leaderTemplate": template(container(limits={GPU: 1})),
                },
            ),
            7,
            id="LeaderWorkerSet with a leader of its own",
        ),
        pytest.param(
            obj(
                "kubeflow.org/v1",
                "PyTorchJob",
                pytorchReplicaSpecs={"Master": {"template": TWO}, "Worker": {"replicas": 7, "template": TWO}},
            ),
            16,
            id="PyTorchJob",
        ),
        pytest.param(
            obj("batch.volcano.sh/v1alpha1", "Job", tasks=[{"replicas": 4, "template": TWO}]), 8, id="Volcano Job"
        ),
        pytest.param(
            obj(
                "workload.codeflare.dev/v1beta2",
                "AppWrapper",
                components=[{"template": obj("apps/v1", "Deployment", replicas=2, template=TWO)}],
            ),
            4,
            id="an object in an object",
        ),
        pytest.param(obj("x.io/v1", "Odd", deep=[{"a": {"podSpec": TWO["spec"]}}]), 2, id="fields without a template"),
        pytest.param(obj("x.io/v1", "Odd", **TWO["spec"], more={"template": TWO}), 4, id="a pod beside a pod"),
        pytest.param(
            obj("x.io/v1", "Odd", initContainers=[container(limits={GPU: 3})], containers=[]), 3, id="init only"
        ),
    ],
)
def test_devices_of_every_kind(manifest, gpus):
    demand = workload_demand(manifest)
    assert demand.findings == ()
    assert demand.total[GPU] == gpus
    assert demand.accelerated


@pytest.mark.parametrize("api_version", ["ray.io/v1", "ray.io/v1alpha1"])
def test_ray_objects_are_counted_as_kuberay_runs_them(api_version):
    workers = group("gpu", 1, {GPU: 4, "cpu": 1}, minReplicas=2, maxReplicas=8, numOfHosts=2)
    job = ray_job(workers, submissionMode="SidecarMode")
    cluster = job["spec"]["rayClusterSpec"]
    as_cluster = {"apiVersion": api_version, "kind": "RayCluster", "metadata": {"name": "c"}, "spec": cluster}
    job["apiVersion"] = api_version
    assert workload_demand(job).total[GPU] == workload_demand(as_cluster).total[GPU] == 16
    # The sidecar that submits asks for 500m and 200Mi in the head: it is counted with the RayJob.
    assert workload_demand(job).total["cpu"] - workload_demand(as_cluster).total["cpu"] == 500
    cron = obj(api_version, "RayCronJob", jobTemplate=job["spec"])
    service = obj(api_version, "RayService", rayClusterConfig=cluster)
    assert workload_demand(cron).total[GPU] == workload_demand(service).total[GPU] == 16


def test_an_autoscaled_group_without_bound_is_counted_as_such():
    job = ray_job(group("gpu", 1, {GPU: 1}), cluster={"enableInTreeAutoscaling": True})
    assert workload_demand(job).total[GPU] == 2**31 - 1


def test_what_a_later_kuberay_may_run_is_found_too():
    job = ray_job(cluster={"workerGroupSpecs": {"odd": {"template": TWO}}, "extra": {"pod": TWO["spec"]}})
    assert {pods.path for pods in workload_demand(job).accelerated} == {
        "spec.rayClusterSpec.workerGroupSpecs.odd.template",
        "spec.rayClusterSpec.extra.pod",
    }
    autoscaled = ray_job(
        cluster={"enableInTreeAutoscaling": True, "autoscalerOptions": {"resources": {"limits": {GPU: 1}}}}
    )
    assert [finding.field for finding in workload_demand(autoscaled).findings] == [
        "spec.rayClusterSpec.autoscalerOptions.resources.limits[nvidia.com/gpu]"
    ]


def test_nothing_runs_yet_but_it_can_be_scaled():
    demand = workload_demand(obj("apps/v1", "Deployment", replicas=0, template=TWO))
    assert demand.total == {}
    assert [(pods.path, pods.count) for pods in demand.accelerated] == [("spec.template", 0)]


@pytest.mark.parametrize(
    ("manifest", "field"),
    [
        pytest.param(
            obj("t/v1", "TrainJob", trainer={"numNodes": 2, "resourcesPerNode": {"limits": {GPU: 1}}}),
            "spec.trainer.resourcesPerNode.limits[nvidia.com/gpu]",
            id="TrainJob",
        ),
        pytest.param(
            obj("s/v1", "SparkApplication", executor={"gpu": {"name": GPU, "quantity": 2}}),
            "spec.executor.gpu.name",
            id="SparkApplication",
        ),
        pytest.param(
            obj("argoproj.io/v1alpha1", "Workflow", templates=[{"container": {"resources": {"requests": {TPU: 4}}}}]),
            "spec.templates[0].container.resources.requests[google.com/tpu]",
            id="Workflow",
        ),
        pytest.param(
            obj("x/v1", "Odd", template={"spec": {**TWO["spec"], "also": {"limits": {GPU: 1}}}}),
            "spec.template.spec.also.limits[nvidia.com/gpu]",
            id="beside a pod's own fields",
        ),
    ],
)
def test_devices_outside_of_a_pod_are_found(manifest, field):
    assert [finding.field for finding in workload_demand(manifest).findings] == [field]


@pytest.mark.parametrize(
    ("limits", "amount"),
    [
        ({MIG: 1}, {MIG: 1}),
        ({"nvidia.com/gpu.shared": "1"}, {"nvidia.com/gpu.shared": 1}),
        ({"deviceclass.resource.kubernetes.io/gpu.example": 2}, {"deviceclass.resource.kubernetes.io/gpu.example": 2}),
        ({GPU: "1k"}, {GPU: 1000}),
        ({GPU: "1e1"}, {GPU: 10}),
        ({GPU: "1Ki"}, {GPU: 1024}),
        ({GPU: "1000m"}, {GPU: 1}),
        ({GPU: "1E"}, {GPU: 10**18}),
        ({GPU: "1E1"}, {GPU: 10}),
        ({GPU: 2.0}, {GPU: 2}),
        ({"cpu": 1, GPU: 0}, {}),
    ],
)
def test_every_name_and_every_way_to_write_a_number(limits, amount):
    demand = pod_demand(template(container(limits=limits)), "")
    assert (demand.accelerators, demand.findings) == (amount, ())


@pytest.mark.parametrize(
    "wrong", ["-8", "0.5", "NaN", "1.5", "500m", "2i", "", True, "1e30", "9223372036854775807", []]
)
def test_what_is_no_number_of_devices_is_found(wrong):
    assert pod_demand(template(container(limits={GPU: wrong})), "").findings != ()


def test_negative_amounts_are_found_in_every_place():
    for pod in (
        template(container(limits={"cpu": "-1"})),
        template(container(), initContainers=[container(limits={"memory": -1})]),
        template(container(), overhead={"cpu": "-1"}),
        template(container(), resources={"requests": {"cpu": "-1"}}),
        template(container(), ephemeralContainers=[container(limits={GPU: -1})]),
    ):
        assert pod_demand(pod, "").findings != ()


def test_sidecars_overhead_and_ephemeral_containers_count():
    pod = template(
        container(limits={GPU: 1}),
        initContainers=[
            container(limits={GPU: 2}, restartPolicy="Always"),
            container(limits={GPU: 3}),
        ],
        overhead={"cpu": "250m"},
        ephemeralContainers=[container("debug", limits={GPU: 1})],
    )
    assert pod_demand(pod, "").requests == {GPU: 6, "cpu": 250}


@pytest.mark.parametrize("resources", ["all", [], {"limits": "all"}, {"requests": [1]}])
def test_what_can_not_be_read_is_not_taken_for_nothing(resources):
    assert pod_demand({"spec": {"containers": [{"name": "c", "resources": resources}]}}, "").findings != ()


def test_claimed_devices_are_found():
    pod = template(container(), resourceClaims=[{"name": "gpu", "resourceClaimName": "r"}])
    assert [finding.field for finding in pod_demand(pod, "").findings] == ["spec.resourceClaims"]


def test_the_group_of_a_ray_pod():
    assert group_of_pod({"ray.io/node-type": "head", "ray.io/group": "headgroup"}) == "head"
    assert group_of_pod({"ray.io/node-type": "worker", "ray.io/group": "gpu"}) == "gpu"
    assert group_of_pod({}) == ""
    assert workload_demand(ray_job(head=head_group({GPU: 1}))).total[GPU] == 1
