"""``fairgate quota``: what a change would do is shown before it is made, and only that is made."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from fairgate import JobPreview
from fairgate._cli import quota


@pytest.fixture
def config(here, client):
    """Write the configuration in force with something replaced."""

    def make(*replacements, name="config.yaml"):
        text = client.get_config().source
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new)
        (here / name).write_text(text)
        return name

    return make


@pytest.fixture
def running(service, client, manifest):
    """``a`` runs on its nominal quota, ``b`` waits for more than its own."""
    client.submit(manifest("train", gpus=4), tenant="a", preemptible=False)
    service.turn()
    client.submit(manifest("wide", gpus=6), tenant="b")
    service.turn()


MORE = ("capacity: {nvidia.com/gpu: 8}", "capacity: {nvidia.com/gpu: 16}")
MORE_QUOTA = (
    "- {id: b, parent: org, quota: {h100: {nvidia.com/gpu: {nominal: 4}}",
    "- {id: b, parent: org, quota: {h100: {nvidia.com/gpu: {nominal: 8}}",
)


def test_diff_shows_the_change_and_who_would_start(fg, running, config, client):
    before = client.get_config()
    result = fg("quota", "diff", "-f", config(MORE, MORE_QUOTA))
    assert (result.exit_code, result.stderr) == (0, "")
    changes, evicted, start, wait = result.stdout.split("\n\n")
    assert len(changes.splitlines()) == 2
    assert evicted == "0 jobs would be evicted"
    assert start == "1 job would start\n  b/wide on h100"
    assert wait == "0 jobs would wait\n"
    assert client.get_config() == before
    assert fg("quota", "diff", "-f", "config.yaml", "--exit-code").exit_code == 1
    data = json.loads(fg("quota", "diff", "-f", "config.yaml", "-o", "json").stdout)
    assert [job["job"] for job in data["starts"]] == ["tenants/b/jobs/wide"]


def test_diff_says_why_jobs_would_wait_and_what_has_no_effect(fg, running, config, service, monkeypatch):
    monkeypatch.setattr(service.runner, "remarks", lambda _config: ["roles (tenant a): in vain"])
    result = fg("quota", "diff", "-f", config(("urgent: 7", "urgent: 8")))
    assert result.exit_code == 0
    assert result.stderr == "warning: roles (tenant a): in vain\n"
    *_, wait = result.stdout.split("\n\n")
    why = "WAITING_FOR_QUOTA: there is not enough free for it now"
    assert wait == f"1 job would wait\n  b/wide: {why} (starts by 2023-11-15 22:14)\n"
    data = json.loads(fg("quota", "diff", "-f", "config.yaml", "-o", "json").stdout)
    assert data["warnings"] == ["roles (tenant a): in vain"]


def test_diff_of_the_same_says_that_nothing_changes(fg, config):
    result = fg("quota", "diff", "-f", config(), "--exit-code")
    assert (result.exit_code, result.stdout) == (0, "nothing changes\n")


def test_apply_with_yes(fg, running, config, client, service):
    result = fg("quota", "apply", "-f", config(MORE, MORE_QUOTA), "--yes", "--comment", "more nodes")
    assert result.exit_code == 0
    assert "1 job would start\n  b/wide" in result.stdout
    applied = client.get_config()
    assert result.stderr == f"applied as version {applied.etag}\n"
    assert applied.comment == "more nodes"
    service.turn()
    assert client.get("b/wide").state == "ADMITTED"
    again = fg("quota", "apply", "-f", "config.yaml", "--yes")
    assert (again.exit_code, again.stdout) == (0, "nothing changes\n")
    assert client.get_config() == applied


def test_apply_asks_and_does_nothing_where_nobody_can_answer(fg, config, client):
    before = client.get_config()
    result = fg("quota", "apply", "-f", config(MORE))
    assert result.exit_code == 2
    assert "error: nobody is there to be asked\n  fix: look at `fairgate quota diff`, then add --yes" in result.stderr
    assert client.get_config() == before
    assert fg("quota", "apply", "-f", "config.yaml", "--dry-run").exit_code == 0
    assert client.get_config() == before


@pytest.mark.parametrize(("answer", "code", "is_applied"), [("y\n", 0, True), ("n\n", 1, False)])
def test_apply_does_what_is_answered(fg, config, client, monkeypatch, answer, code, is_applied):
    before = client.get_config()
    monkeypatch.setattr("fairgate._cli.quota.is_asking_possible", lambda: True)
    result = fg("quota", "apply", "-f", config(MORE), stdin=answer)
    assert result.exit_code == code
    assert "Apply it? [y/N]" in result.stderr
    assert (client.get_config() != before) is is_applied


def test_what_was_shown_is_what_is_applied_or_nothing(fg, config, client, monkeypatch):
    def meanwhile():
        source = client.get_config().source
        client.apply_config(source.replace("urgent: 7", "urgent: 8"))
        return True

    monkeypatch.setattr("fairgate._cli.quota.is_asking_possible", meanwhile)
    result = fg("quota", "apply", "-f", config(MORE), stdin="y\n")
    assert result.exit_code == 4
    assert "error: " in result.stderr
    assert "urgent: 8" in client.get_config().source


def test_the_first_configuration(make_service, here, monkeypatch, folder):
    service = make_service("")
    with service.client() as client:
        assert client.apply_config("version: 1\n", etag="", dry_run=True).changes == ()


def test_mistakes_are_found_in_the_file(fg, config):
    result = fg("quota", "diff", "-f", config(("nominal: 4}}}}", "nominal: -4}}}}"), ("weight: 2", "wait: 2")))
    assert (result.exit_code, result.stdout) == (2, "")
    lines = result.stderr.splitlines()
    assert [line for line in lines if line.startswith("error: ")] == sorted(
        line for line in lines if line.startswith("error: config.yaml:")
    )
    assert "error: config.yaml:10: tenants[1].wait: unknown key 'wait'" in result.stderr
    assert "did you mean 'weight'?" in result.stderr
    result = fg("quota", "diff", "-f", "none.yaml")
    assert (result.exit_code, result.stderr[:33]) == (2, "error: none.yaml: can not be read")


def test_a_folder_is_one_configuration(fg, here, client):
    folder = here / "config"
    folder.mkdir()
    source = client.get_config().source
    head, tenants, priorities = source.partition("tenants:")[0], "", "priorities: {urgent: 7}\n"
    tenants = "tenants:" + source.partition("tenants:")[2].partition("priorities:")[0]
    (folder / "1-flavors.yaml").write_text(head)
    (folder / "2-tenants.yaml").write_text("# who\n" + tenants)
    (folder / "3-more.yaml").write_text("version: 1\nflavors:\n  a100: {resource: nvidia.com/gpu}\n" + priorities)
    result = fg("quota", "diff", "-f", "config")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "a100" in result.stdout.split("\n\n")[0]
    assert len(result.stdout.split("\n\n")[0].splitlines()) == 1
    (folder / "4-wrong.yaml").write_text("tenants:\n  - {id: c, parent: nobody}\n")
    result = fg("quota", "diff", "-f", "config")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: config/4-wrong.yaml:2: tenants[3].parent: ")
    (folder / "4-wrong.yaml").write_text("flavors:\n  h100: {price: 4}\n")
    result = fg("quota", "diff", "-f", "config")
    assert result.exit_code == 2
    assert result.stderr.startswith(
        "error: config/4-wrong.yaml:2: flavors.h100 is said a second time, first in config/1-"
    )


@pytest.mark.parametrize(
    ("before", "told"), [(None, ""), (0, ""), (-60, ", 1h later"), (90, ", 1h30m sooner")], ids=str
)
def test_how_much_later_a_job_would_start(before, told):
    at = datetime(2026, 3, 1, 14, 20, tzinfo=UTC)
    then = None if before is None else at + timedelta(minutes=before)
    waits = JobPreview("tenants/a/jobs/x", "", "why", at, then)
    assert quota._preview(waits).endswith(f":20{told})")
