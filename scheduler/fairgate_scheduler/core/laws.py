"""What every plan must keep to, whatever the policy. A plan that breaks a law is our defect, not one of the input."""

from collections.abc import Collection, Sequence

from fairgate_scheduler.core.contenders import Choice, Contender, Field
from fairgate_scheduler.core.ledger import charge_of, held_by
from fairgate_scheduler.core.limits import RunningCounts
from fairgate_scheduler.core.tenancy import QuotaCut
from fairgate_scheduler.core.usage import Usage

Admission = tuple[Contender, Choice]


def check_laws(
    field: Field, running: Sequence[Contender], evicted: Collection[Contender], admitted: Sequence[Admission]
) -> None:
    """Assert the laws for a plan that evicts some of what runs and admits pending jobs.

    Raises:
        AssertionError: a law is broken; the message has the numbers.
    """
    before = Usage(field.bounds)
    for each in running:
        before.add(charge_of(each))
    after = before.copy()
    for each in evicted:
        after.remove(charge_of(each))
    for _, choice in admitted:
        after.add(choice.charge)
    _check_bounds(field, before, after)
    _check_admissions(field, running, evicted, admitted)
    for each in evicted:
        _check_eviction(field, each, before, admitted)


def _check_bounds(field: Field, before: Usage, after: Usage) -> None:
    """Nothing above quota or capacity, but for what a cut left, and that does not grow."""
    tree = field.tree
    for number, table in enumerate(tree.tables):
        was, now = before.used[number], after.used[number]
        for node, ceiling in enumerate(table.ceiling):
            assert now[node] <= max(ceiling, was[node]), (
                f"{tree.ids[node]} would use {now[node]} of {tree.rows[number]}, above {ceiling} (it uses {was[node]})"
            )
    for number, capacity in enumerate(field.bounds.capacity):
        assert after.physical[number] <= max(capacity, before.physical[number]), (
            f"{after.physical[number]} of {field.bounds.rows[number]} would be used, there are {capacity}"
        )


def _check_admissions(
    field: Field, running: Sequence[Contender], evicted: Collection[Contender], admitted: Sequence[Admission]
) -> None:
    """Every job once and whole, on an option that it may take, within the limits on running jobs and the budgets."""
    gone = {each.job.id for each in evicted}
    ids = [each.job.id for each, _ in admitted] + [each.job.id for each in running if each.job.id not in gone]
    assert len(ids) == len(set(ids)), f"a job would run twice: {sorted(ids)}"
    counts, budgets = RunningCounts(field.tree), field.budget_books()
    for each in evicted:
        use = field.use_of(each)
        if use is not None:  # while it waited to get ready it may have used more than it had reserved
            budgets.spend(each.leaf, use, at_most=held_by(each).cost)
    for each in running:
        if each.job.id not in gone:
            counts.add(each.leaf)
            budgets.reserve(each.leaf, held_by(each).cost)
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


def _check_eviction(field: Field, victim: Contender, before: Usage, admitted: Sequence[Admission]) -> None:
    """Protected jobs stay; within its own nominal a tenant loses jobs only to its own higher priorities; nobody loses
    one to another tenant unless a switch of the policy says so."""
    name, policy = victim.job.id, field.policy
    assert not victim.is_protected, f"{name} is protected and would be evicted"
    if policy.priority_preemption and any(
        each.leaf == victim.leaf and each.priority > victim.priority for each, _ in admitted
    ):
        return
    assert policy.reclaim or policy.rebalance or policy.quota_cut is QuotaCut.RECLAIM, (
        f"{name} would be evicted for another tenant without reclaim and rebalance"
    )
    rows = [row for row, _ in charge_of(victim).owned]
    over = [row for row in rows if before.used[row][victim.leaf] > field.tree.tables[row].quota[victim.leaf]]
    assert over or not rows, (
        f"{name} would be evicted though its tenant is within its nominal quota: "
        f"{[(field.tree.rows[row], before.used[row][victim.leaf]) for row in rows]}, it holds {held_by(victim)}"
    )
