"""``fairgate submit``: what is printed, what is refused and where, and with which exit code."""

import json

import pytest
import yaml
from fairgate_scheduler.testing.fake_runner import Script

LIMIT = ("--time-limit", "1h")


@pytest.fixture
def write(here, manifest):
    """Write a manifest file: its name, then what is put into it."""

    def make(name, annotations=None, replace=(), **content):
        document = json.loads(manifest(name.partition(".")[0], **content))
        if annotations:
            document["metadata"]["annotations"] = {
                f"fairgate.internal/{key}": text for key, text in annotations.items()
            }
        text = yaml.dump(document, Dumper=_Dumper, sort_keys=False)
        for old, new in replace:
            assert old in text
            text = text.replace(old, new)
        (here / name).write_text(text)
        return name

    return make


class _Dumper(yaml.SafeDumper):
    """Texts of many lines as blocks, as people write them."""


_Dumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None),
)


def test_one_job(fg, write, client):
    result = fg("submit", "-f", write("train.yaml", gpus=2), "--tenant", "a", "--priority", "urgent", *LIMIT)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "a/train submitted\n", "")
    job = client.get("a/train")
    assert (job.priority, job.preemptible) == (7, True)


def test_all_its_options(fg, write, here, client):
    options = "- flavor: h100\n- flavor: v5e\n  speed: 0.5\n  groups: {gpu: {resources: {google.com/tpu: 4}}}\n"
    (here / "options.yaml").write_text(options)
    result = fg(
        "submit", "-f", write("train.yaml"), "--tenant", "b", "--priority", "-3", "--no-preempt", "--name", "mine",
        "--fallback-after", "10m", "--option-file", "options.yaml", "--request-id", "r-1", "--label", "x=y", *LIMIT,
    )  # fmt: skip
    assert (result.exit_code, result.stdout, result.stderr) == (0, "b/mine submitted\n", "")
    job = client.get("b/mine")
    assert (job.priority, job.preemptible, job.labels) == (-3, False, {"x": "y"})
    assert [option.flavor for option in job.options] == ["h100", "v5e"]


def test_from_standard_input(fg, manifest):
    result = fg("submit", "-f", "-", "--tenant", "a", *LIMIT, stdin=manifest("train"))
    assert (result.exit_code, result.stdout) == (0, "a/train submitted\n")
    result = fg("submit", "-f", "-", "--tenant", "a", *LIMIT, stdin=manifest("bad", gpus=-1))
    assert result.exit_code == 2
    assert "error: <stdin>:52: spec.rayClusterSpec.workerGroupSpecs[0]" in result.stderr


def test_a_dry_run_shows_the_charge_and_submits_nothing(fg, write, client):
    result = fg("submit", "-f", write("train.yaml", gpus=2), "--tenant", "a", "--dry-run", *LIMIT)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        "a/train would be submitted\n"
        "  option 0 on h100 at speed 1: cpu/cpu 1500m, cpu/memory 2248Mi, h100/cpu 1, h100/memory 2Gi, "
        "h100/nvidia.com/gpu 2\n"
        "  Starts:    now, on h100\n"
        "  Finishes:  23:14 (in 1h)\n"
        "  Costs:     6 on h100 (priced accelerator-hours until its time limit)\n"
    )
    assert list(client.list()) == []


def test_a_dry_run_says_who_would_be_evicted_or_why_it_would_wait(fg, write, client, service, manifest):
    client.submit(manifest("big", gpus=8), tenant="a", time_limit="1h")
    service.turn()
    mine = fg("submit", "-f", write("train.yaml", gpus=2), "--tenant", "b", "--dry-run", *LIMIT).stdout
    assert mine.splitlines()[2:4] == ["  Starts:    now, on h100", "  Finishes:  23:14 (in 1h)"]
    assert "  Evicts:    a/big\n" in mine
    waits = fg("submit", "-f", write("train.yaml", gpus=2), "--tenant", "a", "--dry-run", *LIMIT).stdout
    assert "  WAITING_FOR_QUOTA: there is not enough free for it now\n  Starts:    23:14 (in 1h), on h100\n" in waits
    assert "  What would help: priority ≥ 1, or 2 more nvidia.com/gpu of h100 in" in waits
    told = fg("submit", "-f", "train.yaml", "--tenant", "a", "--dry-run", "-o", "json", *LIMIT).stdout
    assert json.loads(told)["forecast"]["helps"][0] == {
        "kind": "PRIORITY",
        "message": "priority ≥ 1",
        "priority": 1,
        "time_limit": None,
        "rows": [],
        "tenant": "",
        "max_running_jobs": None,
    }
    assert [job.id for job in client.list()] == ["big"]


def test_several_files_and_documents(fg, write, here, client):
    text = "\n---\n".join((here / write(f"{name}.yaml")).read_text() for name in ("one", "two"))
    (here / "both.yaml").write_text(f"# two jobs\n{text}")
    result = fg("submit", "-f", "both.yaml", "-f", write("three.yaml", {"tenant": "a"}), "--tenant", "b", *LIMIT)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "b/one submitted\nb/two submitted\nb/three submitted\n"


def test_a_folder(fg, write, here):
    (here / "jobs").mkdir()
    for name in ("one", "two"):
        (here / write(f"{name}.yaml")).rename(here / "jobs" / f"{name}.yaml")
    result = fg("submit", "-f", "jobs", "--tenant", "a", "-o", "name", *LIMIT)
    assert result.stdout == "tenants/a/jobs/one\ntenants/a/jobs/two\n"


def test_what_is_not_rays_is_left_out_with_a_warning(fg, write, here):
    config_map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: code}\n"
    (here / "both.yaml").write_text((here / write("one.yaml")).read_text() + "---\n" + config_map)
    result = fg("submit", "-f", "both.yaml", "--tenant", "a", *LIMIT)
    assert (result.exit_code, result.stdout) == (0, "a/one submitted\n")
    assert result.stderr == "warning: both.yaml:46: a ConfigMap is not submitted; bring it there with kubectl\n"


def test_a_name_that_is_taken_is_told(fg, write, client, manifest):
    write("report.yaml")
    assert fg("submit", "-f", "report.yaml", "--tenant", "a", *LIMIT).stderr == ""
    result = fg("submit", "-f", "report.yaml", "--tenant", "a", *LIMIT)
    (other,) = {job.id for job in client.list()} - {"report"}
    assert (result.exit_code, result.stdout) == (0, f"a/{other} submitted\n")
    assert result.stderr == f"the name report is taken; this one is named {other}\n"
    result = fg("submit", "-f", "report.yaml", "--tenant", "a", "--dry-run", *LIMIT)
    assert result.stderr.startswith("the name report is taken; this one would be named like report-")
    result = fg("submit", "-f", "report.yaml", "--tenant", "a", "--name", "mine", *LIMIT)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "a/mine submitted\n", "")
    result = fg("submit", "-f", "report.yaml", "--tenant", "a", "--name", "mine", *LIMIT)
    assert (result.exit_code, result.stdout) == (4, "")
    generated = manifest("some").replace('"name": "some"', '"generateName": "some-"', 1)
    assert fg("submit", "-f", "-", "--tenant", "b", *LIMIT, stdin=generated).stderr == ""


def test_every_refusal_is_told_in_order_and_the_first_is_the_exit_code(fg, write, client):
    for name in ("one", "two", "three"):
        write(f"{name}.yaml", gpus=1 if name == "two" else -1)
    write("four.yaml", {"tenant": "nobody"})
    files = [word for name in ("one", "two", "three", "four") for word in ("-f", f"{name}.yaml")]
    result = fg("submit", *files[:-2], "--tenant", "a", *LIMIT)
    assert (result.exit_code, result.stdout) == (2, "a/two submitted\n")
    errors = [line.split(":")[1].strip() for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert list(dict.fromkeys(errors)) == ["one.yaml", "three.yaml"]
    result = fg("submit", "-f", "four.yaml", "-f", "one.yaml", *LIMIT)
    assert (result.exit_code, result.stdout) == (3, "")
    errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert errors[0].startswith("error: four.yaml:")
    assert len(errors) == 2


def test_of_what_is_not_rays_its_kind_is_told_and_not_that_it_has_no_tenant(fg, here):
    (here / "job.yaml").write_text("apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\n")
    for arguments in ((), ("--tenant", "a")):
        result = fg("submit", "-f", "job.yaml", *arguments)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == (
            "error: job.yaml:2: kind: is 'Job'; only RayJobs are submitted\n"
            "  fix: write a RayJob of ray.io/v1, or bring it there with kubectl\n"
        )


def test_warnings_of_the_service_name_the_file(fg, write):
    result = fg("submit", "-f", write("train.yaml"), "--tenant", "a")
    assert (result.exit_code, result.stdout) == (0, "a/train submitted\n")
    assert result.stderr.startswith("warning: train.yaml: no time limit is given")


@pytest.mark.parametrize(
    ("replace", "error"),
    [
        (
            [("entrypoint:", "entrypont:")],
            "error: bad.yaml:6: spec.entrypont: unknown field\n  fix: did you mean entrypoint?\n",
        ),
        (
            [("maxReplicas: 1", "maxReplicas: -1")],
            "error: bad.yaml:28: spec.rayClusterSpec.workerGroupSpecs[0].maxReplicas: -1 is negative",
        ),
        ([("kind: RayJob", "kind: [")], "error: bad.yaml:4: not YAML: "),
        ([("kind: RayJob", "kind: Rayjob")], "error: bad.yaml:2: kind: "),
    ],
)
def test_a_mistake_in_the_manifest_is_found_in_the_file(fg, write, client, replace, error):
    result = fg("submit", "-f", write("bad.yaml", replace=replace), "--tenant", "a", *LIMIT)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(error)
    assert "  fix: " in result.stderr
    assert list(client.list()) == []


def test_a_mistake_in_the_second_document_has_the_line_of_the_file(fg, write, here):
    first, second = write("one.yaml"), write("two.yaml", gpus=1000)
    (here / "both.yaml").write_text((here / first).read_text() + "---\n" + (here / second).read_text())
    result = fg("submit", "-f", "both.yaml", "--tenant", "a", *LIMIT)
    assert (result.exit_code, result.stdout) == (2, "a/one submitted\n")
    line = (here / "both.yaml").read_text().splitlines().index("                nvidia.com/gpu: '1000'") + 1
    assert result.stderr.startswith(f"error: both.yaml:{line + 4}: spec.rayClusterSpec.workerGroupSpecs[0].template")
    assert "tenant 'a' can never have more than 8" in result.stderr


def test_a_mistake_in_an_annotation_has_its_line(fg, write):
    result = fg("submit", "-f", write("bad.yaml", {"tenant": "a", "time-limit": "soon"}))
    assert result.exit_code == 2
    assert result.stderr.startswith("error: bad.yaml:7: metadata.annotations[fairgate.internal/time-limit]: 'soon'")
    result = fg("submit", "-f", write("worse.yaml", {"tenant": "nobody", "time-limit": "1h"}))
    assert result.exit_code == 3
    assert result.stderr.startswith("error: worse.yaml:6: fairgate.internal/tenant: no tenant 'nobody'\n  fix: ")


def test_a_mistake_in_the_options_annotation_has_the_line_in_it(fg, write):
    options = "- flavor: h100\n- flavor: v5e\n  sped: 0.5\n"
    result = fg("submit", "-f", write("bad.yaml", {"tenant": "b", "time-limit": "1h", "options": options}))
    assert result.exit_code == 2
    assert result.stderr == (
        "error: bad.yaml:11: fairgate.internal/options[1].sped: unknown field\n  fix: did you mean speed?\n"
    )


def test_a_mistake_in_an_option_file_has_its_line(fg, write, here):
    (here / "options.yaml").write_text("- flavor: h100\n- flavor: v5e\n  sped: 0.5\n")
    result = fg("submit", "-f", write("train.yaml"), "--tenant", "b", "--option-file", "options.yaml", *LIMIT)
    assert result.exit_code == 2
    assert result.stderr == ("error: options.yaml:3: options[1].sped: is not known\n  fix: did you mean speed?\n")
    (here / "options.yaml").write_text("- flavor: h100\n- flavor: h200\n")
    result = fg("submit", "-f", write("train.yaml"), "--tenant", "b", "--option-file", "options.yaml", *LIMIT)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: options.yaml:2: options[1].flavor: ")


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (("--tenant", "nobody"), 3, "error: --tenant: no tenant 'nobody'\n  fix: "),
        (("--tenant", "org"), 2, "error: --tenant: "),
        (("--tenant", "a", "--priority", "99"), 2, "error: --priority: 99 is above the max_priority of 'a'"),
        (("--tenant", "a", "--priority", "high"), 2, "error: --priority: no priority 'high'"),
        (("--tenant", "a", "--name", "No_Name"), 2, "error: --name: 'No_Name' is not an id"),
        (("--tenant", "a", "--fallback-after", "10"), 2, "error: --fallback-after: '10' is not a duration"),
        (("--tenant", "a", "--label", "x"), 2, "error: --label: 'x' is not a label"),
        ((), 2, "error: --tenant: no tenant is named\n  fix: "),
    ],
)
def test_a_mistake_on_the_command_line_names_the_option(fg, write, arguments, code, error):
    result = fg("submit", "-f", write("train.yaml"), *LIMIT, *arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr.startswith(error)


def test_files_that_can_not_be_read(fg, here):
    (here / "empty.yaml").write_text("---\n")
    (here / "jobs").mkdir()
    for name, message in (("none.yaml", "can not be read"), ("empty.yaml", "is empty"), ("jobs", "no manifests")):
        result = fg("submit", "-f", name)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith(f"error: {name}: {message}")


def test_what_is_taken_is_refused(fg, write):
    fg("submit", "-f", write("train.yaml"), "--tenant", "a", "--name", "mine", *LIMIT)
    result = fg("submit", "-f", "train.yaml", "--tenant", "a", "--name", "mine", *LIMIT)
    assert (result.exit_code, result.stdout) == (4, "")
    assert result.stderr.startswith("error: --name: there is a job tenants/a/jobs/mine already\n  fix: choose another")
    for name in ("one", "two"):
        fg("submit", "-f", write(f"{name}.yaml"), "--tenant", "a", *LIMIT)
    result = fg("submit", "-f", write("three.yaml"), "--tenant", "a", *LIMIT)
    assert result.exit_code == 4
    assert result.stderr.startswith("error: --tenant: 3 jobs of 'a' are pending and max_pending_jobs is 3\n  fix: ")


def test_some_are_taken_and_some_are_not(fg, write):
    files = [write("good.yaml"), write("bad.yaml", gpus=-1)]
    result = fg("submit", "-f", files[0], "-f", files[1], "--tenant", "a", "-o", "json", *LIMIT)
    assert result.exit_code == 2
    printed = json.loads(result.stdout)
    assert [job["name"] for job in printed["jobs"]] == ["tenants/a/jobs/good"]
    (error,) = printed["errors"]
    assert error["error"] == "InvalidArgument"
    assert error["violations"][0]["field"].startswith("bad.yaml:39: spec.rayClusterSpec")


def test_what_is_for_one_manifest_is_refused_for_two(fg, write):
    result = fg("submit", "-f", write("one.yaml"), "-f", write("two.yaml"), "--tenant", "a", "--name", "x")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: --name: --name is for one manifest")


def test_wait_shows_what_it_waits_for_and_how_it_ended(fg, write, service):
    with service.running(step_ms=10_000):
        result = fg("submit", "-f", write("train.yaml"), "--tenant", "a", "--wait", *LIMIT)
    assert (result.exit_code, result.stdout) == (0, "a/train submitted\n")
    assert result.stderr.splitlines()[-1].startswith("a/train SUCCEEDED after ")


def test_wait_fails_with_the_job(fg, write, service):
    service.scripts["bad"] = Script(exit_code=3)
    with service.running(step_ms=10_000):
        result = fg("submit", "-f", write("bad.yaml"), "--tenant", "a", "--wait", "-o", "json", *LIMIT)
    assert result.exit_code == 1
    printed = json.loads(result.stdout)
    assert (printed["state"], printed["exit_code"]) == ("FAILED", 3)
    assert "a/bad FAILED after" in result.stderr


def test_wait_says_why_the_job_does_not_start_and_gives_up_in_time(fg, write, service, client, manifest):
    client.submit(manifest("big", gpus=8), tenant="a", preemptible=False)
    service.turn()
    result = fg("submit", "-f", write("train.yaml"), "--tenant", "b", "--wait", "--timeout", "0.5s", *LIMIT)
    assert (result.exit_code, result.stdout) == (6, "b/train submitted\n")
    first, *_, error, fix = result.stderr.splitlines()
    assert first == "b/train: PENDING, WAITING_FOR_QUOTA: there is not enough free for it now"
    assert error.startswith("error: tenants/b/jobs/train is still PENDING: there is not enough free")
    assert fix.startswith("  fix: ")


def test_logs_go_to_standard_output(fg, write, service):
    with service.running(step_ms=10_000):
        result = fg("submit", "-f", write("train.yaml"), "--tenant", "a", "--logs", *LIMIT)
    assert (result.exit_code, result.stdout) == (0, "a/train submitted\nworking\nended\n")
