"""What one pod asks for, by Kubernetes' rule."""

import pytest
from fairgate_scheduler.core.amounts import UNLIMITED
from fairgate_scheduler.core.manifests.pods import find_resource, pod_requests
from fairgate_scheduler.testing.rayjobs import GPU, TPU, container, template

MI = 2**20


def requests_of(pod):
    findings = []
    requests = pod_requests(pod, "t", findings)
    assert findings == []
    return requests


def findings_of(pod):
    findings = []
    pod_requests(pod, "t", findings)
    return [(finding.field, finding.message) for finding in findings]


def asking(requests, limits=None, **fields):
    resources = {"requests": requests} | ({"limits": limits} if limits else {})
    return {"name": "c", "resources": resources, **fields}


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(template(asking({"cpu": "500m"}), asking({"cpu": 1})), {"cpu": 1500}, id="containers add up"),
        pytest.param(template(container(limits={"cpu": 2})), {"cpu": 2000}, id="a limit is a request"),
        pytest.param(
            template(asking({"cpu": 1}, {"cpu": 4, "memory": "1Ki"})), {"cpu": 1000, "memory": 1024}, id="mixed"
        ),
        pytest.param(template(asking({"cpu": 0, "memory": 1}, {GPU: "0"})), {"memory": 1}, id="zero is nothing"),
        pytest.param(template(asking({"cpu": "1n"})), {"cpu": 1}, id="a finer cpu is rounded up"),
        pytest.param(template(asking({"memory": "0.1"})), {"memory": 1}, id="a finer byte is rounded up"),
        pytest.param(template(*[asking({"memory": "300m"})] * 2), {"memory": 2}, id="rounded container by container"),
        pytest.param(template(asking({"memory": "1e3"})), {"memory": 1000}, id="exponent"),
        pytest.param(
            template(asking({"cpu": 1}), initContainers=[asking({"cpu": 3}), asking({"cpu": 2})]),
            {"cpu": 3000},
            id="init containers run one by one",
        ),
        pytest.param(
            template(asking({"cpu": 1, "memory": 5}), initContainers=[asking({"cpu": 3, "memory": 1})]),
            {"cpu": 3000, "memory": 5},
            id="the larger, resource by resource",
        ),
        pytest.param(
            template(
                asking({"cpu": 1}), initContainers=[asking({"cpu": 2}, restartPolicy="Always"), asking({"cpu": 2})]
            ),
            {"cpu": 4000},
            id="a restartable one runs on beside the next",
        ),
        pytest.param(
            template(
                asking({"cpu": 3}), initContainers=[asking({"cpu": 2}, restartPolicy="Always"), asking({"cpu": 2})]
            ),
            {"cpu": 5000},
            id="and beside the containers",
        ),
        pytest.param(
            template(
                asking({"cpu": 1}), initContainers=[asking({"cpu": 4}), asking({"cpu": 1}, restartPolicy="Always")]
            ),
            {"cpu": 4000},
            id="but not beside those before it",
        ),
        pytest.param(template(asking({"cpu": 1}), overhead={"cpu": "250m"}), {"cpu": 1250}, id="overhead"),
        pytest.param(
            template(asking({"cpu": 1}, {GPU: 2}), resources={"requests": {"cpu": 3, "memory": "1Mi"}}),
            {"cpu": 3000, "memory": MI, GPU: 2},
            id="pod-level requests replace",
        ),
        pytest.param(
            template(asking({"cpu": 1}), resources={"limits": {"cpu": 3, "memory": "1Mi"}}),
            {"cpu": 1000, "memory": MI},
            id="a pod-level limit counts where no container asks",
        ),
        pytest.param(template(), {}, id="nothing"),
        pytest.param({}, {}, id="no pod"),
    ],
)
def test_requests_of_one_pod(pod, expected):
    assert requests_of(pod) == expected


AT = "t.spec.containers[0].resources"


@pytest.mark.parametrize(
    ("pod", "field", "message"),
    [
        (template(asking({"cpu": "-100"})), f"{AT}.requests.cpu", "-100 is negative"),
        (template(asking({}, {GPU: -1})), f"{AT}.limits[{GPU}]", "-1 is negative"),
        (template(asking({}), overhead={GPU: -1}), f"t.spec.overhead[{GPU}]", "-1 is negative"),
        (
            template(asking({}, {GPU: "500m"})),
            f"{AT}.limits[{GPU}]",
            "'500m' is a fraction of a nvidia.com/gpu device",
        ),
        (template(asking({"cpu": "1 core"})), f"{AT}.requests.cpu", "'1 core' is not a Kubernetes quantity"),
        (template(asking({"cpu": True})), f"{AT}.requests.cpu", "True is not a Kubernetes quantity"),
        (template(asking({"cpu": 2}, {"cpu": 1})), f"{AT}.requests.cpu", "asks for more than its limit"),
        (template(asking({GPU: 1})), f"{AT}.requests[{GPU}]", "Kubernetes wants a limit too for this resource"),
        (
            template(asking({TPU: 1}, {TPU: 4})),
            f"{AT}.requests[{TPU}]",
            "request and limit of this resource must be the same",
        ),
        (template(asking({"gpu": 1})), f"{AT}.requests.gpu", "is not a resource of Kubernetes"),
        (
            template({"name": "c", "resources": {"claims": [{"name": "gpu"}]}}),
            f"{AT}.claims",
            "devices that are claimed (DRA) can not be charged",
        ),
        (
            template(asking({"cpu": 1}), resourceClaims=[{"name": "gpu"}]),
            "t.spec.resourceClaims",
            "devices that are claimed (DRA) can not be charged",
        ),
        (
            template(asking({"cpu": 2}), resources={"requests": {"cpu": 1}}),
            "t.spec.resources",
            "the pod's cpu is less than that of its containers together",
        ),
        (
            template(*[asking({"memory": 2**62})] * 2),
            "t.spec",
            "asks for more memory than can be counted",
        ),
        (
            template(asking({}), initContainers=[asking({"cpu": "x"})]),
            "t.spec.initContainers[0].resources.requests.cpu",
            "'x' is not a Kubernetes quantity",
        ),
    ],
)
def test_what_can_not_be_charged_is_found_by_field(pod, field, message):
    assert findings_of(pod) == [(field, message)]


def test_a_remedy_is_told_for_a_resource_by_half_its_name():
    findings = []
    pod_requests(template(asking({"nvidia-gpu": 1})), "t", findings)
    assert findings[0].remedy == f"did you mean {GPU}?"


def test_sums_saturate_and_never_wrap():
    findings = []
    pod = template(*[asking({"cpu": 2**63})] * 3)
    assert pod_requests(pod, "t", findings) == {"cpu": UNLIMITED}


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (template(asking({"cpu": 1}), asking({}, {GPU: 1})), f"t.spec.containers[1].resources.limits[{GPU}]"),
        (
            template(asking({}), initContainers=[asking({GPU: 1})]),
            f"t.spec.initContainers[0].resources.requests[{GPU}]",
        ),
        (template(asking({}), overhead={GPU: 1}), f"t.spec.overhead[{GPU}]"),
        (template(asking({})), "t.spec"),
    ],
)
def test_find_resource_names_the_field_that_asks(pod, expected):
    assert find_resource(pod, "t", GPU) == expected
