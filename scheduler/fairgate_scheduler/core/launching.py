"""What is reserved, what is really there, and so which admitted attempts may be started.

Nothing runs above quota or capacity, whatever is still on its way out.
"""

from collections.abc import Mapping, Sequence
from typing import Self

from fairgate_scheduler.core.amounts import Amount, Demand, Row
from fairgate_scheduler.core.jobs import Attempt, AttemptState
from fairgate_scheduler.core.limits import RunningCounts
from fairgate_scheduler.core.quota import quota_tree
from fairgate_scheduler.core.tenancy import Config
from fairgate_scheduler.core.usage import Bounds, Charge, Usage

AttemptKey = tuple[str, int]
"""(job, number)"""


class Books:
    """The attempts that are not gone, kept attempt by attempt, so that a change costs what changed.

    ``capacity`` overrides what the flavors say is there. Those of tenants that the config does not have are left out.
    """

    def __init__(self, config: Config, capacity: Mapping[Row, Amount]) -> None:
        tree = quota_tree(config)
        self._known = config.tenants
        self._bounds = Bounds(tree, capacity)
        self._present = Usage(self._bounds)
        self._holding = Usage(self._bounds)
        self._counts = RunningCounts(tree)
        self._there: dict[str, frozenset[int]] = {}
        self._reserved: dict[AttemptKey, tuple[Charge, Attempt]] = {}

    def copy(self) -> Self:
        """Independent books with the same content."""
        other = type(self).__new__(type(self))
        other._known, other._bounds = self._known, self._bounds
        other._present, other._holding, other._counts = self._present.copy(), self._holding.copy(), self._counts.copy()
        other._there, other._reserved = dict(self._there), dict(self._reserved)
        return other

    def put(self, tenant: str, before: Attempt | None, after: Attempt | None) -> None:
        """An attempt of a tenant's job has changed; ``None``: it was not there, is there no longer."""
        if tenant not in self._known:
            return
        for attempt, sign in ((before, -1), (after, 1)):
            if attempt is not None:
                self._count(self._bounds.charge(tenant, attempt.demand), attempt, sign)

    def has_room(self, tenant: str, demand: Demand) -> bool:
        """Whether one more job of this tenant keeps every quota, limit and capacity beside all that is reserved.

        Where more is used than a bound allows (a quota cut), nothing is added to it.
        """
        if tenant not in self._known:
            return False
        charge = self._bounds.charge(tenant, demand)
        return self._holding.fits(charge) and self._counts.allows(charge.node)

    def holding(self) -> tuple[Usage, RunningCounts]:
        """What all that holds quota uses, and how many jobs that are: copies."""
        return self._holding.copy(), self._counts.copy()

    @property
    def reserved(self) -> frozenset[AttemptKey]:
        """The attempts that are admitted and not launched."""
        return frozenset(self._reserved)

    def launchable(self) -> tuple[Attempt, ...]:
        """The reserved attempts that may be launched now, in the order of admission.

        An attempt may be launched when no older attempt of its job is present, and when all that is present, those
        launched before it in this call, and it stay within quota and capacity; where what holds quota is above a bound
        (a cut left it there), that is the bound. One that may not blocks no other.
        """
        out: list[Attempt] = []
        started: list[Charge] = []
        for charge, attempt in sorted(self._reserved.values(), key=_admission):
            older = min(self._there.get(attempt.job, ()), default=attempt.number)
            if older >= attempt.number and self._present.fits(charge, self._holding):
                self._present.add(charge)
                started.append(charge)
                out.append(attempt)
        for charge in started:
            self._present.remove(charge)
        return tuple(out)

    def _count(self, charge: Charge, attempt: Attempt, sign: int) -> None:
        if attempt.is_present:
            _change(self._present, charge, sign)
            there = self._there.get(attempt.job, frozenset())
            self._there[attempt.job] = there | {attempt.number} if sign > 0 else there - {attempt.number}
            if not self._there[attempt.job]:
                del self._there[attempt.job]
        if attempt.holds_quota:
            _change(self._holding, charge, sign)
            (self._counts.add if sign > 0 else self._counts.remove)(charge.node)
            if attempt.state is AttemptState.RESERVED:
                key = (attempt.job, attempt.number)
                if sign > 0:
                    self._reserved[key] = (charge, attempt)
                else:
                    del self._reserved[key]


def launchable(
    config: Config, capacity: Mapping[Row, Amount], attempts: Sequence[tuple[str, Attempt]]
) -> tuple[Attempt, ...]:
    """As ``Books.launchable``, of all attempts that are not gone, each with the tenant of its job."""
    books = Books(config, capacity)
    for tenant, attempt in attempts:
        books.put(tenant, None, attempt)
    return books.launchable()


def _change(usage: Usage, charge: Charge, sign: int) -> None:
    (usage.add if sign > 0 else usage.remove)(charge)


def _admission(entry: tuple[Charge, Attempt]) -> tuple[int, str, int]:
    attempt = entry[1]
    return attempt.admission, attempt.job, attempt.number
