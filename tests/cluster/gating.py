"""The gate as it is installed, beside a real API server: a process of its own, with the rights that are rendered."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import urllib3
import yaml
from attacking import apply, called_at
from calling import Caller, Reply
from fairgate_admission.installing.manifests import Installation, manifests
from fairgate_admission.installing.names import ACCOUNT
from fairgate_scheduler.adapters.kube.attempts import render
from fairgate_scheduler.adapters.sql import SqlStore
from fairgate_scheduler.core.jobs import Attempt, AttemptState, Job, JobState
from fairgate_scheduler.core.manifests import understand
from fairgate_scheduler.core.tenancy import Config, Tenant
from fairgate_scheduler.ports import ConfigVersion, Launch, Submission
from fairgate_scheduler.testing.rayjobs import GPU, fleet, group, ray_job

SYSTEM: Final = "fairgate-system"
AUTHENTICATED: Final = ("system:authenticated",)
_PATIENCE_S: Final = 90.0
_LEFT_OUT: Final = ("Deployment", "PodDisruptionBudget")


@dataclass
class GateProcess:
    """``fairgate gate serve`` on this machine."""

    store: Path
    kubeconfig: Path
    log: Path
    port: int
    process: subprocess.Popen[bytes] | None = field(default=None)

    def start(self) -> None:
        """Begin; it is not ready yet."""
        command = [
            *(sys.executable, "-m", "fairgate", "gate", "serve", "--store", str(self.store)),
            *("--kubeconfig", str(self.kubeconfig), "--listen", f"127.0.0.1:{self.port}", "--host", "127.0.0.1"),
            *("--notice", "0.5"),
        ]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)

    def stop(self, signum: signal.Signals = signal.SIGTERM) -> int:
        """End it; its exit code."""
        assert self.process is not None
        self.process.send_signal(signum)
        return self.process.wait(30)

    def readiness(self) -> str:
        """What ``/readyz`` says; "" if nobody answers."""
        try:
            pool = urllib3.HTTPSConnectionPool("127.0.0.1", self.port, cert_reqs="CERT_NONE", retries=False, timeout=3)
            return pool.request("GET", "/readyz").data.decode()
        except urllib3.exceptions.HTTPError:
            return ""

    def await_ready(self) -> None:
        """Wait for it."""
        await_true(lambda: self.readiness() == "ok", lambda: f"{self.readiness()}\n{self.log.read_text()[-3000:]}")

    def decisions(self) -> list[dict[str, Any]]:
        """Its audit lines."""
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith('{"time"')]


def await_true(holds: Any, why: Any = lambda: "", longest_s: float = _PATIENCE_S) -> None:
    """Wait until something holds."""
    ends_at = time.monotonic() + longest_s
    while not holds():
        assert time.monotonic() < ends_at, why()
        time.sleep(0.3)


@dataclass(frozen=True)
class Installed:
    """A cluster with the gate in front. ``tenant``: its name and its namespace's. ``launch``: of its one attempt.

    ``admin``: the kubeconfig of somebody who may do everything.
    """

    call: Caller
    gate: GateProcess
    tenant: str
    launch: Launch
    admin: Path

    @property
    def rayjob(self) -> dict[str, Any]:
        """The RayJob of the attempt."""
        return render(self.launch, "train-1")

    def create(self, manifest: dict[str, Any], user: str, *, dry_run: bool = False) -> Reply:
        """As somebody who has every right of the cluster's."""
        path = self.call.path(manifest, manifest["metadata"].get("namespace", ""))
        return self.call("POST", f"{path}{'?dryRun=All' if dry_run else ''}", manifest, (user, (*AUTHENTICATED, "all")))


@contextmanager
def installed(kubeconfig: Path, folder: Path) -> Iterator[Installed]:
    """The gate installed from its manifests, but for Deployment and Service: it runs here; ready when it begins."""
    call, tenant = Caller(kubeconfig), f"g{time.time_ns() // 1_000_000:x}"
    launch = _admit(folder / "fairgate.db", tenant)
    gate = GateProcess(folder / "fairgate.db", folder / "kubeconfig", folder / "gate.log", _free_port())
    objects = [each for each in manifests(Installation("none", "none")) if each["kind"] not in _LEFT_OUT]
    *before, webhook = objects
    try:
        for each in before:
            apply(call, each)
        _write_kubeconfig(call, kubeconfig, gate.kubeconfig)
        _furnish(call, tenant)
        gate.start()
        apply(call, called_at(webhook, gate.port, ""))
        gate.await_ready()
        yield Installed(call, gate, tenant, launch, kubeconfig)
    finally:
        for each in objects:
            if each["kind"] != "Namespace":
                metadata = each["metadata"]
                call("DELETE", call.path(each, metadata.get("namespace", ""), metadata["name"]) or "")
        call("DELETE", f"/api/v1/namespaces/{SYSTEM}/secrets/fairgate-gate-tls")
        call("DELETE", f"/api/v1/namespaces/{tenant}")
        if gate.process is not None and gate.process.poll() is None:
            gate.stop(signal.SIGKILL)
        call.close()


def _admit(database: Path, tenant: str) -> Launch:
    """One admitted attempt of one tenant: two workers with four GPUs each."""
    known = fleet()
    config = Config(flavors=known.flavors, tenants={"org": Tenant("org"), tenant: Tenant(tenant, "org")})
    manifest = ray_job(group("gpu", 2, {"cpu": 1, "memory": "1Gi", GPU: 4}))
    manifest["metadata"]["name"] = "train"
    options = understand(manifest, None, config, tenant).options
    job = Job(f"tenants/{tenant}/jobs/train", tenant, 0, 1, options, 3_600_000, uid="u-train", state=JobState.RUNNING)
    attempt = Attempt(job.id, 1, 0, options[0].demand, 1, 0, state=AttemptState.RUNNING)
    store = SqlStore.open(database)
    with store.transaction() as transaction:
        transaction.put_config(ConfigVersion("e-1", "", config, 0, "admin"))
        transaction.insert_job(job, Submission(json.dumps(manifest)))
        transaction.put_attempt(attempt)
    store.close()
    return Launch(job, attempt, manifest, {}, config)


def _furnish(call: Caller, tenant: str) -> None:
    labels = {"fairgate.internal/tenant-id": tenant}
    head = {"apiVersion": "v1"}
    for name, marks in ((tenant, labels), ("default", {})):
        apply(call, {**head, "kind": "Namespace", "metadata": {"name": name, "labels": marks}})
        account: dict[str, Any] = {**head, "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": name}}
        apply(call, {**account, "automountServiceAccountToken": False})
    group_ = "rbac.authorization.k8s.io"
    binding = {"apiVersion": f"{group_}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "gate-tests-all"}}
    subject = {"apiGroup": group_, "kind": "Group", "name": "all"}
    role = {"apiGroup": group_, "kind": "ClusterRole", "name": "cluster-admin"}
    apply(call, {**binding, "roleRef": role, "subjects": [subject]})


def _write_kubeconfig(call: Caller, admin: Path, file: Path) -> None:
    """That of the gate's own account: what is rendered for it must do."""
    path = f"/api/v1/namespaces/{SYSTEM}/serviceaccounts/{ACCOUNT}/token"
    head = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
    token = call("POST", path, {**head, "spec": {"expirationSeconds": 7200}}).body["status"]["token"]
    config = yaml.safe_load(admin.read_text())
    config["users"] = [{"name": config["users"][0]["name"], "user": {"token": token}}]
    file.touch(mode=0o600)
    file.write_text(json.dumps(config))


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def pod(tenant: str, name: str, requests: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A pod of one container that no scheduler looks at."""
    container = {"name": "c", "image": "none", "resources": {"requests": requests, "limits": requests}}
    metadata = {"name": name, "namespace": tenant}
    body = {"schedulerName": "default-scheduler", "nodeSelector": {"nowhere": "x"}, "containers": [container], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body}
