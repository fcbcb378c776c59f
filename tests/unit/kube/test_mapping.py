"""What a configuration becomes in a cluster, and what of it can not."""

from collections.abc import Sequence
from typing import Any, Final

import pytest
from fairgate_scheduler.adapters.kube import names
from fairgate_scheduler.adapters.kube.api import Manifest
from fairgate_scheduler.adapters.kube.mapping import Site, check_mapping, remarks_on_mapping, wanted_objects
from fairgate_scheduler.adapters.kube.mapping.quantities import TOP, is_same_quantity, quantity
from fairgate_scheduler.core.amounts import UNLIMITED, parse_quantity
from fairgate_scheduler.core.config_checks import check_config
from fairgate_scheduler.core.tenancy import Config, Flavor, Quota, Tenant
from fairgate_scheduler.documents.config_file import read_config

GPU: Final = "nvidia.com/gpu"
CONFIG: Final = """
version: 1
flavors:
  h100: {resource: nvidia.com/gpu, node_labels: {gpu: h100}}
  a100: {resource: nvidia.com/gpu, node_labels: {gpu: a100}}
  v5e: {resource: google.com/tpu, node_labels: {tpu: v5e, topology: 2x4}, kueue_flavor: theirs}
  cpu: {default_for_cpu_pods: true}
tenants:
  - {id: org, quota: {cpu: {cpu: {nominal: 10500m}}, v5e: {google.com/tpu: {nominal: UNLIMITED}}}}
  - {id: lab, parent: org, quota: {h100: {nvidia.com/gpu: {nominal: 2, lending_limit: 1}}}}
  - {id: vision, parent: lab, quota: {h100: {nvidia.com/gpu: {nominal: 16, borrowing_limit: 8, lending_limit: 4}}}}
  - {id: nlp, parent: lab, namespace: words, quota: {h100: {nvidia.com/gpu: {nominal: 1000}}}}
  - {id: solo, quota: {a100: {nvidia.com/gpu: {nominal: 3}}}}
priorities: {batch: 0, urgent: 100}
"""


def rendered(text: str = CONFIG) -> dict[tuple[str, str, str], Manifest]:
    config = read_config(text, checks=(check_config, check_mapping))
    return {
        (each.key.kind.kind, each.key.namespace, each.key.name): each.manifest
        for each in wanted_objects(config, Site())
    }


def rows(manifest: Manifest) -> dict[tuple[str, str], dict[str, str]]:
    """What a queue says of each row, without the rows of which there is nothing."""
    (group,) = manifest["spec"]["resourceGroups"]
    out: dict[tuple[str, str], dict[str, str]] = {}
    for flavor in group["flavors"]:
        assert [each["name"] for each in flavor["resources"]] == group["coveredResources"]
        for each in flavor["resources"]:
            said = {key: text for key, text in each.items() if key != "name"}
            if said != {"nominalQuota": "0"}:
                out[flavor["name"], each["name"]] = said
    return out


def test_the_tree_becomes_cohorts_and_cluster_queues() -> None:
    made = rendered()
    assert made["Cohort", "", "org"]["spec"].get("parentName") is None
    assert made["Cohort", "", "lab"]["spec"]["parentName"] == "org"
    assert made["ClusterQueue", "", "vision"]["spec"]["cohortName"] == "lab"
    assert "cohortName" not in made["ClusterQueue", "", "solo"]["spec"], "a root that is a leaf has no Cohort"
    selector = {"matchLabels": {"kubernetes.io/metadata.name": "words"}}
    assert made["ClusterQueue", "", "nlp"]["spec"]["namespaceSelector"] == selector


def test_quotas_are_taken_over_and_what_nobody_declares_is_without_limit_at_the_root() -> None:
    made = rendered()
    assert rows(made["ClusterQueue", "", "vision"]) == {
        ("h100", GPU): {"nominalQuota": "16", "borrowingLimit": "8", "lendingLimit": "4"}
    }
    assert rows(made["ClusterQueue", "", "nlp"]) == {("h100", GPU): {"nominalQuota": "1k"}}
    assert rows(made["Cohort", "", "lab"]) == {("h100", GPU): {"nominalQuota": "2", "lendingLimit": "1"}}
    assert rows(made["Cohort", "", "org"]) == {
        ("cpu", "cpu"): {"nominalQuota": "10500m"},
        ("cpu", "memory"): {"nominalQuota": "1E"},
        ("a100", "cpu"): {"nominalQuota": "1P"},
        ("a100", "memory"): {"nominalQuota": "1E"},
        ("a100", GPU): {"nominalQuota": "1E"},
        ("h100", "cpu"): {"nominalQuota": "1P"},
        ("h100", "memory"): {"nominalQuota": "1E"},
        ("theirs", "cpu"): {"nominalQuota": "1P"},
        ("theirs", "memory"): {"nominalQuota": "1E"},
        ("theirs", "google.com/tpu"): {"nominalQuota": "1E"},
    }
    assert rows(made["ClusterQueue", "", "solo"])["a100", GPU] == {"nominalQuota": "3"}
    assert rows(made["ClusterQueue", "", "solo"])["h100", GPU] == {"nominalQuota": "1E"}


def test_flavors_with_fewer_labels_come_first_so_that_a_pod_finds_its_own() -> None:
    (group,) = rendered()["ClusterQueue", "", "vision"]["spec"]["resourceGroups"]
    assert [each["name"] for each in group["flavors"]] == ["cpu", "a100", "h100", "theirs"]
    assert group["coveredResources"] == ["cpu", "memory", "google.com/tpu", GPU]


def test_unlimited_quotas_of_many_tenants_add_up_to_no_more_than_kueue_can_count() -> None:
    row = ("h100", GPU)
    tenants = [Tenant("o"), *(Tenant(f"t{number}", "o", quota={row: Quota(UNLIMITED)}) for number in range(3))]
    config = Config({"h100": Flavor("h100", resource=GPU)}, {each.id: each for each in tenants})
    made = [each.manifest for each in wanted_objects(config, Site()) if each.key.name.startswith("t")]
    nominal = [rows(each)[row]["nominalQuota"] for each in made if each["kind"] == "ClusterQueue"]
    assert nominal == ["333333333333333333"] * 3


def test_no_queue_evicts_and_none_is_named_default() -> None:
    made = rendered()
    queues = [each for key, each in made.items() if key[0] == "ClusterQueue"]
    assert len(queues) == 4
    for each in queues:
        assert each["spec"]["preemption"] == {
            "reclaimWithinCohort": "Never",
            "borrowWithinCohort": {"policy": "Never"},
            "withinClusterQueue": "Never",
        }
    local = {key[1:] for key in made if key[0] == "LocalQueue"}
    assert local == {(space, name) for space in ("vision", "words", "solo") for name in ("fairgate", "inbox")}
    held = made["ClusterQueue", "", names.HELD_CLUSTER_QUEUE]["spec"]
    assert held["stopPolicy"] == "Hold"
    assert "resourceGroups" not in held


def test_a_namespace_may_have_the_accelerators_that_its_tenant_could_ever_use() -> None:
    made = rendered()

    def hard(namespace: str) -> Any:
        return made["ResourceQuota", namespace, "fairgate-accelerators"]["spec"]["hard"]

    # vision: 12 of its own that it keeps, and of what its Cohort sees (4 + 1000 + 2) no more than its own and 8.
    # Nobody declares a100 in its tree, and the TPU of org are unlimited: neither is limited here.
    assert ("ResourceQuota", "vision", "fairgate-accelerators") not in made, "a100 is not limited"
    only_h100 = CONFIG.replace("  a100: {resource: nvidia.com/gpu, node_labels: {gpu: a100}}\n", "")
    only_h100 = only_h100.replace("  - {id: solo, quota: {a100: {nvidia.com/gpu: {nominal: 3}}}}\n", "")
    made = rendered(only_h100)
    assert hard("vision") == {"requests.nvidia.com/gpu": "24"}
    assert hard("words") == {"requests.nvidia.com/gpu": "1006"}
    none = only_h100.replace("borrowing_limit: 8", "borrowing_limit: 0").replace("nominal: 16", "nominal: 0")
    made = rendered(none.replace("lending_limit: 4", "lending_limit: 0"))
    assert hard("vision") == {"requests.nvidia.com/gpu": "0"}, "a tenant without any has none"


def test_only_its_own_pods_and_the_system_reach_a_tenants_pods() -> None:
    spec = rendered()["NetworkPolicy", "words", "fairgate-tenant"]["spec"]
    assert spec["policyTypes"] == ["Ingress"]
    own, system = spec["ingress"][0]["from"]
    assert own == {"podSelector": {}}
    (among,) = system["namespaceSelector"]["matchExpressions"]
    assert among["values"] == ["fairgate-system", "kuberay-system", "ray-system"]


@pytest.mark.parametrize(
    ("amount", "resource", "text"),
    [
        (0, "cpu", "0"),
        (1500, "cpu", "1500m"),
        (2_000_000, "cpu", "2k"),
        (16 << 30, "memory", "16Gi"),
        (8 * 10**9, "memory", "8G"),
        (1025, "memory", "1025"),
        (1000, GPU, "1k"),
        (1024, GPU, "1024"),
        (TOP, "memory", "1E"),
        (TOP, "cpu", "1P"),
    ],
)
def test_quantities_are_exact_and_in_the_form_that_a_server_keeps(amount: int, resource: str, text: str) -> None:
    assert quantity(amount, resource) == text
    assert parse_quantity(text, resource) == amount


def test_quantities_are_compared_by_what_they_are() -> None:
    assert is_same_quantity("1k", "1000")
    assert is_same_quantity("1500m", "1.5")
    assert not is_same_quantity("1", "1m")
    assert not is_same_quantity("1", None)


WRONG: Final[list[tuple[str, str, str]]] = [
    (
        "id: nlp, parent: lab, namespace: words",
        "id: nlp, parent: lab, namespace: vision",
        "tenants.nlp.namespace: the namespace 'vision' belongs to 'vision' already",
    ),
    (
        "namespace: words",
        "namespace: kube-system",
        "tenants.nlp.namespace: the namespace 'kube-system' is not a tenant's",
    ),
    (
        "id: solo",
        "id: fairgate-inbox",
        "tenants.fairgate-inbox.id: 'fairgate-inbox' is the ClusterQueue behind all inboxes",
    ),
    (
        "kueue_flavor: theirs",
        "kueue_flavor: h100",
        "flavors.v5e.kueue_flavor: 'h100' has the ResourceFlavor 'h100' already",
    ),
    (
        "node_labels: {gpu: a100}",
        "node_labels: {gpu: h100}",
        "flavors.a100.node_labels: the same nodes as 'h100': gpu=h100",
    ),
    (
        "cpu: {default_for_cpu_pods: true}",
        "cpu: {tolerations: [{operator: Equal, value: x}]}",
        "flavors.cpu.tolerations: a toleration without a key",
    ),
    (
        "cpu: {default_for_cpu_pods: true}",
        "cpu: {tolerations: [{key: a, operator: Exists, tolerationSeconds: 3}]}",
        "flavors.cpu.tolerations: tolerationSeconds without effect: NoExecute",
    ),
    (
        "cpu: {default_for_cpu_pods: true}",
        "cpu: {node_labels: {a: b, c: d, e: f, g: h, i: j, k: l, m: n, o: p, q: r}}",
        "flavors.cpu.node_labels: 9 labels; a ResourceFlavor has 8 at most",
    ),
    (
        "batch: 0",
        "Not_A_Name: 0",
        "priorities.Not_A_Name: 'Not_A_Name' can not be the name of a WorkloadPriorityClass",
    ),
    (
        "nominal: 1000",
        "nominal: 2000000000000000000",
        "tenants.nlp.quota.h100.nvidia.com/gpu: with this the tree of 'org' owns more than Kueue can count",
    ),
]


@pytest.mark.parametrize(("before", "after", "message"), WRONG)
def test_what_can_not_be_said_to_a_cluster_is_told(before: str, after: str, message: str) -> None:
    assert before in CONFIG
    config = read_config(CONFIG.replace(before, after))
    assert told(config) == [message]


def told(config: Config) -> Sequence[str]:
    faults = check_mapping(config)
    assert all(each.remedy for each in faults)
    return [f"{'.'.join(each.where)}: {each.message}" for each in faults]


def test_more_flavors_than_kueue_has_room_for_are_told() -> None:
    flavors = {f"f{number}": Flavor(f"f{number}", node_labels={"f": str(number)}) for number in range(65)}
    assert [each.message for each in check_mapping(Config(flavors))] == ["65 flavors; Kueue has room for 64"]
    many = {
        name: Flavor(name, resource=f"example.com/{name}", node_labels=each.node_labels)
        for name, each in list(flavors.items())[:22]
    }
    messages = [each.message for each in check_mapping(Config(many))]
    assert messages == ["528 pairs of flavor and resource; Kueue has room for 512"]
    (remark,) = remarks_on_mapping(Config(many))
    assert remark.startswith("flavors: 22 are more than the 16 that the status of a LocalQueue has room for")
