"""Why a running job gives way, told in a sentence, and for whom."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fairgate_scheduler.core.contenders import Contender, Field, charge_of
from fairgate_scheduler.core.ledger import Cause, Step
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


class _Rivals:
    """The newcomers that use one of some rows, in the order of placing. ``entitled``: by whose nominal they are in."""

    def __init__(self, newcomers: Iterable[_Newcomer]) -> None:
        self.all = tuple(newcomers)
        self.of_leaf: dict[int, list[_Newcomer]] = {}
        self.entitled: dict[int, list[_Newcomer]] = {}
        for each in self.all:
            self.of_leaf.setdefault(each.contender.leaf, []).append(each)
            if each.cause.step is Step.NOMINAL:
                self.entitled.setdefault(each.cause.node, []).append(each)


def reasons_of_evictions(field: Field, evicted: Sequence[Contender], target: Target) -> dict[str, Reason]:
    """Why each of these jobs, which one refill leaves out, is left out."""
    if not evicted:
        return {}
    newcomers = [_Newcomer(each, target.placed[each].charge, cause) for each, cause in target.causes.items()]
    newcomers = [each for each in newcomers if each.cause.is_forced] or newcomers
    rivals: dict[frozenset[int], _Rivals] = {}
    known: dict[tuple[int, int, Charge], Reason] = {}
    out: dict[str, Reason] = {}
    for each in evicted:
        rows, key = _rows(charge_of(each)), (each.leaf, each.priority, charge_of(each))
        if rows not in rivals:
            rivals[rows] = _Rivals(other for other in newcomers if not rows.isdisjoint(_rows(other.charge)))
        if key not in known:
            known[key] = _reason(
                field, each, rivals[rows] if rivals[rows].all else _under_limits(field, each, newcomers)
            )
        out[each.job.id] = known[key]
    return out


def _under_limits(field: Field, victim: Contender, newcomers: Iterable[_Newcomer]) -> _Rivals:
    """Those that count against one limit on running jobs, or one budget, together with the victim."""
    tree, tenants = field.tree, field.config.tenants
    path = {node: tenants[tree.ids[node]] for node in tree.paths[victim.leaf]}
    limited = {node for node, each in path.items() if each.max_running_jobs is not None or each.budget is not None}
    return _Rivals(each for each in newcomers if not limited.isdisjoint(tree.paths[each.contender.leaf]))


def _reason(field: Field, victim: Contender, rivals: _Rivals) -> Reason:
    path = field.tree.paths[victim.leaf]
    own = [each for each in rivals.of_leaf.get(victim.leaf, ()) if each.contender.priority > victim.priority]
    node = next((node for node in rivals.entitled if node not in path), None)
    if own and (node is None or victim.leaf == own[0].cause.node):
        return Reason("preempted: a job of higher priority of the same tenant takes its place", _ids(own))
    if node is not None:
        mine = rivals.entitled[node]
        return Reason(
            f"preempted: tenant {field.tree.ids[node]} takes back its nominal quota of {_flavors(field, victim, mine)}",
            _ids(mine),
        )
    if rivals.entitled:
        tenant = field.tree.ids[next(iter(rivals.entitled))]
        inside = [each for each in rivals.all if each.cause.step is Step.NOMINAL]
        return Reason(f"preempted: the nominal quota of tenant {tenant} goes to other jobs of it first", _ids(inside))
    if rivals.all and field.policy.rebalance:
        return Reason("preempted: rebalanced in favour of tenants with a smaller share", _ids(rivals.all))
    return Reason("preempted: quota was lowered", ())


def _rows(charge: Charge) -> frozenset[int]:
    """All rows that it counts on; two jobs compete if they have one in common."""
    return frozenset(row for row, _ in (*charge.quota, *charge.physical))


def _flavors(field: Field, victim: Contender, newcomers: Sequence[_Newcomer]) -> str:
    rows = {row for row, _ in charge_of(victim).quota}
    shared = {row for each in newcomers for row, _ in each.charge.owned if row in rows}
    return ", ".join(sorted({field.bounds.rows[row][0] for row in shared})) or "other flavors"


def _ids(newcomers: Sequence[_Newcomer]) -> tuple[str, ...]:
    return tuple(each.contender.job.id for each in newcomers)
