"""The core's engine as it follows the world: planning costs what has changed since, and nobody waits for it."""

from collections.abc import Iterable, Mapping

from fairgate_scheduler.core.amounts import Amount, Row
from fairgate_scheduler.core.engine import Engine
from fairgate_scheduler.core.plan import plan_cycle
from fairgate_scheduler.core.snapshot import Plan, Running, Snapshot
from fairgate_scheduler.core.tenancy import Config
from fairgate_scheduler.service.world import World


class Planner:
    """Owned by who plans; only one thread may use it. The world itself is looked at in ``follow`` alone."""

    def __init__(self) -> None:
        self._world: World | None = None
        self._engine = Engine(Config())
        self._capacity: Mapping[Row, Amount] = {}

    def follow(self, world: World) -> None:
        """Take in what has changed. Whoever calls holds the world."""
        if world is not self._world:
            self._world, self._engine = world, Engine(world.config, world.capacity)
        elif self._engine.config is not world.config or self._capacity is not world.capacity:
            self._engine.configure(world.config, world.capacity)
        self._capacity = world.capacity
        for name, job in world.take_changes().items():
            if job is None:
                self._engine.remove(name)
            elif isinstance(job, Running):
                self._engine.put_running(job)
            else:
                self._engine.put_pending(job)

    def plan(self, snapshot: Snapshot, now_ms: int) -> Plan:
        """The plan for a snapshot: from the engine if it is of the world as it was followed last.

        Raises:
            AssertionError: the plan would break one of the core's laws.
        """
        if snapshot.config is self._engine.config:
            return self._engine.plan(now_ms, snapshot.history, snapshot.spent, snapshot.choices)
        return plan_cycle(snapshot, now_ms)

    def versions(self, jobs: Iterable[str]) -> Mapping[str, int]:
        """The versions in which it has seen these jobs."""
        seen = ((job, self._engine.version(job)) for job in jobs)
        return {job: version for job, version in seen if version is not None}
