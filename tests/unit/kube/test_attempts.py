"""The RayJob of an attempt: its name, marks, place and notice."""

import copy
from dataclasses import replace
from fractions import Fraction
from typing import Any

from fairgate_scheduler.adapters.kube.attempts import attempt_names, digest_of, render
from fairgate_scheduler.core.jobs import Attempt, Job
from fairgate_scheduler.core.manifests import understand
from fairgate_scheduler.ports import Launch
from fairgate_scheduler.testing.rayjobs import GPU, container, fleet, group, ray_job, template

UID = "0f9e8d7c"


def launch_of(manifest: dict[str, Any], options: list[Any] | None = None, option: int = 0) -> Launch:
    config = replace(fleet(), priorities={"production": 100})
    understood = understand(manifest, options, config, "vision")
    job = Job(
        "tenants/vision/jobs/train", "vision", 0, 1, understood.options, time_limit_ms=3_600_000, priority=100, uid=UID
    )
    attempt = Attempt(job.id, 2, option, job.options[option].demand, 7, 0)
    return Launch(job, attempt, manifest, {"options": options} if options else {}, config)


def gpu_job() -> dict[str, Any]:
    return ray_job(group("gpu", 2, {"cpu": 4, "memory": "8Gi", GPU: 4}))


def test_names_are_those_of_job_and_attempt_as_long_as_kuberay_takes_them() -> None:
    assert attempt_names("tenants/vision/jobs/train", UID, 2) == ("train-2", "train-f28dd5b6-2")
    long = "a" * 47
    first, second = attempt_names(f"tenants/vision/jobs/{long}", UID, 12)
    assert first == second
    assert len(first) == 47
    assert first.startswith("a" * 35)
    assert first.endswith("-12")


def test_jobs_whose_long_names_begin_alike_get_different_names() -> None:
    names = {attempt_names(f"tenants/vision/jobs/{'a' * 46}{end}", UID, 1)[0] for end in "xyz"}
    assert len(names) == 3


def test_an_attempt_is_in_the_launch_queue_suspended_and_marked() -> None:
    launch = launch_of(gpu_job())
    made = render(launch, "train-2")
    marks = {
        "app.kubernetes.io/managed-by": "fairgate",
        "fairgate.internal/tenant-id": "vision",
        "fairgate.internal/job-uid": UID,
        "fairgate.internal/attempt": "2",
        "fairgate.internal/option": "h100",
    }
    assert made["metadata"] == {
        "name": "train-2",
        "namespace": "vision",
        "labels": {
            **marks,
            "kueue.x-k8s.io/queue-name": "fairgate",
            "kueue.x-k8s.io/priority-class": "production",
        },
        "annotations": {"fairgate.internal/job": launch.job.id, "fairgate.internal/digest": digest_of(made)},
    }
    spec = made["spec"]
    assert spec["suspend"] is True
    assert spec["shutdownAfterJobFinishes"] is True
    assert spec["activeDeadlineSeconds"] == 3600 + 600 + 600


def pods_of(made: dict[str, Any]) -> dict[str, Any]:
    cluster = made["spec"]["rayClusterSpec"]
    return {
        "head": cluster["headGroupSpec"]["template"],
        **{each["groupName"]: each["template"] for each in cluster["workerGroupSpecs"]},
        "submitter": made["spec"]["submitterPodTemplate"],
    }


def test_every_pod_is_marked_with_its_flavor_and_told_of_its_attempt() -> None:
    pods = pods_of(render(launch_of(gpu_job()), "train-2"))
    assert {name: pod["metadata"]["labels"]["fairgate.internal/flavor"] for name, pod in pods.items()} == {
        "head": "cpu",
        "gpu": "h100",
        "submitter": "cpu",
    }
    for pod in pods.values():
        assert pod["metadata"]["labels"]["fairgate.internal/attempt"] == "2"
        assert pod["metadata"]["annotations"] == {"fairgate.internal/job": "tenants/vision/jobs/train"}
        (first,) = pod["spec"]["containers"]
        assert {each["name"]: each["value"] for each in first["env"]} == {
            "FAIRGATE_JOB": "tenants/vision/jobs/train",
            "FAIRGATE_TENANT": "vision",
            "FAIRGATE_ATTEMPT": "2",
            "FAIRGATE_FLAVOR": "h100",
            "FAIRGATE_NOTICE": "/var/run/fairgate/notice",
        }
        assert first["volumeMounts"] == [
            {"name": "fairgate-notice", "mountPath": "/var/run/fairgate", "readOnly": True}
        ]
        (volume,) = pod["spec"]["volumes"]
        (item,) = volume["downwardAPI"]["items"]
        assert item == {
            "fieldRef": {"fieldPath": "metadata.annotations['fairgate.internal/notice']"},
            "path": "notice",
        }
    assert pods["gpu"]["spec"]["nodeSelector"] == {"accelerator": "h100"}


def test_a_fallback_changes_pods_and_marks() -> None:
    options = [
        {"flavor": "h100"},
        {
            "flavor": "v5e",
            "groups": {"gpu": {"resources": {"google.com/tpu": "4"}, "replicas": 1, "image": "tpu:1"}},
        },
    ]
    made = render(launch_of(gpu_job(), options, option=1), "train-2")
    gpu = pods_of(made)["gpu"]
    assert made["metadata"]["labels"]["fairgate.internal/option"] == "v5e"
    assert gpu["metadata"]["labels"]["fairgate.internal/flavor"] == "v5e"
    assert gpu["spec"]["nodeSelector"] == {"tpu": "v5e"}
    (first,) = gpu["spec"]["containers"]
    assert first["image"] == "tpu:1"
    assert GPU not in first["resources"]["limits"]
    assert first["resources"]["limits"]["google.com/tpu"] == "4"


def test_what_speaks_to_kueue_or_to_us_is_ours_to_say() -> None:
    manifest = gpu_job()
    manifest["metadata"] |= {
        "labels": {"kueue.x-k8s.io/queue-name": "inbox", "team": "ml", "fairgate.internal/attempt": "9"},
        "annotations": {"fairgate.internal/options": "- flavor: h100", "note": "x"},
        "ownerReferences": [{"kind": "X"}],
    }
    labelled = template(container("ray-worker", {"cpu": 1, "memory": "1Gi", GPU: 1}))
    labelled["metadata"] = {"labels": {"kueue.x-k8s.io/pod-group-name": "victim", "app": "a"}}
    manifest["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["template"] = labelled
    made = render(launch_of(manifest), "train-2")
    assert made["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "fairgate"
    assert made["metadata"]["labels"]["fairgate.internal/attempt"] == "2"
    assert made["metadata"]["labels"]["team"] == "ml"
    assert made["metadata"]["annotations"]["note"] == "x"
    assert "fairgate.internal/options" not in made["metadata"]["annotations"]
    assert "ownerReferences" not in made["metadata"]
    labels = pods_of(made)["gpu"]["metadata"]["labels"]
    assert "kueue.x-k8s.io/pod-group-name" not in labels
    assert labels["app"] == "a"


def test_the_request_owns_it_but_does_not_control_it() -> None:
    request = {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "train", "uid": "u-1"}}
    made = render(launch_of(gpu_job()), "train-2", request)
    assert made["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "ray.io/v1",
            "kind": "RayJob",
            "name": "train",
            "uid": "u-1",
            "controller": False,
            "blockOwnerDeletion": False,
        }
    ]


def test_the_digest_is_of_what_we_wrote_and_not_of_what_kueue_writes() -> None:
    made = render(launch_of(gpu_job()), "train-2")
    assert digest_of({**made, "spec": {**made["spec"], "suspend": False}}) == digest_of(made)
    assert digest_of({**made, "spec": {**made["spec"], "entrypoint": "python other.py"}}) != digest_of(made)


def test_empty_maps_and_defaults_that_others_add_are_no_change() -> None:
    made = render(launch_of(gpu_job()), "train-2")
    there = copy.deepcopy(made)
    there["spec"] |= {"suspend": False, "backoffLimit": 0, "submissionMode": "K8sJobMode", "ttlSecondsAfterFinished": 0}
    for pod in pods_of(there).values():
        pod["spec"]["nodeSelector"] = {"added": "by-kueue"}
        pod["spec"].setdefault("initContainers", [])
        for each in pod["spec"]["containers"]:
            each.setdefault("args", [])
    there["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["numOfHosts"] = 1
    assert digest_of(there) == digest_of(made)


def test_an_amount_that_others_write_in_their_own_way_is_no_change() -> None:
    """Kueue and KubeRay write a RayJob back as Go has it: accelerators as texts, 1000m as 1."""
    made = render(launch_of(ray_job(group("gpu", 2, {"cpu": "1000m", "memory": "8192Mi", GPU: 4}))), "train-2")
    there = copy.deepcopy(made)
    [worker] = there["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["template"]["spec"]["containers"]
    assert worker["resources"]["limits"][GPU] == 4
    for amounts in worker["resources"].values():
        amounts.update({"cpu": "1", "memory": "8Gi", GPU: "4"})
    assert digest_of(there) == digest_of(made)
    worker["resources"]["limits"][GPU] = "5"
    assert digest_of(there) != digest_of(made)


def test_the_deadline_counts_the_options_speed_and_what_is_done() -> None:
    launch = launch_of(gpu_job(), [{"flavor": "h100", "speed": "2"}])
    launch = replace(launch, job=replace(launch.job, done_ms=600_000))
    assert launch.job.options[0].speed == Fraction(2)
    assert render(launch, "train-2")["spec"]["activeDeadlineSeconds"] == 1500 + 600 + 600
