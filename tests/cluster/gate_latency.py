"""How much later creates are answered with the webhook than without it: ``python tests/cluster/gate_latency.py``.

Half of the pods ask for devices and are proven by look-ups, half do not. All are dry runs by KubeRay's account,
paced, by threads that each keep one connection; with and without the webhook by turns, in one run.
"""

import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from attacking import apply
from fairgate_admission.facts.identities import KUBERAY, SCHEDULER
from fairgate_admission.installing.names import WEBHOOKS
from fairgate_admission.installing.webhook import webhooks
from gating import Installed, await_true, installed, pod

HOOKS: Final = f"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{WEBHOOKS}"
THREADS: Final = 24


def main(kubeconfig: Path, rates: Sequence[int], lasts_s: float) -> None:
    """Print one line for each rate, with and without."""
    with tempfile.TemporaryDirectory() as folder, installed(kubeconfig, Path(folder)) as gate:
        made = gate.create(gate.rayjob, SCHEDULER)
        assert made.is_allowed, made.message
        metadata = {"name": "c", "namespace": gate.tenant, "ownerReferences": [_owner("RayJob", made.body)]}
        cluster = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": metadata}
        made = gate.create({**cluster, "spec": made.body["spec"]["rayClusterSpec"]}, KUBERAY)
        assert made.is_allowed, made.message
        bodies = [_worker(gate, made.body), pod(gate.tenant, "plain", {"cpu": 1})]
        kept = dict(gate.call("GET", HOOKS).body)
        for rate in rates:
            sys.stdout.write(f"{rate}/s  with     {_run(gate, bodies, rate, lasts_s)}\n")
            gate.call("DELETE", HOOKS)
            time.sleep(2)
            sys.stdout.write(f"{rate}/s  without  {_run(gate, bodies, rate, lasts_s)}\n")
            sys.stdout.flush()
            apply(gate.call, {**webhooks("fairgate-system"), "webhooks": kept["webhooks"]})
            await_true(lambda: gate.gate.readiness() == "ok")
            time.sleep(2)


def _run(gate: Installed, bodies: Sequence[dict[str, Any]], rate: int, lasts_s: float) -> str:
    count, took_ms, refused = int(rate * lasts_s), list[float](), list[str]()
    began_s, turns = time.monotonic(), iter(range(int(rate * lasts_s)))
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                turn = next(turns, None)
            if turn is None:
                return
            time.sleep(max(0.0, began_s + turn / rate - time.monotonic()))
            sent_s = time.perf_counter()
            reply = gate.create(bodies[turn % 2], KUBERAY, dry_run=True)
            took_ms.append(1000 * (time.perf_counter() - sent_s))
            if not reply.is_allowed:
                refused.append(reply.message)

    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    reached = count / (time.monotonic() - began_s)
    p50, p99 = (sorted(took_ms)[int(len(took_ms) * part)] for part in (0.5, 0.99))
    said = f"{reached:.0f}/s reached, p50 {p50:.1f} ms, p99 {p99:.1f} ms"
    return f"{said}, {len(refused)} refused: {refused[0][:200]}" if refused else said


def _owner(kind: str, manifest: Any) -> dict[str, Any]:
    metadata = manifest["metadata"]
    reference = {"apiVersion": "ray.io/v1", "kind": kind, "name": metadata["name"], "uid": metadata["uid"]}
    return {**reference, "controller": True}


def _worker(gate: Installed, cluster: Any) -> dict[str, Any]:
    template = cluster["spec"]["workerGroupSpecs"][0]["template"]
    labels = {**template["metadata"]["labels"], "ray.io/group": "gpu"}
    metadata = {"name": "w", "namespace": gate.tenant, "labels": labels}
    metadata["ownerReferences"] = [_owner("RayCluster", cluster)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


if __name__ == "__main__":
    main(Path(sys.argv[1]), [int(each) for each in sys.argv[2:]] or [50, 200], 20)
