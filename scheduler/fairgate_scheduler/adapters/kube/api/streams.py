"""A watch as it comes over the wire: one JSON event a line, for as long as the server keeps the answer open."""

import json
from collections.abc import Iterator
from typing import Any

import urllib3
from urllib3.exceptions import HTTPError

from fairgate_scheduler.adapters.kube.api.answers import error_of_status
from fairgate_scheduler.adapters.kube.api.errors import UnavailableError
from fairgate_scheduler.adapters.kube.api.kinds import Kind
from fairgate_scheduler.adapters.kube.api.paths import with_kind
from fairgate_scheduler.adapters.kube.api.port import Watched


class EventStream:
    """``Watch`` over an open answer."""

    def __init__(self, kind: Kind, response: urllib3.BaseHTTPResponse) -> None:
        self._kind = kind
        self._response = response
        self._is_closed = False
        self._events = self._read()

    def __iter__(self) -> Iterator[Watched]:
        return self

    def __next__(self) -> Watched:
        """See ``Watch``."""
        return next(self._events)

    def close(self) -> None:
        """See ``Watch``. The reader closes the answer itself: it may be in the middle of it."""
        self._is_closed = True
        try:
            self._response.shutdown()
        except (ValueError, RuntimeError, OSError):
            return  # it has ended meanwhile

    def _read(self) -> Iterator[Watched]:
        try:
            for line in self._lines():
                if self._is_closed:
                    return
                yield self._event(json.loads(line))
        except (HTTPError, OSError, ValueError, AttributeError) as error:
            # A socket that is shut down under its reader fails in ways of its own.
            if not self._is_closed:
                raise UnavailableError(f"watch of {self._kind.plural} lost: {error}") from error
        finally:
            self._response.close()

    def _lines(self) -> Iterator[bytes]:
        rest = b""
        for piece in self._response.stream(amt=None):
            *lines, rest = (rest + piece).split(b"\n")
            yield from filter(None, lines)
        if rest:
            raise ValueError("the last line has no end")

    def _event(self, event: dict[str, Any]) -> Watched:
        if event["type"] == "ERROR":
            raise error_of_status(event["object"])
        return Watched(event["type"], with_kind(self._kind, event["object"]))
