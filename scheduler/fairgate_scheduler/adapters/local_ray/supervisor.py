"""One process per attempt: it starts the attempt's Ray and driver, ends them, and writes down how it went.

It is its own session and survives the server; all that it is told is in the attempt's directory. Run as
``python -m fairgate_scheduler.adapters.local_ray.supervisor DIRECTORY [LOCK]``, where LOCK is the inherited descriptor
of the attempt's lock. Whatever happens, ``exit.json`` is written last, when nothing of the attempt is left.
"""

import contextlib
import errno
import fcntl
import math
import os
import shutil
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from fairgate_scheduler.adapters.local_ray import layout, processes
from fairgate_scheduler.adapters.local_ray.children import Children, Command, Exit, StopRequested
from fairgate_scheduler.adapters.local_ray.layout import AttemptDir
from fairgate_scheduler.adapters.local_ray.plan import Plan
from fairgate_scheduler.adapters.local_ray.prepare import PreparationError, Workplace, expand, make_workplace
from fairgate_scheduler.adapters.local_ray.ray_instance import RayStartError, prepare_python, python_env, start_ray
from fairgate_scheduler.adapters.local_ray.results import Result, end_attempt, last_line
from fairgate_scheduler.adapters.local_ray.shell import shell_line
from fairgate_scheduler.core.lifecycle import Phase


def main(arguments: list[str]) -> int:
    """Supervise the attempt of a directory, unless somebody else does or did."""
    directory = AttemptDir(Path(arguments[0]).resolve())
    lock = int(arguments[1]) if len(arguments) > 1 else layout.take_lock(directory)
    if lock is None:
        return 0
    fcntl.fcntl(lock, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
    if directory.exit.exists() or directory.started.exists():
        return 0
    content = layout.read_json(directory.launch)
    assert content is not None, f"{directory.launch} is missing"
    _log_to(directory.log)
    plan = Plan.from_plain(content)
    identity = processes.Identity.of(os.getpid())
    assert identity is not None
    processes.adopt_orphans()
    children = Children(directory.stop)
    layout.write_json(directory.started, {**identity.plain(), "at_ms": _now_ms()})
    result = _Attempt(directory, plan, children).run()
    while not _is_written_down(directory, plan, result):
        children.wait()
    return 0


def _is_written_down(directory: AttemptDir, plan: Plan, result: Result) -> bool:
    """End what is left and write the result. A full disk is waited for: a job that has ended must not run again."""
    try:
        return not end_attempt(directory, Path(plan.temp_dir), result, os.getpid())
    except FileNotFoundError:  # somebody removed the attempt's folder: the server sees that, and ends it
        raise
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class _Attempt:
    directory: AttemptDir
    plan: Plan
    children: Children

    def run(self) -> Result:
        """Start it and wait for its end, whatever that is."""
        try:
            driver = self._start()
        except StopRequested:
            return Result(Phase.STOPPED, message=f"{self._stop_reason()}; it had not started yet")
        except PreparationError as error:
            _say(str(error))
            return Result(Phase.FAILED, message=str(error))
        except (RayStartError, OSError) as error:
            _say(str(error))
            is_the_jobs = isinstance(error, OSError) and error.errno == errno.E2BIG
            return Result(Phase.FAILED if is_the_jobs else Phase.LOST, message=str(error))
        return self._result(*self._wait(driver))

    def _start(self) -> int:
        """Bring everything up to the driver, and return the driver's pid."""
        plan = self.plan
        if plan.problem:
            raise PreparationError(plan.problem)
        for warning in plan.warnings:
            _say(f"warning: {warning}")
        self.children.check_stop()
        temp_dir = Path(plan.temp_dir)
        _make_private(temp_dir)
        (temp_dir / "tmp").mkdir()
        place = make_workplace(plan.runtime_env, self.directory.scratch)
        python = prepare_python(plan, self.directory, place, self.children)
        env = dict(plan.driver_env)
        if plan.resources is not None:
            env |= start_ray(plan, self.directory, python, place, self.children)
        self.children.check_stop()
        return self._start_driver(env, place, python)

    def _start_driver(self, env: dict[str, str], place: Workplace, python: Path) -> int:
        """The entrypoint is a line for the shell, as under a RayJob."""
        known = env | python_env(python, place, env)
        known |= expand(self.plan.runtime_env.env_vars, known)
        driver = self.children.spawn(Command(["/bin/sh", "-c", shell_line(self.plan.entrypoint)], known, place.cwd))
        layout.write_json(self.directory.ready, {"pid": driver, "at_ms": _now_ms()})
        return driver

    def _wait(self, driver: int) -> tuple[Exit, bool, bool]:
        """Wait for the driver, giving notice when told to; returns its end, whether it had notice, and was killed.

        With notice it ends when its whole process group has: a shell dies at once, the program in it may be saving.
        """
        kill_at, has_notice, was_killed = math.inf, False, False
        while True:
            self.children.wait(kill_at - time.monotonic())
            ended = self.children.exit_of(driver)
            if ended is not None and not (has_notice and processes.has_group(driver)):
                return ended, has_notice, was_killed
            if not has_notice and self.children.is_stop_requested:
                self._give_notice(driver)
                kill_at, has_notice = time.monotonic() + self.plan.grace_s, True
            elif time.monotonic() >= kill_at:
                processes.signal_group(driver, signal.SIGKILL)
                kill_at, was_killed = math.inf, True

    def _give_notice(self, driver: int) -> None:
        grace_s, now_ms = self.plan.grace_s, _now_ms()
        _say(f"told to end ({self._stop_reason()}); it is killed in {grace_s:g} s")
        notice = {"reason": self._stop_reason(), "at_ms": now_ms, "kill_at_ms": now_ms + int(grace_s * 1000)}
        with contextlib.suppress(OSError):  # the signal says the most important part of it
            layout.write_json(self.directory.notice, notice)
        processes.signal_group(driver, signal.SIGTERM)

    def _result(self, ended: Exit, has_notice: bool, was_killed: bool) -> Result:
        if ended.code == 0:
            message = "finished within its grace period" if has_notice else ""
            return Result(Phase.SUCCEEDED, 0, message=message)
        if has_notice:
            how = f"killed after its grace period of {self.plan.grace_s:g} s" if was_killed else "ended after notice"
            return Result(Phase.STOPPED, ended.code, ended.signal, f"{self._stop_reason()}; {how}")
        detail = last_line(self.directory.log)
        return Result(Phase.FAILED, ended.code, ended.signal, f"{ended}: {detail}" if detail else str(ended))

    def _stop_reason(self) -> str:
        request = layout.read_json(self.directory.stop)
        return str(request["reason"]) if request else "its supervisor was told to end"


def _say(text: str) -> None:
    """Add a line to the attempt's log that is not the job's own."""
    with contextlib.suppress(OSError):  # a full disk takes the remark, not the attempt
        sys.stdout.write(f"fairgate: {text}\n")
        sys.stdout.flush()


def _log_to(log: Path) -> None:
    """From now on what this process and its children print goes to the attempt's log."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)


def _make_private(folder: Path) -> None:
    """Make a new directory for this user only. One that is left over from the same attempt is removed before."""
    if folder.is_symlink() or (folder.exists() and folder.stat().st_uid != os.geteuid()):
        raise FileExistsError(f"{folder} belongs to somebody else; remove it")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, parents=True)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
