"""What every plan must keep to, whatever the policy. A plan that breaks a law is our defect, not one of the input."""

from collections import Counter
from collections.abc import Collection, Sequence

from fairgate_scheduler.core.contenders import Choice, Contender, held_by
from fairgate_scheduler.core.ledger import Ledger
from fairgate_scheduler.core.register import Register
from fairgate_scheduler.core.tenancy import QuotaCut
from fairgate_scheduler.core.usage import Charge, Usage

Admission = tuple[Contender, Choice]


def check_nothing_waits_that_fits(ledger: Ledger) -> None:
    """Assert of a refill that is done that of each leaf the first job that waits was not left out though it fits.

    Limits, budgets and claims may hold it back; where there are claims, nothing is asserted. Those behind it are not
    looked at once more, as that would cost a good part of the refill.

    Raises:
        AssertionError: one was left out.
    """
    for line in () if ledger.claims is not None else ledger.waiting.values():
        for _, name, contender, *_ in line.entries[:1]:
            is_free = contender.held is None and ledger.limits.allows(contender.leaf)
            for choice in contender.choices if is_free else ():
                fits = ledger.target.fits(choice.charge) and ledger.budgets.allows(contender.leaf, choice.cost)
                assert not fits, f"{name} would wait though there is room for its option {choice.option}"


def check_laws(register: Register, evicted: Collection[Contender], admitted: Sequence[Admission]) -> None:
    """Assert the laws for a plan that evicts some of what runs and admits pending jobs. The register is of before.

    Costs what the plan changes, but for budgets, which are reckoned from all that runs.

    Raises:
        AssertionError: a law is broken; the message has the numbers.
    """
    before, after = register.present, register.present.copy()
    for each in evicted:
        after.remove(held_by(each).charge)
    for _, choice in admitted:
        after.add(choice.charge)
    for charge in dict.fromkeys(choice.charge for _, choice in admitted):
        _check_bounds(before, after, charge)
    _check_admissions(register, evicted, admitted)
    highest: dict[int, int] = {}
    for each, _ in admitted:
        highest[each.leaf] = max(each.priority, highest.get(each.leaf, each.priority))
    for each in evicted:
        _check_eviction(register, each, highest.get(each.leaf, each.priority))


def _check_bounds(before: Usage, after: Usage, charge: Charge) -> None:
    """Nothing above quota or capacity where something came, but for what a cut left, and that does not grow."""
    bounds, tree = after.bounds, after.bounds.tree
    for row, node in sorted(after.over(charge), key=lambda cell: cell[1] < 0):
        if node < 0:
            assert after.physical[row] <= before.physical[row], (
                f"{after.physical[row]} of {bounds.rows[row]} would be used, there are {bounds.capacity[row]}"
            )
        else:
            now, was, ceiling = after.used[row][node], before.used[row][node], tree.tables[row].ceiling[node]
            assert now <= was, f"{tree.ids[node]} would use {now} of {tree.rows[row]}, above {ceiling} (it uses {was})"


def _check_admissions(register: Register, evicted: Collection[Contender], admitted: Sequence[Admission]) -> None:
    """Every job once and whole, on an option that it may take, within the limits on running jobs and the budgets."""
    field, ids = register.field, [each.job.id for each, _ in admitted]
    gone = {each.job.id for each in evicted}
    twice = [name for name, count in Counter(ids).items() if count > 1 or (name in register.names and name not in gone)]
    assert not twice, f"a job would run twice: {sorted(twice)}"
    counts, budgets = register.limits.copy(), register.budgets()
    for each in evicted:
        counts.remove(each.leaf)
        budgets.release(each.leaf, held_by(each).cost)
        use = field.use_of(each)
        if use is not None:  # while it waited to get ready it may have used more than it had reserved
            budgets.spend(each.leaf, use, at_most=held_by(each).cost)
    for each, choice in admitted:
        obstacle = field.obstacle(each.job, choice.option, each.job.options[choice.option])
        assert obstacle is None, f"{each.job.id} would be admitted on option {choice.option}: {obstacle}"
        whole = field.bounds.charge(each.job.tenant, each.job.options[choice.option].demand)
        assert whole is choice.charge, f"{each.job.id} would be charged other than its option {choice.option} says"
        full = counts.first_full(each.leaf)
        assert full is None, f"{each.job.id} would run above max_running_jobs of {full}"
        counts.add(each.leaf)
        lack = budgets.lack(each.leaf, choice.cost)
        assert lack is None, f"{each.job.id} would run over the budget of {field.tree.ids[lack.node]}: {lack}"
        budgets.reserve(each.leaf, choice.cost)


def _check_eviction(register: Register, victim: Contender, highest: int) -> None:
    """Protected jobs stay; within its own nominal a tenant loses jobs only to its own higher priorities; nobody loses
    one to another tenant unless a switch of the policy says so. ``highest``: the priority that its own leaf admits."""
    name, field, policy = victim.job.id, register.field, register.field.policy
    assert not victim.is_protected, f"{name} is protected and would be evicted"
    if policy.priority_preemption and highest > victim.priority:
        return
    assert policy.reclaim or policy.rebalance or policy.quota_cut is QuotaCut.RECLAIM, (
        f"{name} would be evicted for another tenant without reclaim and rebalance"
    )
    rows = [row for row, _ in held_by(victim).charge.owned]
    used = register.present.used
    over = [row for row in rows if used[row][victim.leaf] > field.tree.tables[row].quota[victim.leaf]]
    assert over or not rows, (
        f"{name} would be evicted though its tenant is within its nominal quota: "
        f"{[(field.tree.rows[row], used[row][victim.leaf]) for row in rows]}, it holds {held_by(victim)}"
    )
