"""Watches and logs that outlive their connections: each goes on from the last event, or the last byte, that it has."""

import codecs
from collections.abc import Callable, Iterator
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


def chunks(
    open_log: Callable[[int, int, float], Iterator[LogChunk]], start: tuple[int, int], patience_s: float
) -> Iterator[LogChunk]:
    """The pieces of a log from ``start`` (attempt, offset) on. ``open_log`` also gets the seconds that it may last."""
    attempt, offset = start

    def connect(longest_s: float) -> Iterator[LogChunk]:
        nonlocal attempt, offset
        for chunk in open_log(attempt, offset, longest_s):
            attempt, offset = chunk.attempt, chunk.next_offset
            yield chunk

    yield from Backoff().resume(Stream(connect, patience_s), None)


def lines(pieces: Iterator[LogChunk]) -> Iterator[LogLine]:
    """The pieces' text line by line; a line ends with its attempt, too."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    attempt, rest = 0, ""
    for chunk in pieces:
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
