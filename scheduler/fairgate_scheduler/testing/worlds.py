"""A small world for tests of the scheduling core: jobs start at once and give way at once, and time stands still."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from fairgate_scheduler.core.amounts import Amount, Demand, Row
from fairgate_scheduler.core.budgets import Spending, used_by
from fairgate_scheduler.core.history import settle
from fairgate_scheduler.core.jobs import Attempt, AttemptState, Job, JobState, Option
from fairgate_scheduler.core.plan import plan_cycle
from fairgate_scheduler.core.snapshot import Chosen, History, Plan, Running, Snapshot
from fairgate_scheduler.core.tenancy import Config, Flavor, Policy, Quota, Tenant

GPU: Final = "nvidia.com/gpu"
H100: Final[Row] = ("h100", GPU)


def takes(
    flavor: str, speed: Fraction = Fraction(1), /, *, cpu_flavor: str | None = None, **resources: Amount
) -> Option:
    """An option by what its gang takes; ``gpu`` and ``tpu`` are short for the device plugins' resources.

    ``cpu_flavor``: where its ``cpu`` and ``memory`` are charged, if not on ``flavor``.
    """
    full = {"gpu": GPU, "tpu": "google.com/tpu"}
    demand = {
        (cpu_flavor if cpu_flavor and name in ("cpu", "memory") else flavor, full.get(name, name)): amount
        for name, amount in resources.items()
    }
    return Option(flavor, speed, (), demand)


def config_of(*tenants: Tenant, policy: Policy | None = None, **flavors: Flavor) -> Config:
    """A config of these tenants, with the flavors that they have quota of and those that are given."""
    names = {row[0] for tenant in tenants for row in tenant.quota}
    made = {name: flavors.get(name, Flavor(name)) for name in sorted(names | flavors.keys())}
    return Config(made, {tenant.id: tenant for tenant in tenants}, policy or Policy())


def owner(name: str, parent: str | None = "org", gpus: Amount = 0, **settings: Any) -> Tenant:
    """A tenant below ``org``, with a nominal quota of so many H100 (none: it declares nothing)."""
    return Tenant(name, parent, quota={H100: Quota(gpus)} if gpus else {}, **settings)


class World:
    """What runs and what waits. ``cycle`` plans and applies the plan; everything else is said from outside."""

    def __init__(self, config: Config, *, now_ms: int = 0, capacity: Mapping[Row, Amount] | None = None) -> None:
        self.config = config
        self.now_ms = now_ms
        self.capacity = capacity or {}
        self.jobs: dict[str, Job] = {}
        self.attempts: dict[str, Attempt] = {}
        self.history: Mapping[str, History] = {}
        self.choices: dict[str, Chosen] = {}
        self._ended: list[Attempt] = []
        self._admissions = 0

    def submit(self, name: str, tenant: str, *options: Option, **settings: Any) -> Job:
        """Add a pending job; its id is its name."""
        times = {"time_limit_ms": 3_600_000, "pending_since_ms": self.now_ms}
        job = Job(name, tenant, self.now_ms, len(self.jobs), options, **(times | settings))
        self.jobs[name] = job
        return job

    def submit_many(self, tenant: str, count: int, *options: Option, **settings: Any) -> None:
        """Add equal jobs named after their tenant: ``a-1``, ``a-2`` …"""
        for number in range(1, count + 1):
            self.submit(f"{tenant}-{number}", tenant, *options, **settings)

    def snapshot(self) -> Snapshot:
        """The world as a cycle sees it."""
        running = sorted(self.attempts.values(), key=lambda each: each.admission)
        return Snapshot(
            self.config,
            tuple(Running(self.jobs[each.job], each) for each in running),
            tuple(job for job in self.jobs.values() if job.state is JobState.PENDING),
            self.capacity,
            self.history,
            self.spent(),
            self.choices,
        )

    def spent(self) -> Mapping[str, Fraction]:
        """What attempts that have ended used of each budget in its current period."""
        books = Spending(self.config)
        for attempt in self._ended:
            path = self.config.paths[self.jobs[attempt.job].tenant]
            books.add(path, used_by(self.config, attempt, self.now_ms))
        return books.at(self.now_ms)

    def settle(self) -> None:
        """Reckon the history up to now; call it before anything changes at a later instant."""
        self.history = settle(self.config, self.snapshot().running, self.history, self.now_ms)

    def cycle(self) -> Plan:
        """Plan, and do what the plan says."""
        plan = plan_cycle(self.snapshot(), self.now_ms)
        self.apply(plan)
        return plan

    def apply(self, plan: Plan) -> None:
        """Do what a plan says."""
        for preempt in plan.preemptions:
            self._end(preempt.job)
            job = self.jobs[preempt.job]
            self.jobs[job.id] = replace(
                job, state=JobState.PENDING, pending_since_ms=self.now_ms, evictions=job.evictions + 1
            )
        for admit in plan.admissions:
            self.start(admit.job, admit.option)
        self.choices.update(plan.choices)

    def start(self, name: str, option: int = 0) -> None:
        """Let a pending job run, whether there is room for it or not."""
        job = self.jobs[name]
        self._admissions += 1
        self.jobs[name] = replace(job, state=JobState.RUNNING, attempts=job.attempts + 1)
        self.attempts[name] = Attempt(
            name,
            job.attempts + 1,
            option,
            job.options[option].demand,
            self._admissions,
            self.now_ms,
            AttemptState.RUNNING,
            ready_at_ms=self.now_ms,
        )

    def set_state(self, name: str, state: AttemptState) -> None:
        """The attempt of a job that runs is in this state."""
        self.attempts[name] = replace(self.attempts[name], state=state)

    def finish(self, name: str) -> None:
        """A running job ends well."""
        self._end(name)
        self.jobs[name] = replace(self.jobs[name], state=JobState.SUCCEEDED)

    def _end(self, name: str) -> None:
        self._ended.append(replace(self.attempts.pop(name), state=AttemptState.GONE, ended_at_ms=self.now_ms))

    def running(self) -> dict[str, str]:
        """The names of the jobs that run, with the flavor of each."""
        return {name: self.jobs[name].options[each.option].flavor for name, each in sorted(self.attempts.items())}

    def count(self, tenant: str) -> int:
        """How many jobs of a tenant run, its subtree included."""
        return sum(tenant in self.config.paths[self.jobs[name].tenant] for name in self.attempts)

    def usage(self, tenant: str) -> Demand:
        """What the running jobs of a tenant use, its subtree included, summed up one by one."""
        out: dict[Row, Amount] = {}
        for name, attempt in self.attempts.items():
            if tenant in self.config.paths[self.jobs[name].tenant]:
                for row, amount in attempt.demand.items():
                    out[row] = out.get(row, 0) + amount
        return out
