"""A job's output as a stream: what is there and, to those who follow, what is written until the job has ended."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from fairgate_api.v1 import job_service_pb2

from fairgate_scheduler.ports import LogChunk
from fairgate_scheduler.service import query
from fairgate_scheduler.service.app import App

CHUNK_BYTES: Final = 64 * 1024
POLL_S: Final = 0.2


@dataclass(frozen=True, slots=True)
class LogRequest:
    """Which output. ``attempt``: where to begin, ``None``: the latest. ``follow``: go on until the job has ended."""

    job: str
    attempt: int | None
    offset: int
    follow: bool


def stream_log(
    app: App, wanted: LogRequest, should_stop: Callable[[], bool]
) -> Iterator[job_service_pb2.StreamJobLogsResponse]:
    """Pieces of a job's output, in order and without gaps; who follows may ask for an attempt that is yet to come.

    Raises what ``query.read_log`` raises.
    """
    attempt, offset = wanted.attempt, wanted.offset
    while not should_stop():
        seen = app.changes.count
        job = query.get_job(app, wanted.job).job  # asked before the output: all that a final job wrote is there
        if attempt is None and job.attempts:
            attempt = job.attempts
        is_over = job.state.is_final or not wanted.follow
        if attempt is None and is_over:
            return
        if attempt is None or (attempt > job.attempts and not is_over):
            app.changes.wait(seen, POLL_S)
            continue
        chunk = query.read_log(app, wanted.job, attempt, offset, CHUNK_BYTES)
        if chunk.data:
            yield _encode(attempt, chunk)
            offset = chunk.next_offset
        elif wanted.follow and chunk.is_end and attempt < job.attempts:
            attempt, offset = attempt + 1, 0
        elif is_over:
            return
        else:
            app.changes.wait(seen, POLL_S)


def _encode(attempt: int, chunk: LogChunk) -> job_service_pb2.StreamJobLogsResponse:
    return job_service_pb2.StreamJobLogsResponse(
        attempt=attempt,
        offset=chunk.next_offset - len(chunk.data),
        data=chunk.data,
        next_offset=chunk.next_offset,
    )
