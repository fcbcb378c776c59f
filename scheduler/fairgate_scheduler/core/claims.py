"""Backfill claims: who has waited too long is not passed any more by what would make it wait still longer.

A pending job that has waited ``backfill_after`` has a claim. It binds only jobs behind it in the fair order that share
a row with it, and only those that would delay its forecast start: a job that ends in time by its time limit may pass.
That is EASY backfill (Lifka, JSSPP 1995) with a forecast in the place of the shadow time, for every claimant.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from fairgate_scheduler.core.amounts import Row
from fairgate_scheduler.core.contenders import Choice, Contender, Field
from fairgate_scheduler.core.forecast import end_ms
from fairgate_scheduler.core.ledger import Ledger
from fairgate_scheduler.core.releases import Release, Releases
from fairgate_scheduler.core.tenancy import QuotaCut
from fairgate_scheduler.core.usage import Usage

Start = Callable[[Contender, Mapping[Contender, Choice]], int | None]
"""When a claimant would start beside these jobs, if nobody else waited; ``None``: never."""


class _Claimant(NamedTuple):
    """``contender``: one of ``mates``, who are equal but for their rank, best first. ``kind``: claimants of equal kinds
    bind alike.

    ``rows``: of all options that it could ever take. ``is_plain``: until it starts nothing but room is in question: its
    options, limits and budgets do not change.
    """

    mates: Iterable[Contender]
    contender: Contender
    kind: Hashable
    rows: frozenset[Row]
    is_plain: bool


class _State:
    """What is placed at one moment of a refill, and when claimants would start beside it."""

    def __init__(self, key: Hashable, target: Mapping[Contender, Choice]) -> None:
        self.key = key
        self.target = target
        self.alone: dict[Hashable, Release | int | None] = {}
        self.releases: Releases | None = None
        self.least: dict[int, int] = {}
        for each in target:
            self.least[each.leaf] = min(each.priority, self.least.get(each.leaf, each.priority))


class BackfillClaims:
    """The claims of one round. ``claimants``: see ``Register.claimants``; they have to stay what they are."""

    def __init__(self, field: Field, claimants: Iterable[Iterable[Contender]], start: Start) -> None:
        self.refused = 0
        self._field = field
        self._start = start
        self._claimants = sorted(map(self._claimant, claimants), key=lambda each: each.contender.rank)
        self._starts: dict[Hashable, int | None] = {}
        self._state: _State | None = None
        self._state_key: Hashable = None

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
            if claimant.kind in seen or rows.isdisjoint(claimant.rows):
                continue
            # Of those that are equal the first that is not placed is before all others.
            other = next((each for each in claimant.mates if each not in ledger.placed), contender)
            if other is contender:
                continue
            if nominal is not None and not self._is_entitled(other, nominal):
                continue
            if not self._precedes(ledger, other, contender):
                continue
            seen.add(claimant.kind)
            if self._delays(ledger, claimant._replace(contender=other), contender, choice, gone):
                self.refused += 1
                return False
        return True

    def _delays(
        self, ledger: Ledger, claimant: _Claimant, contender: Contender, choice: Choice, gone: Sequence[Contender]
    ) -> bool:
        state = self._state_of(ledger, gone)
        if claimant.kind not in state.alone:
            state.alone[claimant.kind] = self._alone(claimant, state)
        alone = state.alone[claimant.kind]
        at_ms = alone.at_ms if isinstance(alone, Release) else alone
        if at_ms is None or at_ms <= self._field.now_ms:
            return False
        if isinstance(alone, Release) and not self._is_weaker(contender, claimant.contender):
            if end_ms(self._field, contender, choice) <= at_ms:
                return False
            alone.usage.add(choice.charge)
            fits, entitled = self._fits(claimant, alone.usage), self._may_reclaim(claimant, alone.usage)
            alone.usage.remove(choice.charge)
            if fits or not entitled:
                return not fits
        key = (state.key, claimant.kind, contender.leaf, contender.group, choice.option)
        if key not in self._starts:
            self._starts[key] = self._start(claimant.contender, {**state.target, contender: choice})
        beside = self._starts[key]
        return beside is None or beside > at_ms

    def _state_of(self, ledger: Ledger, gone: Sequence[Contender]) -> _State:
        leaving = frozenset(each for each in gone if each not in ledger.protected)
        if self._state is None or self._state_key != (ledger, ledger.version, leaving):
            target = {each: placed for each, placed in ledger.placed.items() if each not in leaving}
            self._state_key = (ledger, ledger.version, leaving)
            self._state = _State(frozenset((each, placed.option) for each, placed in target.items()), target)
        return self._state

    def _alone(self, claimant: _Claimant, state: _State) -> Release | int | None:
        """When a claimant starts beside a state. A ``Release``: as soon as there is room, and nobody gives way."""
        contender, policy = claimant.contender, self._field.policy
        has_weaker = policy.priority_preemption and state.least.get(contender.leaf, contender.priority) < (
            contender.priority
        )
        if not claimant.is_plain or has_weaker or policy.rebalance or policy.quota_cut is QuotaCut.RECLAIM:
            return self._start(contender, state.target)
        if state.releases is None:
            ends = ((end_ms(self._field, each, placed), placed.charge) for each, placed in state.target.items())
            state.releases = Releases(self._field.bounds, self._field.now_ms, ends)
        release = state.releases.first(lambda usage: self._fits(claimant, usage) or self._may_reclaim(claimant, usage))
        if release is None or self._fits(claimant, release.usage):
            return release
        return self._start(contender, state.target)

    def _is_weaker(self, contender: Contender, other: Contender) -> bool:
        """Whether it could be made to give way to another job of its tenant."""
        by_priority = self._field.policy.priority_preemption and contender.leaf == other.leaf
        return by_priority and contender.priority < other.priority

    def _fits(self, claimant: _Claimant, usage: Usage) -> bool:
        return any(usage.fits(choice.charge) for choice in claimant.contender.choices)

    def _may_reclaim(self, claimant: _Claimant, usage: Usage) -> bool:
        """Whether it would be within the nominal quota of its leaf or of a tenant above it."""
        return self._is_entitled(claimant.contender, usage)

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

    def _claimant(self, mates: Iterable[Contender]) -> _Claimant:
        contender = next(iter(mates))
        job, field = contender.job, self._field
        possible = field.possible(job)
        rows = frozenset(row for choice in possible for row in job.options[choice.option].demand)
        tenants = [field.config.tenants[each] for each in field.config.paths[job.tenant]]
        is_limited = any(each.budget is not None or each.max_running_jobs is not None for each in tenants)
        is_plain = bool(contender.choices) and not is_limited and len(possible) == len(contender.choices)
        kind = (
            (contender.leaf, contender.group)
            if not is_plain
            else (contender.leaf, contender.priority, tuple(choice.charge for choice in contender.choices))
        )
        return _Claimant(mates, contender, (*kind, tuple(sorted(job.backoff.items()))), rows, is_plain)
