"""The fair share once more, slow and by the letter: for tests that hold the core against it.

``slow_plan`` answers what ``core.plan.plan_cycle`` answers. It keeps lists of jobs and asks ``SlowBooks`` anew for each
question; it has no indexes, no early ends, nothing remembered between two questions. Shared with the core are only the
types of the input. It must never be used outside tests.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from fairgate_scheduler.core.snapshot import Snapshot
from fairgate_scheduler.testing.slow_books import SlowBooks
from fairgate_scheduler.testing.slow_budgets import SlowBudgets
from fairgate_scheduler.testing.slow_candidates import Candidate, that_runs, that_waits
from fairgate_scheduler.testing.slow_refill import SlowRefill

ROUNDS_MAX: Final = 50


class SlowPlan(NamedTuple):
    """Who goes; who comes on which option, in the order of placing."""

    evicted: frozenset[str]
    admitted: tuple[tuple[str, int], ...]


def slow_plan(snapshot: Snapshot, now_ms: int) -> SlowPlan:
    """Repeat the refill until it changes nothing; the plan is the difference.

    Raises:
        AssertionError: it does not come to rest.
    """
    history = {tenant: each.value for tenant, each in snapshot.history.items()}
    books = SlowBooks(snapshot.config, snapshot.capacity, history)
    policy, budgets = snapshot.config.policy, SlowBudgets(snapshot.config, snapshot.spent, now_ms)
    budgets.attempts = {each.job.id: each.attempt for each in snapshot.running}
    running = [that_runs(books, each, now_ms) for each in snapshot.running]
    held = {each.admission for each in running}
    before = {each.job.id: each.options[0] for each in running}
    pending = [that_waits(books, job, now_ms, job.pending_since_ms) for job in snapshot.pending]
    for _ in range(ROUNDS_MAX):
        target = SlowRefill(books, budgets, running, pending).placed
        gone = [each for each in running if each not in target]
        come = [(each, option) for each, option in target.items() if not each.runs]
        if not gone and not come:
            return _difference(before, running)
        budgets.pasts += [budgets.used(each, is_capped=False) for each in gone if each.admission in held]
        last = max((each.admission or 0 for each in running), default=0)
        running = [each for each in running if each in target] + [
            Candidate(each.job, (option,), last + place, not each.job.preemptible or policy.min_runtime_ms > 0)
            for place, (each, option) in enumerate(come, 1)
        ]
        pending = [each for each in pending if each not in target]
        pending += [that_waits(books, each.job, now_ms, now_ms) for each in gone]
    raise AssertionError(f"no rest after {ROUNDS_MAX} rounds")


def _difference(before: Mapping[str, int], running: Iterable[Candidate]) -> SlowPlan:
    after = {each.job.id: each.options[0] for each in running}
    return SlowPlan(
        frozenset(name for name, option in before.items() if after.get(name) != option),
        tuple((name, option) for name, option in after.items() if before.get(name) != option),
    )
