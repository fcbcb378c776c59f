"""The jobs of one plan as the refill sees them, each with what it would take, and what keeps it from an option."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from fractions import Fraction
from typing import NamedTuple

from fairgate_scheduler.core.amounts import Demand
from fairgate_scheduler.core.budgets import NOTHING, BudgetBooks, Use, reserved_by, used_by
from fairgate_scheduler.core.history import in_points
from fairgate_scheduler.core.jobs import Job, Option
from fairgate_scheduler.core.quota import quota_tree
from fairgate_scheduler.core.snapshot import History, Running, Snapshot
from fairgate_scheduler.core.usage import Bounds, Charge

Rank = tuple[int, int, int, str]
"""Place in a tenant's order: priority (high first), submit time, order of the submits, id."""


class Obstacle(Enum):
    """What keeps a pending job from one of its options, before anybody asks whether there is room."""

    UNKNOWN_FLAVOR = auto()
    NOT_ALLOWED = auto()
    DOES_NOT_RUN = auto()
    NEVER_FITS = auto()
    BACKOFF = auto()
    WAITS_FOR_EARLIER = auto()


class Choice(NamedTuple):
    """One option of a job, by its index, what the job is charged on it, and what it reserves there of a budget."""

    option: int
    charge: Charge
    cost: Fraction = NOTHING


@dataclass(frozen=True, slots=True, eq=False)
class Contender:
    """A job that runs (``held`` is what it holds) or is pending (``choices`` are the options it may take now).

    ``group``: pending jobs of a leaf with equal groups differ in nothing but their rank. ``running``: its attempt;
    ``None`` if it is pending, or admitted by this plan. ``past``: what it used in an attempt that this plan ends.
    ``since_ms``: when it became pending; ``is_claimant``: that was so long ago that it has a claim.
    """

    job: Job
    leaf: int
    rank: Rank
    group: Hashable
    choices: tuple[Choice, ...] = ()
    held: Choice | None = None
    admission: int = 0
    is_protected: bool = False
    running: Running | None = None
    past: Use | None = None
    since_ms: int = 0
    is_claimant: bool = False

    @property
    def priority(self) -> int:
        """The job's priority."""
        return self.job.priority


class Field:
    """The config, the bounds and the instant of one plan; it makes the contenders.

    ``only``: the single option that a pending job may take, by job.
    """

    def __init__(self, snapshot: Snapshot, now_ms: int) -> None:
        self.config = snapshot.config
        self.policy = snapshot.config.policy
        self.tree = quota_tree(snapshot.config)
        self.bounds = Bounds(self.tree, snapshot.capacity)
        self.now_ms = now_ms
        self.only: dict[str, int] = {}
        self.past = snapshot.history
        self.spent = snapshot.spent
        self.history = in_points(self.tree, snapshot.history)
        self.has_budgets = any(tenant.budget is not None for tenant in self.config.tenants.values())
        self._no_budgets = BudgetBooks(self.tree, {}, now_ms)
        self._allowed = {leaf: self._allowed_by_path(leaf) for leaf in self.tree.leaves}

    @property
    def counts_time(self) -> bool:
        """Whether time limits count: budgets are reserved by them, and by them nobody delays a claim."""
        return self.has_budgets or self.policy.backfill_after_ms is not None

    def running(self, running: Running) -> Contender:
        """A job that runs, on what its attempt has reserved."""
        job, attempt = running.job, running.attempt
        charge = self.bounds.charge(job.tenant, attempt.demand)
        choice = Choice(attempt.option, charge, self._cost(job, job.options[attempt.option].speed, attempt.demand))
        protected = running.leaving or self._is_protected(job, ran_ms(running, self.now_ms))
        leaf = self.tree.index[job.tenant]
        return Contender(job, leaf, rank_of(job), job.id, (), choice, attempt.admission, protected, running)

    def admitted(self, contender: Contender, choice: Choice, admission: int) -> Contender:
        """A pending job after its admission in this plan."""
        job, protected = contender.job, self._is_protected(contender.job, 0)
        return Contender(
            job, contender.leaf, contender.rank, job.id, (), choice, admission, protected, past=contender.past
        )

    def evicted(self, contender: Contender) -> Contender:
        """A running job after its eviction in this plan."""
        past = contender.past if contender.running is None else self.use_of(contender)
        return self.pending(contender.job, self.now_ms, past=past)

    def pending(
        self, job: Job, since_ms: int, *, ignore_fallback_after: bool = False, past: Use | None = None
    ) -> Contender:
        """A pending job that became so at ``since_ms``."""
        choices = self.usable(job)
        if not ignore_fallback_after:
            choices = self._open(job, choices, since_ms)
        group: Hashable = (job.priority, tuple((choice.charge, choice.cost) for choice in choices))
        after_ms, waited_ms = self.policy.backfill_after_ms, self.now_ms - since_ms
        if after_ms is not None:
            left = (job.time_limit_ms - job.done_ms, tuple(job.options[choice.option].speed for choice in choices))
            group = (group, left, job.preemptible)
        is_claimant = after_ms is not None and waited_ms >= after_ms
        leaf = self.tree.index[job.tenant]
        return Contender(job, leaf, rank_of(job), group, choices, past=past, since_ms=since_ms, is_claimant=is_claimant)

    def at(self, now_ms: int, spent: Mapping[str, Fraction], history: Mapping[str, History]) -> "Field":
        """The same at another instant."""
        other = Field.__new__(Field)
        vars(other).update(vars(self))
        other.now_ms, other.spent, other.past = now_ms, spent, history
        other.history = in_points(self.tree, history)
        return other

    def move(self, now_ms: int, spent: Mapping[str, Fraction], history: Mapping[str, History]) -> None:
        """Go on to another instant. The contenders of before stay what they are."""
        self.now_ms, self.spent = now_ms, spent
        if history is not self.past:
            self.past, self.history = history, in_points(self.tree, history)

    def use_of(self, contender: Contender) -> Use | None:
        """What a running job has used until now, where somebody has a budget."""
        if contender.running is None or not self.has_budgets:
            return None
        return used_by(self.config, contender.running.attempt, self.now_ms)

    def budget_books(self) -> BudgetBooks:
        """The books of the budgets, with what is spent. If there are none the same ones each time: they stay empty."""
        return BudgetBooks(self.tree, self.spent, self.now_ms) if self.has_budgets else self._no_budgets

    def usable(self, job: Job) -> tuple[Choice, ...]:
        """The options that a job could take if nothing else ran, its wait for earlier ones left aside."""
        return self._choices(job, (None,))

    def possible(self, job: Job) -> tuple[Choice, ...]:
        """The usable options, and those that are skipped for a while."""
        return self._choices(job, (None, Obstacle.BACKOFF))

    def obstacle(self, job: Job, index: int, option: Option) -> Obstacle | None:
        """The first thing that keeps a job from an option, its wait for earlier options left aside."""
        flavors = {option.flavor, *(group.flavor for group in option.groups), *(row[0] for row in option.demand)}
        allowed = self._allowed[self.tree.index[job.tenant]]
        if not flavors <= self.config.flavors.keys():
            return Obstacle.UNKNOWN_FLAVOR
        if allowed is not None and not flavors <= allowed:
            return Obstacle.NOT_ALLOWED
        if option.speed <= 0:
            return Obstacle.DOES_NOT_RUN
        if not self.bounds.is_possible(self.bounds.charge(job.tenant, option.demand)):
            return Obstacle.NEVER_FITS
        until_ms = job.backoff.get(index)
        return Obstacle.BACKOFF if until_ms is not None and until_ms > self.now_ms else None

    def _open(self, job: Job, usable: tuple[Choice, ...], since_ms: int) -> tuple[Choice, ...]:
        """The usable options that a job may take now."""
        only = self.only.get(job.id)
        if only is not None:
            usable = tuple(choice for choice in usable if choice.option == only)
        return usable if self.now_ms - since_ms >= job.fallback_after_ms else usable[:1]

    def _choices(self, job: Job, obstacles: tuple[Obstacle | None, ...]) -> tuple[Choice, ...]:
        return tuple(
            Choice(index, self.bounds.charge(job.tenant, option.demand), self._cost(job, option.speed, option.demand))
            for index, option in enumerate(job.options)
            if self.obstacle(job, index, option) in obstacles
        )

    def _cost(self, job: Job, speed: Fraction, demand: Demand) -> Fraction:
        return reserved_by(self.config, job, speed, demand) if self.has_budgets else NOTHING

    def _is_protected(self, job: Job, ran: int) -> bool:
        return not job.preemptible or ran < self.policy.min_runtime_ms

    def _allowed_by_path(self, leaf: int) -> frozenset[str] | None:
        """The flavors that every tenant on the path allows; ``None``: all."""
        lists = [self.config.tenants[self.tree.ids[node]].allowed_flavors for node in self.tree.paths[leaf]]
        given = [each for each in lists if each is not None]
        return frozenset.intersection(*given) if given else None


def rank_of(job: Job) -> Rank:
    """A job's place in its tenant's order."""
    return -job.priority, job.submitted_at_ms, job.sequence, job.id


def ran_ms(running: Running, now_ms: int) -> int:
    """How long an attempt has run: from when it was ready. A clock that went back counts as no time."""
    ready_at_ms = running.attempt.ready_at_ms
    return 0 if ready_at_ms is None else max(0, now_ms - ready_at_ms)


def charge_of(running: Contender) -> Charge:
    """What a running job holds."""
    return held_by(running).charge


def held_by(running: Contender) -> Choice:
    """The option that a running job holds."""
    assert running.held is not None, running.job.id
    return running.held
