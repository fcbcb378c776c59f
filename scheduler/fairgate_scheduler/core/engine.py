"""The planner that is kept: it is told what changes, and a plan costs what has changed, not what waits."""

import heapq
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from fairgate_scheduler.core.amounts import Amount, Row
from fairgate_scheduler.core.contenders import Field
from fairgate_scheduler.core.jobs import Fallback, Job
from fairgate_scheduler.core.kinds import Kind, Kinds
from fairgate_scheduler.core.plan import plan_from
from fairgate_scheduler.core.register import Register
from fairgate_scheduler.core.snapshot import Plan, Running, Snapshot
from fairgate_scheduler.core.tenancy import Config

_EVERYWHERE: Final[Mapping[Row, Amount]] = MappingProxyType({})


class Engine:
    """Plans as ``plan_cycle`` does, from a register that it keeps.

    Tell it every change of a job that is not final; ``plan`` itself changes nothing. What it knows of an instant (who
    has waited or run long enough) it brings up to date by timers. The register is opened anew when the config or the
    capacity changes, and when the clock goes back. Where the past or the time to come counts (budgets, history,
    backfill, ``soonest``) it can not plan: ``plan_cycle`` does, from a snapshot.
    """

    def __init__(self, config: Config, capacity: Mapping[Row, Amount] = _EVERYWHERE) -> None:
        self._config = config
        self._capacity = capacity
        self._pending: dict[str, Job] = {}
        self._running: dict[str, Running] = {}
        self._kinds: dict[str, Kind] = {}
        self._unlike: set[str] = set()
        self._unfiled: dict[str, None] = {}
        self._timers: list[tuple[int, str]] = []
        self._open: tuple[Register, Kinds] | None = None

    def configure(self, config: Config, capacity: Mapping[Row, Amount] = _EVERYWHERE) -> None:
        """Another configuration is in force, or other capacity is there."""
        self._config, self._capacity = config, capacity
        self._open = None

    def put_pending(self, job: Job) -> None:
        """A job is pending, as it is told here. It may have been known otherwise."""
        self.remove(job.id)
        self._pending[job.id] = job
        self._unfiled[job.id] = None
        if job.fallback is not Fallback.ORDERED:
            self._unlike.add(job.id)

    def put_running(self, running: Running) -> None:
        """A job holds quota by this attempt. It may have been known otherwise."""
        self.remove(running.job.id)
        self._running[running.job.id] = running
        self._unfiled[running.job.id] = None

    def remove(self, job: str) -> None:
        """A job neither waits nor holds quota any more; it may not be known."""
        if self._open and job not in self._unfiled:
            register = self._open[0]
            if job in self._running:
                register.stop(register.names[job])
            elif job in self._pending:
                register.drop(self._kinds.pop(job).contender(self._pending[job]))
        self._running.pop(job, None)
        self._pending.pop(job, None)
        self._unfiled.pop(job, None)
        self._unlike.discard(job)

    @property
    def config(self) -> Config:
        """The configuration in force."""
        return self._config

    @property
    def can_plan(self) -> bool:
        """Whether nothing counts but what it is told: jobs are told apart by their kind alone."""
        policy = self._config.policy
        has_budgets = any(tenant.budget is not None for tenant in self._config.tenants.values())
        has_past = has_budgets or policy.history_half_life_ms is not None
        return not (self._unlike or has_past or policy.backfill_after_ms is not None)

    def version(self, job: str) -> int | None:
        """The version in which a job was told."""
        running = self._running.get(job)
        known = self._pending.get(job) if running is None else running.job
        return None if known is None else known.version

    def plan(self, now_ms: int) -> Plan:
        """Decide who starts and who gives way now.

        Raises:
            AssertionError: the plan would break one of the laws; a defect of the scheduler.
        """
        assert self.can_plan, "budgets, history, backfill and soonest are planned from a snapshot"
        try:
            return plan_from(self._register_at(now_ms))
        except AssertionError:
            self._open = None
            raise

    def _register_at(self, now_ms: int) -> Register:
        if self._open is None or now_ms < self._open[0].field.now_ms:
            register = Register(Field(Snapshot(self._config, capacity=self._capacity), now_ms))
            self._open, self._timers, self._kinds = (register, Kinds(register.field)), [], {}
            self._unfiled = dict.fromkeys((*self._running, *self._pending))
        register = self._open[0]
        register.field.now_ms = now_ms
        while self._timers and self._timers[0][0] <= now_ms:
            _, job = heapq.heappop(self._timers)
            if job in self._pending:
                self.put_pending(self._pending[job])
            elif job in self._running:
                self.put_running(self._running[job])
        for job in self._unfiled:
            if job in self._pending:
                self._wait(self._pending[job])
            else:
                self._run(self._running[job])
        self._unfiled.clear()
        return register

    def _wait(self, job: Job) -> None:
        assert self._open is not None, job
        register, kinds = self._open
        kind = self._kinds[job.id] = kinds.of(job)
        if kind.choices:
            register.put_job(job, kind)
        else:
            register.put(kind.contender(job))
        due_ms = job.pending_since_ms + job.fallback_after_ms
        if job.backoff or due_ms > register.field.now_ms:
            self._set_timer(job.id, (due_ms, *job.backoff.values()))

    def _run(self, running: Running) -> None:
        assert self._open is not None, running
        register, _ = self._open
        register.start(register.field.running(running))
        if running.job.preemptible and running.attempt.ready_at_ms is not None:
            due_ms = running.attempt.ready_at_ms + self._config.policy.min_runtime_ms
            self._set_timer(running.job.id, (due_ms,))

    def _set_timer(self, job: str, instants_ms: tuple[int, ...]) -> None:
        """To come back to a job at the next instant that changes something for it."""
        assert self._open is not None, job
        due_ms = min((each for each in instants_ms if each > self._open[0].field.now_ms), default=None)
        if due_ms is not None:
            heapq.heappush(self._timers, (due_ms, job))
