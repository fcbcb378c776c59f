"""Budgets: how much priced accelerator time a tenant may use in a period. Safe: a job starts only if all of it fits.

A budget counts the whole remaining time limit of what runs, whichever period that reaches into, and of what has ended
the real time from admission to end, as far as it lies in the current period. Periods lie end to end from time 0.
Amounts are priced accelerator-milliseconds: price × accelerators × time.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Final, NamedTuple

from fairgate_scheduler.core.amounts import Demand, is_accelerator
from fairgate_scheduler.core.jobs import Attempt, Job
from fairgate_scheduler.core.quota import QuotaTree
from fairgate_scheduler.core.tenancy import Budget, Config

HOUR_MS: Final = 3_600_000
NOTHING: Final = Fraction(0)


def priced_units(config: Config, demand: Demand) -> Fraction:
    """Price × accelerators. What lies on a flavor that is gone costs nothing."""
    return sum(
        (
            config.flavors[flavor].price * amount
            for (flavor, resource), amount in demand.items()
            if amount and is_accelerator(resource) and flavor in config.flavors
        ),
        NOTHING,
    )


def reserved_by(config: Config, job: Job, speed: Fraction, demand: Demand) -> Fraction:
    """What a job reserves on an option of this speed: the rest of its time limit, which a faster one shortens."""
    return priced_units(config, demand) * max(0, job.time_limit_ms - job.done_ms) / speed if speed > 0 else NOTHING


def used_by(config: Config, attempt: Attempt, until_ms: int) -> "Use":
    """What an attempt has really used from its admission until then (or until its end, if that is known)."""
    end_ms = until_ms if attempt.ended_at_ms is None else attempt.ended_at_ms
    return Use(attempt.admitted_at_ms, end_ms, priced_units(config, attempt.demand))


def period_begin_ms(budget: Budget, now_ms: int) -> int:
    """When the current period of a budget began."""
    return now_ms // budget.period_ms * budget.period_ms


class Use(NamedTuple):
    """Priced accelerators that were used from one instant to another."""

    begin_ms: int
    end_ms: int
    units: Fraction

    def since(self, instant_ms: int) -> Fraction:
        """The part after an instant, in priced accelerator-milliseconds."""
        return self.units * max(0, self.end_ms - max(self.begin_ms, instant_ms))


class Spending:
    """What ended attempts have used of each budget, kept up to date attempt by attempt. False: nobody has a budget.

    Only the period in which an attempt ends (and the time after, in which it used nothing) is ever asked for again, so
    a sum for each budget and period is all that is kept.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self._budgets = {tenant.id: tenant.budget for tenant in config.tenants.values() if tenant.budget is not None}
        self._sums: dict[tuple[str, int], Fraction] = {}

    def __bool__(self) -> bool:
        return bool(self._budgets)

    def add(self, path: tuple[str, ...], use: Use) -> None:
        """Count what an attempt has used. ``path``: from its tenant up to the root."""
        for tenant in path:
            budget = self._budgets.get(tenant)
            if budget is not None:
                begin_ms = period_begin_ms(budget, use.end_ms)
                self._put(tenant, begin_ms, use.since(begin_ms))

    def at(self, now_ms: int) -> Mapping[str, Fraction]:
        """By tenant with a budget, what was used in the period of this instant; those that used nothing left out."""
        out: dict[str, Fraction] = {}
        for tenant, budget in self._budgets.items():
            spent = self._sums.get((tenant, period_begin_ms(budget, now_ms)))
            if spent:
                out[tenant] = spent
        return out

    def resume(self, spent: Mapping[str, Fraction], now_ms: int) -> "Spending":
        """Count what ``at`` said of this instant. Returns itself."""
        for tenant, amount in spent.items():
            if tenant in self._budgets:
                self._put(tenant, period_begin_ms(self._budgets[tenant], now_ms), amount)
        return self

    def _put(self, tenant: str, begin_ms: int, amount: Fraction) -> None:
        if amount:
            self._sums[tenant, begin_ms] = self._sums.get((tenant, begin_ms), NOTHING) + amount


def next_periods_ms(config: Config, spent: Mapping[str, Fraction], now_ms: int) -> Iterator[int]:
    """When each budget of which something is spent begins anew: from then on there may be room for jobs again."""
    for tenant in spent:
        budget = config.tenants[tenant].budget if tenant in config.tenants else None
        if budget is not None:
            yield period_begin_ms(budget, now_ms) + budget.period_ms


class Lack(NamedTuple):
    """A budget into which a job does not fit: whose, what is left of it and what the job would reserve."""

    node: int
    left: Fraction
    cost: Fraction


class BudgetBooks:
    """What is spent and reserved below each tenant that has a budget, changed job by job."""

    def __init__(self, tree: QuotaTree, spent: Mapping[str, Fraction], now_ms: int) -> None:
        budgets = {
            node: budget
            for node, tenant in enumerate(tree.ids)
            if (budget := tree.config.tenants[tenant].budget) is not None
        }
        self._limited = tuple(tuple(node for node in path if node in budgets) for path in tree.paths) if budgets else ()
        self._left = {
            node: budget.accelerator_hours * HOUR_MS - spent.get(tree.ids[node], NOTHING)
            for node, budget in budgets.items()
        }
        self._begins_ms = {node: period_begin_ms(budget, now_ms) for node, budget in budgets.items()}

    def __bool__(self) -> bool:
        return bool(self._limited)

    def reserve(self, node: int, cost: Fraction) -> None:
        """Count what a job of a tenant reserves."""
        for each in self._limited[node] if self._limited else ():
            self._left[each] -= cost

    def release(self, node: int, cost: Fraction) -> None:
        """Count a reservation no longer."""
        self.reserve(node, -cost)

    def spend(self, node: int, use: Use, at_most: Fraction | None = None) -> None:
        """Count what an attempt that ends has used, or ``at_most`` so much of it."""
        for each in self._limited[node] if self._limited else ():
            amount = use.since(self._begins_ms[each])
            self._left[each] -= amount if at_most is None else min(amount, at_most)

    def unspend(self, node: int, use: Use, at_most: Fraction | None = None) -> None:
        """Count it no longer: it does not end."""
        for each in self._limited[node] if self._limited else ():
            amount = use.since(self._begins_ms[each])
            self._left[each] += amount if at_most is None else min(amount, at_most)

    def copy(self) -> "BudgetBooks":
        """Independent books with the same content."""
        other = BudgetBooks.__new__(BudgetBooks)
        other._limited, other._left, other._begins_ms = self._limited, dict(self._left), self._begins_ms
        return other

    def is_overdrawn(self) -> bool:
        """Whether more is spent and reserved somewhere than the budget."""
        return any(left < 0 for left in self._left.values())

    def overdrawn(self, node: int) -> frozenset[int]:
        """The tenants from this one up to the root whose budget is."""
        return frozenset(each for each in self._limited[node] if self._left[each] < 0) if self._limited else frozenset()

    def let_go(self, node: int, cost: Fraction, use: Use | None) -> None:
        """A job that has reserved so much ends: what counts is what it used, but no more than it has reserved."""
        self.release(node, cost)
        if use is not None:
            self.spend(node, use, at_most=cost)

    def keep(self, node: int, cost: Fraction, use: Use | None) -> None:
        """It does not end."""
        self.reserve(node, cost)
        if use is not None:
            self.unspend(node, use, at_most=cost)

    def lacking_for(self, node: int, cost: Fraction, use: Use | None) -> frozenset[int]:
        """The tenants whose budget would be overdrawn if it did not end. What costs nothing overdraws none."""
        if not cost or not self._limited:
            return frozenset()
        self.keep(node, cost, use)
        out = self.overdrawn(node)
        self.let_go(node, cost, use)
        return out

    def allows(self, node: int, cost: Fraction) -> bool:
        """Whether a job of a tenant may reserve so much. What costs nothing always may."""
        return not self._limited or not cost or all(cost <= self._left[each] for each in self._limited[node])

    def left_above(self, node: int) -> Iterator[tuple[int, Fraction]]:
        """Each tenant with a budget, from this one up to the root, and what is left of it."""
        return ((each, self._left[each]) for each in self._limited[node]) if self._limited else iter(())

    def lack(self, node: int, cost: Fraction) -> Lack | None:
        """The budget nearest to a tenant into which a job does not fit."""
        for each in self._limited[node] if cost and self._limited else ():
            if cost > self._left[each]:
                return Lack(each, max(NOTHING, self._left[each]), cost)
        return None
