"""Forecasts for people: intervals, who gives way, what is said of what was not looked at."""

from fractions import Fraction

import pytest
from fairgate_scheduler.core.foresight import forecast
from fairgate_scheduler.core.jobs import Fallback
from fairgate_scheduler.core.outlook import MOST_PENDING, Outlook, Typical, forecast_error, outlook, outlooks, sample
from fairgate_scheduler.core.tenancy import Policy, Quota, Tenant
from fairgate_scheduler.testing.worlds import GPU, H100, World, config_of, owner, takes

HOUR_MS = 3_600_000
ONE = takes("h100", gpu=1)
ALL = takes("h100", gpu=4)


def always() -> bool:
    return True


def full(**policy) -> World:
    """``a`` runs a job of an hour on all 4 of its own; nobody else is there."""
    world = World(config_of(Tenant("org"), owner("a", gpus=4), owner("b"), policy=Policy(**policy)))
    world.submit("runs", "a", ALL)
    world.cycle()
    return world


def of(world: World, name: str, parts: dict[str, Fraction] | None = None, go_on=always) -> Outlook:
    return outlook(world.snapshot(), name, world.now_ms, Typical(parts or {}), go_on)


def test_by_time_limits_alone_the_interval_is_an_instant():
    world = full()
    world.submit("job", "a", ONE, time_limit_ms=2 * HOUR_MS)
    assert of(world, "job") == Outlook("job", HOUR_MS, HOUR_MS, 3 * HOUR_MS, 3 * HOUR_MS, 0)


def test_typical_run_times_are_the_lower_end():
    world = full()
    world.submit("job", "a", ONE, time_limit_ms=2 * HOUR_MS)
    found = of(world, "job", {"a": Fraction(1, 4)})
    assert found == Outlook("job", HOUR_MS // 4, HOUR_MS, HOUR_MS // 4 + HOUR_MS // 2, 3 * HOUR_MS, 0)


def test_a_faster_option_shortens_what_is_left():
    world = full()
    world.submit("job", "a", takes("h100", Fraction(2), gpu=1), done_ms=HOUR_MS // 2)
    assert of(world, "job").latest_finish_ms == HOUR_MS + HOUR_MS // 4


def test_what_can_not_start_is_not_known():
    world = full()
    world.submit("job", "a", takes("h100", gpu=5))
    assert of(world, "job", {"a": Fraction(1, 2)}) == Outlook("job")
    with pytest.raises(KeyError):
        of(world, "runs")


def test_who_gives_way_is_named():
    world = World(config_of(Tenant("org"), owner("a", gpus=4), owner("b")))
    world.submit("borrower", "b", ALL)
    world.cycle()
    world.submit("job", "a", ONE)
    found = of(world, "job")
    assert (found.latest_start_ms, found.evicts) == (0, ("borrower",))


def test_who_gives_way_later_is_named_too():
    world = World(config_of(Tenant("org"), owner("a", gpus=4), owner("b"), policy=Policy(min_runtime_ms=1_000)))
    world.submit("borrower", "b", ALL)
    world.cycle()
    world.submit("job", "a", ONE)
    found = of(world, "job")
    assert (found.latest_start_ms, found.evicts) == (1_000, ("borrower",))


def test_soonest_takes_the_option_that_finishes_first():
    quota = {H100: Quota(4), ("l4", GPU): Quota(4)}
    world = World(config_of(Tenant("org"), Tenant("a", "org", quota=quota)))
    world.submit("runs", "a", ALL)
    world.cycle()
    slow = takes("l4", Fraction(1, 4), gpu=1)
    world.submit("job", "a", ONE, slow, fallback=Fallback.SOONEST)
    assert of(world, "job").option == 0
    world.submit("short", "a", ONE, slow, fallback=Fallback.SOONEST, time_limit_ms=HOUR_MS // 10)
    found = of(world, "short")
    assert (found.option, found.latest_start_ms, found.latest_finish_ms) == (1, 0, HOUR_MS * 4 // 10)


def test_when_the_time_is_over_it_says_how_far_it_got():
    world = full()
    for number in range(3):
        world.submit(f"before-{number}", "a", ALL, priority=1)
    world.submit("job", "a", ONE)
    steps = iter([True, True])
    assert of(world, "job", go_on=lambda: next(steps, False)) == Outlook("job", is_cut=True, reached_ms=2 * HOUR_MS)
    assert of(world, "job").latest_start_ms == 4 * HOUR_MS


def test_all_at_once_says_the_same_as_one_by_one():
    world = full()
    for number in range(6):
        world.submit(f"j{number}", "a", takes("h100", gpu=1 + number % 4), priority=number % 2)
    world.submit("never", "a", takes("h100", gpu=5))
    typical = Typical({"a": Fraction(1, 2)})
    found = outlooks(world.snapshot(), world.now_ms, typical, always)
    assert set(found) == {job.id for job in world.snapshot().pending}
    assert all(each == outlook(world.snapshot(), name, world.now_ms, typical, always) for name, each in found.items())


def test_the_latest_end_is_the_forecast_of_the_core():
    world = full()
    for number in range(6):
        world.submit(f"j{number}", "a", takes("h100", gpu=1 + number % 4), priority=number % 2)
    for name, found in outlooks(world.snapshot(), world.now_ms, Typical({"a": Fraction(1, 2)}), always).items():
        told = forecast(world.snapshot(), name, world.now_ms)
        assert (found.latest_start_ms, found.option, found.latest_finish_ms) == (
            told.latest_ms,
            told.option,
            told.latest_finish_ms,
        )


@pytest.mark.parametrize(
    ("found", "error"),
    [
        (Outlook("j"), None),
        (Outlook("j", is_cut=True, reached_ms=5), None),
        (Outlook("j", 10, 20), 0),
        (Outlook("j", 17, 20), -2),
        (Outlook("j", 5, 8), 7),
        (Outlook("j", 5), 0),
    ],
)
def test_how_far_a_forecast_was_off(found, error):
    assert forecast_error(found, 15) == error


def test_of_very_many_jobs_only_the_first_are_looked_at():
    world = full()
    world.submit_many("a", 6, ONE)
    world.submit_many("b", 6, ONE)
    found = sample(world.snapshot(), None, 4)
    assert found is not None
    assert [job.id for job in found.snapshot.pending] == ["a-1", "a-2", "b-1", "b-2"]
    one = sample(world.snapshot(), "a-3", 4)
    assert one is not None
    assert ([job.id for job in one.snapshot.pending], one.is_whole) == (["a-1", "a-2", "a-3", "b-1"], False)
    assert sample(world.snapshot(), "a-5", 4) is None


def test_what_is_too_far_behind_is_said_to_be_so():
    world = full()
    world.submit_many("a", MOST_PENDING + 1, ONE)
    assert of(world, f"a-{MOST_PENDING + 1}") == Outlook(f"a-{MOST_PENDING + 1}", is_cut=True)
    first = of(world, "a-1")
    assert (first.latest_start_ms, first.is_cut) == (HOUR_MS, True)
