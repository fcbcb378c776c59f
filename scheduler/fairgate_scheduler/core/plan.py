"""The plan of a cycle: the refill repeated until it changes nothing, and only the difference of it all."""

from dataclasses import replace

from fairgate_scheduler.core.contenders import Field
from fairgate_scheduler.core.foresight import Choosing
from fairgate_scheduler.core.register import Register
from fairgate_scheduler.core.rounds import Foresight, Rounds
from fairgate_scheduler.core.snapshot import Plan, Snapshot


def plan_cycle(snapshot: Snapshot, now_ms: int) -> Plan:
    """Decide who starts and who gives way now. The same snapshot gives the same plan, in whatever order it lists jobs.

    Applied, and planned again at the same instant, a plan changes nothing.

    Raises:
        AssertionError: the plan would break one of the laws; a defect of the scheduler.
    """
    field = Field(snapshot, now_ms)
    register = Register.of(field, snapshot.running, snapshot.pending)
    foresight = Choosing(field, snapshot.choices)
    return replace(plan_from(register, foresight), choices=foresight.choices)


def plan_from(register: Register, foresight: Foresight | None = None) -> Plan:
    """The plan that a register leads to. It stays as it is. ``foresight`` ``None``: nobody has claims or chooses.

    Raises:
        AssertionError: the plan would break one of the laws; a defect of the scheduler.
    """
    rounds = Rounds(register, foresight)
    rounds.repeat()
    return rounds.difference()
