"""A rendered configuration in a real cluster: applied as it is printed, kept by our account alone, closed to others."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from fairgate_scheduler.adapters.kube.api.http import HttpApi
from fairgate_scheduler.adapters.kube.api.kinds import CLUSTER_QUEUE
from fairgate_scheduler.adapters.kube.keeping import Estate, Keeper
from fairgate_scheduler.adapters.kube.mapping import Site, is_ours, wanted_objects
from fairgate_scheduler.adapters.kube.reports import Reports
from fairgate_scheduler.documents.config_file import read_config
from fairgate_scheduler.testing.sim_clock import SimClock
from rig.kubectl import Kubectl, KubectlError
from rig.target import Target

STEM: Final = f"i{time.time_ns() // 1_000_000:x}"
NAMESPACE: Final = f"{STEM}-seeing"
CONFIG: Final = f"""
version: 1
flavors:
  {STEM}-h100: {{resource: nvidia.com/gpu, node_labels: {{gpu: {STEM}}}, tolerations: [{{operator: Exists}}]}}
  {STEM}-cpu: {{default_for_cpu_pods: true}}
tenants:
  - {{id: {STEM}-org}}
  - id: {STEM}-vision
    parent: {STEM}-org
    namespace: {NAMESPACE}
    quota: {{{STEM}-h100: {{nvidia.com/gpu: {{nominal: 1000, borrowing_limit: 8, lending_limit: 500}}}}}}
priorities: {{{STEM}-batch: 7}}
"""
USER: Final = "user-a"
EVERYTHING: Final = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "create", "patch", "delete"]}]

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning"),
]


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("config") / "fairgate.yaml"
    file.write_text(CONFIG)
    return file


@pytest.fixture(scope="module")
def admin(kubeconfig: Path, config: Path) -> Iterator[Kubectl]:
    """A cluster to which what is rendered was applied by an admin, and taken away at the end."""
    api = HttpApi.load(kubeconfig)
    are_there = any(is_ours(each) for each in api.list(CLUSTER_QUEUE).items)
    api.close()
    if are_there:
        pytest.skip("a Fairgate is installed in this cluster already")
    kubectl, rendered = Target(kubeconfig).kubectl(), fairgate("render", config, kubeconfig).stdout
    objects = list(yaml.safe_load_all(rendered))
    kubectl.apply(*objects)
    try:
        yield kubectl
    finally:
        kubectl("delete", "--wait=false", "--filename=-", stdin=yaml.safe_dump_all(reversed(objects)))


@pytest.fixture(scope="module")
def member(admin: Kubectl, kubeconfig: Path) -> Kubectl:
    """Somebody of the tenant to whom RBAC allows everything in its namespace: what is refused, a policy refuses."""
    name = f"{STEM}-member"
    head = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": name, "namespace": NAMESPACE}}
    role = {**head, "kind": "Role", "rules": EVERYTHING}
    subjects = [{"kind": "User", "name": USER, "apiGroup": "rbac.authorization.k8s.io"}]
    binding = {
        **head,
        "kind": "RoleBinding",
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": subjects,
    }
    admin.apply(role, binding)
    kubectl = Target(kubeconfig).kubectl(USER)
    pod = made("v1", "Pod", "probe", spec={"containers": [{"name": "c", "image": "none"}]}, labels=ATTEMPT)
    until(lambda: refused(kubectl, pod), "the policies are in force")
    return kubectl


ATTEMPT: Final = {"fairgate.internal/attempt": "1"}
LAUNCH: Final = {"kueue.x-k8s.io/queue-name": "fairgate"}
INBOX: Final = {"kueue.x-k8s.io/queue-name": "inbox"}
RAY: Final[dict[str, Any]] = {
    "entrypoint": "true",
    "shutdownAfterJobFinishes": True,
    "rayClusterSpec": {
        "headGroupSpec": {
            "rayStartParams": {},
            "template": {"spec": {"containers": [{"name": "head", "image": "none"}]}},
        }
    },
}
JOB: Final[dict[str, Any]] = {
    "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "none"}]}}
}


WORKLOAD: Final[dict[str, Any]] = {
    "queueName": "fairgate",
    "podSets": [{"name": "main", "count": 1, "template": JOB["template"]}],
}


def made(api: str, kind: str, name: str, labels: dict[str, str] | None = None, **body: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": NAMESPACE, "labels": labels or {}}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **body}


def fairgate(command: str, config: Path, kubeconfig: Path) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-m", "fairgate", "kube", command, "-f", str(config)]
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}
    return subprocess.run(program, capture_output=True, text=True, check=False, env=environment)


def refused(kubectl: Kubectl, manifest: dict[str, Any]) -> str:
    """By which policy it is refused; it is not made in any case. "": by none."""
    try:
        kubectl("create", "--dry-run=server", "--filename=-", stdin=json.dumps(manifest))
    except KubectlError as error:
        text = str(error)
        found = [name for name in ("fairgate-attempts", "fairgate-queues") if f"'{name}'" in text]
        assert found, text
        return found[0]
    return ""


def until(holds: Any, what: str, longest_s: int = 60) -> None:
    ends_at = time.monotonic() + longest_s
    while not holds():
        assert time.monotonic() < ends_at, f"not true after {longest_s} s: {what}"
        time.sleep(0.5)


def _differences(done: subprocess.CompletedProcess[str]) -> list[str]:
    """What differs of the objects of this configuration: tests before this one may have left namespaces of tenants."""
    assert done.returncode == (1 if done.stdout else 0), done.stderr
    out: list[str] = []
    for line in done.stdout.splitlines():
        if STEM in line or (line.startswith(" ") and out):
            out.append(line)
        elif not line.startswith(" "):
            out.append("")  # of something else: what is indented below it is, too
    return [line for index, line in enumerate(out) if line and (STEM in line or STEM in out[index - 1])]


def test_what_was_applied_differs_in_nothing(admin: Kubectl, config: Path, kubeconfig: Path) -> None:
    assert _differences(fairgate("diff", config, kubeconfig)) == []
    admin("patch", "clusterqueue", f"{STEM}-vision", "--type=merge", '--patch={"spec": {"stopPolicy": "Hold"}}')
    found = _differences(fairgate("diff", config, kubeconfig))
    assert found == [f"~ ClusterQueue {STEM}-vision", "    spec.stopPolicy: Hold → None"]


def test_the_keeper_works_with_the_rights_of_our_account_and_comes_to_rest(
    admin: Kubectl, kubeconfig: Path, tmp_path: Path
) -> None:
    content = yaml.safe_load(kubeconfig.read_text())
    token = admin("create", "token", "fairgate-scheduler", "--namespace=fairgate-system").strip()
    for user in content["users"]:
        user["user"] = {"token": token}
    own = tmp_path / "kubeconfig"
    own.write_text(yaml.safe_dump(content))
    api, clock = HttpApi.load(own), SimClock()
    try:
        estate = Estate(api, clock, watch_s=0)
        keeper = Keeper(api, estate, Reports(api, clock), clock)
        wanted = wanted_objects(read_config(CONFIG), Site())
        kept = None
        for _ in range(10):
            estate.step()
            kept = keeper.keep(wanted)
            assert kept.problems == []
            assert set(kept.done) <= {f"~ ClusterQueue {STEM}-vision: spec.stopPolicy"}
            if kept.is_settled:
                break
        assert kept is not None
        assert kept.is_settled
        assert keeper.counts["made"] == 0
        admin("delete", "localqueue", "inbox", f"--namespace={NAMESPACE}")
        estate.step()
        assert keeper.keep(wanted).done == [f"+ LocalQueue {NAMESPACE}/inbox"]
    finally:
        api.close()
    events = admin.get("events", f"--namespace={NAMESPACE}", "--field-selector=reason=DriftCorrected")
    assert [each["involvedObject"]["name"] for each in events] == ["inbox"]


REFUSED: Final = [
    (
        "a pod marked as an attempt's",
        made("v1", "Pod", "p", ATTEMPT, spec=JOB["template"]["spec"]),
        "fairgate-attempts",
    ),
    ("a RayJob in the launch queue", made("ray.io/v1", "RayJob", "r", LAUNCH, spec=RAY), "fairgate-attempts"),
    ("a Job in the launch queue", made("batch/v1", "Job", "j", LAUNCH, spec=JOB), "fairgate-attempts"),
    (
        "a Workload",
        made("kueue.x-k8s.io/v1beta2", "Workload", "w", spec=WORKLOAD),
        "fairgate-queues",
    ),
    (
        "a LocalQueue",
        made("kueue.x-k8s.io/v1beta2", "LocalQueue", "default", spec={"clusterQueue": f"{STEM}-vision"}),
        "fairgate-queues",
    ),
    ("a RayJob in the inbox", made("ray.io/v1", "RayJob", "r", INBOX, spec=RAY), ""),
    ("an ordinary Job", made("batch/v1", "Job", "j", spec=JOB), ""),
]


@pytest.mark.parametrize(("manifest", "policy"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_only_we_make_attempts_and_write_queues(member: Kubectl, manifest: dict[str, Any], policy: str) -> None:
    assert refused(member, manifest) == policy


def test_nobody_takes_a_mark_off_or_puts_it_on(admin: Kubectl, member: Kubectl) -> None:
    admin.create(made("batch/v1", "Job", "marked", ATTEMPT, spec={**JOB, "suspend": True}))
    member.create(made("batch/v1", "Job", "plain", spec={**JOB, "suspend": True}))
    for name, change in (("marked", "fairgate.internal/attempt-"), ("plain", "fairgate.internal/attempt=1")):
        with pytest.raises(KubectlError, match="fairgate-attempts"):
            member("label", "job", name, change, f"--namespace={NAMESPACE}")
    for arguments in (("delete", "localqueue", "inbox"), ("label", "localqueue", "inbox", "x=y")):
        with pytest.raises(KubectlError, match="fairgate-queues"):
            member(*arguments, f"--namespace={NAMESPACE}")
    member("label", "job", "plain", "x=y", f"--namespace={NAMESPACE}")


def test_an_ordinary_job_and_deployment_of_a_tenant_run_untouched(admin: Kubectl, member: Kubectl) -> None:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "none"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    member.create(made("apps/v1", "Deployment", "web", spec=spec), made("batch/v1", "Job", "ordinary", spec=JOB))
    where = f"--namespace={NAMESPACE}"
    until(lambda: len(admin.get("pods", where)) >= 2, "both have a pod")
    for pod in admin.get("pods", where):
        assert not pod["spec"].get("schedulingGates"), "Kueue holds it back"
    assert admin.get("job", "ordinary", where)["spec"].get("suspend") in (None, False)
    assert [each for each in admin.get("workloads", where) if "ordinary" in each["metadata"]["name"]] == []


def test_what_is_missing_is_said_and_nothing_more(admin: Kubectl, config: Path, kubeconfig: Path) -> None:
    checked = fairgate("check", config, kubeconfig)
    errors = [line for line in checked.stdout.splitlines() if line.startswith("error")]
    own = [line for line in errors if "ServiceAccount fairgate-system" in line or "Policy" in line or "Kueue" in line]
    assert own == [], "our rights, the policies and Kueue are as they should be"
    assert f"warning: flavors.{STEM}-h100: has no nodes: what is charged to it waits" in checked.stdout
