"""Filling in fair order: whose turn it is gets its best job placed, until nothing can be placed any more."""

from collections.abc import Hashable, Mapping
from typing import Generic, Protocol, TypeVar

from fairgate_scheduler.core.contenders import Contender
from fairgate_scheduler.core.ledger import Ledger, Line

Way = TypeVar("Way")


class Filling(Protocol[Way]):
    """One step of the refill: how a job could be placed now, and placing it."""

    def look(self, contender: Contender) -> Way | None:
        """A way to place the job; ``None``: there is none. Changes nothing."""

    def place(self, contender: Contender, way: Way) -> None:
        """Place the job that way."""


class Turns(Generic[Way]):
    """Takes turns over the lines of the leaves.

    A job that could not be placed is not looked at again, nor any of its equals, until something was taken out: as
    long as jobs are only added there is ever less room. Only a claim that kept it may be gone after any placing.
    """

    def __init__(self, ledger: Ledger, lines: Mapping[int, Line], step: Filling[Way]) -> None:
        self._ledger = ledger
        self._lines = lines
        self._step = step
        self._hopeless: dict[int, set[Hashable]] = {}
        self._removals = ledger.removals

    def run(self) -> None:
        """Place jobs until no leaf has one that can be placed."""
        while True:
            if self._ledger.removals != self._removals or self._ledger.claims is not None:
                self._hopeless, self._removals = {}, self._ledger.removals
            turns = {leaf: turn for leaf in sorted(self._lines) if (turn := self._first(leaf)) is not None}
            if not turns:
                return
            leaf = self._ledger.order.least(turns)
            contender, way = turns[leaf]
            self._lines[leaf].pop(contender)
            self._step.place(contender, way)

    def _first(self, leaf: int) -> tuple[Contender, Way] | None:
        hopeless = self._hopeless.setdefault(leaf, set())
        for contender in self._lines[leaf].heads():
            if contender.group in hopeless:
                continue
            way = self._step.look(contender)
            if way is not None:
                return contender, way
            hopeless.add(contender.group)
        return None
