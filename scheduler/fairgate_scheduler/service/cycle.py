"""The scheduler: the five steps of a turn, over and over, and when the next one is due.

A step never depends on another one having succeeded: what fails is logged and tried again, the rest goes on.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from fairgate_scheduler.ports import RunnerUnavailableError
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.apply import apply_plan
from fairgate_scheduler.service.deliver import Courier, Retry
from fairgate_scheduler.service.launch import launch
from fairgate_scheduler.service.observe import Observer, expire
from fairgate_scheduler.service.planner import Planner
from fairgate_scheduler.service.planning import Reporter, plan_carefully

_logger = logging.getLogger(__name__)
RETRY_MS: Final = 1_000
"""When a step that failed is tried again."""
PAUSE_MS: Final = 20
"""The least time between two turns, unless something is committed."""


@dataclass(frozen=True, slots=True)
class Timing:
    """How patient the scheduler is. ``poll_ms``: how often the runner is looked at while attempts are there."""

    poll_ms: int = 500
    missing_after_ms: int = 5_000
    retry: Retry = field(default_factory=Retry)


class Scheduler:
    """Owns the turn of one service; only one thread may use it. All it remembers it can find again in the store.

    ``tell`` is called when planning stops to work as it should (False), and when it works again (True).
    """

    def __init__(
        self, app: App, timing: Timing | None = None, tell: Callable[[bool], None] = lambda _is_well: None
    ) -> None:
        self._app = app
        self._timing = timing or Timing()
        self._observer = Observer(app, self._timing.missing_after_ms)
        self._courier = Courier(app, self._timing.retry)
        self._reporter = Reporter(tell)
        self._planner = Planner()
        self._planned: int | None = None
        self._plan_due_ms: int | None = None
        self._has_failed = False
        self._trouble = ""

    @property
    def steps(self) -> Mapping[str, Callable[[int], None]]:
        """The steps of a turn, in order; each takes the time in milliseconds."""
        return MappingProxyType(
            {
                "observe": self._observer.observe,
                "expire": lambda now_ms: expire(self._app, now_ms),
                "plan": self.plan,
                "launch": lambda now_ms: launch(self._app, now_ms),
                "deliver": self._courier.deliver,
            }
        )

    def turn(self) -> None:
        """Do every step once. No error gets out of it; a step that fails is due again after ``RETRY_MS``."""
        self._has_failed = False
        for name, step in self.steps.items():
            try:
                step(self._app.clock.now_ms())
            except RunnerUnavailableError as error:
                self._has_failed = True
                self._tell_of_trouble(str(error))
            except Exception:
                self._has_failed = True
                _logger.exception("the step %r failed; it is tried again in %s ms", name, RETRY_MS)

    def _tell_of_trouble(self, trouble: str) -> None:
        """Once: it may last for hours, and every step runs into it again."""
        if trouble != self._trouble:
            _logger.warning("the runner can not be reached; it is tried again every %s ms: %s", RETRY_MS, trouble)
        self._trouble = trouble

    def plan(self, now_ms: int) -> None:
        """Decide who starts and who gives way, if anything has changed since that was decided last.

        Raises what the runner raises when it can not say what is there: nothing is admitted on capacity that may be
        gone.
        """
        capacity = self._app.runner.capacity(self._app.config())
        with self._app.world() as world:
            world.see_capacity(capacity)
            is_due = self._plan_due_ms is not None and self._plan_due_ms <= now_ms
            if world.mark == self._planned and not is_due:
                return
            world.settle(now_ms)
            self._planner.follow(world)
            snapshot, mark, due_ms = world.snapshot(now_ms), world.mark, world.next_due_ms(now_ms)
        planned = plan_carefully(snapshot, now_ms, self._planner.plan)
        self._reporter.report(snapshot, planned)
        plan = planned.plan
        if plan:
            apply_plan(self._app, snapshot, plan, now_ms, self._planner.versions)
        if plan.choices:
            with self._app.world() as world:
                world.choose(plan.choices)
        self._planned, self._plan_due_ms = mark, due_ms

    def next_due_ms(self, now_ms: int) -> int | None:
        """When the next turn is needed if nothing is committed meanwhile; ``None``: not before something is.

        Never at once: what is due and could not be done would keep the machine busy. No error gets out of it.
        """
        due = [self._observer.next_due_ms(), self._courier.next_due_ms()]
        if self._has_failed:
            due.append(now_ms + RETRY_MS)
        try:
            with self._app.world() as world:
                due.append(world.next_due_ms(now_ms))
                if world.attempts:
                    due.append(now_ms + self._timing.poll_ms)
        except Exception:
            _logger.exception("what is due next can not be told; looking again in %s ms", RETRY_MS)
            due.append(now_ms + RETRY_MS)
        next_ms = min((at for at in due if at is not None), default=None)
        return None if next_ms is None else max(next_ms, now_ms + PAUSE_MS)
