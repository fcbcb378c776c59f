"""Calls that come at the same time are done together: the disk is waited for once, whoever asked."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Request = TypeVar("Request")
Answer = TypeVar("Answer")
Serve = Callable[[Sequence[Request]], Sequence[Answer]]


@dataclass(slots=True, eq=False)
class _Call(Generic[Request, Answer]):
    request: Request
    is_done: bool = False
    answer: Answer | None = None
    error: Exception | None = None


class Together(Generic[Request, Answer]):
    """Whoever comes while others are being served waits, and the first of those that wait serves them all.

    At most ``most`` are served at once.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._turn = threading.Lock()
        self._mutex = threading.Lock()
        self._waiting: list[_Call[Request, Answer]] = []

    def call(self, request: Request, serve: Serve[Request, Answer]) -> Answer:
        """Serve a request, alone or with others.

        ``serve``, the same for all callers, answers many requests in their order. What it raises is raised to the
        caller whose fault it is: when it fails for several, each of them is served alone.
        """
        mine: _Call[Request, Answer] = _Call(request)
        with self._mutex:
            self._waiting.append(mine)
        while not mine.is_done:
            with self._turn:
                if not mine.is_done:
                    self._serve_some(serve)
        if mine.error is not None:
            raise mine.error
        assert mine.answer is not None
        return mine.answer

    def _serve_some(self, serve: Serve[Request, Answer]) -> None:
        with self._mutex:
            calls, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
        try:
            answers = serve([each.request for each in calls])
        except Exception as error:  # noqa: BLE001 - raised again, in the threads that called
            if len(calls) == 1:
                calls[0].error = error
            else:
                for each in calls:
                    _serve_alone(each, serve)
        else:
            for each, answer in zip(calls, answers, strict=True):
                each.answer = answer
        finally:
            for each in calls:
                each.is_done = True


def _serve_alone(call: _Call[Request, Answer], serve: Serve[Request, Answer]) -> None:
    try:
        (call.answer,) = serve([call.request])
    except Exception as error:  # noqa: BLE001 - raised again, in the thread that called
        call.error = error
