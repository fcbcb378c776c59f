"""``fairgate get``, ``describe``, ``explain`` and ``top``: tables to the letter, and data for scripts."""

import json

import pytest
import yaml


@pytest.fixture
def story(service, client, manifest):
    """``a`` borrowed everything and had to give it back to ``b``; then time passed."""
    client.submit(manifest("train", gpus=8), tenant="a", priority=5, time_limit="2h", labels={"who": "me"})
    service.turn()
    service.turn(2_000)
    client.submit(manifest("mine", gpus=4), tenant="b", time_limit="1h")
    service.turn(20_000)
    service.turn(2_000)
    service.turn(2_000)


def test_jobs(fg, story):
    result = fg("get", "jobs")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        "JOB       STATE     REASON              FLAVOR   PRIORITY   ATTEMPTS   AGE\n"
        "b/mine    RUNNING   -                   h100     0          1          24s\n"
        "a/train   PENDING   WAITING_FOR_QUOTA   -        5          1          26s\n"
    )


def test_jobs_wide(fg, story):
    assert fg("get", "jobs", "-o", "wide").stdout.splitlines()[2] == (
        "a/train   PENDING   WAITING_FOR_QUOTA   -        5          1          26s   23:14    h100      2h           "
        "local          there is not enough free for it now"
    )


def test_jobs_can_be_chosen(fg, story, monkeypatch):
    def names(*arguments):
        result = fg("get", "jobs", "-o", "name", *arguments)
        assert result.exit_code == 0, result.stderr
        return [line.rpartition("/")[2] for line in result.stdout.splitlines()]

    assert names() == names("-A") == names("--tenant", "org") == ["mine", "train"]
    assert names("--tenant", "a") == names("--state", "pending") == names("--filter", "priority > 0") == ["train"]
    assert names("--filter", "labels.who = me") == ["train"]
    assert names("--state", "pending,running") == names("--state", "PENDING", "--state", "running") == ["mine", "train"]
    assert names("--limit", "1") == ["mine"]
    assert names("--state", "pending,failed", "--filter", "priority > 5") == []
    assert names("b/mine", "tenants/a/jobs/train") == ["mine", "train"]
    assert names("mine", "--tenant", "b") == ["mine"]
    monkeypatch.setenv("FAIRGATE_TENANT", "b")
    assert names() == names("mine") == ["mine"]
    assert names("-A") == ["mine", "train"]


def test_no_jobs(fg):
    result = fg("get", "jobs")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "no jobs\n")
    assert json.loads(fg("get", "jobs", "-o", "json").stdout) == {"jobs": []}


def test_one_job_as_data(fg, story):
    job = json.loads(fg("get", "job", "a/train", "-o", "json").stdout)
    assert yaml.safe_load(fg("get", "job", "a/train", "-o", "yaml").stdout) == job
    assert (job["name"], job["state"], job["hold"]["reason"]) == (
        "tenants/a/jobs/train",
        "PENDING",
        "WAITING_FOR_QUOTA",
    )
    assert (job["time_limit"], job["create_time"]) == ("7200s", "2023-11-14T22:13:20.000Z")
    assert job["attempts"][0]["state"] == "GONE"
    assert job["manifest"]["kind"] == "RayJob"
    assert not [name for name in job if name.startswith("_")]


def test_the_keys_of_a_job_are_a_contract(fg, story):
    (job,) = json.loads(fg("get", "jobs", "--tenant", "b", "-o", "json").stdout)["jobs"]
    assert list(job) == [
        "name", "tenant", "state", "priority", "preemptible", "time_limit", "fallback", "fallback_after", "options",
        "workload", "labels", "outcome", "message", "hold", "flavor", "charges", "warnings", "submitted_by",
        "create_time", "start_time", "finish_time", "pending_since", "attempt_count", "eviction_count", "exit_code",
        "attempts", "etag", "uid", "manifest", "forecast",
    ]  # fmt: skip


def test_tenants(fg, story):
    assert fg("get", "tenants").stdout == (
        "TENANT   WEIGHT   SHARE   ENTITLED   RUNNING   PENDING   USED/NOMINAL\n"
        "org      1        42.9%   100.0%     1         1         h100/nvidia.com/gpu 4/8, v5e/google.com/tpu 0/4\n"
        "  a      2        0.0%    66.7%      0         1         h100/nvidia.com/gpu 0/4\n"
        "  b      1        42.9%   33.3%      1         0         h100/nvidia.com/gpu 4/4, v5e/google.com/tpu 0/4\n"
    )
    usage = json.loads(fg("get", "tenants", "b", "-o", "json").stdout)["tenants"][0]["usage"]
    assert (usage["share"], usage["weighted_share"], usage["entitlement"]) == ("3/7", "3/7", "1/3")
    wide = [line.split("   ") for line in fg("get", "tenants", "a", "b", "-o", "wide").stdout.splitlines()]
    assert [[cell.strip() for cell in line if cell.strip()][7:10] for line in wide] == [
        ["DOMINANT", "SHARE/WEIGHT", "NAMESPACE"],
        ["-", "0.0%", "-"],
        ["accelerator", "42.9%", "-"],
    ]


def test_flavors(fg, story):
    assert fg("get", "flavors").stdout == (
        "FLAVOR   PRICE   RESOURCE         USED     NOMINAL     CAPACITY\n"
        "cpu      1       cpu              1500m    UNLIMITED   UNLIMITED\n"
        "cpu      1       memory           2248Mi   UNLIMITED   UNLIMITED\n"
        "h100     3       cpu              1        UNLIMITED   UNLIMITED\n"
        "h100     3       memory           2Gi      UNLIMITED   UNLIMITED\n"
        "h100     3       nvidia.com/gpu   4        8           8\n"
        "v5e      1       google.com/tpu   0        4           4\n"
    )
    assert fg("get", "flavors", "v5e", "-o", "name").stdout == "flavors/v5e\n"


def test_config(fg, client):
    assert fg("get", "config").stdout == fg("quota", "get").stdout == client.get_config().source
    assert json.loads(fg("get", "config", "-o", "json").stdout)["etag"] == client.get_config().etag


def test_describe_job(fg, story):
    result = fg("describe", "job", "a/train")
    assert result.exit_code == 0
    assert (
        result.stdout
        == """\
Job:          a/train
State:        PENDING
Priority:     5
Preemptible:  yes
Time limit:   2h
Labels:       who=me
Submitted:    2023-11-14 22:13:20 by local
Started:      2023-11-14 22:13:21
Evictions:    1

Options
#   OPTION   SPEED   GROUP       PODS   CHARGED TO   EACH POD
0   h100     1       head        1      cpu          cpu 1, memory 2Gi
                     gpu         1      h100         cpu 1, memory 2Gi, nvidia.com/gpu 8
                     submitter   1      cpu          cpu 500m, memory 200Mi

Attempts
#   STATE   FLAVOR   ADMITTED              RAN   EXIT   REASON
1   GONE    h100     2023-11-14 22:13:20   21s   -      preempted: tenant b takes back its nominal quota of h100

WAITING_FOR_QUOTA: there is not enough free for it now
Its place in its tenant's order: 1
Starts:    23:14 (in 59m), on h100
Finishes:  2023-11-15 01:14 (in 2h59m)
Costs:     48 on h100 (priced accelerator-hours until its time limit)
What would help: 4 more nvidia.com/gpu of h100 in the quota of tenant a and in the cluster, or wait until 23:14

Option 0 on h100: not enough is free
FLAVOR   RESOURCE         NEEDS   FREE   BOUND BY       HELD BY
h100     nvidia.com/gpu   8       4      quota of org   b 4
h100     nvidia.com/gpu   8       4      capacity       b 4
"""
    )


def test_explain(fg, story):
    assert (
        fg("explain", "a/train").stdout
        == """\
a/train is PENDING

WAITING_FOR_QUOTA: there is not enough free for it now
Its place in its tenant's order: 1
Starts:    23:14 (in 59m), on h100
Finishes:  2023-11-15 01:14 (in 2h59m)
Costs:     48 on h100 (priced accelerator-hours until its time limit)
What would help: 4 more nvidia.com/gpu of h100 in the quota of tenant a and in the cluster, or wait until 23:14

Option 0 on h100: not enough is free
FLAVOR   RESOURCE         NEEDS   FREE   BOUND BY       HELD BY
h100     nvidia.com/gpu   8       4      quota of org   b 4
h100     nvidia.com/gpu   8       4      capacity       b 4
"""
    )
    assert fg("explain", "b/mine").stdout == "b/mine is RUNNING\n"
    told = json.loads(fg("explain", "a/train", "-o", "json").stdout)
    assert told["options"][0]["needs"][0]["holders"] == {"b": "4"}


def test_explain_of_an_admitted_job_says_what_it_waits_for(fg, service, client, manifest):
    client.submit(manifest("train", gpus=8), tenant="a", time_limit="2h")
    service.turn()
    assert client.get("a/train").state == "ADMITTED"
    assert fg("explain", "a/train").stdout == (
        "a/train is ADMITTED\nattempt 1 on h100 is being started: the job runs once its Ray cluster is ready\n"
    )
    service.turn(2_000)
    client.submit(manifest("mine", gpus=4), tenant="b", time_limit="1h")
    service.turn()
    reason = "WAITING_FOR_PREEMPTED: it is admitted and waits until the jobs that gave way to it are gone"
    assert fg("explain", "b/mine").stdout.splitlines()[::2] == ["b/mine is ADMITTED", f"{reason}: tenants/a/jobs/train"]


def test_explain_as_data_has_the_forecast(fg, story):
    told = json.loads(fg("explain", "a/train", "-o", "json").stdout)["job"]["forecast"]
    assert (told["latest_start"], told["option"], told["is_partial"]) == ("2023-11-14T23:13:45.000Z", 0, False)
    assert told["costs"] == [{"option": 0, "flavor": "h100", "accelerator_hours": "48"}]
    assert [(each["kind"], each["tenant"]) for each in told["helps"]] == [("QUOTA", "a")]


def test_named_jobs_have_their_start_too(fg, story):
    lines = fg("get", "jobs", "b/mine", "a/train", "-o", "wide").stdout.splitlines()
    place = lines[0].index("STARTS")
    assert [line[place:].split()[0] for line in lines] == ["STARTS", "-", "23:14"]


def test_describe_takes_a_name_that_can_mean_one_thing_only(fg, story):
    assert fg("describe", "a/train").stdout == fg("describe", "job", "a/train").stdout
    assert fg("describe", "tenants/a/jobs/train", "-o", "json").stdout.startswith("{")
    assert fg("describe", "tenants/b").stdout == fg("describe", "tenant", "b").stdout
    result = fg("describe", "train")
    remedy = "write `fairgate describe job TENANT/train` or `fairgate describe tenant train`"
    assert (result.exit_code, result.stderr) == (2, f"error: 'train' could be a job or a tenant\n  fix: {remedy}\n")


def test_describe_tenant(fg, story):
    text = fg("describe", "tenant", "b").stdout
    assert text.startswith(
        """\
Tenant:          b
Parent:          org
Weight:          1
Share:           42.9% of accelerator
Share ÷ weight:  42.9%
Entitled to:     33.3%
Jobs:            1 running, 0 pending
Flavors:         all
"""
    )
    assert "h100     nvidia.com/gpu   4         UNLIMITED    UNLIMITED\n" in text
    assert fg("describe", "tenant", "org").stdout.startswith("Tenant:          org\nChildren:        a, b\n")


def test_top_prints_once_where_nobody_looks(fg, story):
    result = fg("top")
    assert result.exit_code == 0
    assert "  a      2        0.0%    66.7% " in result.stdout
    assert "a/train   PENDING   WAITING_FOR_QUOTA" in result.stdout
    assert "\x1b" not in result.stdout
    data = json.loads(fg("top", "-o", "json").stdout)
    assert [tenant["name"] for tenant in data["tenants"]] == ["tenants/org", "tenants/a", "tenants/b"]


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (
            ("get", "job", "a/none"),
            3,
            "error: there is no job tenants/a/jobs/none\n  fix: see: fairgate get jobs",
        ),
        (("get", "job", "none"), 2, "error: 'none' could be a job of any tenant\n  fix: write TENANT/none"),
        (
            ("get", "jobs", "--state", "runing"),
            2,
            "error: --state: 'runing' is not a state\n  fix: did you mean running?",
        ),
        (("get", "jobs", "--filter", "colour = red"), 2, "error: --filter: column 1: no field 'colour'"),
        (("get", "jobs", "a/train", "--watch"), 2, "error: a filter, or --watch, beside names of jobs"),
        (("get", "jobs", "--tenant", "a/b"), 2, "error: --tenant: 'a/b' does not name a tenant"),
        (("get", "tenants", "c"), 3, "error: there is no tenant 'c'\n  fix: see: fairgate get tenants"),
        (("describe", "tenant", "orgg"), 3, "error: there is no tenant 'orgg'\n  fix: did you mean org?"),
        (("get", "flavors", "h10"), 3, "error: there is no flavor 'h10'\n  fix: did you mean h100?"),
        (("explain", "a/none"), 3, "error: there is no job"),
        (("logs", "a/none"), 3, "error: there is no job"),
        (("watch", "a/none"), 3, "error: there is no job"),
        (("watch", "--tenant", "none"), 3, "error: --tenant: there is no tenant 'none'"),
        (("watch", "--tenant", "orgg"), 3, "error: --tenant: there is no tenant 'orgg'\n  fix: did you mean org?"),
        (("cancel", "a/none"), 3, "error: there is no job"),
        (("update", "a/none", "--priority", "1"), 3, "error: there is no job"),
        (("update", "a/none"), 2, "error: nothing to change\n  fix: add --priority"),
    ],
)
def test_errors(fg, story, arguments, code, error):
    result = fg(*arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr.startswith(error)
    assert "Traceback" not in result.stderr
