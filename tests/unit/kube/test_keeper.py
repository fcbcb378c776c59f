"""The keeper on an API server's twin: makes, sets back, leaves others alone, prunes what is empty, and rests."""

from collections.abc import Mapping
from typing import Any, Final

import pytest
from fairgate_scheduler.adapters.kube import names
from fairgate_scheduler.adapters.kube.api import Kind, Manifest, NotFoundError
from fairgate_scheduler.adapters.kube.api.kinds import (
    CLUSTER_QUEUE,
    COHORT,
    EVENT,
    LOCAL_QUEUE,
    NAMESPACE,
    NETWORK_POLICY,
    RAY_JOB,
    RESOURCE_FLAVOR,
    RESOURCE_QUOTA,
    WORKLOAD_PRIORITY_CLASS,
)
from fairgate_scheduler.adapters.kube.keeping import Estate, Keeper, Kept
from fairgate_scheduler.adapters.kube.mapping import Overruns, Site, Wishes, wanted_objects
from fairgate_scheduler.adapters.kube.reports import Reports
from fairgate_scheduler.core.tenancy import Config
from fairgate_scheduler.documents.config_file import read_config
from fairgate_scheduler.testing.fake_api import FakeApi
from fairgate_scheduler.testing.sim_clock import SimClock

CONFIG: Final = """
version: 1
flavors:
  h100: {resource: nvidia.com/gpu, node_labels: {gpu: h100}, tolerations: [{key: nvidia.com/gpu, operator: Exists}]}
  cpu: {default_for_cpu_pods: true}
tenants:
  - {id: org}
  - {id: vision, parent: org, quota: {h100: {nvidia.com/gpu: {nominal: 16, borrowing_limit: 8, lending_limit: 4}}}}
  - {id: nlp, parent: org, namespace: words, quota: {h100: {nvidia.com/gpu: {nominal: 1000}}}}
priorities: {batch: 0}
"""
_READS: Final = ("list", "watch")


class Cluster:
    """A twin, what is seen of it, and a keeper."""

    def __init__(self, config: str = CONFIG) -> None:
        self.clock = SimClock()
        self.api = FakeApi(self.clock)
        self.people = self.api.acting_as("kubectl")
        self.people.create(NAMESPACE, {"metadata": {"name": "default"}})
        self.api.calls.clear()
        self.config: Config = read_config(config)
        self.restart()

    def restart(self) -> None:
        self.estate = Estate(self.api, self.clock, watch_s=0)
        self.reports = Reports(self.api, self.clock)
        self.keeper = Keeper(self.api, self.estate, self.reports, self.clock)

    def keep(self, overruns: Overruns | None = None) -> Kept:
        self.estate.step()
        return self.keeper.keep(wanted_objects(self.config, Site(), overruns or {}))

    def settle(self) -> list[str]:
        """Keep until nothing is left to do; what was done."""
        done: list[str] = []
        for _ in range(5):
            kept = self.keep()
            done += kept.done
            if kept.is_settled:
                return done
        raise AssertionError(f"it does not come to rest: {done}")

    def writes(self) -> list[tuple[str, str, str, str]]:
        return [call for call in self.api.calls if call[0] not in _READS and call[1] != "events"]

    def events(self) -> list[tuple[str, str, str]]:
        items = self.api.list(EVENT).items
        return [(each["involvedObject"]["name"], each["reason"], each["message"]) for each in items]

    def there(self, kind: Kind, name: str, namespace: str = "") -> bool:
        try:
            self.api.get(kind, name, namespace)
        except NotFoundError:
            return False
        return True


@pytest.fixture
def cluster() -> Cluster:
    made = Cluster()
    made.settle()
    return made


def test_everything_is_made_in_order_and_a_second_pass_calls_nothing() -> None:
    cluster = Cluster()
    assert cluster.settle() == [
        "+ ResourceFlavor h100",
        "+ ResourceFlavor cpu",
        "+ WorkloadPriorityClass batch",
        "+ Cohort org",
        "+ ClusterQueue fairgate-inbox",
        "+ ClusterQueue vision",
        "+ ClusterQueue nlp",
        "+ Namespace vision",
        "+ ResourceQuota vision/fairgate-accelerators",
        "+ NetworkPolicy vision/fairgate-tenant",
        "+ LocalQueue vision/fairgate",
        "+ LocalQueue vision/inbox",
        "+ Namespace words",
        "+ ResourceQuota words/fairgate-accelerators",
        "+ NetworkPolicy words/fairgate-tenant",
        "+ LocalQueue words/fairgate",
        "+ LocalQueue words/inbox",
    ]
    labels = cluster.api.get(NAMESPACE, "words")["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "baseline"
    assert labels[names.TENANT] == "nlp"
    cluster.api.calls.clear()
    kept = cluster.keep()
    assert (kept.done, kept.problems, kept.is_settled) == ([], [], True)
    assert cluster.writes() == []
    cluster.restart()
    cluster.keep()
    assert cluster.writes() == [], "also after a restart"


def test_what_no_watch_has_shown_yet_is_not_written_twice() -> None:
    cluster = Cluster()
    cluster.estate.step()
    wanted = wanted_objects(cluster.config, Site())
    assert len(cluster.keeper.keep(wanted).done) == 17
    assert cluster.keeper.keep(wanted).done == []


def test_what_is_wanted_is_made_anew_only_when_something_has_changed() -> None:
    config, wishes = read_config(CONFIG), Wishes(Site())
    first = wishes.of(config, {})
    assert wishes.of(config, {}) is first
    lifted = wishes.of(config, {("org", ("h100", "nvidia.com/gpu")): 1})
    assert [each.key.name for each in lifted if each not in first] == ["org", "fairgate-accelerators"]
    assert wishes.of(read_config(CONFIG.replace("1000", "999")), {}) != first


def test_nothing_is_done_before_all_was_seen() -> None:
    cluster = Cluster()
    kept = cluster.keeper.keep(wanted_objects(cluster.config, Site()))
    assert not kept.is_settled
    assert kept.problems
    assert cluster.writes() == []


def test_a_namespace_that_exists_is_only_labelled() -> None:
    cluster = Cluster()
    cluster.people.create(NAMESPACE, {"metadata": {"name": "vision", "labels": {"owner": "them"}}})
    cluster.settle()
    labels = cluster.api.get(NAMESPACE, "vision")["metadata"]["labels"]
    assert labels["owner"] == "them"
    assert labels[names.TENANT] == "vision"
    assert "pod-security.kubernetes.io/enforce" not in labels


DRIFT: Final[list[tuple[Kind, str, str, dict[str, Any]]]] = [
    (CLUSTER_QUEUE, "vision", "", {"spec": {"stopPolicy": "HoldAndDrain"}}),
    (CLUSTER_QUEUE, "vision", "", {"spec": {"admissionChecksStrategy": {"admissionChecks": [{"name": "x"}]}}}),
    (CLUSTER_QUEUE, "vision", "", {"spec": {"preemption": {"reclaimWithinCohort": "Any"}}}),
    (CLUSTER_QUEUE, "vision", "", {"spec": {"resourceGroups": []}}),
    (CLUSTER_QUEUE, "vision", "", {"spec": {"namespaceSelector": {"matchLabels": None}}}),
    (CLUSTER_QUEUE, "vision", "", {"metadata": {"labels": {names.MANAGED: None}}}),
    (CLUSTER_QUEUE, "vision", "", {"metadata": {"labels": {names.MANAGED: "Helm", names.TENANT: None}}}),
    (CLUSTER_QUEUE, "fairgate-inbox", "", {"spec": {"stopPolicy": "None"}}),
    (COHORT, "org", "", {"spec": {"parentName": "theirs"}}),
    (RESOURCE_FLAVOR, "h100", "", {"spec": {"nodeTaints": [{"key": "x", "effect": "NoSchedule"}]}}),
    (RESOURCE_FLAVOR, "cpu", "", {"spec": {"nodeLabels": {"gpu": "h100"}}}),
    (WORKLOAD_PRIORITY_CLASS, "batch", "", {"value": 7}),
    (LOCAL_QUEUE, "inbox", "vision", {"spec": {"stopPolicy": "Hold"}}),
    (RESOURCE_QUOTA, "fairgate-accelerators", "vision", {"spec": {"hard": {"requests.nvidia.com/gpu": "99"}}}),
    (RESOURCE_QUOTA, "fairgate-accelerators", "vision", {"spec": {"hard": {"pods": "0"}}}),
    (NETWORK_POLICY, "fairgate-tenant", "vision", {"spec": {"ingress": [{}]}}),
    (NETWORK_POLICY, "fairgate-tenant", "vision", {"spec": {"egress": [{}]}}),
    (NAMESPACE, "vision", "", {"metadata": {"labels": {names.TENANT: "nlp"}}}),
]


@pytest.mark.parametrize(("kind", "name", "namespace", "patch"), DRIFT)
def test_drift_is_set_back_and_told(
    cluster: Cluster, kind: Kind, name: str, namespace: str, patch: Mapping[str, Any]
) -> None:
    before = cluster.api.get(kind, name, namespace)
    cluster.people.patch(kind, name, patch, namespace)
    cluster.settle()
    after = cluster.api.get(kind, name, namespace)
    assert content(after) == content(before)
    assert [event[:2] for event in cluster.events()] == [(name, "DriftCorrected")]
    assert cluster.keeper.counts["corrected"] == 1
    cluster.api.calls.clear()
    cluster.keep()
    assert cluster.writes() == []


def content(manifest: Manifest) -> dict[str, Any]:
    """What an object says; an empty map says nothing."""
    spec = {key: value for key, value in manifest.get("spec", {}).items() if value != {}}
    return {"labels": manifest["metadata"].get("labels"), "spec": spec, "value": manifest.get("value")}


def test_the_same_quantity_written_otherwise_is_no_drift(cluster: Cluster) -> None:
    queue = cluster.api.get(CLUSTER_QUEUE, "nlp")
    groups = queue["spec"]["resourceGroups"]
    gpus = groups[0]["flavors"][1]["resources"][2]
    assert gpus == {"name": "nvidia.com/gpu", "nominalQuota": "1k"}
    gpus["nominalQuota"] = "1000"
    cluster.people.patch(CLUSTER_QUEUE, "nlp", {"spec": {"resourceGroups": groups}})
    cluster.api.calls.clear()
    assert cluster.keep().done == []
    assert cluster.writes() == []


def test_what_was_deleted_by_hand_is_made_again_and_told(cluster: Cluster) -> None:
    cluster.people.delete(LOCAL_QUEUE, "inbox", "vision")
    assert cluster.settle() == ["+ LocalQueue vision/inbox"]
    assert cluster.events() == [("inbox", "DriftCorrected", "it was deleted, and is there again")]


def test_a_field_that_the_server_fills_in_itself_is_let_be(cluster: Cluster) -> None:
    def fill_in(kind: Kind, _before: Manifest | None, after: dict[str, Any]) -> None:
        if kind == CLUSTER_QUEUE:
            after["spec"].setdefault("quotaCheckStrategy", "BlockUndeclared")

    cluster.api.admission.append(fill_in)
    cluster.people.patch(CLUSTER_QUEUE, "vision", {"metadata": {"labels": {"touched": "yes"}}})
    cluster.settle()
    cluster.api.calls.clear()
    cluster.settle()
    assert cluster.writes() == []
    assert cluster.events() == []


def test_a_changed_configuration_is_written_without_a_word_and_takes_back_its_fields(cluster: Cluster) -> None:
    cluster.config = read_config(CONFIG.replace(", tolerations: [{key: nvidia.com/gpu, operator: Exists}]", ""))
    assert cluster.settle() == ["~ ResourceFlavor h100: metadata.annotations.fairgate.internal/applied"]
    assert cluster.api.get(RESOURCE_FLAVOR, "h100")["spec"] == {"nodeLabels": {"gpu": "h100"}}
    assert cluster.events() == []


FOREIGN: Final[list[tuple[Kind, dict[str, Any]]]] = [
    (RESOURCE_FLAVOR, {"metadata": {"name": "h100"}, "spec": {"nodeLabels": {"gpu": "h100"}}}),
    (COHORT, {"metadata": {"name": "org"}, "spec": {}}),
    (CLUSTER_QUEUE, {"metadata": {"name": "vision"}, "spec": {}}),
    (WORKLOAD_PRIORITY_CLASS, {"metadata": {"name": "batch"}, "value": 5}),
]


@pytest.mark.parametrize(("kind", "manifest"), FOREIGN)
def test_objects_of_others_are_told_of_and_never_touched(kind: Kind, manifest: dict[str, Any]) -> None:
    cluster = Cluster()
    before = cluster.people.create(kind, manifest)
    name = manifest["metadata"]["name"]
    kept = cluster.keep()
    assert [text.partition(": ")[0] for text in kept.problems] == [f"! {kind.kind} {name}"]
    assert len(kept.done) == 16, "all others are made"
    assert cluster.api.get(kind, name) == before
    assert [event[:2] for event in cluster.events()] == [(name, "NotKept")]
    cluster.config = read_config("version: 1")
    cluster.settle()
    assert cluster.api.get(kind, name) == before


def test_an_existing_flavor_is_adopted_by_name() -> None:
    cluster = Cluster(CONFIG.replace("h100: {resource", "h100: {kueue_flavor: theirs, resource"))
    taint = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
    spec = {"nodeLabels": {"gpu": "h100"}, "nodeTaints": [taint]}
    before = cluster.people.create(RESOURCE_FLAVOR, {"metadata": {"name": "theirs"}, "spec": spec})
    assert cluster.keep().problems == []
    assert cluster.api.get(RESOURCE_FLAVOR, "theirs") == before
    assert not cluster.there(RESOURCE_FLAVOR, "h100")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"nodeLabels": {"gpu": "a100"}}, "its nodeLabels are gpu=a100, and node_labels says gpu=h100: write the same"),
        (
            {"nodeLabels": {"gpu": "h100"}, "nodeTaints": [{"key": "x", "value": "y", "effect": "NoSchedule"}]},
            "nothing tolerates its taint x=y: add it to tolerations",
        ),
        (
            {"nodeLabels": {"gpu": "h100"}, "topologyName": "t"},
            "it has a topologyName: Kueue may then keep jobs waiting that have quota",
        ),
    ],
)
def test_a_flavor_that_can_not_be_adopted_is_told(spec: dict[str, Any], message: str) -> None:
    cluster = Cluster(CONFIG.replace("h100: {resource", "h100: {kueue_flavor: theirs, resource"))
    cluster.people.create(RESOURCE_FLAVOR, {"metadata": {"name": "theirs"}, "spec": spec})
    assert cluster.keep().problems == [f"! ResourceFlavor theirs: {message}"]


WITHOUT_NLP: Final = "\n".join(line for line in CONFIG.splitlines() if "nlp" not in line)


def test_a_tenants_objects_go_when_it_is_empty_and_its_namespace_stays(cluster: Cluster) -> None:
    cluster.config = read_config(WITHOUT_NLP)
    cluster.people.create(RAY_JOB, {"metadata": {"name": "old", "namespace": "words"}, "spec": {}})
    cluster.api.patch(CLUSTER_QUEUE, "nlp", {"status": {"reservingWorkloads": 1}}, subresource="status")
    assert [text.partition(":")[0] for text in cluster.settle()] == ["~ ResourceQuota vision/fairgate-accelerators"], (
        "there is less to borrow"
    )
    kept = cluster.keep()
    assert kept.done == []
    assert kept.problems == [
        "! LocalQueue words/fairgate: wanted no longer, but still used by RayJobs in its namespace",
        "! LocalQueue words/inbox: wanted no longer, but still used by RayJobs in its namespace",
        "! ResourceQuota words/fairgate-accelerators: wanted no longer, but still used by RayJobs in its namespace",
        "! NetworkPolicy words/fairgate-tenant: wanted no longer, but still used by RayJobs in its namespace",
        "! ClusterQueue nlp: wanted no longer, but still used by workloads",
    ]
    cluster.people.delete(RAY_JOB, "old", "words")
    assert cluster.settle() == [
        "- LocalQueue words/fairgate",
        "- LocalQueue words/inbox",
        "- ResourceQuota words/fairgate-accelerators",
        "- NetworkPolicy words/fairgate-tenant",
        "~ Namespace words: without the label of a tenant",
    ]
    assert cluster.there(CLUSTER_QUEUE, "nlp")
    cluster.api.patch(CLUSTER_QUEUE, "nlp", {"status": {"reservingWorkloads": 0}}, subresource="status")
    assert cluster.settle() == ["- ClusterQueue nlp"]
    labels = cluster.api.get(NAMESPACE, "words")["metadata"]["labels"]
    assert labels == {"kubernetes.io/metadata.name": "words", "pod-security.kubernetes.io/enforce": "baseline"}
    assert cluster.events() == []


def test_all_of_it_goes_children_before_parents(cluster: Cluster) -> None:
    cluster.config = read_config("version: 1")
    done = cluster.settle()
    assert done.index("- ClusterQueue vision") < done.index("- Cohort org") < done.index("- ResourceFlavor h100")
    assert cluster.there(CLUSTER_QUEUE, "fairgate-inbox"), "the held queue is no tenant's"
    assert not cluster.there(RESOURCE_FLAVOR, "h100")


def test_a_label_of_a_tenant_that_somebody_else_wrote_is_told_once(cluster: Cluster) -> None:
    cluster.people.create(NAMESPACE, {"metadata": {"name": "sly", "labels": {names.TENANT: "vision"}}})
    cluster.settle()
    cluster.api.calls.clear()
    cluster.settle()
    assert cluster.writes() == []
    message = f"labelled {names.TENANT}=vision by somebody else; the configuration has no tenant there"
    assert cluster.events() == [("sly", "NotKept", message)]


def test_a_namespace_that_changes_hands_keeps_its_queue_until_it_is_empty(cluster: Cluster) -> None:
    cluster.config = read_config(CONFIG.replace("id: nlp", "id: speech"))
    cluster.people.create(RAY_JOB, {"metadata": {"name": "old", "namespace": "words"}, "spec": {}})
    kept = cluster.keep()
    message = "it leads to ClusterQueue nlp until it is no longer used by RayJobs in its namespace"
    assert f"! LocalQueue words/fairgate: {message}" in kept.problems
    assert cluster.there(CLUSTER_QUEUE, "nlp")
    cluster.people.delete(RAY_JOB, "old", "words")
    cluster.settle()
    assert cluster.api.get(LOCAL_QUEUE, "fairgate", "words")["spec"]["clusterQueue"] == "speech"
    assert not cluster.there(CLUSTER_QUEUE, "nlp")


def test_what_a_cut_left_lifts_the_bound_until_it_has_ended(cluster: Cluster) -> None:
    row = ("h100", "nvidia.com/gpu")
    lifted = {("org", row): 3, ("vision", row): 2}
    assert sorted(text.partition(":")[0] for text in cluster.keep(lifted).done) == [
        "~ ClusterQueue vision",
        "~ Cohort org",
        "~ ResourceQuota vision/fairgate-accelerators",
        "~ ResourceQuota words/fairgate-accelerators",
    ]
    assert cluster.events() == []
    group = cluster.api.get(CLUSTER_QUEUE, "vision")["spec"]["resourceGroups"][0]
    assert group["flavors"][1]["resources"][2] == {
        "name": "nvidia.com/gpu",
        "nominalQuota": "16",
        "borrowingLimit": "10",
        "lendingLimit": "4",
    }
    assert len(cluster.settle()) == 4


def test_a_refusal_of_one_object_does_not_keep_the_others_from_being_made() -> None:
    cluster = Cluster()

    def refuse(kind: Kind, _before: Manifest | None, after: dict[str, Any]) -> None:
        if kind == COHORT:
            raise NotFoundError("no such kind")

    cluster.api.admission.append(refuse)
    kept = cluster.keep()
    assert kept.problems == ["! Cohort org: no such kind"]
    assert len(kept.done) == 16
