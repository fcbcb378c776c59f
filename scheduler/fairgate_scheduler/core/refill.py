"""The refill: who should run, computed from scratch. The difference to what runs is one round of a plan.

Jobs are placed whole, in fixed steps: protected ones, the nominal quota of leaves, the nominal quota of the tenants
above them, running borrowers, new borrowers. As each step places by an order that being admitted only moves a job
forward in, a refill of its own result comes out the same: pairwise rules of who may evict whom do loop.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fairgate_scheduler.core.borrowing import Keeping, NewBorrowers, Rebalancing
from fairgate_scheduler.core.contenders import Choice, Contender, charge_of
from fairgate_scheduler.core.ledger import Cause, Claims, Ledger
from fairgate_scheduler.core.nominal import InnerNominal, LeafNominal
from fairgate_scheduler.core.register import Register
from fairgate_scheduler.core.tenancy import QuotaCut
from fairgate_scheduler.core.usage import Usage


class Target(NamedTuple):
    """Who should run, on what, in the order of placing; ``causes`` says of each pending job how it was placed.
    ``evicted`` are the running jobs that are not, in the order of admission."""

    placed: Mapping[Contender, Choice]
    causes: Mapping[Contender, Cause]
    evicted: Sequence[Contender]


def refill(register: Register, claims: Claims | None = None) -> Target:
    """Decide who should run. The register stays as it is."""
    register.settle()
    ledger = Ledger(register, claims)
    if not ledger.is_calm:
        _drain(ledger)
    LeafNominal(ledger).run()
    for node in register.inner_owners:
        InnerNominal(ledger, node).run()
    if register.field.policy.rebalance:
        Rebalancing(ledger).run()
    else:
        NewBorrowers(ledger, Keeping(ledger).run()).run()
    return Target(ledger.placed, ledger.fresh, ledger.evicted())


def _drain(ledger: Ledger) -> None:
    """Place first the running jobs for which there is no room even without new ones: what a cut left.

    With ``quota_cut: reclaim`` only those stay that lack physical capacity.
    """
    view = Usage(ledger.field.bounds)
    for each in ledger.protected:
        view.add(charge_of(each))
    drains = ledger.field.policy.quota_cut is QuotaCut.DRAIN
    rest = [each for each in ledger.register.all_running() if each not in ledger.protected]
    for each in sorted(rest, key=lambda contender: contender not in ledger.register.selected):
        charge = charge_of(each)
        if view.fits(charge):
            view.add(charge)
        elif drains or not view.fits_physically(charge):
            ledger.protect(each)
