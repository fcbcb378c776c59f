"""What may be started while others are still on their way out."""

from dataclasses import replace

import pytest
from fairgate_scheduler.core.jobs import Attempt, AttemptState
from fairgate_scheduler.core.launching import launchable
from fairgate_scheduler.core.tenancy import Flavor, Quota, Tenant
from fairgate_scheduler.testing.worlds import GPU, H100, config_of, owner

CONFIG = config_of(owner("org", None), owner("a", gpus=4), owner("b", gpus=4))
RESERVED, RUNNING, STOPPING = AttemptState.RESERVED, AttemptState.RUNNING, AttemptState.STOPPING


def attempt(job: str, gpus: int, state: AttemptState = RESERVED, *, number: int = 1, admission: int = 1) -> Attempt:
    holds = state is not STOPPING
    return Attempt(job, number, 0, {H100: gpus}, admission, 0, state, holds)


def names(*attempts: tuple[str, Attempt], config=CONFIG, capacity=None) -> list[str]:
    found = launchable(config, capacity or {}, attempts)
    assert found == launchable(config, capacity or {}, attempts[::-1])
    return [each.job for each in found]


def test_in_the_order_of_admission_while_there_is_room():
    first, second = attempt("first", 4, admission=1), attempt("second", 4, admission=2)
    assert names(("b", second), ("a", first)) == ["first", "second"]


def test_an_evicted_attempt_that_still_stops_is_waited_for():
    borrower, owner_ = attempt("borrower", 8, STOPPING), attempt("owner", 4, admission=2)
    assert names(("b", borrower), ("a", owner_)) == []
    assert names(("b", replace(borrower, demand={H100: 4})), ("a", owner_)) == ["owner"]


def test_a_blocked_one_blocks_nobody():
    stopping = attempt("old", 6, STOPPING)
    big, small = attempt("big", 4, admission=2), attempt("small", 2, admission=3)
    assert names(("b", stopping), ("a", big), ("a", small)) == ["small"]


def test_never_beside_an_older_attempt_of_the_same_job():
    old, new = attempt("job", 1, STOPPING), attempt("job", 1, number=2, admission=2)
    assert names(("a", old), ("a", new)) == []
    assert names(("a", new)) == ["job"]


def test_what_a_cut_left_is_the_bound_where_it_is_above():
    # Six are admitted though the quota is four by now: those of them that were not launched yet may be.
    cut = config_of(owner("org", None), owner("a", gpus=4), h100=Flavor("h100", capacity={GPU: 8}))
    held = [attempt(f"r{number}", 1, RUNNING, admission=number) for number in range(1, 6)]
    late = attempt("late", 1, admission=9)
    assert names(*(("a", each) for each in (*held, late)), config=cut) == ["late"]
    yielded = attempt("yielded", 1, STOPPING)
    assert names(*(("a", each) for each in (*held, late, yielded)), config=cut) == []


@pytest.mark.parametrize(("free", "expected"), [(2, ["job"]), (1, [])])
def test_physical_capacity_of_other_trees_counts(free, expected):
    roots = config_of(owner("r1", None, 8), owner("r2", None, 8))
    assert (
        names(("r1", attempt("x", 2, STOPPING)), ("r2", attempt("job", 2)), config=roots, capacity={H100: 2 + free})
        == expected
    )


def test_lending_limits_hold_for_what_is_present():
    tenants = [owner("org", None), Tenant("a", "org", quota={H100: Quota(4, lending_limit=1)}), owner("b", gpus=4)]
    stopping = attempt("old", 3, STOPPING)
    assert names(("b", stopping), ("b", attempt("job", 3, admission=2)), config=config_of(*tenants)) == []
    assert names(("b", stopping), ("b", attempt("job", 2, admission=2)), config=config_of(*tenants)) == ["job"]


def test_only_reserved_ones():
    assert names(("a", attempt("runs", 1, RUNNING)), ("a", replace(attempt("gone", 1), holds_quota=False))) == []
