"""The planner that is kept: it is told what changes, and a plan costs what has changed, not what waits."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final

from fairgate_scheduler.core.amounts import Amount, Row
from fairgate_scheduler.core.contenders import Field
from fairgate_scheduler.core.foresight import Choosing
from fairgate_scheduler.core.jobs import Job
from fairgate_scheduler.core.plan import plan_from
from fairgate_scheduler.core.register import Register
from fairgate_scheduler.core.roster import Roster
from fairgate_scheduler.core.snapshot import Chosen, History, Plan, Running, Snapshot
from fairgate_scheduler.core.tenancy import Config

_NONE: Final[Mapping[Any, Any]] = MappingProxyType({})


class Engine:
    """Plans as ``plan_cycle`` does, from a register that it keeps.

    Tell it every change of a job that is not final; ``plan`` itself changes nothing. The register is opened anew when
    the config or the capacity changes, and when the clock goes back.
    """

    def __init__(self, config: Config, capacity: Mapping[Row, Amount] = _NONE) -> None:
        self._capacity = capacity
        self._config = config
        self._roster = self._open()
        self._is_idle = False

    def configure(self, config: Config, capacity: Mapping[Row, Amount] = _NONE) -> None:
        """Another configuration is in force, or other capacity is there."""
        self._config, self._capacity = config, capacity
        self._reopen()

    def put_pending(self, job: Job) -> None:
        """A job is pending, as it is told here. It may have been known otherwise."""
        self._roster.put_pending(job)

    def put_running(self, running: Running) -> None:
        """A job holds quota by this attempt. It may have been known otherwise."""
        self._roster.put_running(running)

    def remove(self, job: str) -> None:
        """A job neither waits nor holds quota any more; it may not be known."""
        self._roster.remove(job)

    @property
    def config(self) -> Config:
        """The configuration in force."""
        return self._config

    def version(self, job: str) -> int | None:
        """The version in which a job was told."""
        running = self._roster.running.get(job)
        known = self._roster.pending.get(job) if running is None else running.job
        return None if known is None else known.version

    def plan(
        self,
        now_ms: int,
        history: Mapping[str, History] = _NONE,
        spent: Mapping[str, Fraction] = _NONE,
        choices: Mapping[str, Chosen] = _NONE,
    ) -> Plan:
        """Decide who starts and who gives way now. What was used before and chosen last: as in a ``Snapshot``.

        Raises:
            AssertionError: the plan would break one of the laws; a defect of the scheduler.
        """
        if now_ms < self._roster.field.now_ms:
            self._reopen()
        register = self._roster.at(now_ms, spent, history)
        if self._is_idle and not register.has_changed and self._is_timeless(register):
            return Plan()
        foresight = Choosing(self._roster.field, choices)
        try:
            plan = plan_from(register, foresight)
        except AssertionError:
            self._reopen()
            raise
        self._roster.field.only.clear()
        self._is_idle, register.has_changed = not plan.admissions and not plan.preemptions, False
        return replace(plan, choices=foresight.choices)

    @staticmethod
    def _is_timeless(register: Register) -> bool:
        """Whether a plan depends on what the register tells alone: then one that did nothing does nothing until that
        has changed. Most submits only make a queue longer, and cost no refill."""
        field = register.field
        return not (field.counts_time or field.past or register.singles)

    def _reopen(self) -> None:
        self._roster = self._open(self._roster.running.values(), self._roster.pending.values())

    def _open(self, running: Iterable[Running] = (), pending: Iterable[Job] = ()) -> Roster:
        """Filed when it is asked for, at its instant; before that no instant has been."""
        return Roster(Field(Snapshot(self._config, capacity=self._capacity), _NEVER), running, pending)


_NEVER: Final = -(1 << 63)
