"""Which admitted attempts may really be started: never above quota or capacity, whatever is still on its way out."""

from collections.abc import Mapping, Sequence

from fairgate_scheduler.core.amounts import Amount, Row
from fairgate_scheduler.core.jobs import Attempt, AttemptState
from fairgate_scheduler.core.quota import quota_tree
from fairgate_scheduler.core.tenancy import Config
from fairgate_scheduler.core.usage import Bounds, Usage


def launchable(
    config: Config, capacity: Mapping[Row, Amount], attempts: Sequence[tuple[str, Attempt]]
) -> tuple[Attempt, ...]:
    """The reserved attempts that may be launched now, in the order of admission.

    ``attempts`` are all that are not gone, each with the tenant of its job: reserved ones, and all that are present,
    evicted ones that are still stopping among them. An attempt may be launched when no older attempt of its job is
    present, and when all that is present, those launched before it in this call, and it stay within quota and capacity;
    where what holds quota is above a bound (a cut left it there), that is the bound. One that may not blocks no other.

    Raises:
        KeyError: a tenant is not in the config.
    """
    bounds = Bounds(quota_tree(config), capacity)
    present, holding = Usage(bounds), Usage(bounds)
    oldest: dict[str, int] = {}
    for tenant, attempt in attempts:
        charge = bounds.charge(tenant, attempt.demand)
        if attempt.is_present:
            present.add(charge)
            oldest[attempt.job] = min(attempt.number, oldest.get(attempt.job, attempt.number))
        if attempt.holds_quota:
            holding.add(charge)
    out: list[Attempt] = []
    for tenant, attempt in sorted(attempts, key=lambda each: (each[1].admission, each[1].job, each[1].number)):
        if attempt.state is not AttemptState.RESERVED or not attempt.holds_quota:
            continue
        charge = bounds.charge(tenant, attempt.demand)
        if oldest.get(attempt.job, attempt.number) >= attempt.number and present.fits(charge, holding):
            present.add(charge)
            out.append(attempt)
    return tuple(out)
