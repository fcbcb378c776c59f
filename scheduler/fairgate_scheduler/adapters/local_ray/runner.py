"""``ports.Runner`` on this machine: writes orders into attempt directories, starts supervisors, reads the results."""

import logging
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import psutil

from fairgate_scheduler.adapters.local_ray import claims, layout, planning, processes
from fairgate_scheduler.adapters.local_ray.layout import AttemptDir, State
from fairgate_scheduler.adapters.local_ray.plan import Plan, Settings, clean_env, temp_dir_of
from fairgate_scheduler.adapters.local_ray.processes import Identity, has_ended
from fairgate_scheduler.adapters.local_ray.remarks import remarks
from fairgate_scheduler.adapters.local_ray.results import Result, end_attempt, read_result
from fairgate_scheduler.core.amounts import Amount, Row
from fairgate_scheduler.core.config_checks import Fault
from fairgate_scheduler.core.lifecycle import Observation, Phase
from fairgate_scheduler.core.tenancy import Config, Tenant
from fairgate_scheduler.ports import Launch, LogChunk

_logger = logging.getLogger(__name__)
_KILL_TIMEOUT_S: Final = 5.0
_SUPERVISOR: Final = "fairgate_scheduler.adapters.local_ray.supervisor"

_DAMAGE: Final = (ValueError, KeyError, TypeError, FileNotFoundError, NotADirectoryError, IsADirectoryError)
"""What reading an attempt's files raises when they are gone, cut off, or not what was written."""

Planner = Callable[[Launch, Settings, State], Plan]


class LocalRayRunner:
    """Runs attempts on this machine. All that it knows is in the state directory: a new one goes on where this ends.

    One runner at a time may give orders for a state directory. Its methods may be called from several threads.
    """

    def __init__(self, settings: Settings, planner: Planner = planning.make_plan) -> None:
        self._settings = settings
        self._planner = planner
        self._state = State(settings.state_dir)
        self._turn = threading.RLock()
        self._supervisors: set[int] = set()
        self._ended: dict[tuple[str, int], Observation] = {}
        self._owners: dict[str, str] = {}
        self._warned: set[tuple[str, ...]] = set()

    def check(self, manifest: Mapping[str, Any], tenant: Tenant) -> list[str]:
        """Everything in a valid RayJob that this machine can not give, as sentences that begin with the field."""
        return planning.check(manifest, self._settings.base_dir)

    def objections(self, config: Config) -> tuple[Fault, ...]:
        """Everything can be kept."""
        return ()

    def remarks(self, config: Config) -> list[str]:
        """What a configuration says in vain: there are no pods here, and one principal for all."""
        return remarks(config)

    def capacity(self, config: Config) -> Mapping[Row, Amount]:
        """As configured: accelerators are numbers here, no devices."""
        return {}

    def launch(self, launch: Launch) -> None:
        """Start the attempt's supervisor, unless one runs or ran, or the attempt was stopped before."""
        attempt = launch.attempt
        directory = self._state.attempt(attempt.job, attempt.number)
        with self._turn:
            self._claim(launch)
            if directory.forgotten.exists():
                return
            layout.make_folder(directory.path)
            layout.make_folder(self._state.checkpoints(attempt.job))
            self._state.mark_active(attempt.job, attempt.number)
            if directory.exit.exists() or directory.started.exists():
                return
            with _inheritable_lock(directory) as lock:
                if lock is None:
                    return
                layout.write_json(directory.launch, self._planner(launch, self._settings, self._state).plain())
                self._spawn(directory, lock)

    def stop(self, job: str, attempt: int, reason: str) -> None:
        """Tell the supervisor to end the attempt. One that was never launched will not start any more."""
        directory = self._state.attempt(job, attempt)
        with self._turn:
            if directory.exit.exists():
                return
            layout.make_folder(directory.path)
            if not directory.stop.exists():
                layout.write_json(directory.stop, {"reason": reason, "at_ms": _now_ms()})
            supervisor = _supervisor_of(directory)
            if supervisor is not None:
                if supervisor.is_alive:
                    _terminate(supervisor.pid)
                return
            with layout.locked(directory) as is_ours:
                if is_ours and not directory.started.exists():
                    self._end(directory, Result(Phase.STOPPED, message=f"{reason}; it had not started yet"), None)

    def observe(self) -> list[Observation]:
        """What the files and processes of every attempt say that was launched and not forgotten."""
        with self._turn:
            self._supervisors = {pid for pid in self._supervisors if not has_ended(pid)}
            return [replace(self._look(*key), uid=self._owner(key[0])) for key in self._state.active()]

    def forget(self, job: str, attempt: int) -> None:
        """Do not observe an ended attempt any more. One that has not ended is kept in sight."""
        directory = self._state.attempt(job, attempt)
        with self._turn:
            if directory.exit.exists():
                directory.forgotten.touch()
                self._state.unmark_active(job, attempt)
                self._ended.pop((job, attempt), None)

    def read_log(self, job: str, attempt: int, offset: int, limit: int, uid: str = "") -> LogChunk:
        """What the attempt printed. Its log ends when the attempt has ended and everything is read."""
        directory = self._state.attempt(job, attempt)
        if uid and claims.owner_of(self._state, job) not in ("", uid):
            return LogChunk(b"", offset, is_end=False)
        has_ended = directory.exit.exists()
        try:
            with directory.log.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                file.seek(min(offset, size))
                data = file.read(limit)
        except FileNotFoundError:
            return LogChunk(b"", offset, is_end=has_ended)
        next_offset = min(offset, size) + len(data)
        return LogChunk(data, next_offset, is_end=has_ended and next_offset >= size)

    def _claim(self, launch: Launch) -> None:
        """Make the files of this name the launched attempt's. Raises OccupiedError."""
        job, attempt = launch.job.id, launch.attempt
        if claims.claim(self._state, job, launch.job.uid, attempt):
            _logger.warning("the files of an earlier job %s are in %s now", job, self._state.root / "replaced")
            self._ended = {key: seen for key, seen in self._ended.items() if key[0] != job}
        if claims.make_way(self._state.attempt(job, attempt.number), attempt):
            self._ended.pop((job, attempt.number), None)
        self._owners.pop(job, None)

    def _owner(self, job: str) -> str:
        """The uid of the job that has the files of this name."""
        if job not in self._owners:
            try:
                self._owners[job] = claims.owner_of(self._state, job)
            except _DAMAGE as error:
                self._warn("whose the files of %s are can not be read", job, error=error)
                return ""
        return self._owners[job]

    def _spawn(self, directory: AttemptDir, lock: int) -> None:
        """Start a supervisor that inherits the lock, so that at no instant nobody holds it."""
        log = os.open(directory.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", _SUPERVISOR, str(directory.path), str(lock)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(lock,),
                start_new_session=True,
                cwd=directory.path,
                env={**clean_env(self._settings, str(directory.path)), processes.SUPERVISES: directory.mark},
            )
        finally:
            os.close(log)
        process.returncode = 0  # it outlives this object, which is as it should be: no warning
        self._supervisors.add(process.pid)

    def _look(self, job: str, attempt: int) -> Observation:
        """One attempt, whatever its files are like: no attempt may keep the others from being seen."""
        try:
            return self._read(job, attempt)
        except _DAMAGE as error:
            self._warn("the files of attempt %s of %s are damaged: it is ended", str(attempt), job, error=error)
            return self._end_damaged(job, attempt, error)
        except OSError as error:
            self._warn("attempt %s of %s can not be looked at now", str(attempt), job, error=error)
            return Observation(job, attempt, Phase.STARTING, _now_ms())

    def _warn(self, text: str, *about: str, error: Exception) -> None:
        """Say it once: an attempt is looked at twice a second, for as long as it is there."""
        if (text, *about) not in self._warned:
            self._warned.add((text, *about))
            _logger.warning("%s: %s: %s", text % about, type(error).__name__, error)

    def _end_damaged(self, job: str, attempt: int, error: Exception) -> Observation:
        """Nothing is known of it but its mark: end all that carries it, so that no other attempt runs beside it."""
        directory = self._state.attempt(job, attempt)
        result = Result(Phase.LOST, message=f"its files were removed or damaged: {error}")
        try:
            supervisor = processes.find_supervisor(directory.mark)
            if supervisor:
                supervisor.kill()
                supervisor.wait(_KILL_TIMEOUT_S)
            layout.make_folder(directory.path)
            shutil.rmtree(directory.exit, ignore_errors=True)  # a folder of that name, if it is one
            temp_dir = temp_dir_of(directory, self._settings)
            with layout.locked(directory) as is_ours:
                if is_ours and not end_attempt(directory, temp_dir, result, supervisor.pid if supervisor else None):
                    return self._read(job, attempt)
        except (*_DAMAGE, OSError, psutil.Error) as failure:
            self._warn("attempt %s of %s can not be ended; it is tried again", str(attempt), job, error=failure)
        return Observation(job, attempt, Phase.STARTING, _now_ms())

    def _read(self, job: str, attempt: int) -> Observation:
        key = (job, attempt)
        directory = self._state.attempt(job, attempt)
        seen = self._ended.get(key) or _ended(key, directory)
        if seen is None:
            supervisor = _supervisor_of(directory)
            if supervisor is None:
                self._end_unsupervised(directory)
            elif not supervisor.is_alive:
                self._end_lost(directory, supervisor)
            seen = _ended(key, directory)
        if seen is None:
            return _alive(key, directory)
        self._ended[key] = seen
        return seen

    def _end_unsupervised(self, directory: AttemptDir) -> None:
        """A supervisor that has not written its name yet holds the lock. If nobody does, there is none."""
        with layout.locked(directory) as is_ours:
            if is_ours and directory.launch.exists() and not directory.started.exists():
                self._end(directory, Result(Phase.LOST, message="its supervisor ended before it began"), None)

    def _end_lost(self, directory: AttemptDir, supervisor: Identity) -> None:
        """End what a dead supervisor has left. Its session is its own only while no other process has its pid."""
        with layout.locked(directory) as is_ours:
            if is_ours and not directory.exit.exists():
                is_same_boot = (here := Identity.of(os.getpid())) is not None and here.boot == supervisor.boot
                is_free = Identity.of(supervisor.pid) is None
                session = supervisor.pid if is_same_boot and is_free else None
                self._end(
                    directory,
                    Result(Phase.LOST, message="its supervisor was killed, or the machine restarted"),
                    session,
                )

    def _end(self, directory: AttemptDir, result: Result, session: int | None) -> None:
        content = layout.read_json(directory.launch)
        temp_dir = Path(content["temp_dir"]) if content else temp_dir_of(directory, self._settings)
        end_attempt(directory, temp_dir, result, session)


def _ended(key: tuple[str, int], directory: AttemptDir) -> Observation | None:
    end = read_result(directory)
    if end is None:
        return None
    return Observation(
        *key,
        Phase(end["phase"]),
        end["at_ms"],
        is_gone=True,
        exit_code=end["exit_code"],
        message=end["message"],
        started_at_ms=end["started_at_ms"],
    )


def _alive(key: tuple[str, int], directory: AttemptDir) -> Observation:
    ready = layout.read_json(directory.ready)
    if ready is not None:
        return Observation(*key, Phase.RUNNING, ready["at_ms"], started_at_ms=ready["at_ms"])
    launched_at_ms = directory.path.stat().st_ctime_ns // 1_000_000
    started = layout.read_json(directory.started)
    return Observation(*key, Phase.STARTING, started["at_ms"] if started else launched_at_ms)


def _supervisor_of(directory: AttemptDir) -> Identity | None:
    content = layout.read_json(directory.started)
    return None if content is None else Identity.from_plain(content)


def _terminate(pid: int) -> None:
    try:
        os.kill(pid, 15)
    except ProcessLookupError:
        return


@contextmanager
def _inheritable_lock(directory: AttemptDir) -> Iterator[int | None]:
    lock = layout.take_lock(directory)
    try:
        yield lock
    finally:
        if lock is not None:
            os.close(lock)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
