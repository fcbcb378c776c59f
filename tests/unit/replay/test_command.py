"""``fairgate simulate --trace``: what it takes, writes and says, and with which exit code it ends."""

import json

import pytest
from fairgate_scheduler.documents.config_file import read_config
from fairgate_scheduler.entrypoints.cli import commands
from fairgate_scheduler.replay import study as studying
from typer.testing import CliRunner

LOG = """timestamp,duration,num_gpus,gpu_time,cluster
2017-10-09 00:00:00,100,4,400,a
2017-10-09 00:00:20,60,2,120,b
"""
CONFIG = """version: 1
flavors: {gpu: {resource: nvidia.com/gpu}}
tenants: [{id: org}, {id: a, parent: org, quota: {gpu: {nvidia.com/gpu: {nominal: 4}}}}]
"""


@pytest.fixture
def log(tmp_path):
    (tmp_path / "log.csv").write_text(LOG)
    return tmp_path / "log.csv"


def simulate(*arguments):
    return CliRunner().invoke(commands, ["simulate", *map(str, arguments)])


def test_a_page_is_printed(log):
    done = simulate("--trace", log, "--format", "philly")
    assert done.exit_code == 0
    assert f"{log}: 2 jobs of 2 tenants, 2017-10-09 to 2017-10-09, on 8 accelerators" in done.stdout
    assert done.stderr == ""


def test_json_is_one_document(log):
    done = simulate("--trace", log, "--format", "philly", "--json", "--limit", "1", "--accelerators", "5")
    document = json.loads(done.stdout)
    assert (document["log"]["jobs"], document["figures"]["accelerators"]) == (1, 5)


def test_the_derived_configuration_can_be_written_and_replayed_under(log, tmp_path):
    written = tmp_path / "derived.yaml"
    first = simulate("--trace", log, "--format", "philly", "--write-config", written, "--json")
    assert sorted(read_config(written.read_text()).tenants) == ["a", "all", "b"]
    again = simulate("--trace", log, "--format", "philly", "--config", written, "--json")
    assert json.loads(again.stdout)["figures"] == json.loads(first.stdout)["figures"]


@pytest.mark.parametrize("name", ["plot.svg", "plot.PNG"])
def test_the_picture_is_written(log, tmp_path, name):
    assert simulate("--trace", log, "--format", "philly", "--plot", tmp_path / name).exit_code == 0
    assert (tmp_path / name).stat().st_size > 10_000


def test_checkpoints_and_time_zones_are_taken(log):
    done = simulate(
        "--trace", log, "--format", "philly", "--checkpoint-every", "10s", "--time-zone", "Asia/Tokyo", "--json"
    )
    assert json.loads(done.stdout)["begin"] == "2017-10-08T15:00:00Z"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "log.csv:1: the log is empty"),
        ("timestamp,cluster\n", "log.csv:1: no column duration; num_gpus"),
        (LOG.replace(",100,", ",x,").replace(",60,", ",y,"), "log.csv:2: duration: 'x' is not a number of 0 or more"),
    ],
)
def test_a_log_that_is_not_valid_is_refused(log, text, message):
    log.write_text(text)
    done = simulate("--trace", log, "--format", "philly")
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr


def test_a_configuration_that_lacks_a_tenant_is_refused(log, tmp_path):
    (tmp_path / "config.yaml").write_text(CONFIG)
    done = simulate("--trace", log, "--format", "philly", "--config", tmp_path / "config.yaml")
    assert done.exit_code == 2
    assert "log.csv:3: tenant 'b' of the log, with 1 jobs: the configuration has no leaf tenant 'b'" in done.stderr


def test_files_that_are_not_there_or_not_text_are_refused(log, tmp_path):
    assert "it cannot be read" in simulate("--trace", tmp_path / "none", "--format", "philly").stderr
    log.write_bytes(b"\xff\xfe")
    assert "it is not text" in simulate("--trace", log, "--format", "philly").stderr
    log.write_text(LOG)
    away = tmp_path / "no" / "plot.svg"
    assert "it cannot be written" in simulate("--trace", log, "--format", "philly", "--plot", away).stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name scenario files, or a job log with --trace"),
        (["--limit", "3", "story.yaml"], "these options are for a job log"),
        (["--trace", "log", "--format", "philly", "story.yaml"], "either scenario files or --trace, not both"),
        (["--trace", "log"], "write one of philly, openb, slurm"),
        (["--trace", "log", "--format", "pbs"], "write one of philly, openb, slurm"),
        (["--trace", "log", "--format", "philly", "--checkpoint-every", "5"], "'5' is not a duration"),
        (["--trace", "log", "--format", "philly", "--checkpoint-every", "0s"], "write a duration above 0s"),
        (["--trace", "log", "--format", "philly", "--time-zone", "Berlin"], "'Berlin' is not a time zone"),
        (["--trace", "log", "--format", "philly", "--accelerators", "8", "-c", "x"], "says itself how many there are"),
    ],
)
def test_a_wrong_command_line_is_refused(arguments, message):
    done = simulate(*arguments)
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.replace("│", " ").split())


def test_a_picture_of_another_kind_is_refused_before_anything_takes_time(log, tmp_path):
    done = simulate("--trace", log, "--format", "philly", "--plot", tmp_path / "plot.gif")
    assert done.exit_code == 2
    assert "name a file that ends in .svg or .png" in done.stderr


def test_a_broken_promise_of_the_scheduler_is_told(log, monkeypatch):
    def broken(*_arguments):
        raise AssertionError("a gang is cut in two")

    monkeypatch.setattr(studying, "replay", broken)
    done = simulate("--trace", log, "--format", "philly")
    assert done.exit_code == 1
    assert "a promise of the scheduler is broken, please report it: a gang is cut in two" in done.stderr
