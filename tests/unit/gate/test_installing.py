"""What is rendered is complete, and what is checked finds what is open, each with a remedy."""

import subprocess
import sys
from datetime import UTC, datetime

import pytest
import yaml
from fairgate_admission.certificates.secret import Place, keep_keys
from fairgate_admission.installing.check import inspect_gate
from fairgate_admission.installing.manifests import Installation, manifests
from fairgate_admission.installing.names import WEBHOOKS
from fairgate_admission.installing.webhook import webhooks
from fairgate_admission.live.exceptions import EXPIRES, MARK
from fairgate_scheduler.adapters.kube.api import kinds
from fairgate_scheduler.adapters.kube.api.kinds import (
    ADMISSION_POLICY,
    CLUSTER_ROLE,
    NAMESPACE,
    SUBJECT_ACCESS_REVIEW,
    VALIDATING_WEBHOOKS,
    Kind,
)
from fairgate_scheduler.adapters.kube.inspection.findings import Severity
from fairgate_scheduler.testing.fake_api import FakeApi

SITE = Installation("example.com/fairgate:1", "state")
DAEMON_SET = Kind("apps", "v1", "DaemonSet", "daemonsets")
BUDGET = Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets")


IMPERSONATES = (
    "may impersonate users, make tokens of job-controller in kube-system, "
    "make tokens of kuberay-operator in kuberay-system"
)


def of_kind(objects, kind):
    return [each for each in objects if each["kind"] == kind]


def test_the_webhook_fails_closed_and_keeps_nothing_from_ending():
    [webhook] = webhooks("fairgate-system")["webhooks"]
    assert (webhook["failurePolicy"], webhook["timeoutSeconds"], webhook["sideEffects"]) == ("Fail", 3, "None")
    assert (webhook["matchPolicy"], webhook["objectSelector"]) == ("Equivalent", {})
    for rule in webhook["rules"]:
        assert set(rule["operations"]) <= {"CREATE", "UPDATE"}
        assert not any(each in ("*/*", "leases", "nodes", "events") or "status" in each for each in rule["resources"])
        assert rule["scope"] == "Namespaced"
    by_tenant, not_system = webhook["namespaceSelector"]["matchExpressions"]
    assert by_tenant == {"key": "fairgate.internal/tenant-id", "operator": "Exists"}
    assert (not_system["key"], not_system["operator"]) == ("kubernetes.io/metadata.name", "NotIn")
    assert {"kube-system", "kueue-system", "kuberay-system", "fairgate-system"} <= set(not_system["values"])


def test_an_installation_is_whole_and_its_webhook_comes_last():
    objects = list(manifests(SITE))
    assert objects[-1]["kind"] == "ValidatingWebhookConfiguration"
    assert [each["metadata"]["name"] for each in of_kind(objects, "Deployment")] == [
        "fairgate-gate",
        "fairgate-gate-sweeper",
    ]
    assert [each["spec"]["replicas"] for each in of_kind(objects, "Deployment")] == [3, 1]
    for kind in ("ServiceAccount", "Service", "PodDisruptionBudget", "ClusterRole", "ClusterRoleBinding", "Role"):
        assert len(of_kind(objects, kind)) == 1, kind
    policies = of_kind(objects, "ValidatingAdmissionPolicy")
    assert len(policies) == len(of_kind(objects, "ValidatingAdmissionPolicyBinding")) > 10


def test_the_gate_may_write_its_own_secret_and_webhook_and_nobody_elses():
    objects = list(manifests(SITE))
    [cluster_role], [role] = of_kind(objects, "ClusterRole"), of_kind(objects, "Role")
    writing = [
        (resource, sorted(set(rule["verbs"]) - {"get", "list"}), rule.get("resourceNames"))
        for rule in (*cluster_role["rules"], *role["rules"])
        for resource in rule["resources"]
        if set(rule["verbs"]) - {"get", "list"}
    ]
    assert writing == [
        ("pods", ["delete"], None),
        ("events", ["create"], None),
        ("subjectaccessreviews", ["create"], None),
        ("validatingwebhookconfigurations", ["patch"], ["fairgate-gate"]),
        ("secrets", ["patch"], ["fairgate-gate-tls"]),
        ("secrets", ["create"], None),
    ]


def test_with_cert_manager_the_files_and_the_bundle_are_its():
    objects = list(manifests(Installation("x", "state", issuer="ours", ends_in=("vision",))))
    [certificate] = of_kind(objects, "Certificate")
    assert certificate["spec"]["dnsNames"] == ["fairgate-gate.fairgate-system.svc"]
    assert objects[-1]["metadata"]["annotations"] == {"cert-manager.io/inject-ca-from": "fairgate-system/fairgate-gate"}
    gate, sweeper = (each["spec"]["template"]["spec"]["containers"][0] for each in of_kind(objects, "Deployment"))
    assert "--tls-folder=/etc/fairgate-gate" in gate["args"]
    assert sweeper["args"][-2:] == ["--sweep", "--end-in=vision"]


def test_the_command_prints_what_was_made():
    command = [
        sys.executable,
        "-m",
        "fairgate",
        "gate",
        "render",
        "--image",
        "example.com/fairgate:1",
        "--claim",
        "state",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert list(yaml.safe_load_all(done.stdout)) == list(manifests(SITE))


class Reviewing(FakeApi):
    """An API server that answers who may do what: everything that is in ``rights``."""

    rights: frozenset = frozenset()

    def create(self, kind, manifest):
        if kind is not SUBJECT_ACCESS_REVIEW:
            return super().create(kind, manifest)
        asked = manifest["spec"]["resourceAttributes"]
        what = "/".join(filter(None, (asked["resource"], asked.get("subresource"))))
        return {**manifest, "status": {"allowed": (manifest["spec"]["user"], asked["verb"], what) in self.rights}}


@pytest.fixture
def api():
    found = Reviewing()
    found.served |= {DAEMON_SET, BUDGET}
    found.create(NAMESPACE, {"metadata": {"name": "vision", "labels": {"fairgate.internal/tenant-id": "vision"}}})
    by_kind = {each.kind: each for each in (*vars(kinds).values(), BUDGET) if isinstance(each, Kind)}
    for each in manifests(SITE):
        found.create(by_kind[each["kind"]], each)
    keep_keys(found, Place("fairgate-system", "fairgate-gate-tls", WEBHOOKS, ("x",)), lambda: datetime.now(UTC))
    env = [{"name": "ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED", "value": "false"}]
    pods = {"template": {"spec": {"containers": [{"name": "c", "env": env}]}}}
    toolkit = {"name": "nvidia-container-toolkit-daemonset", "namespace": "vision"}
    found.create(DAEMON_SET, {"metadata": toolkit, "spec": pods})
    return found


def errors(api, *people):
    found = [each for each in inspect_gate(api, people) if each.where != "Kueue"]
    assert all(each.remedy for each in found)
    return [(each.where, each.message) for each in found if each.severity is Severity.ERROR]


def test_an_installation_as_it_is_rendered_is_closed(api):
    assert errors(api, "anna") == []


def test_rights_that_are_ways_round_are_found(api):
    account = "system:serviceaccount:vision:default"
    api.rights = frozenset(
        {("anna", "impersonate", "users"), (account, "patch", "pods/resize"), ("anna", "patch", "rayjobs/status")}
        | {("anna", "create", "serviceaccounts/token")}
    )
    assert errors(api, "anna") == [
        (account, "may patch pods/resize in namespace vision"),
        ("anna", "may patch rayjobs/status in namespace vision"),
        ("anna", IMPERSONATES),
    ]


def test_what_was_changed_or_is_missing_is_found(api):
    api.delete(ADMISSION_POLICY, "fairgate-devices-pods")
    policy = api.get(ADMISSION_POLICY, "fairgate-bindings")
    api.patch(ADMISSION_POLICY, "fairgate-bindings", {"spec": {**policy["spec"], "failurePolicy": "Ignore"}})
    hooks = [{**each, "failurePolicy": "Ignore"} for each in api.get(VALIDATING_WEBHOOKS, WEBHOOKS)["webhooks"]]
    api.patch(VALIDATING_WEBHOOKS, WEBHOOKS, {"webhooks": hooks})
    assert set(errors(api)) == {
        (f"ValidatingWebhookConfiguration {WEBHOOKS}", "failurePolicy is not what was rendered"),
        ("ValidatingAdmissionPolicy fairgate-devices-pods", "is not there"),
        ("ValidatingAdmissionPolicy fairgate-bindings", "is not what was rendered"),
    }
    api.delete(VALIDATING_WEBHOOKS, WEBHOOKS)
    assert errors(api)[0][1] == "is not there: only the policies in the API server hold"


def test_a_toolkit_that_obeys_images_is_found(api):
    pods = {"template": {"spec": {"containers": [{"name": "c", "env": []}]}}}
    api.patch(DAEMON_SET, "nvidia-container-toolkit-daemonset", {"spec": pods}, "vision")
    [(where, message)] = errors(api)
    assert (where, message) == (
        "DaemonSet vision/nvidia-container-toolkit-daemonset",
        "images can ask for devices by NVIDIA_VISIBLE_DEVICES",
    )


def test_exceptions_that_do_nothing_are_told(api):
    rule = {"apiGroups": ["fairgate.internal"], "resources": ["exemptions"], "verbs": ["use"]}
    metadata = {"name": "old", "labels": {MARK: ""}, "annotations": {EXPIRES: "2020-01-01"}}
    rule["resourceNames"] = ["FG-SEC-001.a", "FG-POD-001.b"]
    api.create(CLUSTER_ROLE, {"metadata": metadata, "rules": [rule]})
    told = [each.message for each in inspect_gate(api, ()) if each.where == "ClusterRole old"]
    assert told == ["the exception FG-SEC-001.a is over or has no end", "no exception can be made for FG-POD-001"]
