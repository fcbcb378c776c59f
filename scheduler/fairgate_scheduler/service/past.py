"""What was used before now, in memory: the history of the tenants, what is spent of budgets, and what jobs chose last.

The history is written with every commit that changes who holds quota, and what is spent follows from the attempts, so
a restart finds both. What jobs with ``fallback: soonest`` chose last it does not: they choose again.
"""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from fairgate_scheduler.core.budgets import Spending, next_periods_ms, period_begin_ms, used_by
from fairgate_scheduler.core.history import settle
from fairgate_scheduler.core.jobs import Attempt, Job
from fairgate_scheduler.core.snapshot import Chosen, History, Running
from fairgate_scheduler.core.tenancy import Budget, Config
from fairgate_scheduler.ports import Transaction


def ended_attempts(transaction: Transaction, config: Config, now_ms: int) -> Iterable[tuple[str, Attempt]]:
    """The attempts that can count in a current period of some budget, each with its tenant."""
    since_ms = min((period_begin_ms(budget, now_ms) for budget in _budgets(config)), default=None)
    return () if since_ms is None else transaction.ended_attempts(since_ms)


class Past:
    """Follows the world commit by commit; ``ended``: the attempts that had ended when it began."""

    def __init__(
        self, config: Config, history: Mapping[str, History] | None = None, ended: Iterable[tuple[str, Attempt]] = ()
    ) -> None:
        self.choices: dict[str, Chosen] = {}
        self._config = config
        self._history = history or {}
        self._stopping: dict[tuple[str, int], tuple[str, Attempt]] = {}
        self._spending = self._count(ended)

    @classmethod
    def load(cls, transaction: Transaction, config: Config, now_ms: int) -> "Past":
        """What the store says."""
        return cls(config, transaction.get_history(), ended_attempts(transaction, config, now_ms))

    @property
    def matters(self) -> bool:
        """Whether anything here can change a plan."""
        return bool(self.choices or self._spending or self.has_history)

    @property
    def has_history(self) -> bool:
        """Whether the policy says that what was used before counts."""
        return self._config.policy.history_half_life_ms is not None

    def put(self, job: Job, attempt: Attempt) -> None:
        """Take in an attempt as it was committed."""
        key = (attempt.job, attempt.number)
        if attempt.ended_at_ms is not None:
            self._stopping.pop(key, None)
            self._add(self._spending, job.tenant, attempt, attempt.ended_at_ms)
        elif not attempt.holds_quota:
            self._stopping[key] = (job.tenant, attempt)

    def forget(self, job: str) -> None:
        """A job that does not wait any more has no choice to keep."""
        self.choices.pop(job, None)

    def apply_config(self, config: Config, ended: Iterable[tuple[str, Attempt]]) -> None:
        """Take in a configuration that was committed. ``ended``: see ``ended_attempts``."""
        self._config = config
        self._spending = self._count(ended)
        if not self.has_history:
            self._history = {}

    def history(self, running: Iterable[Running], now_ms: int) -> Mapping[str, History]:
        """The history at this instant, if these have run since it was settled last."""
        return settle(self._config, running, self._history, now_ms)

    def keep_history(self, history: Mapping[str, History]) -> None:
        """It is settled until then."""
        self._history = history

    def spent(self, now_ms: int) -> Mapping[str, Fraction]:
        """What is spent of each budget in its current period; what still stops after its eviction until now."""
        spent = self._spending.at(now_ms)
        if not self._stopping:
            return spent
        books = Spending(self._config).resume(spent, now_ms)
        for tenant, attempt in self._stopping.values():
            self._add(books, tenant, attempt, now_ms)
        return books.at(now_ms)

    def next_periods_ms(self, now_ms: int) -> Iterator[int]:
        """When budgets of which something is spent begin anew."""
        return next_periods_ms(self._config, self.spent(now_ms), now_ms)

    def _count(self, ended: Iterable[tuple[str, Attempt]]) -> Spending:
        books = Spending(self._config)
        for tenant, attempt in ended:
            assert attempt.ended_at_ms is not None, attempt
            self._add(books, tenant, attempt, attempt.ended_at_ms)
        return books

    def _add(self, books: Spending, tenant: str, attempt: Attempt, until_ms: int) -> None:
        if books:
            books.add(self._config.paths.get(tenant, (tenant,)), used_by(self._config, attempt, until_ms))


def _budgets(config: Config) -> Iterator[Budget]:
    return (tenant.budget for tenant in config.tenants.values() if tenant.budget is not None)
