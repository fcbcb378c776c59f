"""The refill: who should run, computed from scratch. The difference to what runs is one round of a plan.

Jobs are placed whole, in fixed steps: protected ones, the nominal quota of leaves, the nominal quota of the tenants
above them, running borrowers, new borrowers. As each step places by an order that being admitted only moves a job
forward in, a refill of its own result comes out the same: pairwise rules of who may evict whom do loop.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from fairgate_scheduler.core.borrowing import Keeping, NewBorrowers, Rebalancing
from fairgate_scheduler.core.contenders import Choice, Contender, Field
from fairgate_scheduler.core.ledger import Cause, Claims, Ledger, charge_of
from fairgate_scheduler.core.nominal import InnerNominal, LeafNominal
from fairgate_scheduler.core.tenancy import QuotaCut
from fairgate_scheduler.core.walk import Walk


class Target(NamedTuple):
    """Who should run, on what, in the order of placing; ``causes`` says of each pending job how it was placed."""

    placed: Mapping[Contender, Choice]
    causes: Mapping[Contender, Cause]


def refill(
    field: Field, running: Sequence[Contender], pending: Iterable[Contender], claims: Claims | None = None
) -> Target:
    """Decide who should run. ``running`` is in the order of admission; ``pending`` in any."""
    ledger = Ledger(field, running, pending, claims)
    for each in running:
        if each.is_protected:
            ledger.place_before_its_turn(each)
    walks = _walks(ledger)
    _drain(ledger, {each for walk in walks.values() for each in walk.selected})
    nominal = LeafNominal(ledger, walks).run()
    tree = field.tree
    for node in tree.deepest_first:
        if tree.children[node] and node != tree.root[node] and tree.owns(node):
            InnerNominal(ledger, node, nominal).run()
    if field.policy.rebalance:
        Rebalancing(ledger).run()
    else:
        NewBorrowers(ledger, Keeping(ledger).run()).run()
    return Target(ledger.placed, ledger.fresh)


def _walks(ledger: Ledger) -> dict[int, Walk]:
    """A walk for each leaf that owns something."""
    tree, running = ledger.field.tree, dict[int, list[Contender]]()
    for each in ledger.running:
        running.setdefault(each.leaf, []).append(each)
    by_priority = ledger.field.policy.priority_preemption
    return {
        leaf: Walk(tree, leaf, running.get(leaf, ()), by_priority=by_priority)
        for leaf in tree.leaves
        if tree.owns(leaf)
    }


def _drain(ledger: Ledger, nominal: set[Contender]) -> None:
    """Place first the running jobs for which there is no room even without new ones: what a cut left.

    With ``quota_cut: reclaim`` only those stay that lack physical capacity.
    """
    view = ledger.target.copy()
    drains = ledger.field.policy.quota_cut is QuotaCut.DRAIN
    rest = [each for each in ledger.running if each not in ledger.protected]
    for each in sorted(rest, key=lambda contender: contender not in nominal):
        charge = charge_of(each)
        if view.fits(charge):
            view.add(charge)
        elif drains or not view.fits_physically(charge):
            ledger.place_before_its_turn(each)
            ledger.protected.add(each)
