"""``fairgate kube`` and ``fairgate import``: what is printed where, and the exit codes."""

from pathlib import Path

import pytest
import yaml
from fairgate_scheduler.adapters.kube.api import UnavailableError
from fairgate_scheduler.adapters.kube.api.kinds import CLUSTER_QUEUE, NAMESPACE
from fairgate_scheduler.documents.config_file import read_config
from fairgate_scheduler.entrypoints.kube import sources
from fairgate_scheduler.entrypoints.kube.commands import imports, kube
from fairgate_scheduler.testing.fake_api import FakeApi
from typer.testing import CliRunner

CONFIG = """
version: 1
flavors: {h100: {resource: nvidia.com/gpu, node_labels: {gpu: h100}}, cpu: {default_for_cpu_pods: true}}
tenants:
  - {id: org}
  - {id: vision, parent: org, namespace: seeing, quota: {h100: {nvidia.com/gpu: {nominal: 16, borrowing_limit: 8}}}}
"""
run = CliRunner().invoke


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "fairgate.yaml"
    file.write_text(CONFIG)
    return file


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> FakeApi:
    """The cluster that a kubeconfig leads to."""
    made = FakeApi()

    class Loaded:
        @classmethod
        def load(cls, _kubeconfig: Path | None, _context: str | None) -> FakeApi:
            return made

    monkeypatch.setattr(sources, "HttpApi", Loaded)
    monkeypatch.setattr(FakeApi, "close", lambda _: None, raising=False)
    return made


def apply(api: FakeApi, text: str) -> None:
    """What ``kubectl apply`` would do with it."""
    for manifest in yaml.safe_load_all(text):
        kind = next(
            each for each in api.served if (each.api_version, each.kind) == (manifest["apiVersion"], manifest["kind"])
        )
        api.apply(kind, manifest)


def test_what_is_rendered_and_applied_differs_in_nothing(config: Path, api: FakeApi) -> None:
    before = run(kube, ["diff", "-f", str(config)])
    assert before.exit_code == 1
    assert "+ ClusterQueue vision\n" in before.stdout
    rendered = run(kube, ["render", "-f", str(config)])
    assert rendered.exit_code == 0
    apply(api, rendered.stdout)
    assert api.get(NAMESPACE, "seeing")["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "baseline"
    after = run(kube, ["diff", "-f", str(config)])
    assert (after.exit_code, after.stdout) == (0, "")


def test_a_difference_is_told_field_by_field(config: Path, api: FakeApi) -> None:
    apply(api, run(kube, ["render", "-f", str(config)]).stdout)
    config.write_text(CONFIG.replace("nominal: 16, borrowing_limit: 8", "nominal: 20"))
    api.acting_as("them").patch(CLUSTER_QUEUE, "vision", {"spec": {"stopPolicy": "Hold"}})
    told = run(kube, ["diff", "-f", str(config)])
    assert told.exit_code == 1
    where = "spec.resourceGroups.0.flavors.h100.resources.nvidia.com/gpu"
    assert told.stdout.splitlines() == [
        "~ ClusterQueue vision",
        f"    {where}.borrowingLimit: 8 → nothing",
        f"    {where}.nominalQuota: 16 → 20",
        "    spec.stopPolicy: Hold → None",
        "~ ResourceQuota seeing/fairgate-accelerators",
        "    spec.hard.requests.nvidia.com/gpu: 16 → 20",
    ]


def test_a_configuration_that_can_not_be_mapped_is_refused_with_its_line(config: Path) -> None:
    config.write_text(CONFIG.replace("namespace: seeing", "namespace: kube-system"))
    refused = run(kube, ["render", "-f", str(config)])
    assert refused.exit_code == 2
    assert refused.stdout == ""
    assert f"error: {config}:6: tenants[1].namespace: the namespace 'kube-system' is not a tenant's" in refused.stderr


def test_a_cluster_that_can_not_be_reached(config: Path, api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise UnavailableError("connection refused")

    monkeypatch.setattr(FakeApi, "list", fail)
    monkeypatch.setattr(FakeApi, "get", fail)
    for command in (["diff", "-f", str(config)], ["check", "-f", str(config)]):
        failed = run(kube, command)
        assert (failed.exit_code, failed.stdout, failed.stderr) == (5, "", "error: connection refused\n")


def test_queues_are_imported_from_files_and_from_a_cluster(config: Path, api: FakeApi, tmp_path: Path) -> None:
    rendered = run(kube, ["render", "-f", str(config)]).stdout
    file = tmp_path / "queues.yaml"
    file.write_text(rendered)
    from_file = run(imports, ["kueue", "-f", str(file)])
    assert (from_file.exit_code, from_file.stderr) == (0, "")
    assert read_config(from_file.stdout).tenants == read_config(CONFIG).tenants
    apply(api, rendered)
    assert run(imports, ["kueue"]).stdout == from_file.stdout


def test_a_file_that_is_no_yaml_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "queues.yaml"
    file.write_text("a: b\n]")
    refused = run(imports, ["kueue", "-f", str(file)])
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert f"error: {file}:2: it is not YAML" in refused.stderr
