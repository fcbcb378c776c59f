"""Files of another life of the same name: moved aside, never given to a job, never deleted."""

from dataclasses import replace

import pytest
from fairgate_scheduler.adapters.local_ray import layout
from fairgate_scheduler.core.lifecycle import Phase

SAVE = 'echo "$FAIRGATE_ATTEMPT" >> "$FAIRGATE_CHECKPOINT_DIR/saved"; cat "$FAIRGATE_CHECKPOINT_DIR/saved"'


@pytest.fixture
def run(machine):
    """Run an attempt of ``train`` to its end and return what it printed."""

    def run_(uid, number=1, admitted_at_ms=1):
        launch = machine.launch_of(SAVE)
        attempt = replace(launch.attempt, number=number, admitted_at_ms=admitted_at_ms)
        launch = replace(launch, job=replace(launch.job, uid=uid), attempt=attempt)
        machine.runner.launch(launch)
        machine.wait_for(launch, Phase.SUCCEEDED)
        machine.runner.forget(attempt.job, number)
        return machine.log(launch).split()

    return run_


def replaced(machine):
    folder = machine.settings.state_dir / "replaced"
    return sorted(str(each.relative_to(folder)) for each in folder.glob("*/*/*")) if folder.exists() else []


def test_all_attempts_of_one_job_share_its_checkpoints(machine, run):
    assert [run("11"), run("11", 2), run("11", 3)] == [["1"], ["1", "2"], ["1", "2", "3"]]
    assert replaced(machine) == []


def test_a_later_job_of_the_id_has_nothing_of_the_earlier_ones_and_nothing_is_lost(machine, run):
    run("11")
    run("11", 2)
    assert [run("22"), run("33"), run("33", 2)] == [["1"], ["1"], ["1", "2"]]
    tenant = machine.state.attempts(machine.launch_of("true").attempt.job).parent.name
    names = [f"{tenant}/train-{turn}/{what}" for turn in (1, 2) for what in ("attempts", "checkpoints")]
    assert replaced(machine) == names
    kept = machine.settings.state_dir / "replaced" / tenant / "train-1"
    assert (kept / "checkpoints" / "saved").read_text() == "1\n2\n"
    assert (kept / "attempts" / "2" / "attempt.log").read_text() == "1\n2\n"


def test_checkpoints_that_nobody_is_known_to_own_are_not_for_a_first_attempt(machine, run):
    saved = machine.state.checkpoints(machine.launch_of("true").attempt.job) / "saved"
    layout.make_folder(saved.parent)
    saved.write_text("other\n")
    assert run("11") == ["1"]


def test_a_job_goes_on_from_checkpoints_that_came_back_from_a_backup_without_its_attempts(machine, run):
    saved = machine.state.checkpoints(machine.launch_of("true").attempt.job) / "saved"
    layout.make_folder(saved.parent)
    saved.write_text("1\n")
    assert run("11", 2) == ["1", "2"]


def test_a_job_from_before_there_were_uids_keeps_what_it_has(machine, run):
    assert [run(""), run("", 2)] == [["1"], ["1", "2"]]
    assert run("11") == ["1"]


def test_an_attempt_is_run_though_one_of_its_number_was_before_the_state_was_restored(machine, run):
    assert run("11", 1, admitted_at_ms=1) == ["1"]
    assert run("11", 1, admitted_at_ms=2) == ["1", "1"]
    launch = machine.launch_of("true")
    assert machine.state.attempts(launch.attempt.job).joinpath("1.replaced-1", "attempt.log").read_text() == "1\n"


def test_what_can_not_be_read_belongs_to_nobody_else(machine, run):
    launch = machine.launch_of("true")
    launch = replace(launch, job=replace(launch.job, uid="11"))
    run("11")
    machine.state.owner(launch.job.id).write_text("{")
    with pytest.raises(ValueError, match=r"owner.json is damaged"):
        machine.runner.launch(replace(launch, attempt=replace(launch.attempt, number=2)))
    assert replaced(machine) == []
