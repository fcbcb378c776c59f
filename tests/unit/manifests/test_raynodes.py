"""Ray's logical resources, as KubeRay derives them."""

from fractions import Fraction

import pytest
from fairgate_scheduler.core.manifests import ray_resources, understand
from fairgate_scheduler.core.manifests.raynodes import format_custom, node_resources, parse_custom
from fairgate_scheduler.testing.rayjobs import GPU, TPU, container, fleet, group, ray_job, template


def node(limits=None, requests=None, params=None, resources=None, more=()):
    amounts = {key: value for key, value in (("limits", limits), ("requests", requests)) if value}
    ray = {"name": "ray", "resources": amounts}
    return {"rayStartParams": params or {}, "resources": resources or {}, "template": template(ray, *more)}


@pytest.mark.parametrize(
    ("group_of", "expected"),
    [
        pytest.param(node({"cpu": 4, "memory": "8Gi"}), {"CPU": 4}, id="limits"),
        pytest.param(node({"cpu": 4}, {"cpu": 1}), {"CPU": 4}, id="the limit before the request"),
        pytest.param(node(None, {"cpu": "200m"}), {"CPU": 1}, id="else the request, rounded up"),
        pytest.param(node({"cpu": "1500m"}), {"CPU": 2}, id="rounded up"),
        pytest.param(node({"cpu": 4}, params={"num-cpus": "0"}), {}, id="the start parameter before all"),
        pytest.param(node({"cpu": 4}, params={"num-cpus": "9"}), {"CPU": 9}, id="also when it is more"),
        pytest.param(node({GPU: 2}), {"GPU": 2}, id="GPUs"),
        pytest.param(node({GPU: 2}, params={"num-gpus": "1"}), {"GPU": 1}, id="GPUs by start parameter"),
        pytest.param(node({"amd.com/gpu": 2}), {"GPU": 2}, id="any GPU"),
        pytest.param(node({"nvidia.com/mig-1g.5gb": 2}), {"GPU": 2}, id="a slice of a GPU"),
        pytest.param(node({TPU: 4}), {"TPU": 4}, id="TPUs"),
        pytest.param(node({"aws.amazon.com/neuroncore": 2}), {"neuron_cores": 2}, id="neuron cores"),
        pytest.param(
            node({TPU: 4}, params={"resources": '"{\\"TPU\\": 2}"'}), {"TPU": 2}, id="TPUs by start parameter"
        ),
        pytest.param(
            node({TPU: 4}, params={"resources": "'{\"disk\": 0.5}'"}), {"TPU": 4, "disk": Fraction(1, 2)}, id="custom"
        ),
        pytest.param(node({"rdma/ib": 1}), {}, id="what Ray does not know"),
        pytest.param(
            node({"cpu": 4}, resources={"CPU": "2", "GPU": "1", "disk": "500m"}),
            {"CPU": 2, "GPU": 1, "disk": Fraction(1, 2)},
            id="the group's own",
        ),
        pytest.param(
            node({"cpu": 1}, more=[container("side", {"cpu": 7, GPU: 1})]), {"CPU": 1}, id="the first container only"
        ),
        pytest.param({}, {}, id="nothing"),
    ],
)
def test_resources_of_one_node(group_of, expected):
    assert node_resources(group_of) == expected


def test_the_whole_cluster_counts_every_pod():
    gpus = {"cpu": "2500m", "memory": "8Gi", GPU: 4}
    manifest = ray_job(
        group("gpu", replicas=2, numOfHosts=2, limits=gpus, rayStartParams={"resources": '{"disk": 0.25}'}),
        group("none", replicas=0, limits={"cpu": 64}),
    )
    (option,) = understand(manifest, [{"flavor": "h100"}], fleet(), "vision").options
    assert ray_resources(manifest, option) == {"CPU": 2 + 4 * 3, "GPU": 16, "disk": 1}


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"a": "1"}', '{"a": -1}', '{"a": NaN}', '{"a": 1e999999999}', "[" * 9000, "1"]
)
def test_what_is_no_map_of_numbers(text):
    assert parse_custom(text) is None


def test_custom_resources_are_written_as_kuberay_writes_them():
    amounts = {"disk": Fraction(1, 4), "TPU": Fraction(4)}
    assert format_custom(amounts) == '\'{"TPU":4,"disk":0.25}\''
    assert parse_custom(format_custom(amounts)) == amounts
