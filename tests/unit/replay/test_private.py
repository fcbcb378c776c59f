"""The private cluster of a tenant: a list schedule of its own jobs on what it owns."""

from fairgate_scheduler.replay.load import Arrival
from fairgate_scheduler.replay.private import finish_times_ms
from fairgate_scheduler.testing.builders import job, option


def arrival(name: str, at_ms: int, run_ms: int, gpus: int, *flavors: str, tenant: str = "a", priority: int = 0):
    options = [option(flavor, gpus) for flavor in flavors or ("h100",)]
    record = job(name, tenant, *options, sequence=at_ms, submitted_at_ms=at_ms, priority=priority)
    return Arrival(record, run_ms, gpus)


def finish(*arrivals, **clusters):
    times = finish_times_ms(arrivals, {"a": {"h100": 2}, **clusters})
    return {name.rpartition("/")[2]: at_ms for name, at_ms in times.items()}


def test_one_that_does_not_fit_blocks_nobody_behind_it():
    assert finish(arrival("first", 0, 10, 1), arrival("wide", 1, 10, 2), arrival("narrow", 2, 20, 1)) == {
        "first": 10,
        "narrow": 22,
        "wide": 32,
    }


def test_of_those_that_fit_the_first_of_the_order_starts():
    assert finish(
        arrival("runs", 0, 10, 2),
        arrival("later", 2, 10, 2),
        arrival("sooner", 1, 10, 2),
        arrival("important", 3, 10, 2, priority=5),
    ) == {"runs": 10, "important": 20, "sooner": 30, "later": 40}


def test_a_gang_larger_than_all_of_it_gets_all_of_it_for_longer():
    assert finish(arrival("huge", 0, 10, 5), arrival("small", 0, 10, 1)) == {"huge": 25, "small": 35}


def test_options_are_taken_in_their_order_where_they_fit():
    both = {"a": {"h100": 1, "t4": 2}}
    assert finish(
        arrival("j1", 0, 10, 1, "h100", "t4"), arrival("j2", 0, 10, 2, "h100", "t4"),
        arrival("j3", 0, 10, 1, "h100", "t4"), **both
    ) == {"j1": 10, "j2": 10, "j3": 20}  # fmt: skip


def test_tenants_do_not_meet_and_who_owns_nothing_has_no_cluster():
    assert finish(
        arrival("mine", 0, 10, 2), arrival("yours", 0, 10, 2, tenant="b"), arrival("theirs", 0, 1, 1, tenant="c"),
        b={"h100": 2}, c={"h100": 0},
    ) == {"mine": 10, "yours": 10}  # fmt: skip
