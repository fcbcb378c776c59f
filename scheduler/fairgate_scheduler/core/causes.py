"""Why a running job gives way, told in a sentence, and for whom."""

from collections.abc import Sequence
from typing import NamedTuple

from fairgate_scheduler.core.contenders import Contender, Field
from fairgate_scheduler.core.ledger import Cause, Step, charge_of
from fairgate_scheduler.core.refill import Target
from fairgate_scheduler.core.usage import Charge


class Reason(NamedTuple):
    """A sentence, and the ids of the jobs that it is about."""

    text: str
    for_jobs: tuple[str, ...]


class _Newcomer(NamedTuple):
    contender: Contender
    charge: Charge
    cause: Cause


def reasons_of_evictions(field: Field, evicted: Sequence[Contender], target: Target) -> dict[str, Reason]:
    """Why each of these jobs, which one refill leaves out, is left out."""
    newcomers = [_Newcomer(each, target.placed[each].charge, cause) for each, cause in target.causes.items()]
    forced = [each for each in newcomers if each.cause.is_forced]
    return {each.job.id: _reason(field, each, forced or newcomers) for each in evicted}


def _reason(field: Field, victim: Contender, newcomers: Sequence[_Newcomer]) -> Reason:
    rivals = [each for each in newcomers if _compete(charge_of(victim), each.charge)]
    own = [each for each in rivals if each.contender.leaf == victim.leaf and each.contender.priority > victim.priority]
    entitled = [
        each
        for each in rivals
        if each.cause.step is Step.NOMINAL and each.cause.node not in field.tree.paths[victim.leaf]
    ]
    if own and (not entitled or field.tree.paths[victim.leaf][0] == own[0].cause.node):
        return Reason("preempted: a job of higher priority of the same tenant takes its place", _ids(own))
    if entitled:
        tenant = field.tree.ids[entitled[0].cause.node]
        mine = [each for each in entitled if each.cause.node == entitled[0].cause.node]
        return Reason(
            f"preempted: tenant {tenant} takes back its nominal quota of {_flavors(field, victim, mine)}", _ids(mine)
        )
    inside = [each for each in rivals if each.cause.step is Step.NOMINAL]
    if inside:
        tenant = field.tree.ids[inside[0].cause.node]
        return Reason(f"preempted: the nominal quota of tenant {tenant} goes to other jobs of it first", _ids(inside))
    if rivals and field.policy.rebalance:
        return Reason("preempted: rebalanced in favour of tenants with a smaller share", _ids(rivals))
    return Reason("preempted: quota was lowered", ())


def _compete(victim: Charge, other: Charge) -> bool:
    """Whether both use one row of which there is not enough for everybody."""
    rows = {row for row, _ in (*victim.quota, *victim.physical)}
    return any(row in rows for row, _ in (*other.quota, *other.physical))


def _flavors(field: Field, victim: Contender, newcomers: Sequence[_Newcomer]) -> str:
    rows = {row for row, _ in charge_of(victim).quota}
    shared = {row for each in newcomers for row, _ in each.charge.owned if row in rows}
    return ", ".join(sorted({field.bounds.rows[row][0] for row in shared})) or "other flavors"


def _ids(newcomers: Sequence[_Newcomer]) -> tuple[str, ...]:
    return tuple(each.contender.job.id for each in newcomers)
