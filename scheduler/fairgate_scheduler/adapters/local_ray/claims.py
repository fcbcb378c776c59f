"""Whose files these are. When the state was restored from a backup, the id of a job can be given a second time, and an
attempt's number too. A job's uid and the time of an attempt's admission can not: they tell what is of another life.

Files of another life are moved to ``replaced/``, for people to look at: never given to a job, never deleted.
"""

from collections.abc import Callable
from pathlib import Path

from fairgate_scheduler.adapters.local_ray import layout
from fairgate_scheduler.adapters.local_ray.layout import AttemptDir, State
from fairgate_scheduler.core.jobs import Attempt


class OccupiedError(Exception):
    """Something of an earlier job of this id may still run; try again when it has ended."""


def owner_of(state: State, job: str) -> str:
    """The uid of the job that the files of this id belong to, "" if that was never written down."""
    content = layout.read_json(state.owner(job))
    return str(content["uid"]) if content else ""


def claim(state: State, job: str, uid: str, attempt: Attempt) -> bool:
    """Make the files of a job's id those of this uid; say whether others had to go. "": nothing is known, so none go.

    Raises:
        OccupiedError: an attempt of the earlier job has not ended.
    """
    if not uid or owner_of(state, job) == uid:
        return False
    folder, checkpoints = state.attempts(job), state.checkpoints(job)
    is_foreign = (
        state.owner(job).exists()
        or any(folder.glob("*/launch.json"))
        or (attempt.number == 1 and checkpoints.exists())  # the first attempt has nothing to go on from
    )
    if is_foreign:
        _check_ended(state, job)
        target = _free(lambda turn: state.replaced(job, turn))
        layout.make_folder(target)
        for source, name in ((checkpoints, "checkpoints"), (folder, "attempts")):  # what says whose it is goes last
            if source.exists():
                source.rename(target / name)
        for number in _active(state, job):
            state.unmark_active(job, number)
    layout.make_folder(folder)
    layout.write_json(state.owner(job), {"uid": uid})
    return is_foreign


def make_way(directory: AttemptDir, attempt: Attempt) -> bool:
    """Move the files of a forgotten attempt aside if they are of another admission; say whether that was done."""
    content = layout.read_json(directory.launch)
    admitted_at_ms = content.get("admitted_at_ms") if content else None
    if not directory.forgotten.exists() or admitted_at_ms in (None, attempt.admitted_at_ms):
        return False
    path = directory.path
    path.rename(_free(lambda turn: path.with_name(f"{path.name}.replaced-{turn}")))
    return True


def _check_ended(state: State, job: str) -> None:
    for number in _active(state, job):
        if not state.attempt(job, number).exit.exists():
            raise OccupiedError(f"attempt {number} of an earlier job {job} has not ended: it is waited for")


def _active(state: State, job: str) -> list[int]:
    return [number for name, number in state.active() if name == job]


def _free(path_of: Callable[[int], Path]) -> Path:
    turn = 1
    while path_of(turn).exists():
        turn += 1
    return path_of(turn)
