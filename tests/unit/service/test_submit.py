import json
import threading
from dataclasses import replace

import pytest
from fairgate_scheduler.core.jobs import JobState
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.errors import (
    AlreadyExists,
    FailedPrecondition,
    FairgateError,
    InvalidArgument,
    NotFound,
    ResourceExhausted,
)
from fairgate_scheduler.service.query import JobFilter, list_jobs
from fairgate_scheduler.service.quota import apply_config
from fairgate_scheduler.service.reading import DEFAULT_TIME_LIMIT_MS
from fairgate_scheduler.service.submit import JobSpec, SubmitRequest, submit, submit_many
from fairgate_scheduler.testing.builders import ray_job
from fairgate_scheduler.testing.memory_store import MemoryStore

WORKERS = "manifest.spec.rayClusterSpec.workerGroupSpecs[0]"
LIMITS = "manifest.spec.rayClusterSpec.workerGroupSpecs[0].template.spec.containers[0].resources.limits[nvidia.com/gpu]"


def _names(rig):
    return [view.job.id for view in list_jobs(rig.app, JobFilter())[0]]


def test_a_job_is_taken_whole(rig):
    view = submit(rig.app, rig.request(gpus=2, priority=7, preemptible=False, labels={"project": "x"}))
    assert view.job.id == "tenants/a/jobs/train"
    assert (view.job.state, view.job.priority, view.job.preemptible) == (JobState.PENDING, 7, False)
    assert view.job.options[0].demand[("h100", "nvidia.com/gpu")] == 2
    assert (view.job.submitted_at_ms, view.job.sequence) == (rig.clock.now_ms(), 1)
    assert view.submission.submitted_by == "user:me"
    assert view.submission.spec["labels"] == {"project": "x"}
    assert rig.events(view.job.id) == ["SUBMITTED"]


def test_the_name_is_the_manifests_if_it_is_free_and_gets_a_suffix_if_not(rig):
    first, second, third = (submit(rig.app, rig.request()).job.id for _ in range(3))
    assert first == "tenants/a/jobs/train"
    assert second.startswith("tenants/a/jobs/train-")
    assert len({first, second, third}) == 3
    assert submit(rig.app, rig.request(tenant="b")).job.id == "tenants/b/jobs/train"


def test_a_generated_name_always_has_a_suffix(rig):
    text = ray_job().replace('"name": "train"', '"generateName": "train-"')
    view = submit(rig.app, replace(rig.request(), manifest_text=text))
    assert view.job.id.startswith("tenants/a/jobs/train-")
    assert len(view.job.id) == len("tenants/a/jobs/train-") + 5


def test_a_job_id_is_taken_as_it_is_and_only_once(rig):
    assert submit(rig.app, rig.request(job_id="mine")).job.id == "tenants/a/jobs/mine"
    with pytest.raises(AlreadyExists) as caught:
        submit(rig.app, rig.request(job_id="mine"))
    assert caught.value.field == "job_id"
    assert _names(rig) == ["tenants/a/jobs/mine"]


def test_the_same_request_is_the_same_job(rig):
    first = submit(rig.app, rig.request(request_id="r1"))
    rig.clock.advance(1_000)
    again = submit(rig.app, rig.request(request_id="r1"))
    assert again.job == first.job
    assert submit(rig.app, rig.request(tenant="b", request_id="r1")).job.id == "tenants/b/jobs/train"
    assert len(_names(rig)) == 2


def test_the_layout_of_the_manifest_is_no_content(rig):
    first = submit(rig.app, rig.request(request_id="r1"))
    text = ray_job().replace("\n", "\n\n") + "\n# the same\n"
    again = submit(rig.app, replace(rig.request(request_id="r1"), manifest_text=text))
    assert again.job == first.job


@pytest.mark.parametrize("change", [{"priority": 1}, {"gpus": 2}, {"job_id": "other"}, {"name": "other"}])
def test_the_same_request_id_with_other_content_is_refused(rig, change):
    submit(rig.app, rig.request(request_id="r1"))
    with pytest.raises(AlreadyExists) as caught:
        submit(rig.app, rig.request(**{"request_id": "r1", **change}))
    assert caught.value.field == "request_id"
    assert len(_names(rig)) == 1


def test_a_request_is_found_again_even_if_it_could_not_be_taken_any_more(rig):
    first = submit(rig.app, rig.request(request_id="r1", gpus=2))
    source = rig.app.config_version().source.replace("nominal: 2", "nominal: 0")
    apply_config(rig.app, source)
    assert submit(rig.app, rig.request(request_id="r1", gpus=2)).job.id == first.job.id


def test_fifty_submits_at_once_make_one_job(rig):
    answers = []
    start = threading.Barrier(50)

    def go():
        start.wait()
        answers.append(submit(rig.app, rig.request(request_id="r1")).job.id)

    threads = [threading.Thread(target=go) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == ["tenants/a/jobs/train"] * 50
    assert _names(rig) == ["tenants/a/jobs/train"]
    assert rig.events("tenants/a/jobs/train") == ["SUBMITTED"]


def test_validate_only_leaves_nothing_behind(rig):
    view = submit(rig.app, replace(rig.request(request_id="r1"), validate_only=True))
    assert view.job.id == "tenants/a/jobs/train"
    assert _names(rig) == []
    assert submit(rig.app, rig.request(request_id="r1")).job.sequence == 1


def test_one_that_is_refused_does_not_keep_the_others_out(rig):
    answers = submit_many(rig.app, [rig.request("one"), rig.request("two", "nobody"), rig.request("three")])
    assert [each.job.id for each in answers if not isinstance(each, FairgateError)] == [
        "tenants/a/jobs/one",
        "tenants/a/jobs/three",
    ]
    assert isinstance(answers[1], NotFound)


@pytest.mark.parametrize(
    ("change", "field", "says"),
    [
        ({"gpus": 1000}, LIMITS, "1000 nvidia.com/gpu of h100; tenant 'a' can never have more than 4"),
        ({"gpus": -1}, LIMITS, "-1 is negative"),
        ({"priority": 101}, "priority", "max_priority"),
        ({"priority_class": "prodction"}, "priority_class", "did you mean 'production'?"),
        ({"priority_class": "production", "priority": 1}, "priority_class", "give one of them"),
        ({"time_limit_ms": 0}, "time_limit", "30m"),
        ({"fallback_after_ms": -1}, "fallback_after", "10m"),
        ({"workload": "llm"}, "workload", "no workload class 'llm'"),
        ({"labels": {"a b": "c"}}, "labels[a b]", "not a label"),
        ({"job_id": "Train"}, "job_id", "lower-case"),
        ({"options": [{"flavor": "h200"}]}, "options[0].flavor", "h200"),
    ],
)
def test_refusals_name_the_field_and_the_remedy_and_leave_nothing_behind(rig, change, field, says):
    with pytest.raises(InvalidArgument) as caught:
        submit(rig.app, rig.request(**change))
    assert field in {each.field for each in caught.value.violations}
    assert says in str(caught.value)
    assert all(each.remedy for each in caught.value.violations)
    messages = [each.message.removeprefix("line 1: ") for each in caught.value.violations]
    assert len(set(messages)) == len(messages), "something is said twice"
    assert _names(rig) == []


@pytest.mark.parametrize(
    ("counts", "option", "field"),
    [
        ({"replicas": 1000, "maxReplicas": 1000}, {}, f"{WORKERS}.replicas"),
        ({"replicas": 1, "minReplicas": 1000, "maxReplicas": 1000}, {}, f"{WORKERS}.minReplicas"),
        ({"replicas": 1, "numOfHosts": 1000}, {}, f"{WORKERS}.numOfHosts"),
        ({"replicas": 2000, "maxReplicas": 1000}, {}, f"{WORKERS}.maxReplicas"),
        ({}, {"groups": {"gpu": {"replicas": 1000, "max_replicas": 1000}}}, "options[0].groups.gpu.replicas"),
    ],
)
def test_of_too_many_pods_their_number_is_named_and_not_what_one_asks_for(rig, counts, option, field):
    manifest = json.loads(ray_job())
    manifest["spec"]["rayClusterSpec"]["workerGroupSpecs"][0].update(counts)
    request = replace(rig.request(options=[{"flavor": "h100", **option}]), manifest_text=json.dumps(manifest))
    with pytest.raises(InvalidArgument) as caught:
        submit(rig.app, request)
    (violation,) = (each for each in caught.value.violations if "nvidia.com/gpu" in each.message)
    assert violation.field == field
    assert "1000 nvidia.com/gpu of h100 (1000 pods of 'gpu' with 1 each); tenant 'a' can never" in violation.message
    assert violation.remedy.startswith("ask for fewer pods, with 4 nvidia.com/gpu or fewer in all, for another flavor")


def test_all_that_is_wrong_is_said_at_once_with_the_lines_of_the_manifest(rig):
    text = ray_job().replace('"entrypoint"', '"entrypint"').replace('"name": "train"', '"name": "Train"')
    request = replace(rig.request(time_limit_ms=-1), manifest_text=text)
    with pytest.raises(InvalidArgument) as caught:
        submit(rig.app, request)
    fields = {each.field: each.message for each in caught.value.violations}
    assert {"time_limit", "manifest.spec.entrypint"} <= fields.keys()
    line = 1 + next(at for at, each in enumerate(text.splitlines()) if "entrypint" in each)
    assert fields["manifest.spec.entrypint"].startswith(f"line {line}: ")


def test_a_manifest_that_is_no_yaml_says_where(rig):
    with pytest.raises(InvalidArgument) as caught:
        submit(rig.app, replace(rig.request(), manifest_text="kind: [RayJob\nmore"))
    (violation,) = caught.value.violations
    assert violation.field == "manifest"
    assert violation.message.startswith("line ")


def test_a_job_that_fits_on_one_option_only_is_taken(rig):
    view = submit(rig.app, rig.request(gpus=3, options=[{"flavor": "a100"}, {"flavor": "h100"}]))
    assert [option.flavor for option in view.job.options] == ["a100", "h100"]


@pytest.mark.parametrize(("tenant", "kind"), [("nobody", NotFound), ("org", InvalidArgument)])
def test_only_leaves_submit(rig, tenant, kind):
    with pytest.raises(kind) as caught:
        submit(rig.app, rig.request(tenant=tenant))
    assert caught.value.field == "tenant"
    assert "a, b" in caught.value.remedy


def test_a_tenant_with_too_many_pending_jobs_is_refused(rig):
    source = rig.app.config_version().source.replace("max_priority: 100", "max_priority: 100, max_pending_jobs: 1")
    apply_config(rig.app, source)
    first, second = submit_many(rig.app, [rig.request("one"), rig.request("two")])
    assert first.job.id == "tenants/a/jobs/one"
    assert isinstance(second, ResourceExhausted)
    rig.turn()
    assert submit(rig.app, rig.request("three")).job.id == "tenants/a/jobs/three"


def test_before_the_first_configuration_nothing_is_taken(rig):
    app = App(MemoryStore(), rig.runner, rig.clock)
    with pytest.raises(FailedPrecondition) as caught:
        submit(app, rig.request())
    assert "fairgate quota apply" in caught.value.remedy


def test_the_time_limit_is_the_manifests_or_a_day_and_a_warning(rig):
    spec = JobSpec(options=[{"flavor": "h100"}])
    view = submit(rig.app, SubmitRequest("a", None, ray_job("one", activeDeadlineSeconds=60), spec))
    assert view.job.time_limit_ms == 60_000
    view = submit(rig.app, SubmitRequest("a", None, ray_job("two"), spec))
    assert view.job.time_limit_ms == DEFAULT_TIME_LIMIT_MS
    assert any("no time limit" in warning for warning in view.submission.warnings)
