"""What in a cluster would break us, on an API server's twin."""

from dataclasses import dataclass, field
from typing import Any, Final

import pytest
from fairgate_scheduler.adapters.kube.api import Kind, Manifest
from fairgate_scheduler.adapters.kube.api.kinds import (
    ADMISSION_POLICY,
    CLUSTER_QUEUE,
    COHORT,
    CONFIG_MAP,
    CRD,
    DEPLOYMENT,
    LOCAL_QUEUE,
    NAMESPACE,
    NODE,
    RESOURCE_QUOTA,
    SUBJECT_ACCESS_REVIEW,
)
from fairgate_scheduler.adapters.kube.inspection import inspect
from fairgate_scheduler.adapters.kube.inspection.operators import settings
from fairgate_scheduler.adapters.kube.mapping import Site
from fairgate_scheduler.documents.config_file import read_config
from fairgate_scheduler.testing.fake_api import FakeApi

CONFIG: Final = read_config(
    """
version: 1
flavors: {h100: {resource: nvidia.com/gpu, node_labels: {gpu: h100}}, cpu: {default_for_cpu_pods: true}}
tenants:
  - {id: org, roles: {submitter: [group:all]}}
  - {id: vision, parent: org, quota: {h100: {nvidia.com/gpu: {nominal: 1}}}}
"""
)
KUEUE_FILE: Final = "controller_manager_config.yaml"


@dataclass
class Judge(FakeApi):
    """A twin that also says who may do what: our own account everything, others what ``allowed`` holds."""

    allowed: set[tuple[str, str, str]] = field(default_factory=set)

    def create(self, kind: Kind, manifest: Manifest) -> Manifest:
        if kind != SUBJECT_ACCESS_REVIEW:
            return super().create(kind, manifest)
        spec = manifest["spec"]
        who, asked = spec.get("user") or spec["groups"][0], spec["resourceAttributes"]
        is_us = who == Site().user and asked["resource"] != "nodes"
        return {"status": {"allowed": is_us or (who, asked["verb"], asked["resource"]) in self.allowed}}


def add(api: FakeApi, kind: Kind, name: str, namespace: str = "", **body: Any) -> None:
    labels = body.pop("labels", {})
    metadata = {"name": name, "labels": labels, **({"namespace": namespace} if namespace else {})}
    api.acting_as("them").create(kind, {"metadata": metadata, **body})


def deployment(image: str) -> dict[str, Any]:
    return {"template": {"spec": {"containers": [{"name": "manager", "image": image}]}}}


@pytest.fixture
def api() -> Judge:
    """A cluster in which all is well, but for one right that our account lacks."""
    made = Judge()
    for namespace in ("kueue-system", "kuberay-system"):
        add(made, NAMESPACE, namespace)
    add(made, NAMESPACE, "vision", labels={"pod-security.kubernetes.io/enforce": "baseline"})
    for name, version in (("clusterqueues.kueue.x-k8s.io", "v1beta2"), ("rayjobs.ray.io", "v1")):
        add(made, CRD, name, spec={"versions": [{"name": version, "served": True}]})
    kueue = deployment("registry.k8s.io/kueue/kueue:v0.17.3")
    add(made, DEPLOYMENT, "kueue-controller-manager", "kueue-system", spec=kueue)
    add(made, DEPLOYMENT, "kuberay-operator", "kuberay-system", spec=deployment("quay.io/kuberay/operator:v1.5.1"))
    add(made, CONFIG_MAP, "kueue-manager-config", "kueue-system", data={KUEUE_FILE: "integrations: {}"})
    for policy in ("fairgate-attempts", "fairgate-queues"):
        add(made, ADMISSION_POLICY, policy)
    add(made, NODE, "n1", labels={"gpu": "h100"}, status={"allocatable": {"nvidia.com/gpu": "8"}})
    add(made, NODE, "n2", status={"allocatable": {"cpu": "8"}})
    return made


NO_POLICY: Final = "is not there: anybody who may make pods can use the launch queue and write Kueue's objects"
MISSING_RIGHT: Final = "error: ServiceAccount fairgate-system/fairgate-scheduler: may not get, list, watch nodes"


def found(api: FakeApi) -> list[str]:
    return [f"{each.severity.value}: {each.where}: {each.message}" for each in inspect(api, CONFIG, Site())]


def test_a_cluster_in_which_all_is_well(api: Judge) -> None:
    assert found(api) == [MISSING_RIGHT]


def test_an_empty_cluster_says_what_to_install() -> None:
    api = Judge()
    assert [text for text in found(api) if text.startswith("error")] == [
        "error: Kueue: is not installed: there is no clusterqueues.kueue.x-k8s.io",
        "error: KubeRay: is not installed: there is no rayjobs.ray.io",
        f"error: ValidatingAdmissionPolicy fairgate-attempts: {NO_POLICY}",
        f"error: ValidatingAdmissionPolicy fairgate-queues: {NO_POLICY}",
        MISSING_RIGHT,
        "error: flavors.cpu: has no nodes: what is charged to it waits",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("waitForPodsReady: {enable: true}", "waitForPodsReady is on"),
        ("waitForPodsReady: {timeout: 5m}", "waitForPodsReady is on"),
        ("integrations: {frameworks: [batch/job]}", "integrations.frameworks lacks ray.io/rayjob"),
        ("manageJobsWithoutQueueName: true", "manageJobsWithoutQueueName is on"),
        ("resources: {excludeResourcePrefixes: [nvidia.com/]}", "resources are left out or changed"),
        ("resources: {quotaCheckStrategy: IgnoreUndeclared}", "quotaCheckStrategy lets in resources"),
        ("][", "can not be read"),
    ],
)
def test_settings_of_kueue_that_do_not_go_together_with_us(text: str, message: str) -> None:
    (finding,) = settings(text)
    assert finding.message.startswith(message)
    assert finding.remedy


def test_settings_of_kueue_that_do() -> None:
    text = "waitForPodsReady: {enable: false}\nintegrations: {frameworks: [batch/job, ray.io/rayjob]}\n"
    assert list(settings(text)) == []


QUEUES: Final[list[tuple[Kind, str, str, dict[str, Any], str]]] = [
    (LOCAL_QUEUE, "default", "vision", {}, "error: LocalQueue vision/default: takes in every job"),
    (LOCAL_QUEUE, "fairgate", "vision", {}, "error: LocalQueue vision/fairgate: has the name of one of ours"),
    (LOCAL_QUEUE, "own", "vision", {}, "warning: LocalQueue vision/own: jobs in it do not count"),
    (CLUSTER_QUEUE, "vision", "", {}, "error: ClusterQueue vision: has the name of one of ours"),
    (CLUSTER_QUEUE, "x", "", {"cohortName": "org"}, "error: ClusterQueue x: is in the Cohort org"),
    (CLUSTER_QUEUE, "x", "", {"namespaceSelector": {}}, "warning: ClusterQueue x: is open to namespaces of tenants"),
    (COHORT, "org", "", {}, "error: Cohort org: has the name of one of ours"),
    (COHORT, "x", "", {"parentName": "org"}, "error: Cohort x: is below one of ours"),
    (
        RESOURCE_QUOTA,
        "q",
        "vision",
        {"hard": {"requests.nvidia.com/gpu": "1"}},
        "warning: ResourceQuota vision/q: limits nvidia.com/gpu, too",
    ),
    (RESOURCE_QUOTA, "q", "vision", {"hard": {"pods": "1"}}, "warning: ResourceQuota vision/q: limits pods"),
]


@pytest.mark.parametrize(("kind", "name", "namespace", "spec", "message"), QUEUES)
def test_what_others_have_in_our_way(
    api: Judge, kind: Kind, name: str, namespace: str, spec: dict[str, Any], message: str
) -> None:
    add(api, kind, name, namespace, spec=spec)
    (told,) = [text for text in found(api) if text != MISSING_RIGHT]
    assert told.startswith(message)


def test_a_selector_that_takes_in_no_tenant_is_no_matter(api: Judge) -> None:
    expression = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["vision"]}
    add(api, CLUSTER_QUEUE, "x", spec={"namespaceSelector": {"matchExpressions": [expression]}})
    add(api, CLUSTER_QUEUE, "y", spec={"namespaceSelector": {"matchLabels": {"team": "y"}}})
    add(api, CLUSTER_QUEUE, "z")
    assert found(api) == [MISSING_RIGHT]


def test_what_tenants_may_do_and_must_not(api: Judge) -> None:
    api.allowed = {
        ("all", "create", "rayclusters"),
        ("all", "patch", "workloads"),
        ("system:serviceaccount:vision:default", "create", "localqueues"),
        ("all", "create", "rayjobs"),
    }
    assert [text for text in found(api) if text != MISSING_RIGHT] == [
        "error: group:all: may patch workloads, patch workloads/status, create rayclusters in namespace vision",
        "error: serviceaccount:vision/default: may create localqueues in namespace vision",
    ]


def test_versions(api: Judge) -> None:
    old = deployment("registry:5000/kueue:v0.16.1")
    api.patch(DEPLOYMENT, "kueue-controller-manager", {"spec": old}, "kueue-system")
    api.patch(DEPLOYMENT, "kuberay-operator", {"spec": deployment("operator:v1.4.2")}, "kuberay-system")
    assert found(api)[:2] == ["error: Kueue: version 0.16", "error: KubeRay: version 1.4"]
    api.patch(DEPLOYMENT, "kueue-controller-manager", {"spec": deployment("kueue:v0.20.0")}, "kueue-system")
    api.patch(DEPLOYMENT, "kuberay-operator", {"spec": deployment("operator:latest")}, "kuberay-system")
    unknown = "its version is not known: no Deployment of it with a version in its image"
    assert found(api)[1:] == ["warning: Kueue: version 0.20", f"warning: KubeRay: {unknown}"]


def test_nodes_of_no_flavor_and_flavors_without_nodes(api: Judge) -> None:
    api.delete(NODE, "n1")
    add(api, NODE, "n3", labels={"gpu": "a100"}, status={"allocatable": {"nvidia.com/gpu": "8"}})
    add(api, NODE, "n4", labels={"gpu": "a100"}, status={"allocatable": {"nvidia.com/gpu": "8"}})
    assert found(api)[1:] == [
        "warning: Nodes: 2 with nvidia.com/gpu, such as n3, are of no flavor that has it: nobody's jobs get it",
        "warning: flavors.h100: has no nodes: what is charged to it waits",
    ]


def test_a_namespace_that_lets_in_anything(api: Judge) -> None:
    api.patch(NAMESPACE, "vision", {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "privileged"}}})
    assert found(api)[1:] == [
        "warning: Namespace vision: of tenant vision lets in privileged pods: they can use any device"
    ]
