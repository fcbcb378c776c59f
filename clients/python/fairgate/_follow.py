"""Watches and logs that outlive their connections: each goes on from the last event, or the last byte, that it has."""

import codecs
from collections.abc import Iterator
from dataclasses import dataclass

from fairgate._errors import DeadlineExceeded, Violation
from fairgate._models import Job, JobActions, LogChunk, LogLine
from fairgate._retry import Backoff, Stream
from fairgate._wire import Wire
from fairgate._wire.calls import WatchItem


@dataclass(slots=True)
class Watch:
    """A watch of one job ("": of all) of a parent."""

    wire: Wire
    client: JobActions
    parent: str
    job: str

    def items(self, after_sequence: int | None, patience_s: float, deadline_s: float | None) -> Iterator[WatchItem]:
        """Events and signs of life, without end."""
        place = after_sequence

        def connect(longest_s: float) -> Iterator[WatchItem]:
            nonlocal place
            for item in self.wire.watch_jobs(self.parent, self.job, place, self.client, longest_s):
                place = item.sequence if place is None else max(place, item.sequence)
                yield item

        stream = Stream(connect, patience_s, is_endless=True)
        yield from Backoff().resume(stream, deadline_s)


def progress(wire: Wire, client: JobActions, name: str, patience_s: float, deadline_s: float | None) -> Iterator[Job]:
    """A job now, then after each change and each sign of life, until it has ended."""
    job = client.get(name)
    yield job
    if job.state.is_final:
        return
    watch = Watch(wire, client, name.partition("/jobs/")[0], name)
    try:
        # What happened between the look above and the first message of the watch is seen by the look at that message.
        for _ in watch.items(None, patience_s, deadline_s):
            job = client.get(name)
            yield job
            if job.state.is_final:
                return
    except DeadlineExceeded:
        why = f": {job.hold.message}" if job.hold else ""
        message = f"{name} is still {job.state}{why}"
        raise DeadlineExceeded([Violation("", message, "wait longer, or ask with `fairgate explain`")]) from None


@dataclass(slots=True)
class Logs:
    """The output of one job."""

    wire: Wire
    client: JobActions
    name: str
    patience_s: float

    def chunks(self, attempt: int, offset: int, follow: bool) -> Iterator[LogChunk]:
        """The output of one attempt; of 0: the latest, and with ``follow`` of those after it."""
        number = attempt or self._next(0, follow)
        while number is not None:
            yield from self._attempt(number, offset, follow)
            if attempt or not follow:
                return
            number, offset = self._next(number, follow), 0

    def _attempt(self, number: int, offset: int, follow: bool) -> Iterator[LogChunk]:
        place = offset

        def connect(longest_s: float) -> Iterator[LogChunk]:
            nonlocal place
            for chunk in self.wire.stream_logs(self.name, number, place, follow, longest_s):
                place = chunk.next_offset
                yield chunk

        yield from Backoff().resume(Stream(connect, self.patience_s), None)

    def _next(self, number: int, follow: bool) -> int | None:
        """The number of the attempt to go on with, once there is one; ``None``: there will be none."""
        job = self.client.get(self.name)
        if follow and job.attempt_count <= number and not job.state.is_final:
            for job in progress(self.wire, self.client, self.name, self.patience_s, None):
                if job.attempt_count > number:
                    break
        if job.attempt_count <= number:
            return None
        return job.attempt_count if number == 0 else number + 1


def lines(chunks: Iterator[LogChunk]) -> Iterator[LogLine]:
    """The chunks' text line by line; a line ends with its attempt, too."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    attempt, rest = 0, ""
    for chunk in chunks:
        if chunk.attempt != attempt:
            rest += decoder.decode(b"", final=True)
            if rest:
                yield LogLine(attempt, rest)
            decoder.reset()
            attempt, rest = chunk.attempt, ""
        *whole, rest = (rest + decoder.decode(chunk.data)).split("\n")
        for text in whole:
            yield LogLine(attempt, text.removesuffix("\r"))
    rest += decoder.decode(b"", final=True)
    if rest:
        yield LogLine(attempt, rest)
