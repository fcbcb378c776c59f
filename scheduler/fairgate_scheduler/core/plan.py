"""The plan of a cycle: the refill repeated until it changes nothing, and only the difference of it all."""

from dataclasses import replace

from fairgate_scheduler.core.contenders import Field
from fairgate_scheduler.core.foresight import Choosing
from fairgate_scheduler.core.rounds import Rounds
from fairgate_scheduler.core.snapshot import Plan, Snapshot


def plan_cycle(snapshot: Snapshot, now_ms: int) -> Plan:
    """Decide who starts and who gives way now. The same snapshot gives the same plan, in whatever order it lists jobs.

    Applied, and planned again at the same instant, a plan changes nothing.

    Raises:
        AssertionError: the plan would break one of the laws; a defect of the scheduler.
    """
    world = Field(snapshot, now_ms)
    running = sorted((world.running(each) for each in snapshot.running), key=lambda each: each.admission)
    pending = [world.pending(job, job.pending_since_ms) for job in snapshot.pending]
    foresight = Choosing(world, snapshot.choices)
    rounds = Rounds(world, tuple(running), list(running), pending, foresight)
    rounds.repeat()
    return replace(rounds.difference(), choices=foresight.choices)
