"""Queues of a cluster as a configuration: what is carried over, and what is said of the rest."""

from typing import Any, Final

import pytest
from fairgate_scheduler.adapters.kube.importing import Imported, import_queues
from fairgate_scheduler.adapters.kube.mapping import Site, check_mapping, wanted_objects
from fairgate_scheduler.core.config_checks import check_config
from fairgate_scheduler.core.tenancy import Config, Quota
from fairgate_scheduler.documents.config_file import read_config
from fairgate_scheduler.documents.render import render_config
from fairgate_scheduler.testing.random_tenants import random_config
from hypothesis import given, settings
from hypothesis import strategies as st

GPU: Final = "nvidia.com/gpu"


def thing(kind: str, name: str, spec: dict[str, Any] | None = None, namespace: str = "", **more: Any) -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"kind": kind, "metadata": metadata, "spec": spec or {}, **more}


def group(flavor: str, **resources: dict[str, str]) -> dict[str, Any]:
    full = {"gpu": GPU}
    listed = [{"name": full.get(name, name), **said} for name, said in resources.items()]
    return {"coveredResources": [each["name"] for each in listed], "flavors": [{"name": flavor, "resources": listed}]}


def queue(name: str, *groups: dict[str, Any], **spec: Any) -> dict[str, Any]:
    preemption = {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}
    return thing("ClusterQueue", name, {"preemption": preemption, "resourceGroups": list(groups), **spec})


FLAVORS: Final = [
    thing("ResourceFlavor", "h100.big", {"nodeLabels": {"gpu": "h100"}}),
    thing("ResourceFlavor", "plain"),
]


def test_queues_become_tenants_with_their_quotas_and_namespaces() -> None:
    got = import_queues(
        [
            *FLAVORS,
            thing("Cohort", "org", {"resourceGroups": [group("plain", cpu={"nominalQuota": "1500m"})]}),
            thing("Cohort", "lab", {"parentName": "org", "fairSharing": {"weight": "2"}}),
            queue("vision", group("h100.big", gpu={"nominalQuota": "16", "borrowingLimit": "8"}), cohortName="lab"),
            thing("LocalQueue", "fairgate", {"clusterQueue": "vision"}, "seeing"),
            thing("WorkloadPriorityClass", "urgent", value=100),
        ]
    )
    tenants = got.config.tenants
    assert {each.id: each.parent for each in tenants.values()} == {"org": None, "lab": "org", "vision": "lab"}
    assert tenants["org"].quota == {("plain", "cpu"): Quota(1500)}
    assert tenants["vision"].quota == {("h100-big", GPU): Quota(16, 8)}
    assert tenants["vision"].namespace == "seeing"
    assert tenants["vision"].allowed_flavors == {"h100-big"}, "Kueue lets it use what its queue lists"
    assert tenants["lab"].weight == 2
    flavor = got.config.flavors["h100-big"]
    assert (flavor.kueue_flavor, flavor.resource, flavor.node_labels) == ("h100.big", GPU, {"gpu": "h100"})
    assert got.config.flavors["plain"].default_for_cpu_pods
    assert got.config.priorities == {"urgent": 100}
    assert got.remarks == ("lab: weight 2 counts for all that it uses here, not only for what it borrows",)
    assert not check_config(got.config)
    assert read_config(render_config(got.config)) == got.config


SAID: Final[list[tuple[str, list[dict[str, Any]], str]]] = [
    (
        "several namespaces",
        [
            queue("a", group("plain", cpu={"nominalQuota": "1"})),
            thing("LocalQueue", "fairgate", {"clusterQueue": "a"}, "one"),
            thing("LocalQueue", "fairgate", {"clusterQueue": "a"}, "two"),
        ],
        "ClusterQueue a serves one, two: a gets one only",
    ),
    (
        "several queues in a namespace",
        [
            queue("a", group("plain", cpu={"nominalQuota": "1"})),
            queue("b", group("plain", cpu={"nominalQuota": "1"})),
            thing("LocalQueue", "fairgate", {"clusterQueue": "a"}, "one"),
            thing("LocalQueue", "fairgate", {"clusterQueue": "b"}, "one"),
        ],
        "namespace one has queues of a and b: one namespace is one tenant's; give b another one",
    ),
    (
        "no namespace",
        [queue("a", group("plain", cpu={"nominalQuota": "1"}))],
        "ClusterQueue a has no LocalQueue: the namespace of a will be a",
    ),
    (
        "a default queue",
        [queue("a"), thing("LocalQueue", "default", {"clusterQueue": "a"}, "one")],
        "LocalQueue one/default takes in all unlabelled jobs of its namespace: delete it",
    ),
    (
        "several groups",
        [queue("a", group("plain", cpu={"nominalQuota": "1"}), group("h100.big", gpu={"nominalQuota": "1"}))],
        "ClusterQueue a has 2 resource groups: here all resources of a pod are of one flavor",
    ),
    ("strict order", [queue("a", queueingStrategy="StrictFIFO")], "ClusterQueue a: StrictFIFO: here a job"),
    ("admission checks", [queue("a", admissionChecks=["x"])], "ClusterQueue a: admission checks are not carried over"),
    ("stopped", [queue("a", stopPolicy="Hold")], "ClusterQueue a: stopPolicy Hold is not carried over"),
    (
        "no reclaim",
        [queue("a", preemption={})],
        "all ClusterQueues say reclaimWithinCohort: Never; here it is done: write reclaim: false against it",
    ),
    (
        "different policies",
        [queue("a"), queue("b", preemption={"reclaimWithinCohort": "Never"})],
        "ClusterQueues differ in reclaimWithinCohort (Any, Never); reclaim is for all tenants",
    ),
    (
        "borrowing evicts",
        [queue("a", preemption={"reclaimWithinCohort": "Any", "borrowWithinCohort": {"policy": "LowerPriority"}})],
        "ClusterQueue a: borrowWithinCohort LowerPriority: here nobody is evicted for one who borrows",
    ),
    (
        "a Cohort lends more than it has",
        [
            thing("Cohort", "o"),
            thing(
                "Cohort",
                "c",
                {
                    "parentName": "o",
                    "resourceGroups": [group("plain", cpu={"nominalQuota": "1", "lendingLimit": "2"})],
                },
            ),
        ],
        "c: plain, cpu: lends more than its own quota; with us that is the most",
    ),
    (
        "one name twice",
        [thing("Cohort", "a"), queue("a", cohortName="a")],
        "Cohort a becomes tenant a-cohort: ids are unique DNS labels",
    ),
    (
        "a flavor that is not there",
        [queue("a", group("gone", gpu={"nominalQuota": "1"}))],
        "ResourceFlavor gone is used by queues and is not there: its labels are not known",
    ),
    (
        "taints",
        [thing("ResourceFlavor", "t", {"nodeTaints": [{"key": "x", "effect": "NoSchedule"}]})],
        "ResourceFlavor t: pods charged to it will tolerate its taint x",
    ),
    (
        "topology",
        [thing("ResourceFlavor", "t", {"topologyName": "racks"})],
        "ResourceFlavor t has a topologyName: where pods are put is not planned here",
    ),
]


@pytest.mark.parametrize(("objects", "remark"), [row[1:] for row in SAID], ids=[row[0] for row in SAID])
def test_what_is_otherwise_is_said(objects: list[dict[str, Any]], remark: str) -> None:
    got = import_queues([*FLAVORS, *objects])
    assert [each for each in got.remarks if each.startswith(remark)], got.remarks


def test_names_of_earlier_versions_of_the_api_are_read() -> None:
    got = import_queues([thing("Cohort", "lab", {"parent": "org"}), thing("ClusterQueue", "a", {"cohort": "lab"})])
    assert {each.id: each.parent for each in got.config.tenants.values()} == {"a": "lab", "lab": "org", "org": None}


def test_a_quota_that_nobody_has_is_said_at_the_root_and_a_huge_one_is_none() -> None:
    cpu = group("plain", cpu={"nominalQuota": "0"}, memory={"nominalQuota": "100P"})
    got = import_queues([*FLAVORS, queue("a", cpu, cohortName="o"), queue("b", cpu, cohortName="o")])
    assert got.config.tenants["o"].quota == {("plain", "cpu"): Quota(0)}
    assert got.config.tenants["a"].quota == {("plain", "memory"): Quota(2**63 - 1)}


def queues_of(config: Config) -> list[dict[str, Any]]:
    wanted = wanted_objects(config, Site())
    return [
        {"name": each.key.name, **each.manifest["spec"]}
        for each in wanted
        if each.key.kind.kind in ("ClusterQueue", "Cohort")
    ]


@given(st.randoms(use_true_random=False))
@settings(derandomize=True, max_examples=60, deadline=None, database=None)
def test_our_own_queues_come_back_as_they_were(random: Any) -> None:
    config = random_config(random)
    wanted = wanted_objects(config, Site())
    imported: Imported = import_queues([each.manifest for each in wanted])
    assert not check_config(imported.config)
    assert not check_mapping(imported.config)
    before, after = ({each["name"]: each for each in queues_of(one)} for one in (config, imported.config))
    for name, each in before.items():
        assert quotas(after[name]) == quotas(each), name


def quotas(spec: dict[str, Any]) -> dict[tuple[str, str], dict[str, str]]:
    return {
        (flavor["name"], each["name"]): {key: text for key, text in each.items() if key != "name"}
        for found in spec.get("resourceGroups", ())
        for flavor in found["flavors"]
        for each in flavor["resources"]
        if set(each.values()) - {each["name"], "0"} or "borrowingLimit" in each or "lendingLimit" in each
    }
