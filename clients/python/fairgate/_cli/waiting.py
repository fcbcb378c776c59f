"""Waiting for jobs with progress: a live line for people, one line a change for everybody else."""

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from fairgate import _errors
from fairgate._cli import names, times
from fairgate._cli.report import ExitCode, usage_error
from fairgate._cli.session import Session
from fairgate._durations import parse_duration
from fairgate._errors import FairgateError
from fairgate._models import Job, JobState


@dataclass(frozen=True, slots=True)
class Ended:
    """The jobs as they were when all of them had ended, and the exit code."""

    jobs: tuple[Job, ...]

    @property
    def code(self) -> ExitCode:
        """0 if all succeeded, else 1."""
        is_good = all(job.state is JobState.SUCCEEDED for job in self.jobs)
        return ExitCode.OK if is_good else ExitCode.FAILED


def wait_for(session: Session, jobs: Sequence[str], timeout: str | None, *, with_logs: bool = False) -> Ended:
    """Wait until all of these jobs have ended. Raises DeadlineExceeded."""
    deadline_s = deadline_of(timeout)
    ended = []
    for name in jobs:
        if with_logs:
            with _logs_beside(session, name):
                ended.append(_wait(session, name, deadline_s, is_alone=False))
        else:
            ended.append(_wait(session, name, deadline_s, is_alone=True))
    return Ended(tuple(ended))


def deadline_of(timeout: str | None) -> float | None:
    """The instant (of ``time.monotonic``) at which a wait is over. Raises InvalidArgument."""
    if timeout is None:
        return None
    seconds = parse_duration(timeout, "--timeout").total_seconds()
    if not seconds:
        raise usage_error("no time at all", "write a duration above 0s", "--timeout")
    return time.monotonic() + seconds


def describe_progress(job: Job) -> str:
    """Where a job stands, in a line."""
    text = f"{names.short_job(job.name)}: {job.state}"
    if job.state is JobState.RUNNING:
        return f"{text} on {job.flavor} (attempt {job.attempt_count})"
    if job.hold:
        return f"{text}, {job.hold.reason}: {job.hold.message}"
    return f"{text}: {job.message}" if job.message else text


def summary(job: Job) -> str:
    """How a job ended, in a line."""
    parts = [f"{names.short_job(job.name)} {job.state}"]
    if job.create_time and job.finish_time:
        parts.append(f"after {times.span(job.finish_time - job.create_time)}")
    if job.attempt_count > 1:
        parts.append(f"in {job.attempt_count} attempts")
    text = " ".join(parts)
    return f"{text}: {job.message}" if job.message and job.state is not JobState.SUCCEEDED else text


def _wait(session: Session, name: str, deadline_s: float | None, *, is_alone: bool) -> Job:
    left = None if deadline_s is None else max(0.001, deadline_s - time.monotonic())
    last = ""
    with _live(session, is_alone) as show:
        for job in session.client.progress(name, left):
            if job.state.is_final:
                break
            text = describe_progress(job)
            if text != last:
                show(text)
                last = text
        else:
            raise AssertionError("progress ends with a final state")
    session.say(summary(job))
    return job


@contextmanager
def _live(session: Session, is_alone: bool) -> Iterator[Callable[[str], None]]:
    """What shows a text: a line that changes in place, or (no person looks, or other lines are printed) a new line."""
    if not (session.err.is_terminal and is_alone):
        yield session.say
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=session.err, transient=True) as progress:
        line = progress.add_task("", total=None)
        yield lambda text: progress.update(line, description=text)


@contextmanager
def _logs_beside(session: Session, name: str) -> Iterator[None]:
    """Print a job's output as it comes, until it has ended."""
    failure: list[FairgateError] = []

    def copy() -> None:
        try:
            for chunk in session.client.log_chunks(name):
                sys.stdout.buffer.write(chunk.data)
                sys.stdout.flush()
        except _errors.Cancelled:
            return
        except FairgateError as error:
            failure.append(error)

    copier = threading.Thread(target=copy, daemon=True, name="logs")
    copier.start()
    yield
    copier.join(timeout=10)
    if failure:
        raise failure[0]
