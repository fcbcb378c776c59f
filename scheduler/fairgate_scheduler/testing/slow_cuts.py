"""What the slow model makes of running jobs for which a cut left no room, even without new ones."""

from typing import TYPE_CHECKING

from fairgate_scheduler.core.amounts import Amount, Row
from fairgate_scheduler.core.tenancy import QuotaCut
from fairgate_scheduler.testing.slow_books import Held, SlowBooks
from fairgate_scheduler.testing.slow_candidates import Candidate

if TYPE_CHECKING:
    from fairgate_scheduler.testing.slow_refill import SlowRefill


def drain(refill: "SlowRefill") -> None:
    """What there would be no room for even without new jobs is placed first; with ``quota_cut: reclaim`` only what has
    quota beside all that stay."""
    kept = {each for chosen in refill.selected.values() for each in chosen}
    rest = [each for each in refill.running if each not in refill.protected]
    there, stays = list(refill.placed), [each.held() for each in refill.placed]
    for each in [one for one in rest if one in kept] + [one for one in rest if one not in kept]:
        if refill.policy.quota_cut is QuotaCut.RECLAIM and not refill.books.fits_quota(stays, each.held()):
            continue
        stays.append(each.held())
        short = refill.short(each, each.options[0], {one: one.options[0] for one in there})
        fits = refill.books.fits([one.held() for one in there], each.held())
        if fits and not (refill.policy.rebalance and (refill.budgets.full(each, there) or short)):
            there.append(each)
        else:
            refill.placed[each] = each.options[0]
            refill.protected.append(each)


def reclaim(refill: "SlowRefill") -> None:
    """Who lacks quota beside protected and older nominal jobs is not nominal, unless its leaf is within its own of
    what is lacking."""
    while refill.policy.quota_cut is QuotaCut.RECLAIM:
        beside, lacking = refill.target(), list[Candidate]()
        chosen = [each for some in refill.selected.values() for each in some if each not in refill.protected]
        for each in sorted(chosen, key=lambda one: one.admission or 0):
            if any(
                _is_short_of_its_own(refill.books, beside, each.job.tenant, row) for row in each.held().demand.items()
            ):
                lacking.append(each)
            else:
                beside.append(each.held())
        if not lacking:
            return
        refill.cut += lacking
        refill.selected = {leaf: refill.walk(leaf, {}) for leaf in refill.new}


def _is_short_of_its_own(books: SlowBooks, beside: list[Held], leaf: str, entry: tuple[Row, Amount]) -> bool:
    """Of a row that somebody below the root owns: no quota is left of it, and the leaf has no nominal left of it."""
    row, amount = entry
    one = Held(leaf, {row: amount})
    return row in books.owned(leaf) and not books.fits_quota(beside, one) and not books.within(beside, leaf, one)
