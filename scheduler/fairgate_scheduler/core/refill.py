"""The refill: who should run, computed from scratch. The difference to what runs is one round of a plan.

Jobs are placed whole, in fixed steps: protected ones, the nominal quota of leaves, the nominal quota of the tenants
above them, running borrowers, new borrowers. As each step places by an order that being admitted only moves a job
forward in, a refill of its own result comes out the same: pairwise rules of who may evict whom do loop.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fairgate_scheduler.core.borrowing import Keeping, NewBorrowers, Rebalancing
from fairgate_scheduler.core.contenders import Choice, Contender
from fairgate_scheduler.core.cuts import settle_cuts
from fairgate_scheduler.core.laws import check_nothing_waits_that_fits
from fairgate_scheduler.core.ledger import Cause, Claims, Ledger
from fairgate_scheduler.core.nominal import InnerNominal, LeafNominal
from fairgate_scheduler.core.register import Register


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
        settle_cuts(ledger)
    LeafNominal(ledger).run()
    for node in register.inner_owners:
        InnerNominal(ledger, node).run()
    if register.field.policy.rebalance:
        Rebalancing(ledger).run()
    else:
        NewBorrowers(ledger, Keeping(ledger).run()).run()
    check_nothing_waits_that_fits(ledger)
    return Target(ledger.placed, ledger.fresh, ledger.evicted())
