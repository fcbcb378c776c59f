"""What the slow model makes of running jobs for which a cut left no room, even without new ones."""

from typing import TYPE_CHECKING

from fairgate_scheduler.core.tenancy import QuotaCut
from fairgate_scheduler.testing.slow_candidates import Candidate

if TYPE_CHECKING:
    from fairgate_scheduler.testing.slow_refill import SlowRefill


def drain(refill: "SlowRefill") -> None:
    """What there would be no room for even without new jobs is placed first."""
    kept = {each for chosen in refill.selected.values() for each in chosen}
    rest = [each for each in refill.running if each not in refill.protected]
    there = list(refill.placed)
    for each in [one for one in rest if one in kept] + [one for one in rest if one not in kept]:
        beside = [one.held() for one in there]
        short = refill.short(each, each.options[0], {one: one.options[0] for one in there})
        fits = refill.books.fits(beside, each.held())
        if fits and not (refill.policy.rebalance and (refill.budgets.full(each, there) or short)):
            there.append(each)
        elif fits or refill.policy.quota_cut is QuotaCut.DRAIN or not refill.books.fits_physically(beside, each.held()):
            refill.placed[each] = each.options[0]
            refill.protected.append(each)


def reclaim(refill: "SlowRefill") -> None:
    """Who lacks quota beside protected and older nominal jobs is not nominal, but where its leaf is within its own."""
    while refill.policy.quota_cut is QuotaCut.RECLAIM:
        beside, lacking = refill.target(), list[Candidate]()
        chosen = [each for some in refill.selected.values() for each in some if each not in refill.protected]
        for each in sorted(chosen, key=lambda one: one.admission or 0):
            if refill.books.fits_quota(beside, each.held()) or refill.books.within(
                beside, each.job.tenant, each.held()
            ):
                beside.append(each.held())
            else:
                lacking.append(each)
        if not lacking:
            return
        refill.cut += lacking
        refill.selected = {leaf: refill.walk(leaf, {}) for leaf in refill.new}
