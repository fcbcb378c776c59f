"""KubeRay's own sample RayJobs: each is charged what it uses, and an API server takes it as an attempt."""

from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from fairgate_scheduler.adapters.kube.attempts import render
from fairgate_scheduler.adapters.kube.checks import check
from fairgate_scheduler.core.amounts import format_quantity
from fairgate_scheduler.core.jobs import Attempt, Job
from fairgate_scheduler.core.manifests import ManifestError, normalize, understand
from fairgate_scheduler.documents.config_file import read_config
from fairgate_scheduler.ports import Launch
from rig.kubectl import as_list
from rig.operators import kuberay_source
from rig.target import Target

pytestmark = pytest.mark.cluster
CONFIG: Final = """
version: 1
flavors:
  gpu: {resource: nvidia.com/gpu}
  4x4: {resource: google.com/tpu, node_labels: {cloud.google.com/gke-tpu-topology: 4x4}}
  16x16: {resource: google.com/tpu, node_labels: {cloud.google.com/gke-tpu-topology: 16x16}}
  2x2: {resource: google.com/tpu, node_labels: {cloud.google.com/gke-tpu-topology: 2x2}}
  cpu: {default_for_cpu_pods: true}
tenants:
  - {id: org}
  - id: samples
    namespace: default
    parent: org
    quota:
      gpu: {nvidia.com/gpu: {nominal: 8}}
      4x4: {google.com/tpu: {nominal: 16}}
      16x16: {google.com/tpu: {nominal: 256}}
      2x2: {google.com/tpu: {nominal: 4}}
"""
TAKEN: Final = {
    "batch-inference": "cpu cpu 500m, gpu cpu 54, gpu nvidia.com/gpu 4",
    "custom-head-svc": "cpu cpu 2500m",
    "interactive-mode": "cpu cpu 4",
    "kueue-toy-sample": "cpu cpu 2500m",
    "light-weight-submitter": "cpu cpu 900m",
    "modin": "cpu cpu 700m",
    "sample": "cpu cpu 900m",
    "shutdown": "cpu cpu 900m",
    "sidecar-mode": "cpu cpu 900m",
    "tpu-v6e-16-multihost": "4x4 cpu 96, 4x4 google.com/tpu 16, cpu cpu 8500m",
    "tpu-v6e-256-multihost": "16x16 cpu 1536, 16x16 google.com/tpu 256, cpu cpu 8500m",
    "tpu-v6e-singlehost": "2x2 cpu 24, 2x2 google.com/tpu 4, cpu cpu 8500m",
}
"""What each is charged, memory left out."""
REFUSED: Final = {
    "deletion-rules": "spec.deletionStrategy",
    "resources": "spec.rayClusterSpec.headGroupSpec.rayStartParams[num-gpus]",
    "use-existing-raycluster": "spec.clusterSelector",
    "volcano-scheduler-queue": "metadata.labels[ray.io/scheduler-name]",
    "yunikorn-scheduler": "metadata.labels[ray.io/gang-scheduling-enabled]",
}
"""Those that would keep pods, count devices that they do not ask for, use another's cluster or another scheduler."""
_STEM: Final = "ray-job."


def samples() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for file in (kuberay_source() / "config" / "samples").glob(f"{_STEM}*.yaml"):
        documents = yaml.safe_load_all(file.read_text())
        found[file.stem.removeprefix(_STEM)] = next(each for each in documents if each and each["kind"] == "RayJob")
    return found


def test_every_sample_is_known() -> None:
    assert set(samples()) == {*TAKEN, *REFUSED}


def test_samples_are_charged_and_an_api_server_takes_them_as_attempts(kubeconfig: Path) -> None:
    config, attempts = read_config(CONFIG), []
    for name, manifest in samples().items():
        if name not in TAKEN:
            continue
        assert check(manifest, config.tenants["samples"]) == []
        option = understand(manifest, None, config, "samples").options[0]
        charge = sorted(
            f"{flavor} {resource} {format_quantity(amount, resource)}"
            for (flavor, resource), amount in option.demand.items()
            if resource != "memory"
        )
        assert ", ".join(charge) == TAKEN[name], name
        job = Job(f"tenants/samples/jobs/{name}", "samples", 0, 1, (option,), time_limit_ms=60_000, uid="u")
        attempt = Attempt(job.id, 1, 0, option.demand, 1, 0)
        attempts.append(render(Launch(job, attempt, normalize(manifest), {}, config), f"{name}-1"))
    made = Target(kubeconfig).kubectl()("create", "--dry-run=server", "--filename=-", stdin=as_list(attempts))
    assert len(made.splitlines()) == len(TAKEN)


@pytest.mark.parametrize("name", REFUSED)
def test_what_can_not_be_an_attempt_is_refused_by_the_field(name: str) -> None:
    manifest, config = samples()[name], read_config(CONFIG)
    try:
        understand(manifest, None, config, "samples")
        findings = list(check(manifest, config.tenants["samples"]))
    except ManifestError as error:
        findings = [str(each) for each in error.findings]
    assert any(each.startswith(f"{REFUSED[name]}: ") for each in findings), findings
