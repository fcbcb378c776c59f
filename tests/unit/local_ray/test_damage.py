"""Files of attempts that somebody removed, cut off or replaced: only that attempt suffers, and nothing of it stays."""

import json
import shutil

import pytest
from fairgate_scheduler.core.lifecycle import Phase


def _cut(path) -> None:
    path.write_bytes(path.read_bytes()[:7])


def _put_folder(path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()


def _replace(path) -> None:
    path.write_text(json.dumps(["not", "ours"]))


def _empty_object(path) -> None:
    path.write_text("{}")


@pytest.mark.parametrize("name", ["started.json", "ready.json", "exit.json"])
@pytest.mark.parametrize("damage", [_cut, _put_folder, _replace, _empty_object])
def test_a_damaged_file_ends_its_attempt_and_no_other(machine, name, damage):
    launch, other = machine.start("echo ready; sleep 60"), machine.start("echo ready; sleep 60", "other")
    machine.wait_for_log(launch, "ready")
    machine.wait_for(launch, Phase.RUNNING)
    machine.wait_for(other, Phase.RUNNING)
    path = machine.directory(launch).path / name
    if name == "exit.json" and damage is not _put_folder:
        path.write_text('{"phase": "SUCCEEDED"}')
    damage(path)
    seen = machine.wait_for(launch, Phase.LOST)
    assert seen.is_gone
    assert "its files were removed or damaged" in seen.message
    assert machine.members(launch) == []
    assert machine.see(other).phase is Phase.RUNNING


def test_a_removed_folder_ends_its_attempt_and_can_be_forgotten(machine):
    launch, other = machine.start("echo ready; sleep 60"), machine.start("echo ready; sleep 60", "other")
    machine.wait_for_log(launch, "ready")
    machine.wait_for(other, Phase.RUNNING)
    shutil.rmtree(machine.directory(launch).path)
    assert machine.wait_for(launch, Phase.LOST).is_gone
    assert machine.members(launch) == []
    assert machine.see(other).phase is Phase.RUNNING
    machine.runner.forget(launch.attempt.job, 1)
    assert machine.see(launch) is None


def test_a_job_that_spoils_its_own_folder_is_ended_as_any_other(machine):
    """It cuts the record of its start and puts a folder in the place of its log."""
    spoil = 'd=$(dirname "$FAIRGATE_NOTICE"); echo "{" > $d/ready.json; rm $d/attempt.log; mkdir $d/attempt.log; exit 3'
    launch = machine.start(spoil)
    machine.wait_until(lambda: machine.see(launch).is_gone)
    assert machine.members(launch) == []


def test_what_is_no_marker_is_not_taken_for_an_attempt(machine):
    (machine.settings.state_dir / "active" / ".notes.swp").touch()
    (machine.settings.state_dir / "active" / "tenants%2Fa%2Fjobs%2Ftrain%2Fx").touch()
    assert machine.runner.observe() == []


def test_what_can_not_be_read_is_told_once_and_in_one_line(machine, monkeypatch, caplog):
    launch, other = machine.start("sleep 60"), machine.start("sleep 60", "other")
    machine.wait_for(other, Phase.RUNNING)
    read = machine.runner._read
    refused = launch.attempt.job

    def refuse(job, attempt):
        if job == refused:
            raise PermissionError("not yours")
        return read(job, attempt)

    with monkeypatch.context() as broken:
        broken.setattr(machine.runner, "_read", refuse)
        assert [machine.see(launch).phase for _ in range(3)] == [Phase.STARTING] * 3
        assert machine.see(other).phase is Phase.RUNNING
    told = [each for each in caplog.records if each.name.endswith("local_ray.runner")]
    assert [each.getMessage() for each in told] == [
        f"attempt 1 of {refused} can not be looked at now: PermissionError: not yours"
    ]
    assert told[0].exc_info is None
