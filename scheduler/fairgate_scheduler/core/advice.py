"""What would help a pending job: single changes after which it would start at once, each tried out on a copy.

Nothing is told that was not planned with the change made. What is told is not always the least that would do: amounts
of accelerators, priorities and time limits are narrowed down by halving, as if more of them never hurt.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from fairgate_scheduler.core.admissible import SubmitRefused, check_priority
from fairgate_scheduler.core.amounts import UNLIMITED, Amount, Row, add, format_quantity, is_accelerator
from fairgate_scheduler.core.contenders import Choice, rank_of
from fairgate_scheduler.core.holds import Waiting
from fairgate_scheduler.core.jobs import Job
from fairgate_scheduler.core.needs import needs_of
from fairgate_scheduler.core.outlook import GoOn
from fairgate_scheduler.core.plan import plan_cycle
from fairgate_scheduler.core.snapshot import Snapshot
from fairgate_scheduler.core.tenancy import Config, Quota, Tenant

HALVINGS: Final = 8
"""A time limit is tried down to this many halves of it."""
_MOST_DEVICES: Final = 4_096
_SECOND_MS: Final = 1_000


class HelpKind(StrEnum):
    """What is changed."""

    PRIORITY = "PRIORITY"
    TIME_LIMIT = "TIME_LIMIT"
    QUOTA = "QUOTA"
    FALLBACK_AFTER = "FALLBACK_AFTER"
    RUNNING_JOBS = "RUNNING_JOBS"


@dataclass(frozen=True, slots=True)
class Help:
    """One change after which a job starts at once. ``text`` tells it, as the end of "it would start now with …".

    ``value``: its priority, its time limit in milliseconds, its ``fallback_after`` in milliseconds, or the
    ``max_running_jobs`` of ``tenant``. ``rows``: how much more nominal quota ``tenant`` has, and how much more there is
    physically of it where the configuration says how much that is.
    """

    kind: HelpKind
    text: str
    value: int = 0
    tenant: str = ""
    rows: Mapping[Row, Amount] = field(default_factory=dict)


def advise(snapshot: Snapshot, name: str, now_ms: int, go_on: GoOn) -> Sequence[Help]:
    """What would help a pending job, until the caller says that there is no more time. Empty if it starts anyway.

    Raises:
        KeyError: no job of this name is pending.
    """
    adviser = _Adviser(snapshot, name, now_ms, go_on)
    return () if adviser.starts(snapshot) else tuple(adviser.helps())


def with_help(snapshot: Snapshot, name: str, told: Help) -> Snapshot:
    """The snapshot with the change made."""
    if told.kind is HelpKind.PRIORITY:
        return _with_job(snapshot, name, lambda job: replace(job, priority=told.value))
    if told.kind is HelpKind.TIME_LIMIT:
        return _with_job(snapshot, name, lambda job: replace(job, time_limit_ms=told.value))
    if told.kind is HelpKind.FALLBACK_AFTER:
        return _with_job(snapshot, name, lambda job: replace(job, fallback_after_ms=told.value))
    if told.kind is HelpKind.RUNNING_JOBS:
        tenant = replace(snapshot.config.tenants[told.tenant], max_running_jobs=told.value)
        return replace(snapshot, config=_with_tenants(snapshot.config, {told.tenant: tenant}))
    capacity = {row: add(amount, told.rows.get(row, 0)) for row, amount in snapshot.capacity.items()}
    return replace(snapshot, config=_with_quota(snapshot.config, told), capacity=capacity)


class _Adviser:
    def __init__(self, snapshot: Snapshot, name: str, now_ms: int, go_on: GoOn) -> None:
        self._snapshot = snapshot
        self._now_ms = now_ms
        self._go_on = go_on
        self._waiting = Waiting(snapshot, now_ms)
        self._job = self._waiting.pending[name]
        self._physical: set[Row] = set()

    def starts(self, snapshot: Snapshot) -> bool:
        plan = plan_cycle(snapshot, self._now_ms)
        return any(each.job == self._job.id for each in plan.admissions)

    def helps(self) -> Iterator[Help]:
        for find in (self._priority, self._fallback_after, self._running_jobs, self._time_limit):
            found = find()
            if found is not None:
                yield found
        for choice in self._waiting.field.possible(self._job) or self._hopeless():
            found = self._quota(choice)
            if found is not None:
                yield found

    def _does(self, told: Help) -> bool:
        return self._go_on() and self.starts(with_help(self._snapshot, self._job.id, told))

    def _first(self, helps: Sequence[Help]) -> Help | None:
        """The first of these that does, if the last one does: each of them is taken to do what one before it does."""
        if not helps or not self._does(helps[-1]):
            return None
        low, high = 0, len(helps) - 1
        while low < high:
            middle = (low + high) // 2
            if self._does(helps[middle]):
                high = middle
            elif not self._go_on():
                break
            else:
                low = middle + 1
        return helps[high]

    def _priority(self) -> Help | None:
        job = self._job
        mates = [each.job for each in self._snapshot.running] + list(self._snapshot.pending)
        higher = {each.priority + 1 for each in mates if each.tenant == job.tenant and each.priority >= job.priority}
        allowed = sorted(each for each in higher if self._may_have(each))
        return self._first([Help(HelpKind.PRIORITY, f"priority ≥ {each}", each) for each in allowed])

    def _may_have(self, priority: int) -> bool:
        try:
            check_priority(self._snapshot.config, self._job.tenant, priority)
        except SubmitRefused:
            return False
        return priority < 2**31

    def _fallback_after(self) -> Help | None:
        if not self._waiting.waits_for_earlier(self._job):
            return None
        text = "no fallback_after (it counts from the submit: submit it again without)"
        told = Help(HelpKind.FALLBACK_AFTER, text)
        return told if self._does(told) else None

    def _running_jobs(self) -> Help | None:
        tree = self._waiting.field.tree
        full = self._waiting.limits.first_full(tree.index[self._job.tenant])
        if full is None:
            return None
        tenant, running = tree.ids[full[0]], sum(full[0] in tree.paths[each.leaf] for each in self._waiting.running)
        text = f"max_running_jobs of tenant {tenant} at {running + 1}"
        told = Help(HelpKind.RUNNING_JOBS, text, running + 1, tenant)
        return told if self._does(told) else None

    def _time_limit(self) -> Help | None:
        """A shorter time limit lets a job into what is left of a budget, or past a claim."""
        policy, job = self._waiting.field.policy, self._job
        lack = self._waiting.budget_lack(job)
        rest_ms = job.time_limit_ms - job.done_ms
        if lack is not None:
            limits = [int(rest_ms * lack.left / lack.cost)]
        elif policy.backfill_after_ms is not None:
            limits = [rest_ms >> halvings for halvings in range(1, HALVINGS + 1)]
        else:
            return None
        limits = [job.done_ms + each // _SECOND_MS * _SECOND_MS for each in limits if each >= _SECOND_MS]
        return self._first([Help(HelpKind.TIME_LIMIT, f"a time limit ≤ {_span(each)}", each) for each in limits])

    def _hopeless(self) -> tuple[Choice, ...]:
        """The options that today's quota rules out."""
        job, bounds = self._job, self._waiting.field.bounds
        config = self._snapshot.config
        known = [
            Choice(index, bounds.charge(job.tenant, option.demand))
            for index, option in enumerate(job.options)
            if option.speed > 0 and all(row[0] in config.flavors for row in option.demand)
        ]
        return tuple(known)

    def _quota(self, choice: Choice) -> Help | None:
        lacks: dict[Row, Amount] = {}
        needs = needs_of(self._waiting.present, choice.charge)
        self._physical = {need.row for need in needs if not need.at and _is_counted(self._snapshot, need.row)}
        for need in needs:
            lacks[need.row] = max(lacks.get(need.row, 0), need.need - need.have)
        for rows in (lacks, self._with_those_before(lacks)) if lacks else ():
            found = self._first(self._less(rows))
            if found is not None:
                return found
        return None

    def _less(self, rows: Mapping[Row, Amount]) -> Sequence[Help]:
        """Rising amounts up to these, where they can be counted in whole devices."""
        ((row, most), *others) = rows.items()
        if others or not is_accelerator(row[1]) or most > _MOST_DEVICES:
            return [self._more(rows)]
        return [self._more({row: each}) for each in range(1, most + 1)]

    def _with_those_before(self, lacks: Mapping[Row, Amount]) -> Mapping[Row, Amount]:
        """Enough for those before it in its tenant, too."""
        mates = [each for each in self._snapshot.pending if each.tenant == self._job.tenant]
        before = [each for each in mates if rank_of(each) < rank_of(self._job)]
        return {
            row: min(UNLIMITED - 1, amount + sum(_most(each, row) for each in before)) for row, amount in lacks.items()
        }

    def _more(self, rows: Mapping[Row, Amount]) -> Help:
        amounts = [
            f"{format_quantity(amount, resource)} more {resource} of {flavor}"
            for (flavor, resource), amount in sorted(rows.items())
        ]
        places = []
        if any(_is_declared(self._snapshot.config, row) for row in rows):
            places.append(f"in the quota of tenant {self._job.tenant}")
        if not self._physical.isdisjoint(rows):
            places.append("in the cluster")
        text = f"{' and '.join(amounts)} {' and '.join(places)}"
        return Help(HelpKind.QUOTA, text, tenant=self._job.tenant, rows=rows)


def _most(job: Job, row: Row) -> Amount:
    return max(option.demand.get(row, 0) for option in job.options)


def _with_job(snapshot: Snapshot, name: str, change: Callable[[Job], Job]) -> Snapshot:
    return replace(snapshot, pending=tuple(change(job) if job.id == name else job for job in snapshot.pending))


def _with_tenants(config: Config, tenants: Mapping[str, Tenant]) -> Config:
    return replace(config, tenants={**config.tenants, **tenants})


def _with_quota(config: Config, told: Help) -> Config:
    tenant = config.tenants[told.tenant]
    quota = dict(tenant.quota)
    flavors = dict(config.flavors)
    for row, amount in told.rows.items():
        if _is_declared(config, row):
            own = quota.get(row, Quota())
            quota[row] = replace(own, nominal=add(own.nominal, amount))
        flavor = flavors[row[0]]
        if flavor.capacity is not None and row[1] in flavor.capacity:
            capacity = {**flavor.capacity, row[1]: add(flavor.capacity[row[1]], amount)}
            flavors[row[0]] = replace(flavor, capacity=capacity)
    changed = replace(tenant, quota=quota)
    return replace(config, flavors=flavors, tenants={**config.tenants, tenant.id: changed})


def _is_declared(config: Config, row: Row) -> bool:
    """Whether quota limits a row. Were it given to one tenant where none has any, it would be taken from all others."""
    return any(row in tenant.quota for tenant in config.tenants.values())


def _is_counted(snapshot: Snapshot, row: Row) -> bool:
    """Whether it is said how much of a row is physically there; else as much is there as quota is given."""
    capacity = snapshot.config.flavors[row[0]].capacity
    return row in snapshot.capacity or (capacity is not None and row[1] in capacity)


def _span(duration_ms: int) -> str:
    seconds = duration_ms // _SECOND_MS
    parts = (seconds // 86_400, "d"), (seconds // 3600 % 24, "h"), (seconds // 60 % 60, "m"), (seconds % 60, "s")
    return "".join(f"{amount}{unit}" for amount, unit in parts if amount) or "0s"
