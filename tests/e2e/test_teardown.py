"""What a test leaves behind is ended even where the files that tell of it can not be read."""

import os
import subprocess

import pytest
from fairgate_scheduler.adapters.local_ray import processes
from fairgate_scheduler.adapters.local_ray.layout import AttemptDir
from fairgate_scheduler.adapters.local_ray.plan import Settings, temp_dir_of
from fairgate_scheduler.testing.server_process import ServerProcess


@pytest.mark.parametrize("supervised", [True, False])
def test_processes_are_ended_though_the_files_of_their_attempt_are_damaged(tmp_path, supervised):
    server = ServerProcess(tmp_path.resolve())
    attempt = AttemptDir(server.state_dir / "attempts" / "a" / "train" / "1")
    attempt.path.mkdir(parents=True)
    attempt.started.write_text('{"pid": "none"}')
    temp_dir = temp_dir_of(attempt, Settings(server.state_dir, server.folder))
    temp_dir.mkdir()
    mark = processes.SUPERVISES if supervised else processes.MARK
    process = subprocess.Popen(["sleep", "600"], env=os.environ | {mark: attempt.mark}, start_new_session=True)
    try:
        with pytest.raises((ValueError, KeyError)):
            server.end_everything()
        process.wait(10)
        assert processes.members(attempt.mark) == []
        assert processes.find_supervisor(attempt.mark) is None
        assert not temp_dir.exists()
    finally:
        process.kill()
