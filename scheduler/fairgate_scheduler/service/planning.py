"""Plans that are there even where the core finds a defect of its own, so that one odd story does not stop all the rest.

It decides nothing: what it does without is taken from the policy, and the core plans again.
"""

import logging
import traceback
from collections.abc import Callable, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from fairgate_scheduler.core.snapshot import Plan, Snapshot
from fairgate_scheduler.core.tenancy import QuotaCut

_logger = logging.getLogger(__name__)
PlanCycle = Callable[[Snapshot, int], Plan]
NOTHING: Final = Plan((), ())
MOST_TENANTS: Final = 10
"""So many tenants are named in the log."""


@dataclass(frozen=True, slots=True)
class Careful:
    """A plan. ``trouble``: what is wrong with the scheduler, when this is less than the whole plan; else "".

    ``cause``: where in the core it was found.
    """

    plan: Plan
    trouble: str = ""
    cause: str = ""


def plan_carefully(snapshot: Snapshot, now_ms: int, plan_cycle: PlanCycle) -> Careful:
    """The plan. Where it would break a law of the core: one that evicts nobody; where that would too: none."""
    try:
        return Careful(plan_cycle(snapshot, now_ms))
    except AssertionError as error:
        trouble, cause = str(error), _place_of(error)
    try:
        plan = plan_cycle(_without_evictions(snapshot), now_ms)
    except AssertionError:
        return Careful(NOTHING, trouble, cause)
    return Careful(NOTHING if plan.preemptions else plan, trouble, cause)


class Reporter:
    """Tells of each defect once, in the log; ``is_well`` is told to whom it may concern each time that it changes."""

    def __init__(self, tell: Callable[[bool], None]) -> None:
        self._tell = tell
        self._is_well = True
        self._told: set[str] = set()

    def report(self, snapshot: Snapshot, planned: Careful) -> None:
        """Tell of it, if there is something new."""
        if planned.cause and planned.cause not in self._told:
            self._told.add(planned.cause)
            _logger.error(
                "a defect of the scheduler: its plan would break a law (%s, found in %s). Until things change it only "
                "starts jobs for which nobody has to give way. Please report this with the configuration and the jobs "
                "of: %s",
                planned.trouble,
                planned.cause,
                _names({each.job.tenant for each in snapshot.running} | {each.tenant for each in snapshot.pending}),
            )
        is_well = not planned.cause
        if is_well is not self._is_well:
            self._is_well = is_well
            self._tell(is_well)


def _without_evictions(snapshot: Snapshot) -> Snapshot:
    policy = replace(
        snapshot.config.policy,
        reclaim=False,
        rebalance=False,
        priority_preemption=False,
        quota_cut=QuotaCut.DRAIN,
    )
    return replace(snapshot, config=replace(snapshot.config, policy=policy))


def _place_of(error: AssertionError) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(last.filename).name}:{last.lineno}"


def _names(tenants: Set[str]) -> str:
    names = sorted(tenants)
    more = f" and {len(names) - MOST_TENANTS} more" if len(names) > MOST_TENANTS else ""
    return ", ".join(names[:MOST_TENANTS]) + more
