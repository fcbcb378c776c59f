"""The client against the real service: what each method does, and that it is plain Python all the way."""

import json
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import fairgate
import pytest
import yaml
from fairgate import JobState, Submission


def test_submit_returns_the_job_as_accepted(client, manifest):
    job = client.submit(
        manifest("train", gpus=2), tenant="a", priority=5, time_limit="1h30m", preemptible=False, labels={"x": "y"}
    )
    assert (job.name, job.id, job.tenant, job.state) == ("tenants/a/jobs/train", "train", "a", JobState.PENDING)
    assert (job.priority, job.time_limit, job.preemptible) == (5, timedelta(minutes=90), False)
    assert job.labels == {"x": "y"}
    (charge,) = job.charges
    assert (charge.flavor, charge.speed) == ("h100", Fraction(1))
    assert fairgate.Charge("h100", "nvidia.com/gpu", "2") in charge.rows
    assert job.create_time.tzinfo is UTC


@pytest.mark.parametrize("form", ["text", "mapping", "path"])
def test_a_manifest_can_be_text_a_mapping_or_a_file(client, manifest, tmp_path, form):
    text = manifest("train", gpus=3)
    (tmp_path / "rayjob.yaml").write_text(text)
    given = {"text": text, "mapping": json.loads(text), "path": tmp_path / "rayjob.yaml"}[form]
    job = client.submit(given, tenant="a")
    assert fairgate.Charge("h100", "nvidia.com/gpu", "3") in job.charges[0].rows
    assert client.get(job.name).manifest == json.loads(text)


def test_the_tenant_is_the_argument_else_the_annotation_else_the_environment(client, manifest, monkeypatch):
    annotated = json.loads(manifest("one"))
    annotated["metadata"]["annotations"] = {"fairgate.internal/tenant": "b"}
    monkeypatch.setenv("FAIRGATE_TENANT", "a")
    assert client.submit(yaml.safe_dump(annotated), tenant="a").tenant == "a"
    assert client.submit(annotated).tenant == "b"
    assert client.submit(manifest("two")).tenant == "a"
    monkeypatch.delenv("FAIRGATE_TENANT")
    with pytest.raises(fairgate.InvalidArgument, match="no tenant is named") as caught:
        client.submit(manifest("three"))
    assert caught.value.field == "tenant"


def test_options_are_models_or_mappings_as_in_yaml(client, manifest):
    text = manifest("train", gpus=2)
    as_mappings = client.submit(
        text,
        tenant="b",
        job_id="one",
        fallback_after="4s",
        options=[
            {"flavor": "h100"},
            {
                "flavor": "v5e",
                "speed": "1/3",
                "groups": {"gpu": {"replicas": 1, "resources": {"google.com/tpu": 4}, "env": {"PJRT_DEVICE": "TPU"}}},
            },
        ],
    )
    change = fairgate.GroupChange(replicas=1, resources={"google.com/tpu": "4"}, env={"PJRT_DEVICE": "TPU"})
    options = (fairgate.OptionSpec("h100"), fairgate.OptionSpec("v5e", Fraction(1, 3), {"gpu": change}))
    as_models = client.submit(text, tenant="b", job_id="two", fallback_after=timedelta(seconds=4), options=options)
    assert as_mappings.options == as_models.options == options
    assert as_mappings.charges == as_models.charges
    assert as_models.fallback_after == timedelta(seconds=4)
    assert fairgate.Charge("v5e", "google.com/tpu", "4") in as_models.charges[1].rows


def test_the_same_request_id_makes_one_job(client, manifest):
    first = client.submit(manifest("train"), tenant="a", request_id="r-1")
    assert client.submit(manifest("train"), tenant="a", request_id="r-1").name == first.name
    with pytest.raises(fairgate.AlreadyExists) as caught:
        client.submit(manifest("train", gpus=2), tenant="a", request_id="r-1")
    assert (caught.value.field, caught.value.remedy) == ("request_id", "use a new request id for a new job")
    assert caught.value.message.startswith("request id 'r-1' was used for tenants/a/jobs/train")


def test_without_a_request_id_every_submit_is_a_new_job(client, manifest):
    names = {client.submit(manifest("train"), tenant="b").name for _ in range(3)}
    assert len(names) == 3


def test_a_dry_run_leaves_nothing_behind(client, manifest):
    job = client.submit(manifest("train"), tenant="a", dry_run=True)
    assert job.charges[0].flavor == "h100"
    assert list(client.list()) == []


def test_submit_many_says_what_became_of_each(client, manifest):
    answers = client.submit_many(
        [
            Submission(manifest("one"), tenant="a"),
            Submission(manifest("two", gpus=-1), tenant="a"),
            Submission(manifest("three"), tenant="nobody"),
            Submission(manifest("four"), tenant="b", time_limit="soon"),
            Submission(manifest("five"), tenant="b"),
        ]
    )
    assert [type(answer).__name__ for answer in answers] == [
        "Job",
        "InvalidArgument",
        "NotFound",
        "InvalidArgument",
        "Job",
    ]
    assert answers[1].field.startswith("job.manifest.spec.rayClusterSpec.workerGroupSpecs[0]")
    assert answers[3].field == "job.time_limit"
    assert sorted(job.id for job in client.list()) == ["five", "one"]


def test_submit_many_goes_over_many_calls(client, manifest, monkeypatch):
    monkeypatch.setattr("fairgate._client.BATCH_JOBS", 2)
    answers = client.submit_many(Submission(manifest(f"j{index}"), tenant="b") for index in range(5))
    assert [answer.id for answer in answers] == ["j0", "j1", "j2", "j3", "j4"]


def test_list_goes_over_pages_and_filters(client, manifest, monkeypatch):
    monkeypatch.setattr("fairgate._client.PAGE_SIZE", 2)
    for index in range(5):
        client.submit(manifest(f"j{index}"), tenant="b", priority=index)
    assert [job.id for job in client.list()] == ["j4", "j3", "j2", "j1", "j0"]
    assert [job.id for job in client.list("org")] == ["j4", "j3", "j2", "j1", "j0"]
    assert [job.id for job in client.list("a")] == []
    assert [job.id for job in client.list("b", "state = PENDING AND priority >= 3")] == ["j4", "j3"]
    with pytest.raises(fairgate.InvalidArgument, match="column 1"):
        list(client.list(filter="colour = red"))


def test_a_jobs_way_through_the_service(service, client, manifest):
    job = client.submit(manifest("train", gpus=8), tenant="a")
    service.turn()
    assert job.refresh().state is JobState.ADMITTED
    service.turn(1_000)
    running = job.refresh()
    assert (running.state, running.flavor, running.attempts[0].state) == ("RUNNING", "h100", "RUNNING")
    client.submit(manifest("mine", gpus=4), tenant="b")
    service.turn()
    evicted = job.refresh()
    assert (evicted.state, evicted.eviction_count, evicted.hold.reason) == ("PENDING", 1, "WAITING_FOR_QUOTA")


def test_cancel_and_update(service, client, manifest):
    job = client.submit(manifest("train"), tenant="a")
    changed = client.update(job.name, priority=3, time_limit="2h", etag=job.etag)
    assert (changed.priority, changed.time_limit) == (3, timedelta(hours=2))
    with pytest.raises(fairgate.Aborted) as caught:
        client.update("a/train", priority=4, etag=job.etag)
    assert caught.value.reason == "STALE_ETAG"
    assert job.cancel("not needed").state is JobState.CANCELLED
    assert client.cancel("a/train").message == "cancelled by local: not needed"
    with pytest.raises(fairgate.FailedPrecondition):
        client.update(job.name, priority=4)


def test_explain_has_the_numbers(service, client, manifest):
    client.submit(manifest("big", gpus=8), tenant="a", preemptible=False)
    service.turn()
    job = client.submit(manifest("mine", gpus=4), tenant="b")
    service.turn()
    told = client.explain(job.name)
    assert (told.hold.reason, told.position) == (fairgate.HoldReason.WAITING_FOR_QUOTA, 1)
    needs = [(need.at, need.flavor, need.resource, need.need, need.have) for need in told.options[0].needs]
    assert needs == [("org", "h100", "nvidia.com/gpu", "4", "0"), ("", "h100", "nvidia.com/gpu", "4", "0")]
    assert [need.holders for need in told.options[0].needs] == [{"a": "8"}, {"a": "8"}]


def test_the_configuration_and_what_is_used_of_it(service, client, manifest):
    config = client.get_config()
    assert config.source.startswith("version: 1")
    smaller = config.source.replace("v5e: {price: 1,", "v5e: {price: 2,")
    change = client.apply_config(smaller, dry_run=True, etag=config.etag)
    assert len(change.changes) == 1
    assert client.get_config() == config
    applied = client.apply_config(smaller, etag=config.etag, comment="TPUs got dearer")
    assert client.get_config() == applied.config
    assert applied.config.comment == "TPUs got dearer"
    with pytest.raises(fairgate.Aborted):
        client.apply_config(config.source, etag=config.etag)
    client.submit(manifest("train", gpus=2), tenant="a")
    service.turn()
    assert [tenant.id for tenant in client.tenants()] == ["org", "a", "b"]
    usage = client.usage("a")
    share = Fraction(3 * 2, 3 * 8 + 2 * 4)
    assert (usage.running_job_count, usage.weight, usage.share) == (1, Fraction(2), share)
    assert (usage.weighted_share, usage.entitlement, usage.dominant_resource) == (
        share / 2,
        Fraction(2, 3),
        "accelerator",
    )
    assert usage.rows[-1] == fairgate.QuotaUsage("h100", "nvidia.com/gpu", "2", "4", "0", "0")
    h100 = next(each for each in client.flavors() if each.id == "h100")
    assert fairgate.FlavorCapacity("nvidia.com/gpu", "8", "8", "2") in h100.capacities


def test_a_refused_configuration_names_field_and_line(client):
    with pytest.raises(fairgate.InvalidArgument) as caught:
        client.apply_config("version: 1\nflavours: {}\n")
    assert caught.value.field == "source.flavours"
    assert caught.value.message.startswith("line 2: ")


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.get("a/none"),
        lambda client: client.cancel("a/none"),
        lambda client: client.update("a/none", priority=1),
        lambda client: client.explain("a/none"),
        lambda client: list(client.logs("a/none")),
        lambda client: client.wait("a/none"),
        lambda client: next(client.watch(job="a/none")),
        lambda client: client.usage("none"),
    ],
)
def test_what_is_not_there_is_not_found(client, call):
    with pytest.raises(fairgate.NotFound):
        call(client)


@pytest.mark.parametrize("name", ["", "train", "a/b/c", "tenants/a/jobs/", "jobs/a/tenants/b"])
def test_a_name_that_names_no_job_is_refused_here(client, name):
    with pytest.raises(fairgate.InvalidArgument, match="does not name a job"):
        client.get(name)


def test_a_file_that_is_not_there(client):
    with pytest.raises(fairgate.InvalidArgument, match=r"none\.yaml can not be read"):
        client.submit(Path("none.yaml"), tenant="a")


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"priority": 2**31}, "job.priority: 2147483648 does not fit 32 bits"),
        ({"labels": {"a": 1}}, "a value can not be sent"),
        ({"job_id": "\ud800"}, "a value can not be sent"),
        ({"options": [{"flavor": "h100", "groups": {"gpu": {"replicas": 10**9}}}]}, "is not a count"),
        ({"options": {"flavor": "h100"}}, "job.options: not a list"),
    ],
)
def test_what_can_not_be_sent_is_refused_here(client, manifest, fields, error):
    with pytest.raises(fairgate.InvalidArgument, match=error):
        client.submit(manifest("train"), tenant="a", **fields)
    with pytest.raises(fairgate.InvalidArgument, match="a value can not be sent"):
        next(client.watch(after_sequence=2**70))


def test_the_name_of_a_file_is_no_manifest(client):
    with pytest.raises(fairgate.InvalidArgument, match=r"pass pathlib.Path"):
        client.submit("jobs/rayjob.yaml", tenant="a")


def test_a_handle_without_a_client_says_so():
    job = fairgate.Job("tenants/a/jobs/x", "a", JobState.PENDING, create_time=datetime.now(UTC))
    with pytest.raises(ValueError, match="not a handle"):
        job.wait()
