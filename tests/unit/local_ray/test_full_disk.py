"""A disk that takes no more files for a while: a folder in the place of a draft makes writing fail in the same way."""

import time

from fairgate_scheduler.core.lifecycle import Phase


def block(machine, launch, name: str):
    """From now on the supervisor can not write this file, until the returned folder is gone."""
    folder = machine.directory(launch).path / f".{name}.{machine.supervisor(launch)}"
    folder.mkdir()
    return folder


def test_a_result_that_can_not_be_written_is_written_when_there_is_room(machine):
    launch = machine.start("echo ready; while [ ! -e $FAIRGATE_CHECKPOINT_DIR/go ]; do sleep 0.02; done")
    machine.wait_for_log(launch, "ready")
    blocked = block(machine, launch, "exit.json")
    (machine.state.checkpoints(launch.attempt.job) / "go").touch()
    machine.wait_until(lambda: not machine.members(launch))
    time.sleep(0.3)
    assert machine.see(launch).phase is Phase.RUNNING, "its end is not known yet"
    blocked.rmdir()
    assert machine.wait_for(launch, Phase.SUCCEEDED).exit_code == 0


def test_without_room_for_the_notice_the_signal_comes_all_the_same(machine):
    launch = machine.start("trap 'echo saved; exit 7' TERM; echo ready; while true; do sleep 0.02; done")
    machine.wait_for_log(launch, "ready")
    blocked = block(machine, launch, "notice")
    machine.stop(launch)
    assert machine.wait_for(launch, Phase.STOPPED).exit_code == 7
    assert "saved" in machine.log(launch)
    blocked.rmdir()
