"""What a job is charged: everything that KubeRay really runs, each pod group on one flavor."""

from fractions import Fraction

import pytest
from fairgate_scheduler.core.manifests import ManifestError, largest_row, understand
from fairgate_scheduler.core.tenancy import Flavor, Quota, Tenant
from fairgate_scheduler.testing.rayjobs import GPU, TPU, container, fleet, group, head_group, ray_job, template

MI, GI = 2**20, 2**30
HEAD = ("head", "cpu", 1, {"cpu": 2000, "memory": 4 * GI})
SUBMITTER = ("submitter", "cpu", 1, {"cpu": 500, "memory": 200 * MI})
GPUS = {"cpu": 4, "memory": "8Gi", GPU: 4}
GPU_POD = {"cpu": 4000, "memory": 8 * GI, GPU: 4}
CPU_POD = {"cpu": 4000, "memory": 8 * GI}


def groups(manifest, specs=None, config=None, tenant="vision"):
    (option,) = understand(manifest, specs, config or fleet(), tenant).options
    return [(each.name, each.flavor, each.count, dict(each.requests)) for each in option.groups]


def cpu_group(count, name="workers"):
    return (name, "cpu", count, CPU_POD)


MISMATCHES = [
    ("replicas clamped up", ray_job(group(replicas=0, minReplicas=8)), [HEAD, cpu_group(8), SUBMITTER]),
    ("replicas clamped down", ray_job(group(replicas=10, maxReplicas=2)), [HEAD, cpu_group(2), SUBMITTER]),
    ("replicas unset are none", ray_job(group(replicas=None)), [HEAD, cpu_group(0), SUBMITTER]),
    ("hosts multiply", ray_job(group(replicas=2, numOfHosts=4)), [HEAD, cpu_group(8), SUBMITTER]),
    (
        "autoscaler sidecar and bound",
        ray_job(group(replicas=1, maxReplicas=3, numOfHosts=2), cluster={"enableInTreeAutoscaling": True}),
        [("head", "cpu", 1, {"cpu": 2500, "memory": 4 * GI + 512 * MI}), cpu_group(6), SUBMITTER],
    ),
    (
        "autoscaler sidecar of another size",
        ray_job(
            cluster={
                "enableInTreeAutoscaling": True,
                "autoscalerOptions": {
                    "resources": {"limits": {"cpu": 1}, "requests": {"cpu": "100m", "memory": "1Gi"}}
                },
            }
        ),
        [("head", "cpu", 1, {"cpu": 2100, "memory": 5 * GI}), SUBMITTER],
    ),
    (
        "submitter in the head",
        ray_job(submissionMode="SidecarMode"),
        [("head", "cpu", 1, {"cpu": 2500, "memory": 4 * GI + 200 * MI})],
    ),
    ("no submitter by HTTP", ray_job(submissionMode="HTTPMode"), [HEAD]),
    ("no submitter when interactive", ray_job(submissionMode="InteractiveMode", entrypoint=""), [HEAD]),
    (
        "own submitter",
        ray_job(submitterPodTemplate=template(container(limits={"cpu": 1}))),
        [HEAD, ("submitter", "cpu", 1, {"cpu": 1000})],
    ),
    ("own submitter that asks for nothing", ray_job(submitterPodTemplate=template(container())), [HEAD, SUBMITTER]),
    (
        "job that cleans up Redis",
        ray_job(cluster={"gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}}),
        [HEAD, SUBMITTER, ("redis-cleanup", "cpu", 1, {"cpu": 200, "memory": 256 * MI})],
    ),
    (
        "init container that waits for the head",
        ray_job(group(limits={"cpu": "100m"})),
        [HEAD, ("workers", "cpu", 1, {"cpu": 200, "memory": 256 * MI}), SUBMITTER],
    ),
    ("no submitter quota hole by names", ray_job(group("GPU")), [HEAD, cpu_group(1, "GPU"), SUBMITTER]),
    (
        "GPU on the head",
        ray_job(head=head_group(GPUS)),
        [("head", "h100", 1, GPU_POD), SUBMITTER],
    ),
    (
        "head on the CPU flavor, workers on the accelerator's",
        ray_job(group(replicas=2, limits=GPUS)),
        [HEAD, ("workers", "h100", 2, GPU_POD), SUBMITTER],
    ),
    (
        "TPU slice",
        ray_job(group(replicas=2, numOfHosts=4, limits={"cpu": 4, "memory": "8Gi", TPU: 4})),
        [HEAD, ("workers", "v5e", 8, {"cpu": 4000, "memory": 8 * GI, TPU: 4}), SUBMITTER],
    ),
    (
        "two kinds of accelerators",
        ray_job(group("gpu", limits=GPUS), group("tpu", limits={"cpu": 4, "memory": "8Gi", TPU: 4}), group("cpu")),
        [
            HEAD,
            ("gpu", "h100", 1, GPU_POD),
            ("tpu", "v5e", 1, {"cpu": 4000, "memory": 8 * GI, TPU: 4}),
            cpu_group(1, "cpu"),
            SUBMITTER,
        ],
    ),
]


@pytest.mark.parametrize(("manifest", "expected"), [row[1:] for row in MISMATCHES], ids=[row[0] for row in MISMATCHES])
def test_the_charge_is_what_runs(manifest, expected):
    assert groups(manifest) == expected


def test_the_demand_is_the_sum_by_row():
    (option,) = understand(ray_job(group(replicas=2, limits=GPUS)), None, fleet(), "vision").options
    assert option.flavor == "h100"
    assert option.demand == {
        ("cpu", "cpu"): 2500,
        ("cpu", "memory"): 4 * GI + 200 * MI,
        ("h100", "cpu"): 8000,
        ("h100", "memory"): 16 * GI,
        ("h100", GPU): 8,
    }
    assert largest_row(option) == (("h100", GPU), 8)


def test_a_group_without_pods_is_charged_nothing():
    (option,) = understand(ray_job(group(replicas=0, limits=GPUS)), None, fleet(), "vision").options
    assert option.flavor == "cpu"
    assert set(option.demand) == {("cpu", "cpu"), ("cpu", "memory")}


def test_the_first_flavor_that_the_tenant_may_use_is_taken():
    manifest = ray_job(group(limits=GPUS))
    assert groups(manifest, tenant="nlp")[1][1] == "a100"
    assert understand(manifest, None, fleet(), "nlp").warnings == ()


def test_of_several_flavors_the_first_is_taken_and_the_others_are_told():
    assert understand(ray_job(group(limits=GPUS)), None, fleet(), "vision").warnings == (
        "workers: h100, a100 offer nvidia.com/gpu; h100 was taken. Add `options` to allow the others",
    )


def test_a_node_selector_picks_the_flavor():
    manifest = ray_job(
        group(template=template(container(limits=GPUS), nodeSelector={"accelerator": "a100", "zone": "b"}))
    )
    understood = understand(manifest, None, fleet(), "vision")
    assert understood.options[0].flavor == "a100"
    assert understood.warnings == ()


def test_a_selector_key_of_another_flavor_does_not_stick():
    config = fleet(
        x86=Flavor("x86", node_labels={"x": "1"}, default_for_cpu_pods=True),
        arm=Flavor("arm", node_labels={"y": "2"}),
        cpu=None,
    )
    manifest = ray_job(group(template=template(container(limits={"cpu": 1}), nodeSelector={"y": "2"})))
    assert [(name, flavor) for name, flavor, *_ in groups(manifest, config=config)] == [
        ("head", "x86"),
        ("workers", "arm"),
        ("submitter", "x86"),
    ]


def test_each_group_goes_to_the_flavor_that_it_selects():
    def selecting(name, label):
        return group(name, template=template(container(limits=GPUS), nodeSelector={"accelerator": label}))

    understood = understand(ray_job(selecting("old", "a100"), selecting("new", "h100")), None, fleet(), "vision")
    assert understood.options[0].flavor == "a100"
    assert [each.flavor for each in understood.options[0].groups] == ["cpu", "a100", "h100", "cpu"]


def test_speed_is_the_options_or_the_workloads_or_one():
    manifest = ray_job(group(limits=GPUS))
    specs = [{"flavor": "a100"}, {"flavor": "a100", "speed": "1/3"}]
    speeds = [[o.speed for o in understand(manifest, specs, fleet(), "vision", w).options] for w in ("finetune", None)]
    assert speeds == [[Fraction(9, 20), Fraction(1, 3)], [Fraction(1), Fraction(1, 3)]]


def test_gpu_to_tpu():
    manifest = ray_job(group(replicas=2, minReplicas=2, maxReplicas=2, limits=GPUS))
    to_tpu = {"replicas": 1, "num_of_hosts": 4, "resources": {"cpu": 8, TPU: 4}}
    understood = understand(manifest, [{"flavor": "h100"}, {"flavor": "v5e", "groups": {"workers": to_tpu}}], fleet())
    first, second = understood.options
    assert first.demand["h100", GPU] == 8
    assert [(g.name, g.flavor, g.count, dict(g.requests)) for g in second.groups] == [
        HEAD,
        ("workers", "v5e", 4, {"cpu": 8000, "memory": 8 * GI, TPU: 4}),
        SUBMITTER,
    ]
    assert ("h100", GPU) not in second.demand
    assert second.demand["v5e", TPU] == 16


def test_an_option_moves_work_between_groups_that_have_no_pods_elsewhere():
    manifest = ray_job(group("gpu", replicas=2, limits=GPUS), group("tpu", replicas=0, limits={"cpu": 1, TPU: 4}))
    specs = [{"flavor": "h100"}, {"flavor": "v5e", "groups": {"gpu": {"replicas": 0}, "tpu": {"replicas": 4}}}]
    first, second = understand(manifest, specs, fleet(), "vision").options
    assert (first.demand.get(("h100", GPU)), first.demand.get(("v5e", TPU))) == (8, None)
    assert (second.demand.get(("h100", GPU)), second.demand.get(("v5e", TPU))) == (None, 16)


def test_head_and_submitter_go_where_the_option_says():
    specs = [{"flavor": "h100", "groups": {"head": {"flavor": "h100"}, "submitter": {"flavor": "h100"}}}]
    assert [flavor for _, flavor, *_ in groups(ray_job(group(limits=GPUS)), specs)] == ["h100", "h100", "h100"]


def test_workers_without_accelerator_follow_a_cpu_option():
    config = fleet(highmem=Flavor("highmem"))
    assert [flavor for _, flavor, *_ in groups(ray_job(group()), [{"flavor": "highmem"}], config)] == [
        "cpu",
        "highmem",
        "cpu",
    ]


def test_a_flavor_may_have_more_than_it_offers_if_it_is_declared():
    manifest = ray_job(group(limits={**GPUS, "rdma/ib": 1}))
    with pytest.raises(ManifestError, match="no flavor offers rdma/ib"):
        understand(manifest, None, fleet(), "vision")
    config = fleet(h100=Flavor("h100", resource=GPU, capacity={GPU: 8, "rdma/ib": 8}))
    assert groups(manifest, config=config)[1] == ("workers", "h100", 1, {**GPU_POD, "rdma/ib": 1})


LIMITS_AT = "spec.rayClusterSpec.workerGroupSpecs[0].template.spec.containers[0].resources.limits"

WRONG = [
    ("unknown flavor", [{"flavor": "h10"}], GPUS, "options[0].flavor", "no flavor 'h10'", "did you mean h100?"),
    (
        "unknown flavor of a group",
        [{"flavor": "h100", "groups": {"head": {"flavor": "gpu"}}}],
        GPUS,
        "options[0].groups.head.flavor",
        "no flavor 'gpu'",
        "did you mean cpu?",
    ),
    (
        "unknown group",
        [{"flavor": "h100", "groups": {"worker": {"replicas": 1}}}],
        GPUS,
        "options[0].groups.worker",
        "the manifest has no such pod group",
        "did you mean workers?",
    ),
    (
        "nobody offers it",
        None,
        {"nvidia.com/gpus": 1},
        f"{LIMITS_AT}[nvidia.com/gpus]",
        "no flavor offers nvidia.com/gpus",
        "did you mean nvidia.com/gpu?",
    ),
    (
        "left from another accelerator",
        [{"flavor": "v5e"}],
        GPUS,
        "options[0].groups.workers.resources",
        "workers asks for nvidia.com/gpu, but flavor v5e offers google.com/tpu",
        "say here what it asks for on v5e, or charge it to h100 or a100",
    ),
    (
        "an accelerator on a CPU flavor",
        [{"flavor": "cpu"}],
        GPUS,
        "options[0].groups.workers.resources",
        "workers asks for nvidia.com/gpu, but flavor cpu offers no accelerator",
        "say here what it asks for on cpu, or charge it to h100 or a100",
    ),
    (
        "nothing runs on the flavor",
        [{"flavor": "h100"}],
        {"cpu": 1},
        "options[0].flavor",
        "no pod of this option would run on h100",
        "ask for nvidia.com/gpu in a worker group",
    ),
    (
        "ephemeral storage",
        None,
        {"cpu": 1, "ephemeral-storage": "1Gi"},
        f"{LIMITS_AT}[ephemeral-storage]",
        "ephemeral-storage can not be charged on flavor cpu: no tenant has quota of it there",
        "remove it, or ask the admins to declare quota of it",
    ),
    (
        "start parameters of an option",
        [{"flavor": "h100", "groups": {"workers": {"ray_start_params": {"num-gpus": "8"}}}}],
        GPUS,
        "options[0].groups.workers.rayStartParams[num-gpus]",
        "tells Ray of 8 GPU, but each pod asks for 4: the rest would not be charged",
        "ask for them in the limits of the Ray container, or lower it",
    ),
]


@pytest.mark.parametrize(
    ("specs", "limits", "field", "message", "remedy"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG]
)
def test_an_option_that_can_not_be_charged_is_refused_by_field(specs, limits, field, message, remedy):
    with pytest.raises(ManifestError) as error:
        understand(ray_job(group(limits=limits)), specs, fleet(), "vision")
    (finding,) = error.value.findings
    assert (finding.field, finding.message, finding.remedy) == (field, message, remedy)


def test_a_head_that_asks_for_nothing_is_refused():
    with pytest.raises(ManifestError, match=r"head asks for nothing, so it could not be charged"):
        understand(ray_job(head=head_group({})), None, fleet(), "vision")


def test_a_workload_class_must_exist():
    with pytest.raises(ManifestError, match="did you mean finetune"):
        understand(ray_job(group(limits=GPUS)), None, fleet(), "vision", "finetunes")


def test_no_flavor_for_cpu_pods():
    with pytest.raises(ManifestError, match="no flavor is the default for them"):
        understand(ray_job(group(limits=GPUS)), None, fleet(cpu=None), "vision")
    with pytest.raises(ManifestError, match="no flavor is the default for them"):
        understand(ray_job(), None, fleet(cpu=None), "vision")


def test_a_tenant_that_may_use_no_flavor_of_the_kind_is_told_so():
    config = fleet()
    config = type(config)(config.flavors, {"t": Tenant("t", allowed_flavors=frozenset({"cpu"}))})
    with pytest.raises(ManifestError, match=r"may use none of the flavors that offer nvidia\.com/gpu \(h100, a100\)"):
        understand(ray_job(group(limits=GPUS)), None, config, "t")
    assert understand(ray_job(group(limits=GPUS)), [{"flavor": "h100"}], config, "t").warnings == (
        "options[0]: the tenant may not use flavor h100, so this option is never taken",
    )


def test_a_selector_for_nodes_of_no_flavor_is_refused():
    manifest = ray_job(group(template=template(container(limits=GPUS), nodeSelector={"accelerator": "t4"})))
    with pytest.raises(ManifestError, match="selects other nodes than those of h100, a100"):
        understand(manifest, None, fleet(), "vision")


def test_declared_ephemeral_storage_is_charged():
    config = fleet()
    tenants = {"t": Tenant("t", quota={("cpu", "ephemeral-storage"): Quota(10 * GI)})}
    manifest = ray_job(group(limits={"cpu": 4, "memory": "8Gi", "ephemeral-storage": "1Gi"}))
    assert groups(manifest, config=type(config)(config.flavors, tenants), tenant="t")[1][3]["ephemeral-storage"] == GI


def test_an_entrypoint_that_reserves_what_no_node_has_is_told():
    manifest = ray_job(group(limits=GPUS), entrypointNumGpus=1)
    specs = [{"flavor": "h100"}, {"flavor": "v5e", "groups": {"workers": {"resources": {TPU: 4}}}}]
    assert understand(manifest, specs, fleet(), "vision").warnings == (
        "options[1]: no Ray node has all that the entrypoint reserves (1 GPU), so it would never start",
    )


def test_a_thousand_gpus_are_no_error_here():
    manifest = ray_job(group(replicas=125, limits={"cpu": 4, "memory": "8Gi", GPU: 8}))
    (option,) = understand(manifest, [{"flavor": "h100"}], fleet(), "vision").options
    assert largest_row(option) == (("h100", GPU), 1000)


def test_more_pods_than_can_be_are_refused():
    with pytest.raises(ManifestError, match="pods are more than can be"):
        understand(ray_job(group(replicas=2**20, numOfHosts=2**20)), None, fleet(), "vision")


def test_amounts_saturate():
    manifest = ray_job(group("a", limits={"memory": 2**62}), group("b", limits={"memory": 2**62}))
    (option,) = understand(manifest, None, fleet(), "vision").options
    assert option.demand["cpu", "memory"] == 2**63 - 1
