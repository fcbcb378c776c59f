"""The RayJob of an attempt: rewritten for its option, on its flavor's nodes, nothing left that would keep capacity."""

import copy

import pytest
from fairgate_scheduler.core.manifests import normalize, ray_resources, render_for_option, spec_of, understand, validate
from fairgate_scheduler.testing.rayjobs import GPU, TPU, container, fleet, group, head_group, ray_job, template

GPUS = {"cpu": 4, "memory": "8Gi", GPU: 4}
TO_TPU = {
    "flavor": "v5e",
    "groups": {
        "workers": {
            "replicas": 1,
            "numOfHosts": 4,
            "resources": {"cpu": 8, TPU: 4},
            "image": "ray:tpu",
            "env": {"PJRT_DEVICE": "TPU", "SHARED": "new"},
            "rayStartParams": {"num-cpus": "6"},
        }
    },
}


def rendered(manifest, specs=None, index=0, config=None):
    config = config or fleet()
    understood = understand(manifest, specs, config, "vision")
    option = understood.options[index]
    return render_for_option(manifest, spec_of(specs, option, index), option, config), option


def workers_of(manifest):
    return manifest["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]


def test_gpu_to_tpu():
    env = [{"name": "SHARED", "value": "old"}, {"name": "KEPT", "value": "1"}]
    pods = template(
        container("ray", limits=GPUS, env=env),
        container("sidecar", limits={"cpu": 1, GPU: 1}),
        nodeSelector={"accelerator": "h100", "zone": "b"},
        tolerations=[{"key": GPU}],
    )
    params = {"num-gpus": "4", "resources": '"{\\"disk\\": 1}"', "block": "true"}
    manifest = ray_job(group(replicas=2, minReplicas=2, maxReplicas=2, rayStartParams=params, template=pods))
    out, option = rendered(manifest, [{"flavor": "h100"}, TO_TPU], 1)
    workers = workers_of(out)
    pod = workers["template"]["spec"]
    assert {key: workers[key] for key in ("replicas", "minReplicas", "maxReplicas", "numOfHosts")} == {
        "replicas": 1,
        "minReplicas": 1,
        "maxReplicas": 1,
        "numOfHosts": 4,
    }
    assert pod["containers"][0]["resources"] == {
        "requests": {"cpu": "8", TPU: "4"},
        "limits": {"cpu": "8", "memory": "8Gi", TPU: "4"},
    }
    assert pod["containers"][1]["resources"] == {"limits": {"cpu": 1}}
    assert pod["containers"][0]["image"] == "ray:tpu"
    assert pod["containers"][0]["env"] == [
        {"name": "KEPT", "value": "1"},
        {"name": "PJRT_DEVICE", "value": "TPU"},
        {"name": "SHARED", "value": "new"},
    ]
    assert workers["rayStartParams"] == {"block": "true", "resources": '\'{"TPU":4,"disk":1}\'', "num-cpus": "6"}
    assert pod["nodeSelector"] == {"zone": "b", "tpu": "v5e"}
    assert validate(out) == []
    assert ray_resources(out, option) == {"CPU": 2 + 4 * 6, "TPU": 16, "disk": 4}


def test_tpu_to_gpu_tells_ray_of_the_gpus_only():
    params = {"resources": "'{\"TPU\": 4}'"}
    manifest = ray_job(group(rayStartParams=params, template=template(container(limits={"cpu": 1, TPU: 4}))))
    specs = [{"flavor": "a100", "groups": {"workers": {"resources": {GPU: 2}}}}]
    out, option = rendered(manifest, specs)
    assert workers_of(out)["rayStartParams"] == {"num-gpus": "2"}
    assert ray_resources(out, option) == {"CPU": 3, "GPU": 2}


def test_a_groups_own_ray_resources_change_in_their_place():
    manifest = ray_job(
        group(resources={"CPU": "4", "nvidia.com/gpu": "4", "disk": "1"}, template=template(container(limits=GPUS)))
    )
    out, option = rendered(manifest, [{"flavor": "v5e", "groups": {"workers": {"resources": {TPU: 4}}}}])
    assert workers_of(out)["resources"] == {"CPU": "4", "disk": "1", "TPU": "4"}
    assert workers_of(out)["rayStartParams"] == {}
    assert ray_resources(out, option) == {"CPU": 6, "TPU": 4, "disk": 1}


def test_every_pod_set_carries_the_labels_of_its_flavor():
    config = fleet()
    config = type(config)(
        {
            **config.flavors,
            "cpu": type(config.flavors["cpu"])("cpu", node_labels={"pool": "cpu"}, default_for_cpu_pods=True),
        }
    )
    out, _ = rendered(ray_job(group(limits=GPUS)), [{"flavor": "h100"}], config=config)
    cluster = out["spec"]["rayClusterSpec"]
    assert cluster["headGroupSpec"]["template"]["spec"]["nodeSelector"] == {"pool": "cpu"}
    assert workers_of(out)["template"]["spec"]["nodeSelector"] == {"accelerator": "h100"}
    assert workers_of(out)["template"]["spec"]["tolerations"] == [{"key": GPU}]
    submitter = out["spec"]["submitterPodTemplate"]["spec"]
    assert submitter["nodeSelector"] == {"pool": "cpu"}
    assert submitter["restartPolicy"] == "Never"
    assert submitter["containers"][0]["image"] == "rayproject/ray:2.52.0"
    assert submitter["containers"][0]["resources"]["requests"] == {"cpu": "500m", "memory": "200Mi"}


def test_without_labels_kuberay_makes_its_own_submitter():
    assert "submitterPodTemplate" not in rendered(ray_job())[0]["spec"]


def test_a_submitter_that_asks_for_nothing_gets_what_it_is_charged():
    out, _ = rendered(ray_job(submitterPodTemplate=template(container())))
    container_of = out["spec"]["submitterPodTemplate"]["spec"]["containers"][0]
    assert container_of["resources"]["requests"] == {"cpu": "500m", "memory": "200Mi"}


def test_what_would_keep_capacity_or_hold_the_attempt_back_is_gone():
    manifest = ray_job(
        group(),
        shutdownAfterJobFinishes=False,
        ttlSecondsAfterFinished=60,
        suspend=True,
        deletionStrategy={"onSuccess": {"policy": "DeleteWorkers"}, "onFailure": {"policy": "DeleteNone"}},
        managedBy="ray.io/kuberay-operator",
        cluster={"managedBy": "ray.io/kuberay-operator"},
    )
    manifest["metadata"] |= {
        "labels": {"kueue.x-k8s.io/queue-name": "inbox", "app": "x"},
        "annotations": {"kueue.x-k8s.io/priority-boost": "9", "note": "y"},
        "uid": "1",
        "resourceVersion": "2",
    }
    manifest["status"] = {"jobId": "x"}
    out, _ = rendered(manifest)
    assert out["metadata"] == {"name": "job", "labels": {"app": "x"}, "annotations": {"note": "y"}}
    assert sorted(out["spec"]) == ["entrypoint", "rayClusterSpec", "shutdownAfterJobFinishes"]
    assert out["spec"]["shutdownAfterJobFinishes"] is True
    assert "managedBy" not in out["spec"]["rayClusterSpec"]
    assert sorted(out) == ["apiVersion", "kind", "metadata", "spec"]


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"replicas": 0, "minReplicas": 8}, (8, 8, 8)),
        ({"replicas": 10, "maxReplicas": 2}, (2, 2, 2)),
        ({"replicas": 2, "minReplicas": 1, "maxReplicas": 5}, (2, 2, 2)),
        ({"replicas": 3, "numOfHosts": 4}, (3, 3, 3)),
    ],
)
def test_nobody_can_scale_what_was_admitted(counts, expected):
    out, _ = rendered(ray_job({**group(), **counts}))
    assert tuple(workers_of(out)[key] for key in ("replicas", "minReplicas", "maxReplicas")) == expected


def test_an_autoscaled_group_keeps_its_bounds():
    out, _ = rendered(ray_job(group(minReplicas=1, maxReplicas=5), cluster={"enableInTreeAutoscaling": True}))
    assert (workers_of(out)["minReplicas"], workers_of(out)["maxReplicas"]) == (1, 5)


def test_more_replicas_than_the_bounds_let_be_move_the_bounds():
    manifest = ray_job(group(replicas=2, minReplicas=2, maxReplicas=2))
    specs = [
        {"flavor": "cpu", "groups": {"workers": {"replicas": 5}}},
        {"flavor": "cpu", "groups": {"workers": {"replicas": 1}}},
    ]
    options = understand(manifest, specs, fleet(), "vision").options
    assert [option.groups[1].count for option in options] == [5, 1]


def test_what_an_attempt_runs_is_charged_as_its_option_was():
    manifest = ray_job(group(replicas=0, minReplicas=2, limits=GPUS), head=head_group(GPUS))
    specs = [{"flavor": "h100"}, TO_TPU | {"groups": TO_TPU["groups"] | {"head": {"resources": {TPU: 1}}}}]
    for index, spec in enumerate(specs):
        out, option = rendered(manifest, specs, index)
        again = understand(out, [{"flavor": spec["flavor"]}], fleet(), "vision").options[0]
        assert (again.groups, again.demand) == (option.groups, option.demand)


def test_the_given_manifest_stays_as_it_was():
    manifest = ray_job(group(limits=GPUS))
    before = copy.deepcopy(manifest)
    rendered(manifest, [{"flavor": "h100"}, TO_TPU], 1)
    assert manifest == before
    assert normalize(manifest) == before


def test_a_flavor_that_is_gone_places_nothing():
    config = fleet()
    option = understand(ray_job(group(limits=GPUS)), [{"flavor": "a100"}], config, "vision").options[0]
    out = render_for_option(ray_job(group(limits=GPUS)), spec_of(None, option, 0), option, fleet(a100=None))
    assert "nodeSelector" not in workers_of(out)["template"]["spec"]
