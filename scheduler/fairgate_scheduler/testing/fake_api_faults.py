"""Faults of an API server that tests ask for: calls that fail before or after they did what they should."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from fairgate_scheduler.adapters.kube.api import ApiError, UnavailableError

Moment = Literal["before", "after"]


@dataclass
class _Fault:
    verb: str
    plural: str
    countdown: int
    moment: Moment
    error: ApiError


@dataclass
class Faults:
    """What is to go wrong. ``verb`` is a name of a method of ``Api``, ``plural`` that of a kind; "" is any."""

    is_down: bool = False
    """While this is set every call fails before it does anything."""
    _planned: list[_Fault] = field(default_factory=list)

    def fail(
        self,
        verb: str = "",
        plural: str = "",
        nth: int = 1,
        moment: Moment = "before",
        error: ApiError | None = None,
    ) -> None:
        """Let the n-th such call from now on fail, once; "after": it has taken effect, and nobody is told."""
        self._planned.append(_Fault(verb, plural, nth, moment, error or UnavailableError("connection refused")))

    @contextmanager
    def around(self, verb: str, plural: str) -> Iterator[None]:
        """Run one call, or not, or lose its answer."""
        if self.is_down:
            raise UnavailableError("connection refused")
        due = self._due(verb, plural)
        if due and due.moment == "before":
            raise due.error
        yield
        if due:
            raise due.error

    def _due(self, verb: str, plural: str) -> _Fault | None:
        found = None
        for fault in self._planned:
            if fault.verb in ("", verb) and fault.plural in ("", plural):
                fault.countdown -= 1
                if fault.countdown == 0 and found is None:
                    found = fault
        self._planned = [fault for fault in self._planned if fault.countdown > 0]
        return found
