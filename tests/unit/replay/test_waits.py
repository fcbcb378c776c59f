"""Why jobs waited: the two causes told apart, over intervals and by job."""

from fairgate_scheduler.replay.cluster import Cluster
from fairgate_scheduler.replay.engine import Outcome, Run
from fairgate_scheduler.replay.load import Arrival
from fairgate_scheduler.replay.timeline import averages, timeline
from fairgate_scheduler.replay.waits import Wait, sweep
from fairgate_scheduler.testing.builders import job, option, two_tenants


def outcome(name: str, tenant: str, at_ms: int, gpus: int, *runs: tuple[int, int], finished: bool = True) -> Outcome:
    arrival = Arrival(job(name, tenant, option(gpus=gpus), sequence=at_ms, submitted_at_ms=at_ms), 10, gpus)
    made = [Run(0, begin_ms, end_ms, 0) for begin_ms, end_ms in runs]
    return Outcome(arrival, made, runs[-1][1] if finished else None)


def waits(*outcomes: Outcome) -> dict[str, Wait]:
    found = sweep(outcomes, Cluster(two_tenants(4)))
    return {name.rpartition("/")[2]: wait for name, wait in found.by_job.items()}


def test_above_what_the_tenant_is_entitled_to_it_is_quota():
    assert waits(outcome("wide", "a", 0, 8, (0, 10)), outcome("next", "a", 5, 1, (10, 20))) == {"next": Wait(5, 0)}


def test_within_it_and_without_room_it_is_capacity():
    assert waits(outcome("wide", "b", 0, 8, (0, 10)), outcome("next", "a", 5, 1, (10, 20))) == {"next": Wait(5, 5)}


def test_within_it_and_with_room_a_rule_holds_the_job():
    assert waits(outcome("next", "a", 5, 1, (10, 20))) == {"next": Wait(5, 0)}


def test_the_cause_changes_with_what_else_runs():
    found = waits(
        outcome("lent", "b", 0, 4, (0, 40)),
        outcome("first", "a", 0, 2, (0, 20)),
        outcome("second", "a", 0, 1, (0, 30)),
        outcome("third", "a", 0, 1, (0, 50)),
        outcome("waits", "a", 10, 3, (30, 40), (60, 70)),
        outcome("alike", "a", 15, 3, (60, 70)),
        outcome("late", "b", 40, 8, (40, 60)),
    )
    # Of its 4, a uses 4 until 20, 2 until 30, 4 until 40 and 1 until 50; from 20 to 40 and from 50 there is a choice.
    assert found == {"waits": Wait(40, 20), "alike": Wait(45, 20)}


def test_a_job_that_never_finishes_waits_for_nothing_that_is_counted():
    assert waits(outcome("evicted", "a", 0, 1, (5, 10), finished=False)) == {"evicted": Wait(5, 0)}


def test_what_is_due_is_what_is_asked_for_up_to_the_entitlement():
    found = sweep(
        [outcome("small", "a", 0, 1, (0, 10)), outcome("large", "a", 4, 8, (10, 20))], Cluster(two_tenants(4))
    )
    assert found.due == {"a": 1 * 4 + 4 * 6 + 4 * 10, "b": 0}


def test_averages_over_equal_stretches_of_time():
    assert averages([(0, 10, 4)], 0, 5, 2) == [4, 4]
    assert averages([(2, 3, 10)], 0, 5, 2) == [2, 0]
    assert averages([(3, 8, 10), (5, 10, 1)], 0, 5, 2) == [4, 7]


def test_a_timeline_has_use_and_waits_by_tenant():
    over_time = timeline([outcome("one", "a", 0, 2, (5, 10))], 0, 10, stretches=2)
    assert over_time.starts_ms == (0, 5)
    assert over_time.used == {"a": [0, 2]}
    assert over_time.waiting == {"a": [2, 0]}
