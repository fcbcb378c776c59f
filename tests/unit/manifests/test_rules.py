"""What is refused, by field, and what is only warned of."""

import copy

import pytest
from fairgate_scheduler.core.manifests import ManifestError, understand, validate
from fairgate_scheduler.testing.rayjobs import GPU, TPU, container, fleet, group, head_group, ray_job, template

CLUSTER = "spec.rayClusterSpec"
HEAD = f"{CLUSTER}.headGroupSpec"
WORKERS = f"{CLUSTER}.workerGroupSpecs"


def changed(path, value, manifest=None):
    """A right manifest with one field set; ``...`` removes it. The path is of keys and indexes."""
    manifest = copy.deepcopy(manifest or ray_job(group()))
    at = manifest
    for key in path[:-1]:
        at = at[key]
    if value is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return manifest


def spec(**fields):
    return ray_job(group(), **fields)


def cluster(**fields):
    return ray_job(group(), cluster=fields)


def head(**fields):
    return ray_job(group(), head={**head_group(), **fields})


def worker(**fields):
    return ray_job({**group(), **fields})


def head_pod(**fields):
    return ray_job(group(), head={**head_group(), "template": template(container(limits={"cpu": 1}), **fields)})


def head_env(name, value="1", **more):
    return ray_job(
        group(),
        head={**head_group(), "template": template(container(limits={"cpu": 1}, env=[{"name": name, "value": value}]))},
        **more,
    )


W0 = ["spec", "rayClusterSpec", "workerGroupSpecs", 0]
C0 = [*W0, "template", "spec", "containers", 0]
C0_AT = f"{WORKERS}[0].template.spec.containers[0]"

TYPOS = [
    (["specs"], {}, "specs", "did you mean spec?"),
    (["metadata", "lables"], {}, "metadata.lables", "did you mean labels?"),
    (["spec", "entrypont"], "x", "spec.entrypont", "did you mean entrypoint?"),
    (["spec", "shutdownAfterJobFinish"], True, "spec.shutdownAfterJobFinish", "did you mean shutdownAfterJobFinishes?"),
    (["spec", "rayClusterSpec", "workerGroupSpec"], [], f"{CLUSTER}.workerGroupSpec", "did you mean workerGroupSpecs?"),
    ([*W0, "replcias"], 2, f"{WORKERS}[0].replcias", "did you mean replicas?"),
    ([*W0, "numOfHost"], 2, f"{WORKERS}[0].numOfHost", "did you mean numOfHosts?"),
    ([*W0, "minreplicas"], 2, f"{WORKERS}[0].minreplicas", "did you mean minReplicas?"),
    (
        [*W0, "template", "spec", "nodeselector"],
        {},
        f"{WORKERS}[0].template.spec.nodeselector",
        "did you mean nodeSelector?",
    ),
    ([*C0, "resource"], {}, f"{C0_AT}.resource", "did you mean resources?"),
    ([*C0, "resources", "request"], {}, f"{C0_AT}.resources.request", "did you mean requests?"),
    ([*C0, "env"], [{"name": "A", "vlaue": "1"}], f"{C0_AT}.env[0].vlaue", "did you mean value?"),
]


@pytest.mark.parametrize(("path", "value", "field", "remedy"), TYPOS, ids=[row[2] for row in TYPOS])
def test_a_typo_is_named_with_what_was_meant(path, value, field, remedy):
    (finding,) = validate(changed(path, value))
    assert (finding.field, finding.message, finding.remedy) == (field, "unknown field", remedy)


TYPES = [
    ([*W0, "replicas"], "2", f"{WORKERS}[0].replicas", "must be a whole 32-bit number, not '2'"),
    ([*W0, "replicas"], True, f"{WORKERS}[0].replicas", "must be a whole 32-bit number, not true"),
    ([*W0, "replicas"], 2.5, f"{WORKERS}[0].replicas", "must be a whole 32-bit number, not 2.5"),
    ([*W0, "replicas"], 2**31, f"{WORKERS}[0].replicas", "must be a whole 32-bit number, not 2147483648"),
    ([*W0, "rayStartParams"], {"num-cpus": 4}, f"{WORKERS}[0].rayStartParams[num-cpus]", "must be a text, not 4"),
    ([*C0, "env"], [{"name": "A", "value": 1}], f"{C0_AT}.env[0].value", "must be a text, not 1"),
    ([*C0, "command"], "python", f"{C0_AT}.command", "must be a list, not 'python'"),
    ([*C0, "resources", "limits"], {"cpu": []}, f"{C0_AT}.resources.limits.cpu", "must be a quantity, not a list"),
    ([*C0, "resources"], [], f"{C0_AT}.resources", "must be a map of fields, not a list"),
    (["spec", "suspend"], "yes", "spec.suspend", "must be true or false, not 'yes'"),
    (["spec", "entrypointNumCpus"], "1", "spec.entrypointNumCpus", "must be a number, not '1'"),
    (["spec", "rayClusterSpec", "rayVersion"], 2.5, f"{CLUSTER}.rayVersion", "must be a text, not 2.5"),
    (["metadata", "labels"], {"a": 1}, "metadata.labels.a", "must be a text, not 1"),
]


@pytest.mark.parametrize(("path", "value", "field", "message"), TYPES)
def test_a_wrong_type_is_named(path, value, field, message):
    (finding,) = validate(changed(path, value))
    assert (finding.field, finding.message) == (field, message)


REFUSED = [
    ("apiVersion", {**ray_job(), "apiVersion": "ray.io/v1alpha1"}),
    ("kind", {**ray_job(), "kind": "RayCluster"}),
    ("kind", changed(["kind"], ...)),
    ("metadata", changed(["metadata"], ...)),
    ("metadata.name", changed(["metadata", "name"], ...)),
    ("metadata.name", changed(["metadata", "name"], "j" * 48)),
    ("metadata.name", changed(["metadata", "name"], "1job")),
    ("metadata.name", changed(["metadata", "name"], "my.job")),
    ("metadata.name", changed(["metadata", "name"], "Job")),
    ("metadata.labels.a", changed(["metadata", "labels"], {"a": "not a label"})),
    ("spec", changed(["spec"], ...)),
    ("spec.entrypoint", changed(["spec", "entrypoint"], ...)),
    ("spec.entrypoint", spec(entrypoint="  ")),
    (CLUSTER, changed(["spec", "rayClusterSpec"], ...)),
    ("spec.clusterSelector", spec(clusterSelector={"ray.io/cluster": "shared"})),
    ("spec.submissionMode", spec(submissionMode="JobMode")),
    ("spec.activeDeadlineSeconds", spec(activeDeadlineSeconds=0)),
    ("spec.backoffLimit", spec(backoffLimit=-1)),
    ("spec.ttlSecondsAfterFinished", spec(ttlSecondsAfterFinished=-1)),
    ("spec.managedBy", spec(managedBy="kueue.x-k8s.io/multikueue")),
    (f"{CLUSTER}.managedBy", cluster(managedBy="somebody")),
    ("spec.backoffLimit", spec(submissionMode="InteractiveMode", backoffLimit=1)),
    ("spec.submitterConfig", spec(submissionMode="SidecarMode", submitterConfig={"backoffLimit": 1})),
    (
        "spec.submitterPodTemplate",
        spec(submissionMode="SidecarMode", submitterPodTemplate=template(container(limits={"cpu": 1}))),
    ),
    (
        f"{HEAD}.template.spec.restartPolicy",
        changed(["spec", "submissionMode"], "SidecarMode", head_pod(restartPolicy="Always")),
    ),
    ("spec.entrypointNumGpus", spec(entrypointNumGpus=-1)),
    ("spec.entrypointResources", spec(entrypointResources="{many}")),
    ("spec.deletionStrategy", spec(deletionStrategy={"onSuccess": {"policy": "DeleteCluster"}})),
    (
        "spec.deletionStrategy.onFailure.policy",
        spec(deletionStrategy={"onSuccess": {"policy": "DeleteSelf"}, "onFailure": {}}),
    ),
    (
        "spec.deletionStrategy.deletionRules",
        spec(deletionStrategy={"deletionRules": [{"policy": "DeleteSelf", "condition": {"jobStatus": "FAILED"}}]}),
    ),
    (f"{CLUSTER}.suspend", cluster(suspend=True)),
    (f"{CLUSTER}.historyServerOptions", cluster(historyServerOptions={"collectorOptions": {"image": "x"}})),
    (f"{CLUSTER}.upgradeStrategy", cluster(upgradeStrategy={"type": "Recreate"})),
    (f"{CLUSTER}.rayVersion", cluster(rayVersion="2.51.0", authOptions={"mode": "token"})),
    (
        f"{CLUSTER}.rayVersion",
        changed(["spec", "rayClusterSpec", "rayVersion"], "nightly", spec(metadata={"a": "b"})),
    ),
    (f"{CLUSTER}.gcsFaultToleranceOptions.redisAddress", cluster(gcsFaultToleranceOptions={})),
    (f"{HEAD}.template.spec.containers[0].env (RAY_REDIS_ADDRESS)", head_env("RAY_REDIS_ADDRESS")),
    (f"{HEAD}.template.spec.containers[0].env (RAY_enable_autoscaler_v2)", head_env("RAY_enable_autoscaler_v2")),
    (f"{HEAD}.rayStartParams[redis-username]", head(rayStartParams={"redis-username": "me"})),
    (f"{HEAD}.resources", head(rayStartParams={"num-cpus": "1"}, resources={"CPU": "1"})),
    (f"{HEAD}.rayStartParams.labels", head(rayStartParams={"labels": "a=b"})),
    (f"{HEAD}.labels.a", head(labels={"a": "b c"})),
    (f"{HEAD}.rayStartParams[num-cpus]", head(rayStartParams={"num-cpus": "all"})),
    (f"{HEAD}.rayStartParams[num-gpus]", head(rayStartParams={"num-gpus": "2"})),
    (f"{HEAD}.rayStartParams.resources", head(rayStartParams={"resources": '"{\\"TPU\\": 4}"'})),
    (f"{HEAD}.rayStartParams.resources", head(rayStartParams={"resources": '{"GPU": 1}'})),
    (f"{HEAD}.rayStartParams.resources", head(rayStartParams={"resources": "TPU=4"})),
    (f"{HEAD}.resources", head(resources={"GPU": "1"})),
    (f"{HEAD}.template.spec.containers", head(template={"spec": {"containers": []}})),
    (f"{HEAD}.template.spec.nodeName", head_pod(nodeName="node-1")),
    (f"{WORKERS}[0].groupName", worker(groupName="Head")),
    (f"{WORKERS}[0].groupName", worker(groupName="submitter")),
    (f"{WORKERS}[0].groupName", worker(groupName="my_group")),
    (f"{WORKERS}[0].groupName", worker(groupName="g" * 64)),
    (f"{WORKERS}[1].groupName", ray_job(group("GPU"), group("gpu"))),
    (WORKERS, ray_job(*(group(f"g{index}") for index in range(7)))),
    (f"{WORKERS}[0].replicas", worker(replicas=-1)),
    (f"{WORKERS}[0].numOfHosts", worker(numOfHosts=0)),
    (f"{WORKERS}[0].minReplicas", worker(minReplicas=3, maxReplicas=2)),
    (f"{WORKERS}[0].suspend", worker(suspend=True)),
    (f"{WORKERS}[0].maxReplicas", cluster(enableInTreeAutoscaling=True)),
    (f"{WORKERS}[0].template.spec", worker(template=template(container("a", {"cpu": 1}), container("a", {"cpu": 1})))),
    (
        f"{HEAD}.template.spec.restartPolicy",
        ray_job(
            group(maxReplicas=2),
            head={**head_group(), "template": template(container(limits={"cpu": 1}), restartPolicy="Always")},
            cluster={"enableInTreeAutoscaling": True, "autoscalerOptions": {"version": "v2"}},
        ),
    ),
    (
        f"{CLUSTER}.autoscalerOptions.resources",
        ray_job(
            group(maxReplicas=2),
            cluster={"enableInTreeAutoscaling": True, "autoscalerOptions": {"resources": {}}},
        ),
    ),
]


def test_everything_that_is_missing_is_told_at_once():
    assert [finding.field for finding in validate({"kind": "RayJob"})] == ["apiVersion", "metadata", "spec"]
    assert [finding.field for finding in validate({})] == ["apiVersion", "kind", "metadata", "spec"]
    bare = {"apiVersion": "ray.io/v1", "kind": "RayJob", "spec": {}}
    assert [finding.field for finding in validate(bare)] == ["metadata", "spec.rayClusterSpec", "spec.entrypoint"]
    mistyped = {"apiVersion": "ray.io/v2", **{key: value for key, value in ray_job().items() if key != "apiVersion"}}
    mistyped["spec"] = {**mistyped["spec"], "entrypont": "python"}
    assert [finding.field for finding in validate(mistyped)] == ["apiVersion", "spec.entrypont"]


@pytest.mark.parametrize(
    ("path", "typo"),
    [("apiVersion", "apiVerson"), ("kind", "knd"), ("metadata", "metdata"), ("metadata.name", "nam"),
     ("spec", "spce"), ("spec.entrypoint", "entrypont"), ("spec.rayClusterSpec", "rayClusterSpecs"),
     ("spec.rayClusterSpec.headGroupSpec.template", "templat")],
)  # fmt: skip
def test_a_typo_in_a_required_field_is_one_mistake(path, typo):
    manifest = copy.deepcopy(ray_job())
    *above, key = path.split(".")
    parent = manifest
    for each in above:
        parent = parent[each]
    value = parent.pop(key)
    parent[typo] = value
    (finding,) = validate(manifest)
    assert (finding.field, finding.message) == (".".join([*above, typo]), "unknown field")
    parent[key] = value
    assert [each.field for each in validate(manifest)] == [".".join([*above, typo])]


def test_of_another_kind_only_that_is_told():
    assert [each.field for each in validate({"apiVersion": "v1", "kind": "ConfigMap"})] == ["apiVersion", "kind"]


@pytest.mark.parametrize(("field", "manifest"), REFUSED)
def test_what_kuberay_kueue_or_quota_would_refuse_later_is_refused_now_by_field(field, manifest):
    assert [finding.field for finding in validate(manifest)] == [field]


@pytest.mark.parametrize(("field", "manifest"), REFUSED)
def test_every_refusal_says_what_to_do(field, manifest):
    assert all(finding.remedy and finding.message for finding in validate(manifest))


TAKEN = [
    ("nothing to say", ray_job(group()), []),
    ("no worker group", ray_job(), []),
    ("47 characters", changed(["metadata", "name"], "j" * 47), []),
    ("seven groups without submitter", ray_job(*(group(f"g{i}") for i in range(7)), submissionMode="HTTPMode"), []),
    ("capitals in a group name", worker(groupName="GPU"), []),
    ("an empty cluster selector", spec(clusterSelector={}), []),
    ("null is absent", spec(clusterSelector=None, activeDeadlineSeconds=None), []),
    (
        "no shutdown",
        spec(shutdownAfterJobFinishes=False),
        ["spec.shutdownAfterJobFinishes is set to true: what has ended gives its quota back"],
    ),
    (
        "time to live",
        spec(ttlSecondsAfterFinished=60),
        ["spec.ttlSecondsAfterFinished is ignored: the cluster is shut down as soon as the job ends"],
    ),
    ("suspended by Kueue", spec(suspend=True), ["spec.suspend is ignored: the job starts when it is admitted"]),
    (
        "queue label",
        changed(["metadata", "labels"], {"kueue.x-k8s.io/queue-name": "q", "a": "b"}),
        ["metadata.labels[kueue.x-k8s.io/queue-name] is ignored: Fairgate queues the job"],
    ),
    ("status", {**ray_job(group()), "status": {"jobId": "x"}}, ["status is ignored"]),
    (
        "replicas below the minimum",
        worker(replicas=0, minReplicas=8),
        [f"{WORKERS}[0].replicas is outside minReplicas and maxReplicas: 8 run and are charged"],
    ),
    (
        "no replicas",
        ray_job(group(replicas=None, minReplicas=2)),
        [f"{WORKERS}[0].replicas is not set: KubeRay makes minReplicas of it (2)"],
    ),
    (
        "autoscaled",
        ray_job(group(maxReplicas=5), cluster={"enableInTreeAutoscaling": True}),
        [f"{WORKERS}[0]: autoscaled, so maxReplicas (5) are reserved and charged all the time"],
    ),
    (
        "no image",
        ray_job(group(template=template({"name": "c", "resources": {"limits": {"cpu": 1}}}))),
        ["workers: its Ray container names no image; Kubernetes would refuse the pod, a local attempt runs"],
    ),
    (
        "no cpu",
        ray_job(group(limits={"memory": "1Gi"})),
        ["workers: its Ray container asks for no cpu, so tasks that need one do not run there"],
    ),
    (
        "newer field",
        spec(preRunningDeadlineSeconds=60),
        ["spec.preRunningDeadlineSeconds needs KubeRay 1.6 or later"],
    ),
    (
        "deletion rules",
        spec(
            shutdownAfterJobFinishes=False,
            deletionStrategy={
                "deletionRules": [
                    {"policy": "DeleteWorkers", "condition": {"jobStatus": "SUCCEEDED"}},
                    {"policy": "DeleteCluster", "condition": {"jobStatus": "SUCCEEDED", "ttlSeconds": 60}},
                ]
            },
        ),
        [
            "spec.shutdownAfterJobFinishes is set to true: what has ended gives its quota back",
            "spec.deletionStrategy is ignored: the whole cluster is shut down as soon as the job ends",
        ],
    ),
    (
        "interactive",
        spec(submissionMode="InteractiveMode", entrypoint=None, jobId=""),
        [
            (
                "spec.submissionMode: an interactive cluster holds its quota until a job that somebody submits to it"
                " ends, or its time limit is over"
            )
        ],
    ),
    (
        "a submitter's own command",
        spec(entrypoint=None, submitterPodTemplate=template(container(command=["submit"]))),
        [
            "spec.entrypoint is not set: only the submitter's own command runs, and only on Kubernetes",
            "spec.submitterPodTemplate asks for nothing: it gets KubeRay's default, cpu 500m and memory 200Mi",
        ],
    ),
]


@pytest.mark.parametrize(("manifest", "warnings"), [row[1:] for row in TAKEN], ids=[row[0] for row in TAKEN])
def test_what_can_run_is_taken_and_what_was_set_is_told(manifest, warnings):
    assert list(understand(manifest, None, fleet(), "vision").warnings) == warnings


def test_deletion_rules_follow_kuberays_order_and_uniqueness():
    def rules(*pairs):
        return spec(
            shutdownAfterJobFinishes=False,
            deletionStrategy={
                "deletionRules": [
                    {"policy": policy, "condition": {"jobStatus": "FAILED", "ttlSeconds": ttl}} for policy, ttl in pairs
                ]
            },
        )

    at = "spec.deletionStrategy.deletionRules"
    assert [f.field for f in validate(rules(("DeleteSelf", 1), ("DeleteCluster", 2)))] == [at]
    assert [f.field for f in validate(rules(("DeleteSelf", 1), ("DeleteSelf", 2)))] == [f"{at}[1]"]
    assert [f.field for f in validate(rules(("DeleteSelf", -1)))] == [f"{at}[0].condition.ttlSeconds"]
    assert validate(rules(("DeleteSelf", 2), ("DeleteWorkers", 0))) == []


def test_everything_wrong_is_told_at_once():
    manifest = ray_job(group("head", replicas=-1, limits={"cpu": 1, GPU: -1}), submissionMode="Sidecar")
    manifest["metadata"]["name"] = "J"
    with pytest.raises(ManifestError) as error:
        understand(manifest, [{"flavour": "h100"}, {"flavor": "v5e", "speed": -1}], fleet(), "vision")
    assert [finding.field for finding in error.value.findings] == [
        "metadata.name",
        "spec.submissionMode",
        f"{WORKERS}[0].groupName",
        f"{WORKERS}[0].template.spec.containers[0].resources.limits[{GPU}]",
        f"{WORKERS}[0].replicas",
        "options[0].flavour",
        "options[1].speed",
    ]
    assert str(error.value).count("\n") == 6


@pytest.mark.parametrize(
    "manifest", [None, [], "text", 3, {}, {"kind": "RayJob"}, {"apiVersion": "ray.io/v1", "kind": []}]
)
def test_what_is_no_rayjob_at_all_is_refused(manifest):
    assert validate(manifest)


def test_a_bottomless_manifest_is_refused_not_followed():
    deep = {}
    for _ in range(100):
        deep = {"spec": deep}
    with pytest.raises(ManifestError, match="nested"):
        validate(deep)


def test_a_tpu_claim_that_its_limit_covers_is_taken():
    manifest = worker(
        rayStartParams={"resources": '"{\\"TPU\\": 4, \\"big\\": 0.5}"'},
        template=template(container(limits={"cpu": 1, TPU: 4})),
    )
    assert validate(manifest) == []
