"""What a cut of quota, capacity or a limit left above the bounds: which running jobs stay all the same, which go."""

from collections.abc import Collection
from dataclasses import replace

from fairgate_scheduler.core.contenders import Contender, charge_of, held_by
from fairgate_scheduler.core.ledger import Ledger
from fairgate_scheduler.core.tenancy import QuotaCut
from fairgate_scheduler.core.usage import Charge, Usage
from fairgate_scheduler.core.walk import Walk


def settle_cuts(ledger: Ledger) -> None:
    """Decide of the running jobs for which there is no room even without new ones."""
    _drain(ledger)
    if ledger.field.policy.quota_cut is QuotaCut.RECLAIM:
        _reclaim(ledger)


def _drain(ledger: Ledger) -> None:
    """Place first those that stay: with ``quota_cut: reclaim`` only those that lack something else, and have quota.

    Quota is asked for beside all that stay: if those that lack capacity counted for nothing there, more of them would
    be placed first than there is quota, and those that had all they need would go for them.
    """
    policy, view, counts = ledger.field.policy, Usage(ledger.field.bounds), ledger.limits.empty()
    has_quota_cut, stays = policy.quota_cut is QuotaCut.RECLAIM, Usage(ledger.field.bounds)
    budgets, use_of = ledger.budgets.copy(), ledger.field.use_of
    for each in ledger.register.all_running() if budgets else ():
        budgets.let_go(each.leaf, held_by(each).cost, use_of(each))
    for each in ledger.protected:
        view.add(charge_of(each))
        stays.add(charge_of(each))
        counts.add(each.leaf)
        budgets.keep(each.leaf, held_by(each).cost, use_of(each))
    rest = [each for each in ledger.register.all_running() if each not in ledger.protected]
    for each in sorted(rest, key=lambda contender: contender not in ledger.register.selected):
        charge = charge_of(each)
        if has_quota_cut and not stays.fits_quota(charge):
            continue
        stays.add(charge)
        allows = counts.allows(each.leaf) and not budgets.lacking_for(each.leaf, held_by(each).cost, use_of(each))
        if view.fits(charge) and (allows or not policy.rebalance):
            view.add(charge)
            counts.add(each.leaf)
            budgets.keep(each.leaf, held_by(each).cost, use_of(each))
        else:
            ledger.protect(each)


def _reclaim(ledger: Ledger) -> None:
    """Have nobody count as nominal who lacks quota beside the protected jobs and the older nominal ones.

    But for those whose leaf, its protected jobs included, stays within its own nominal of what is lacking: it does not
    pay for others, nor for what only the root owns.
    """
    cut = set[Contender]()
    while lacking := _lacking(ledger):
        cut.update(lacking)
        for leaf in sorted({each.leaf for each in lacking}):
            _walk_again(ledger, leaf, cut)


def _lacking(ledger: Ledger) -> list[Contender]:
    view = Usage(ledger.field.bounds)
    for each in ledger.protected:
        view.add(charge_of(each))
    out: list[Contender] = []
    for each in sorted((each for each in ledger.counted if each not in ledger.protected), key=_admission):
        charge = charge_of(each)
        if view.fits_quota(charge) or not _is_short_of_its_own(view, each.leaf, charge):
            view.add(charge)
        else:
            out.append(each)
    return out


def _is_short_of_its_own(view: Usage, leaf: int, charge: Charge) -> bool:
    """Whether quota lacks of a row that is somebody's own, and the leaf would have more than its own nominal of it."""
    own = [replace(charge, quota=(row,), owned=(row,)) for row in charge.owned]
    return any(not view.fits_quota(each) and not view.is_within(leaf, each) for each in own)


def _walk_again(ledger: Ledger, leaf: int, cut: Collection[Contender]) -> None:
    """The walk of a leaf without those that lack quota."""
    before, running = ledger.walks[leaf].selected, [each for each in ledger.running_of(leaf) if each not in cut]
    by_priority = ledger.field.policy.priority_preemption
    walk = ledger.walks[leaf] = Walk(ledger.field.tree, leaf, running, by_priority=by_priority)
    for each in before:
        if each not in walk.selected:
            ledger.nominal.remove(charge_of(each))
            (ledger.uncount if each in ledger.protected else ledger.take)(each)
    for each, choice in walk.selected.items():
        if each not in before:
            ledger.place(each, choice)
            ledger.nominal.add(choice.charge)


def _admission(contender: Contender) -> int:
    return contender.admission
