"""What a runner starts, and the one text for one content."""

import datetime
from fractions import Fraction

import pytest
from fairgate_scheduler.core.manifests import Entrypoint, ManifestError, canonical, read_entrypoint, understand
from fairgate_scheduler.testing.rayjobs import container, fleet, group, ray_job, template


def test_everything_that_a_driver_needs():
    env = [
        {"name": "A", "value": "1"},
        {"name": "SECRET", "valueFrom": {"secretKeyRef": {"key": "k"}}},
        {"name": "EMPTY"},
    ]
    manifest = ray_job(
        group(template=template(container(limits={"cpu": 1}, env=[{"name": "B", "value": "2"}]))),
        head={"template": template(container(limits={"cpu": 1}, env=env))},
        entrypoint=" python main.py --x\n",
        runtimeEnvYAML="env_vars: {A: '1'}\n",
        entrypointNumCpus=2,
        entrypointNumGpus=0.5,
        entrypointResources='{"disk": 1}',
        metadata={"owner": "me"},
        jobId="abc",
        backoffLimit=2,
        activeDeadlineSeconds=60,
    )
    assert read_entrypoint(manifest) == Entrypoint(
        command="python main.py --x",
        mode="K8sJobMode",
        runtime_env_yaml="env_vars: {A: '1'}\n",
        cpus=2,
        gpus=Fraction(1, 2),
        resources={"disk": 1},
        metadata={"owner": "me"},
        submission_id="abc",
        retries=2,
        active_deadline_s=60,
        head_env={"A": "1", "EMPTY": ""},
        worker_env={"B": "2"},
    )


def test_a_plain_driver():
    assert read_entrypoint(ray_job()) == Entrypoint("python main.py")


def test_what_is_told_of_the_manifest_itself():
    manifest = ray_job(activeDeadlineSeconds=60)
    manifest["metadata"] = {"generateName": "job-", "namespace": "vision", "labels": {"a": "b"}}
    understood = understand(manifest, None, fleet(), "vision")
    assert (understood.name, understood.generate_name, understood.namespace) == ("", "job-", "vision")
    assert (understood.labels, understood.active_deadline_s) == ({"a": "b"}, 60)


def test_the_same_content_is_the_same_text():
    left = ray_job(group())
    right = ray_job(group(), clusterSelector=None)
    right["spec"] = dict(reversed(right["spec"].items()))
    right["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["replicas"] = 1.0
    right["metadata"] |= {"uid": "1", "resourceVersion": "7", "creationTimestamp": "2026-01-31T00:00:00Z"}
    right["status"] = {"jobStatus": "RUNNING"}
    assert canonical(left) == canonical(right)
    assert canonical(ray_job(group(replicas=2))) != canonical(left)


@pytest.mark.parametrize("value", [datetime.date(2026, 1, 31), float("nan"), float("inf"), b"x", {1}])
def test_what_is_no_json_has_no_canonical_text(value):
    manifest = ray_job()
    manifest["spec"]["metadata"] = {"a": value}
    with pytest.raises(ManifestError, match="is not plain JSON data"):
        canonical(manifest)
    with pytest.raises(ManifestError, match=r"spec\.metadata\.a: must be a text"):
        understand(manifest, None, fleet(), "vision")
