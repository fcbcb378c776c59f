"""Limits on running jobs, and budgets, by their definition: what counts in them, and whether one more job fits."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Final, NamedTuple

from fairgate_scheduler.core.amounts import is_accelerator
from fairgate_scheduler.core.jobs import Attempt
from fairgate_scheduler.core.tenancy import Budget, Config
from fairgate_scheduler.testing.slow_candidates import Candidate

HOUR_MS: Final = 3_600_000


class Bill(NamedTuple):
    """What a job counts in the budgets above it: what it reserves, or what an attempt of it has used since when."""

    tenant: str
    reserved: Fraction
    units: Fraction = Fraction(0)
    begin_ms: int = 0
    is_capped: bool = False
    """Whether the use counts only up to what was reserved."""


class SlowBudgets:
    """The limits and budgets at one instant. ``spent`` by ended attempts; ``pasts``: attempts that the plan ends."""

    def __init__(self, config: Config, spent: Mapping[str, Fraction], now_ms: int) -> None:
        self.config, self.spent, self.now_ms = config, spent, now_ms
        self.pasts: list[Bill] = []
        self.attempts: dict[str, Attempt] = {}

    def full(self, each: Candidate, beside: Iterable[Candidate]) -> list[str]:
        """The tenants above a job that may have no more jobs than these."""
        paths, tenants = self.config.paths, self.config.tenants
        tenant_paths = [paths[one.job.tenant] for one in beside]
        return [
            node
            for node in paths[each.job.tenant]
            if (limit := tenants[node].max_running_jobs) is not None
            and sum(node in path for path in tenant_paths) >= limit
        ]

    def reserves(self, each: Candidate, option: int) -> Bill:
        """The price of all that is left of its time limit."""
        chosen = each.job.options[option]
        left_ms = max(0, each.job.time_limit_ms - each.job.done_ms)
        cost = self._priced(chosen.demand) * left_ms / chosen.speed if chosen.speed else Fraction(0)
        return Bill(each.job.tenant, cost)

    def used(self, each: Candidate, *, is_capped: bool) -> Bill:
        """What the attempt of a running job has used until now; one of this plan nothing."""
        attempt, cost = self.attempts.get(each.job.id), self.reserves(each, each.options[0]).reserved
        if attempt is None or attempt.admission != each.admission:
            return Bill(each.job.tenant, cost, is_capped=True)
        return Bill(each.job.tenant, cost, self._priced(attempt.demand), attempt.admitted_at_ms, is_capped)

    def lack(self, bills: Iterable[Bill], uses: Iterable[Bill], one: Bill) -> list[str]:
        """The tenants whose budget a further reservation would overdraw. What costs nothing overdraws none."""
        out, bills, uses = list[str](), list(bills), [*uses, *self.pasts]
        for node in self.config.paths[one.tenant] if one.reserved else ():
            budget = self.config.tenants[node].budget
            if budget is None:
                continue
            total = self.spent.get(node, Fraction(0)) + one.reserved
            total += sum(each.reserved for each in bills if node in self.config.paths[each.tenant])
            total += sum(self._since(each, budget) for each in uses if node in self.config.paths[each.tenant])
            if total > budget.accelerator_hours * HOUR_MS:
                out.append(node)
        return out

    def _since(self, bill: Bill, budget: Budget) -> Fraction:
        begin_ms = self.now_ms // budget.period_ms * budget.period_ms
        amount = bill.units * max(0, self.now_ms - max(bill.begin_ms, begin_ms))
        return min(amount, bill.reserved) if bill.is_capped else amount

    def _priced(self, demand: Mapping[tuple[str, str], int]) -> Fraction:
        return sum(
            (self.config.flavors[row[0]].price * amount for row, amount in demand.items() if is_accelerator(row[1])),
            Fraction(0),
        )
