"""What becomes of an attempt whatever happens to its driver, its supervisor and the server."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from fairgate_scheduler.adapters.local_ray import layout, supervisor
from fairgate_scheduler.adapters.local_ray.planning import make_plan
from fairgate_scheduler.adapters.local_ray.runner import LocalRayRunner
from fairgate_scheduler.core.lifecycle import Phase

PYTHON = shlex.quote(sys.executable)

SAVES = "trap 'sleep 0.1; echo saved; exit {code}' TERM; echo ready; while true; do sleep 0.05; done"

SERVER = """
import os, signal, sys, pathlib
from dataclasses import replace
from fairgate_scheduler.adapters.local_ray.plan import Settings
from fairgate_scheduler.adapters.local_ray.planning import make_plan
from fairgate_scheduler.adapters.local_ray.runner import LocalRayRunner
from fairgate_scheduler.testing.runner_contract import make_launch

root = pathlib.Path(sys.argv[1])
runner = LocalRayRunner(
    Settings(root / "state", root, grace_s=0.4, temp_root=root / "t"),
    lambda *given: replace(make_plan(*given), resources=None),
)
runner.launch(make_launch("train", {"spec": {"entrypoint": sys.argv[2]}}))
os.kill(os.getpid(), signal.SIGKILL)
"""


def plan_without_ray(*given):
    return replace(make_plan(*given), resources=None)


def test_the_driver_gets_its_own_environment_and_nothing_of_the_servers(machine, monkeypatch):
    monkeypatch.setenv("SERVER_TOKEN", "secret")
    launch = machine.start("env")
    machine.wait_for(launch, Phase.SUCCEEDED)
    env = dict(line.split("=", 1) for line in machine.log(launch).splitlines() if "=" in line)
    directory = machine.directory(launch)
    assert {key: text for key, text in env.items() if key.startswith("FAIRGATE_")} == {
        "FAIRGATE_JOB": "tenants/a/jobs/train",
        "FAIRGATE_TENANT": "a",
        "FAIRGATE_ATTEMPT": "1",
        "FAIRGATE_FLAVOR": "h100",
        "FAIRGATE_CHECKPOINT_DIR": str(machine.settings.state_dir / "checkpoints" / "a" / "train"),
        "FAIRGATE_NOTICE": str(directory.notice),
        "FAIRGATE_MARK": directory.mark,
    }
    assert env["PYTHONUNBUFFERED"] == "1"
    assert env["PATH"].split(":")[0] == str(Path(sys.executable).parent)
    assert "SERVER_TOKEN" not in env


@pytest.mark.parametrize(("code", "phase"), [(0, Phase.SUCCEEDED), (143, Phase.STOPPED)])
def test_with_notice_it_can_save_and_its_exit_code_says_whether_it_is_done(machine, code, phase):
    launch = machine.start(SAVES.format(code=code))
    machine.wait_for_log(launch, "ready")
    machine.stop(launch, "reclaimed by b")
    seen = machine.wait_for(launch, phase)
    assert seen.exit_code == code
    assert "saved" in machine.log(launch)
    notice = json.loads(machine.directory(launch).notice.read_text())
    assert notice["reason"] == "reclaimed by b"
    assert notice["kill_at_ms"] - notice["at_ms"] == 400


def test_a_program_that_finishes_within_its_grace_period_has_succeeded(machine, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import signal, sys, time\n"
        "signal.signal(15, lambda *_: (time.sleep(0.1), print('finished'), sys.exit(0)))\n"
        "print('ready')\ntime.sleep(60)\n"
    )
    launch = machine.start_simple(f"python {shlex.quote(str(program))}")
    machine.wait_for_log(launch, "ready")
    machine.stop(launch)
    assert machine.wait_for(launch, Phase.SUCCEEDED).message == "finished within its grace period"


def test_what_saves_below_a_shell_gets_its_grace_though_the_shell_dies_at_once(machine):
    program = "import signal,sys,time\nsignal.signal(15, lambda *_: (time.sleep(.2), print('saved'), sys.exit(0)))\n"
    program += "print('ready')\ntime.sleep(60)"
    launch = machine.start(f'{PYTHON} -c "{program}" && echo more')
    machine.wait_for_log(launch, "ready")
    machine.stop(launch)
    machine.wait_for(launch, Phase.STOPPED)
    assert "saved" in machine.log(launch)
    assert "more" not in machine.log(launch)


def test_what_ignores_notice_is_killed_after_the_grace_period(machine):
    launch = machine.start("trap '' TERM; echo ready; sleep 60; sleep 60")
    machine.wait_for_log(launch, "ready")
    began = time.monotonic()
    machine.stop(launch)
    seen = machine.wait_for(launch, Phase.STOPPED)
    assert 0.4 <= time.monotonic() - began < 10
    assert seen.exit_code == 137
    assert seen.message == "preempted; killed after its grace period of 0.4 s"


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("echo 'ValueError: boom'; echo; exit 3", 3, "exit code 3: ValueError: boom"),
        ("kill -9 $$", 137, "killed by SIGKILL"),
        ("no-such-program", 127, "exit code 127: /bin/sh: 1: no-such-program: not found"),
    ],
)
def test_a_failure_says_how_and_what_the_log_said_last(machine, command, code, message):
    seen = machine.wait_for(machine.start(command), Phase.FAILED)
    assert (seen.exit_code, seen.message.replace("line 1:", "1:")) == (code, message)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives orphans to the supervisor")
def test_nothing_outlives_the_driver_however_well_it_hides(machine):
    """One sheds session, environment and parent, the other only its parent."""
    hide = "import os; os.setsid(); os.execve('/bin/sleep', ['sleep', '7717'], {})"
    launch = machine.start(f'{PYTHON} -c "{hide}" & (sleep 7718 &); echo ready; sleep 60')
    machine.wait_until(lambda: len(_sleepers()) == 2)
    machine.stop(launch)
    machine.wait_for(launch, Phase.STOPPED)
    assert _sleepers() == []


def _sleepers() -> list[int]:
    commands = {process.pid: process.info["cmdline"] for process in psutil.process_iter(["cmdline"])}
    return [pid for pid, command in commands.items() if command in (["sleep", "7717"], ["sleep", "7718"])]


def test_a_killed_supervisor_is_a_lost_attempt_and_its_driver_does_not_stay(machine):
    launch = machine.start("setsid sleep 60 & sleep 60")
    machine.wait_for(launch, Phase.RUNNING)
    machine.wait_until(lambda: len(machine.members(launch)) >= 3)
    os.kill(machine.supervisor(launch), signal.SIGKILL)
    seen = machine.wait_for(launch, Phase.LOST)
    assert seen.is_gone
    assert machine.members(launch) == []
    machine.runner.launch(launch)
    assert machine.wait_for(launch, Phase.LOST) == seen
    assert machine.count_starts(launch) == 1


def test_the_attempt_survives_a_server_that_is_killed_and_is_found_again(machine, tmp_path):
    command = "echo start >> $FAIRGATE_CHECKPOINT_DIR/starts-1; echo ready; sleep 60"
    dead = subprocess.run([sys.executable, "-c", SERVER, str(tmp_path), command], check=False)
    assert dead.returncode == -signal.SIGKILL
    launch = machine.launch_of(command)
    machine.restart()
    machine.wait_for(launch, Phase.RUNNING)
    machine.wait_for_log(launch, "ready")
    machine.runner.launch(launch)
    machine.stop(launch)
    machine.wait_for(launch, Phase.STOPPED)
    assert machine.count_starts(launch) == 1


def test_launched_from_everywhere_at_once_it_starts_once(machine):
    launch = machine.launch_of("sleep 60")
    runners = [LocalRayRunner(machine.settings, plan_without_ray) for _ in range(8)]
    with ThreadPoolExecutor(len(runners)) as pool:
        list(pool.map(lambda runner: runner.launch(launch), runners))
    machine.wait_for(launch, Phase.RUNNING)
    machine.wait_until(lambda: machine.count_starts(launch) > 0)
    machine.stop(launch)
    machine.wait_for(launch, Phase.STOPPED)
    assert machine.count_starts(launch) == 1


@pytest.mark.parametrize(
    ("ray", "phase", "message"),
    [
        ("echo 'no port is free'; exit 1", Phase.LOST, "Ray did not start: exit code 1; no port is free"),
        ("exit 0", Phase.LOST, "Ray did not start: [Errno 2] No such file or directory: "),
        ("sleep 60", Phase.STOPPED, "cancelled; it had not started yet"),
    ],
)
def test_without_ray_there_is_no_driver(machine, tmp_path, ray, phase, message):
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text(f"#!/bin/sh\n{ray}\n")
    python.chmod(0o755)
    machine.runner = LocalRayRunner(replace(machine.settings, python=str(python)))
    launch = machine.start("true")
    if phase is Phase.STOPPED:
        machine.wait_until(lambda: len(machine.members(launch)) > 0)
        machine.stop(launch, "cancelled")
    seen = machine.wait_for(launch, phase)
    assert seen.message.startswith(message)
    assert machine.count_starts(launch) == 0


def test_of_an_ended_attempt_its_record_stays_and_not_its_code(machine, tmp_path):
    (tmp_path / "code").mkdir()
    launch = machine.start("pwd; touch $TMPDIR/x", runtimeEnvYAML="working_dir: code")
    machine.wait_for(launch, Phase.SUCCEEDED)
    directory = machine.directory(launch)
    assert machine.log(launch) == f"{directory.scratch}/work\n"
    names = ["attempt.log", "exit.json", "launch.json", "lock", "ready.json", "started.json"]
    assert sorted(path.name for path in directory.path.iterdir()) == names


def test_a_second_supervisor_does_nothing(machine):
    launch = machine.start("echo ready; sleep 60")
    machine.wait_for_log(launch, "ready")
    assert supervisor.main([str(machine.directory(launch).path)]) == 0
    machine.stop(launch)
    machine.wait_for(launch, Phase.STOPPED)
    assert supervisor.main([str(machine.directory(launch).path)]) == 0
    assert machine.count_starts(launch) == 1


def test_stopped_before_its_launch_it_never_starts(machine):
    launch = machine.launch_of("true")
    machine.stop(launch, "cancelled")
    machine.runner.launch(launch)
    seen = machine.wait_for(launch, Phase.STOPPED)
    assert seen.message == "cancelled; it had not started yet"
    assert machine.count_starts(launch) == 0


def test_a_supervisor_that_finds_a_stop_does_not_start_the_driver(machine):
    launch = machine.launch_of("true")
    directory = machine.directory(launch)
    directory.path.mkdir(parents=True)
    layout.write_json(directory.stop, {"reason": "cancelled", "at_ms": 1})
    machine.runner.launch(launch)
    assert machine.wait_for(launch, Phase.STOPPED).message == "cancelled; it had not started yet"
    assert machine.count_starts(launch) == 0


def test_a_launch_whose_supervisor_never_began_is_lost(machine):
    """The server was killed after it wrote the order and before there was a process."""
    launch = machine.launch_of("true")
    directory = machine.directory(launch)
    machine.runner.launch(launch)
    machine.wait_for(launch, Phase.SUCCEEDED)
    for name in (directory.exit, directory.started, directory.ready):
        name.unlink()
    machine.restart()
    seen = machine.wait_for(launch, Phase.LOST)
    assert (seen.message, seen.is_gone) == ("its supervisor ended before it began", True)


def test_a_reused_pid_is_not_the_supervisor_and_is_left_alone(machine):
    launch = machine.start("sleep 60")
    machine.wait_for(launch, Phase.RUNNING)
    os.kill(machine.supervisor(launch), signal.SIGKILL)
    bystander = subprocess.Popen(["sleep", "60"], start_new_session=True)
    started = machine.directory(launch).started
    layout.write_json(started, {**json.loads(started.read_text()), "pid": bystander.pid})
    assert machine.wait_for(launch, Phase.LOST).is_gone
    assert bystander.poll() is None
    bystander.kill()
    bystander.wait()


def test_a_forgotten_attempt_stays_forgotten(machine):
    launch = machine.start("echo hello")
    machine.wait_for(launch, Phase.SUCCEEDED)
    machine.runner.forget(launch.attempt.job, 1)
    machine.runner.launch(launch)
    machine.stop(launch)
    assert machine.see(launch) is None
    assert machine.count_starts(launch) == 1


def test_a_running_attempt_is_not_forgotten(machine):
    launch = machine.start("sleep 60")
    machine.runner.forget(launch.attempt.job, 1)
    assert machine.see(launch) is not None


def test_a_supervisor_that_is_told_to_end_ends_the_attempt_well(machine):
    launch = machine.start(SAVES.format(code=1))
    machine.wait_for_log(launch, "ready")
    os.kill(machine.supervisor(launch), signal.SIGTERM)
    assert machine.wait_for(launch, Phase.STOPPED).message == "its supervisor was told to end; ended after notice"
    assert "saved" in machine.log(launch)
