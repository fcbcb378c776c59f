"""What must be true at every instant of every story, computed slowly and apart from the core, which asserts its own.

The definitions are those of the reference page of the scenario format; nothing here may use the core's tables.
"""

from collections.abc import Mapping
from typing import Final

from fairgate_scheduler.core.amounts import UNLIMITED, Amount, Row, total
from fairgate_scheduler.core.jobs import Attempt, Job, JobState
from fairgate_scheduler.core.snapshot import Plan
from fairgate_scheduler.core.tenancy import Config, Quota, QuotaCut
from fairgate_scheduler.scenario.world import World

Excess = Mapping[tuple[str, Row], Amount]
"""How far something is above its bound: (tenant, row), or ("", row) for what is physically there."""

_HOLDING: Final = (JobState.ADMITTED, JobState.RUNNING, JobState.STOPPING)
_NO_QUOTA: Final = Quota()


class BrokenPromiseError(Exception):
    """One of the invariants does not hold: a defect of the scheduler, not of the story."""


def excess(world: World, capacity: Mapping[Row, Amount]) -> Excess:
    """Everything that is used above quota or capacity now; a cut may leave such, a plan may not make it."""
    out: dict[tuple[str, Row], Amount] = {}
    held = [(job, attempt) for job, attempt in world.running()]
    own: dict[str, dict[Row, Amount]] = {}
    for job, attempt in held:
        own[job.tenant] = total([own.get(job.tenant, {}), attempt.demand])
    books = _Books(world.config, own)
    for tenant in world.config.tenants:
        for row in books.declared(tenant):
            over = books.used(tenant, row) - books.ceiling(tenant, row)
            if over > 0:
                out[tenant, row] = over
    for row, amount in total(attempt.demand for _, attempt in held).items():
        there = capacity.get(row, _configured(world.config, row))
        if there is not None and amount > there:
            out["", row] = amount - there
    return out


def check_excess(now: Excess, before: Excess) -> None:
    """Nothing is above quota or capacity but for what a cut left, and that does not grow.

    Raises:
        BrokenPromiseError: it does.
    """
    for (tenant, (flavor, resource)), amount in now.items():
        if amount > before.get((tenant, (flavor, resource)), 0):
            what = f"the quota of {tenant}" if tenant else "the capacity"
            raise BrokenPromiseError(f"{what} of {resource} on {flavor} is exceeded by {amount}")


def check_jobs(world: World, taken: int) -> None:
    """No job is lost, none runs twice, and what runs is a whole gang.

    Raises:
        BrokenPromiseError: otherwise.
    """
    if len(world.jobs) != taken:
        raise BrokenPromiseError(f"{taken} jobs were taken and {len(world.jobs)} are there")
    for job in world.jobs.values():
        present = [attempt for attempt in world.attempts[job.id] if attempt.holds_quota or attempt.is_present]
        if len(present) != (1 if job.state in _HOLDING else 0):
            raise BrokenPromiseError(f"{job.id} is {job.state} and has {len(present)} attempts that hold something")
        for attempt in present:
            _check_whole(job, attempt)


def _check_whole(job: Job, attempt: Attempt) -> None:
    groups = job.options[attempt.option].groups
    pods = [
        {(group.flavor, resource): amount for resource, amount in group.requests.items()}
        for group in groups
        for _ in range(group.count)
    ]
    if total(pods) != attempt.demand:
        raise BrokenPromiseError(f"{job.id} holds {dict(attempt.demand)}, its gang is {total(pods)}")


def check_evictions(world: World, plan: Plan) -> None:
    """Asked before a plan is applied: nobody goes for another tenant while its tenant is within its own nominal.

    Raises:
        BrokenPromiseError: somebody would.
    """
    admitted = [world.jobs[each.job] for each in plan.admissions]
    policy = world.config.policy
    for each in plan.preemptions:
        victim = world.jobs[each.job]
        if not victim.preemptible:
            raise BrokenPromiseError(f"{victim.id} is not preemptible and is evicted")
        own = any(job.tenant == victim.tenant and job.priority > victim.priority for job in admitted)
        if own and policy.priority_preemption:
            continue
        if _is_within_nominal(world, victim):
            raise BrokenPromiseError(f"{victim.id} is evicted though {victim.tenant} is within its nominal quota")
        if not (policy.reclaim or policy.rebalance or policy.quota_cut is QuotaCut.RECLAIM):
            raise BrokenPromiseError(f"{victim.id} is evicted for another tenant without reclaim and rebalance")


def _is_within_nominal(world: World, victim: Job) -> bool:
    attempt = world.current(victim.id)
    assert attempt is not None, victim
    path = world.config.paths[victim.tenant]
    tree = [tenant for tenant, above in world.config.paths.items() if above[-1] == path[-1] and len(above) > 1]
    owned = {row for tenant in tree for row, quota in world.config.tenants[tenant].quota.items() if quota.nominal}
    rows = [row for row, amount in attempt.demand.items() if amount and row in owned]
    used = total(attempt.demand for job, attempt in world.running() if job.tenant == victim.tenant)
    quota = world.config.tenants[victim.tenant].quota
    return bool(rows) and all(used.get(row, 0) <= quota.get(row, _NO_QUOTA).nominal for row in rows)


def _configured(config: Config, row: Row) -> Amount | None:
    """What is physically there of a row as the config says; ``None``: without limit."""
    listed = config.flavors[row[0]].capacity
    if listed is not None:
        return listed.get(row[1])
    nominal = [tenant.quota[row].nominal for tenant in config.tenants.values() if row in tenant.quota]
    return sum(nominal) if nominal else None


class _Books:
    """Quota and use of every tenant by definition, from the leaves up."""

    def __init__(self, config: Config, own: Mapping[str, Mapping[Row, Amount]]) -> None:
        self._config = config
        self._own = own

    def declared(self, tenant: str) -> set[Row]:
        """The rows of which any tenant of the tree declares quota."""
        root = self._config.paths[tenant][-1]
        members = [each for each, path in self._config.paths.items() if path[-1] == root]
        return {row for each in members for row in self._config.tenants[each].quota}

    def ceiling(self, tenant: str, row: Row) -> Amount:
        """The most that may be used: a root borrows from nobody."""
        limit = self._row(tenant, row).borrowing_limit
        if self._config.tenants[tenant].parent is None:
            return self._quota(tenant, row)
        return UNLIMITED if limit is None else self._quota(tenant, row) + limit

    def used(self, tenant: str, row: Row) -> Amount:
        """Own use, and what the children use beyond what they keep for themselves."""
        below = sum(max(0, self.used(child, row) - self._kept(child, row)) for child in self._children(tenant))
        return self._own.get(tenant, {}).get(row, 0) + below

    def _quota(self, tenant: str, row: Row) -> Amount:
        lent = sum(self._quota(child, row) - self._kept(child, row) for child in self._children(tenant))
        return self._row(tenant, row).nominal + lent

    def _kept(self, tenant: str, row: Row) -> Amount:
        lending = self._row(tenant, row).lending_limit
        return 0 if lending is None else max(0, self._quota(tenant, row) - lending)

    def _row(self, tenant: str, row: Row) -> Quota:
        return self._config.tenants[tenant].quota.get(row, _NO_QUOTA)

    def _children(self, tenant: str) -> tuple[str, ...]:
        return self._config.children.get(tenant, ())
