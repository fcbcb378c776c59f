"""Backfill claims: who has waited too long is not passed any more by what would make it wait still longer.

A pending job that has waited ``backfill_after`` has a claim. It binds only jobs behind it in the fair order that share
a row with it, and only those that would delay its forecast start: a job that ends in time by its time limit may pass.
That is EASY backfill (Lifka, JSSPP 1995) with a forecast in the place of the shadow time, for every claimant.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from fairgate_scheduler.core.amounts import Row
from fairgate_scheduler.core.contenders import Choice, Contender, Field
from fairgate_scheduler.core.ledger import Ledger
from fairgate_scheduler.core.usage import Usage

Start = Callable[[Contender, Mapping[Contender, Choice]], int | None]
"""When a claimant would start beside these jobs, if nobody else waited; ``None``: never."""


class _Claimant(NamedTuple):
    """``kind``: claimants of equal kinds bind alike. ``rows``: of all options that it could ever take."""

    contender: Contender
    kind: Hashable
    rows: frozenset[Row]


class BackfillClaims:
    """The claims of one round."""

    def __init__(self, field: Field, pending: Iterable[Contender], start: Start) -> None:
        self._field = field
        self._start = start
        self._claimants = sorted(
            (self._claimant(each) for each in pending if each.is_claimant), key=lambda each: each.contender.rank
        )
        self._starts: dict[Hashable, int | None] = {}

    def __bool__(self) -> bool:
        return any(each.rows for each in self._claimants)

    def allow(
        self,
        ledger: Ledger,
        contender: Contender,
        choice: Choice,
        nominal: Usage | None = None,
        gone: Sequence[Contender] = (),
    ) -> bool:
        """Whether placing a job now delays nobody who has a claim and comes before it.

        ``nominal``: in the steps for nominal quota, what counts as nominal so far; a claimant that is not entitled
        itself comes after such a step. ``gone``: who gives way to the job.
        """
        rows = contender.job.options[choice.option].demand.keys()
        seen: set[Hashable] = set()
        for claimant in self._claimants:
            other = claimant.contender
            if other is contender or other in ledger.placed or claimant.kind in seen or rows.isdisjoint(claimant.rows):
                continue
            if nominal is not None and not self._is_entitled(other, nominal):
                continue
            if not self._precedes(ledger, other, contender):
                continue
            seen.add(claimant.kind)
            if self._delays(ledger, claimant, contender, choice, gone):
                return False
        return True

    def _delays(
        self, ledger: Ledger, claimant: _Claimant, contender: Contender, choice: Choice, gone: Sequence[Contender]
    ) -> bool:
        leaving = {each for each in gone if each not in ledger.protected}
        target = {each: placed for each, placed in ledger.placed.items() if each not in leaving}
        state = frozenset((each, placed.option) for each, placed in target.items())
        alone = self._start_of(claimant, target, (state,))
        if alone is None or alone <= self._field.now_ms:
            return False
        key = (state, contender.leaf, contender.group, choice.option)
        beside = self._start_of(claimant, {**target, contender: choice}, key)
        return beside is None or beside > alone

    def _start_of(
        self, claimant: _Claimant, target: Mapping[Contender, Choice], key: tuple[Hashable, ...]
    ) -> int | None:
        whole = (claimant.kind, *key)
        if whole not in self._starts:
            self._starts[whole] = self._start(claimant.contender, target)
        return self._starts[whole]

    def _precedes(self, ledger: Ledger, one: Contender, other: Contender) -> bool:
        """Whether one comes before the other: in their leaf by its order, else by the shares below where they meet."""
        if one.leaf == other.leaf:
            return one.rank < other.rank
        paths = self._field.tree.paths
        mine, theirs = paths[one.leaf], paths[other.leaf]
        if mine[-1] != theirs[-1]:
            return one.rank < other.rank
        meeting = next(node for node in mine if node in theirs)
        below = mine[mine.index(meeting) - 1], theirs[theirs.index(meeting) - 1]
        standing = ledger.order.standing
        return (standing(below[0]), below[0]) < (standing(below[1]), below[1])

    def _is_entitled(self, contender: Contender, nominal: Usage) -> bool:
        path = self._field.tree.paths[contender.leaf]
        return any(nominal.is_within(node, choice.charge) for node in path[:-1] for choice in contender.choices)

    def _claimant(self, contender: Contender) -> _Claimant:
        job = contender.job
        rows = frozenset(row for choice in self._field.possible(job) for row in job.options[choice.option].demand)
        return _Claimant(contender, (contender.leaf, contender.group, tuple(sorted(job.backoff.items()))), rows)
