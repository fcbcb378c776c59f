"""How long the jobs of each tenant have run lately, compared with the time limits that they asked for."""

import threading
from collections.abc import Iterable
from fractions import Fraction
from statistics import median
from typing import Final

from fairgate_scheduler.core.jobs import Attempt, Job, JobState
from fairgate_scheduler.core.outlook import Typical
from fairgate_scheduler.ports import JobQuery, Store, Transaction

MOST_JOBS: Final = 25
"""Of each tenant, the jobs that were submitted last and have ended."""
MOST_TENANTS: Final = 50
"""Tenants that one call reads from the store; those beyond are taken to need their time limits."""
FRESH_MS: Final = 60_000
"""So long what was read is good."""

_ENDED: Final = (JobState.SUCCEEDED, JobState.FAILED)


class TypicalRuns:
    """The median, over a tenant's last jobs that have ended, of the real run at speed 1 ÷ the time limit."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._known: dict[str, tuple[int, Fraction | None]] = {}

    def of(self, tenants: Iterable[str], now_ms: int) -> Typical:
        """What is known of these tenants, in the order of how much they matter. Never ask inside a transaction."""
        wanted = list(dict.fromkeys(tenants))
        with self._lock:
            old = [each for each in wanted if not self._is_fresh(each, now_ms)][:MOST_TENANTS]
            if old:
                with self._store.transaction(read_only=True) as transaction:
                    for tenant in old:
                        self._known[tenant] = (now_ms, _part(transaction, tenant))
            parts = {each: self._known[each][1] for each in wanted if each in self._known}
        return Typical({tenant: part for tenant, part in parts.items() if part is not None})

    def _is_fresh(self, tenant: str, now_ms: int) -> bool:
        known = self._known.get(tenant)
        return known is not None and 0 <= now_ms - known[0] < FRESH_MS


def _part(transaction: Transaction, tenant: str) -> Fraction | None:
    # State by state: then the store finds them by its index, however many jobs of the tenant wait.
    queries = (JobQuery(frozenset({tenant}), frozenset({state}), None, MOST_JOBS) for state in _ENDED)
    jobs = sorted((job for query in queries for job in transaction.list_jobs(query)), key=lambda job: -job.sequence)
    parts = [each for job in jobs[:MOST_JOBS] for each in _run_of(job, transaction.get_attempts(job.id))]
    return median(parts) if parts else None


def _run_of(job: Job, attempts: Iterable[Attempt]) -> list[Fraction]:
    """What its last attempt, and the work that it was resumed from, came to; nothing if it never ran."""
    last = max(attempts, key=lambda each: each.number, default=None)
    if last is None or last.ready_at_ms is None or last.ended_at_ms is None:
        return []
    work_ms = (last.ended_at_ms - last.ready_at_ms) * job.options[last.option].speed + job.done_ms
    return [min(Fraction(1), max(Fraction(0), work_ms / job.time_limit_ms))]
