"""The gate in front of a real API server: what it refuses, what goes on while it is away, and how it comes back."""

import base64
import copy
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from attacking import apply, attempt, cases, staged
from calling import MERGE_PATCH, Caller, Reply
from fairgate_admission.certificates.authority import new_authority
from fairgate_admission.certificates.rotation import next_keys
from fairgate_admission.facts.identities import KUBERAY, SCHEDULER
from fairgate_admission.installing.names import ACCOUNT, SECRET, WEBHOOKS
from fairgate_admission.live.exceptions import EXPIRES, MARK
from fairgate_scheduler.testing.rayjobs import GPU, group, ray_job
from gating import Installed, await_true, installed, pod
from rig.target import Target

ATTACKS: Final = Path(__file__).resolve().parents[2] / "admission" / "attacks"
USER: Final = "user-a"
HOOKS: Final = f"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{WEBHOOKS}"

pytestmark = [
    pytest.mark.cluster_full,
    pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning"),
]


@pytest.fixture(scope="module")
def gate(control_plane: Target, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    with installed(control_plane.kubeconfig, tmp_path_factory.mktemp("gate")) as found:
        yield found


@pytest.fixture(scope="module")
def cluster_of(gate: Installed) -> dict[str, Any]:
    """The RayCluster of the attempt: made for its RayJob, both through the gate."""
    made = gate.create(gate.rayjob, SCHEDULER)
    assert made.is_allowed, made.message
    metadata = {"name": "train-1-c", "namespace": gate.tenant, "ownerReferences": [owner("RayJob", made.body)]}
    head = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": metadata}
    made = gate.create({**head, "spec": made.body["spec"]["rayClusterSpec"]}, KUBERAY)
    assert made.is_allowed, made.message
    return dict(made.body)


def owner(kind: str, manifest: Any) -> dict[str, Any]:
    metadata = manifest["metadata"]
    reference = {"apiVersion": "ray.io/v1", "kind": kind, "name": metadata["name"], "uid": metadata["uid"]}
    return {**reference, "controller": True}


def worker(gate: Installed, cluster: dict[str, Any], name: str) -> dict[str, Any]:
    """As KubeRay makes it, but for the label by which it would take it for its own and end it."""
    template = cluster["spec"]["workerGroupSpecs"][0]["template"]
    labels = {**template["metadata"]["labels"], "ray.io/group": "gpu"}
    metadata = {"name": name, "namespace": gate.tenant, "labels": labels}
    metadata["ownerReferences"] = [owner("RayCluster", cluster)]
    spec = {**template["spec"], "nodeSelector": {"nowhere": "x"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


@pytest.mark.cluster
def test_a_pod_of_ones_own_gets_no_device_and_looks_as_it_must(gate: Installed) -> None:
    refused = gate.create(pod(gate.tenant, "mine", {GPU: 1}), USER)
    assert "FG-POD-001" in refused.rules, refused.message
    privileged = pod(gate.tenant, "mine", {"cpu": 1})
    privileged["spec"]["containers"][0]["securityContext"] = {"privileged": True}
    for is_dry_run in (False, True):
        refused = gate.create(privileged, USER, dry_run=is_dry_run)
        assert refused.rules == {"FG-SEC-001"}, "only the webhook has this rule"
        assert refused.status == 403
    said = [each for each in gate.gate.decisions() if each["rule"] == "FG-SEC-001"]
    assert [each["dryRun"] for each in said] == [False, True]
    assert {(each["principal"], each["tenant"], each["verb"], each["kind"]) for each in said} == {
        (USER, gate.tenant, "CREATE", "Pod")
    }
    assert gate.create(pod(gate.tenant, "plain", {"cpu": 1}), USER, dry_run=True).is_allowed


@pytest.mark.cluster
def test_the_pods_of_an_attempt_pass_and_not_one_more(gate: Installed, cluster_of: dict[str, Any]) -> None:
    for name in ("w-1", "w-2"):
        made = gate.create(worker(gate, cluster_of, name), KUBERAY)
        assert made.is_allowed, made.message
    assert gate.create(worker(gate, cluster_of, "w-3"), KUBERAY).rules == {"FG-POD-004"}
    assert gate.gate.decisions()[-1]["reservation"] == "train-1"


@pytest.mark.cluster
def test_label_detach_finalizer_pin_and_forged_status_are_closed(gate: Installed, cluster_of: dict[str, Any]) -> None:
    gate.create(worker(gate, cluster_of, "w-1"), KUBERAY)
    everything = (USER, ("system:authenticated", "all"))
    home = f"/api/v1/namespaces/{gate.tenant}/pods/w-1"
    detach = {"metadata": {"labels": {"ray.io/group": None}}}
    assert "FG-LABEL-003" in gate.call("PATCH", home, detach, everything, MERGE_PATCH).rules
    ray = f"/apis/ray.io/v1/namespaces/{gate.tenant}"
    pin = {"metadata": {"finalizers": ["example.com/pin"]}}
    for path in (home, f"{ray}/rayjobs/train-1", f"{ray}/rayclusters/train-1-c"):
        refused = gate.call("PATCH", path, pin, everything, MERGE_PATCH)
        assert {"FG-FIN-001", "FG-RAY-002", "FG-RAY-005"} & refused.rules, refused.message
    ended = {"status": {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"}}
    refused = gate.call("PATCH", f"{ray}/rayjobs/train-1/status", ended, everything, MERGE_PATCH)
    assert "FG-STATUS-001" in refused.rules, refused.message


@pytest.mark.cluster
def test_a_rayjob_that_somebody_applies_waits_its_turn_and_is_told_so(gate: Installed) -> None:
    request = ray_job(group("gpu", 1, {"cpu": 1, "memory": "1Gi", GPU: 1}))
    request["metadata"] = {"name": "mine", "namespace": gate.tenant}
    for is_dry_run in (True, False):
        refused = gate.create(request, USER, dry_run=is_dry_run)
        assert "FG-RAY-001" in refused.rules
        assert "add the label kueue.x-k8s.io/queue-name: inbox" in refused.message
    request["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "inbox"}
    wrong = copy.deepcopy(request)
    wrong["spec"]["entrypoint"] = ""
    assert gate.create(wrong, USER).rules == {"FG-RAY-003"}
    for is_dry_run in (True, False):
        made = gate.create(request, USER, dry_run=is_dry_run)
        assert made.is_allowed, made.message
        assert f"it is a request and waits its turn; 0 jobs of {gate.tenant} wait already" in made.warnings


def test_an_exception_is_for_whom_the_api_server_says(gate: Installed) -> None:
    privileged = pod(gate.tenant, "agent", {"cpu": 1})
    privileged["spec"]["containers"][0]["securityContext"] = {"privileged": True}
    rbac, name = "rbac.authorization.k8s.io", f"exception-{gate.tenant}"
    rule = {"apiGroups": ["fairgate.internal"], "resources": ["exemptions"], "verbs": ["use"]}
    rule["resourceNames"] = ["FG-SEC-001.agent"]
    metadata: dict[str, Any] = {"name": name, "labels": {MARK: ""}, "annotations": {EXPIRES: "2999-12-31"}}
    head = {"apiVersion": f"{rbac}/v1"}
    subjects = [{"apiGroup": rbac, "kind": "User", "name": "agents"}]
    role = {"apiGroup": rbac, "kind": "ClusterRole", "name": name}
    bound = {"kind": "RoleBinding", "metadata": {"name": name, "namespace": gate.tenant}}
    apply(gate.call, {**head, "kind": "ClusterRole", "metadata": metadata, "rules": [rule]})
    apply(gate.call, {**head, **bound, "roleRef": role, "subjects": subjects})
    # Not ``gate.create``: who has every right may use every exception that there is.
    maker = {"apiGroup": rbac, "kind": "ClusterRole", "name": "edit"}
    everybody = [{"apiGroup": rbac, "kind": "Group", "name": "makers"}]
    makers = {"kind": "RoleBinding", "metadata": {"name": "makers", "namespace": gate.tenant}}
    apply(gate.call, {**head, **makers, "roleRef": maker, "subjects": everybody})
    path = f"/api/v1/namespaces/{gate.tenant}/pods?dryRun=All"

    def ask(user: str) -> Reply:
        return gate.call("POST", path, privileged, (user, ("system:authenticated", "makers")))

    try:
        await_true(lambda: ask("agents").is_allowed, lambda: ask("agents").message, longest_s=20)
        assert "allowed by the exception FG-SEC-001.agent" in ask("agents").warnings
        assert ask("somebody").rules == {"FG-SEC-001"}
        over = {"metadata": {"annotations": {EXPIRES: "2020-01-01"}}}
        gate.call("PATCH", f"/apis/{rbac}/v1/clusterroles/{name}", over, content=MERGE_PATCH)
        assert ask("agents").rules == {"FG-SEC-001"}
    finally:
        gate.call("DELETE", f"/apis/{rbac}/v1/clusterroles/{name}")


def test_what_is_open_is_found(gate: Installed) -> None:
    """Not the tests' own group of everything: nobody asks about it."""
    command = [sys.executable, "-m", "fairgate", "gate", "check", "--user", "nobody-special"]
    command += ["--kubeconfig", str(gate.admin)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stderr == ""
    errors = [line for line in done.stdout.splitlines() if line.startswith("error: ")]
    assert [line for line in errors if "Kueue" not in line] == [], done.stdout


def test_while_it_is_away_devices_are_refused_and_all_else_goes_on(gate: Installed) -> None:
    leaving = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner", "namespace": gate.tenant}}
    parent = gate.create(leaving, USER)
    owned = pod(gate.tenant, "owned", {"cpu": 1})
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": parent.body["metadata"]["uid"]}
    owned["metadata"]["ownerReferences"] = [reference]
    for each in (owned, pod(gate.tenant, "direct", {"cpu": 1})):
        made = gate.create(each, USER)
        assert made.is_allowed, made.message
    gate.gate.stop(signal.SIGKILL)
    try:
        refused = gate.create(pod(gate.tenant, "mine", {GPU: 1}), USER)
        assert not refused.is_allowed
        assert "FG-POD-001" in refused.rules or "gate.fairgate.internal" in refused.message
        assert "gate.fairgate.internal" in gate.create(pod(gate.tenant, "cpu", {"cpu": 1}), USER).message
        for namespace in ("default", "kube-system"):
            reply = gate.create(pod(namespace, "elsewhere", {"cpu": 1}), USER, dry_run=True)
            assert reply.is_allowed or "service account" in reply.message, reply.message
            assert "FG-NS-001" in gate.create(pod(namespace, "elsewhere", {GPU: 1}), USER, dry_run=True).rules
        home = f"/api/v1/namespaces/{gate.tenant}"
        assert gate.call("DELETE", f"{home}/pods/direct?gracePeriodSeconds=0", None, (USER, ("all",))).is_allowed
        assert gate.call("DELETE", f"{home}/configmaps/owner", None, (USER, ("all",))).is_allowed
        for name in ("direct", "owned"):
            await_true(lambda name=name: not gate.call("GET", f"{home}/pods/{name}").is_allowed, lambda: "not gone")
    finally:
        gate.gate.start()
    gate.gate.await_ready()
    await_true(lambda: gate.create(pod(gate.tenant, "cpu", {"cpu": 1}), USER, dry_run=True).is_allowed)


def test_a_look_up_that_may_not_be_done_is_a_refusal_until_it_may(gate: Installed, cluster_of: dict[str, Any]) -> None:
    path = f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{ACCOUNT}"
    role = dict(gate.call("GET", path).body)
    gate.call("DELETE", f"/api/v1/namespaces/{gate.tenant}/pods/w-2?gracePeriodSeconds=0")
    await_true(lambda: not gate.call("GET", f"/api/v1/namespaces/{gate.tenant}/pods/w-2").is_allowed)
    ask = worker(gate, cluster_of, "w-9")
    less = [each for each in role["rules"] if each["apiGroups"] != ["ray.io"]]
    gate.call("PATCH", path, {"rules": less}, content=MERGE_PATCH)
    await_true(lambda: gate.create(ask, KUBERAY, dry_run=True).rules == {"FG-LOOK-001"}, longest_s=20)
    assert gate.create(pod(gate.tenant, "cpu", {"cpu": 1}), USER, dry_run=True).is_allowed
    gate.call("PATCH", path, {"rules": role["rules"]}, content=MERGE_PATCH)
    await_true(lambda: gate.create(ask, KUBERAY, dry_run=True).is_allowed, longest_s=20)


def test_certificates_that_are_over_or_trusted_by_nobody_mend_themselves(gate: Installed) -> None:
    stranger = new_authority(datetime.now(UTC)).certificate
    hooks = gate.call("GET", HOOKS).body["webhooks"]
    for each in hooks:
        each["clientConfig"]["caBundle"] = base64.b64encode(stranger.encode()).decode()
    gate.call("PATCH", HOOKS, {"webhooks": hooks}, content=MERGE_PATCH)
    ask = pod(gate.tenant, "cpu", {"cpu": 1})
    await_true(lambda: "gate.fairgate.internal" in gate.create(ask, USER, dry_run=True).message, longest_s=20)
    await_true(lambda: gate.create(ask, USER, dry_run=True).is_allowed, gate.gate.readiness)
    old = next_keys(None, frozenset(), ["127.0.0.1"], datetime.now(UTC) - timedelta(days=400))
    files = {"ca.crt": old.bundle, "ca.key": old.authorities[0].key}
    files |= {"tls.crt": old.leaf.certificate, "tls.key": old.leaf.key}
    data = {key: base64.b64encode(text.encode()).decode() for key, text in files.items()}
    secret = f"/api/v1/namespaces/fairgate-system/secrets/{SECRET}"
    gate.call("PATCH", secret, {"data": data}, content=MERGE_PATCH)
    await_true(lambda: gate.call("GET", secret).body["data"]["ca.crt"] != data["ca.crt"], longest_s=30)
    gate.gate.await_ready()
    await_true(lambda: gate.create(ask, USER, dry_run=True).is_allowed)


def test_it_ends_in_order(gate: Installed) -> None:
    assert gate.gate.stop(signal.SIGTERM) == 0
    gate.gate.start()
    gate.gate.await_ready()


@pytest.mark.timeout(3600)
def test_every_attack_file_through_a_real_api_server(control_plane: Target) -> None:
    """With every right of the cluster's: what is refused, the gate or the API server itself refuses."""
    control_plane.own()
    call, counts, wrong = Caller(control_plane.kubeconfig), Counter[str](), []
    with staged(call) as stage:
        time.sleep(2)
        for title, world, case in cases(ATTACKS, f"x{time.time_ns() % 10**6:x}"):
            outcome = attempt(call, stage, world, case, "cluster-admin")
            reply = outcome.reply
            if reply is None:
                counts["left"] += 1
                continue
            who = "allowed" if reply.is_allowed else "refused by the gate" if reply.rules else "refused by the server"
            counts[who] += 1
            is_right = not reply.rules if case.want_allow else not reply.is_allowed
            if not is_right:
                wrong.append(f"{title}: wanted {case.want_allow}: {reply.status} {reply.message[:200]}")
    call.close()
    assert wrong == []
    assert counts["refused by the gate"] > 200
    assert counts["allowed"] > 60
