"""One short story, told once for every place at which the server can crash: between any two calls it makes."""

import logging

import pytest
from fairgate_scheduler.core.jobs import JobState
from fairgate_scheduler.core.tenancy import Config, Flavor, Quota, Tenant
from fairgate_scheduler.testing.builders import GPU
from fairgate_scheduler.testing.fake_runner import Script
from fairgate_scheduler.testing.history import broken_laws
from fairgate_scheduler.testing.simulation import Simulation
from fairgate_scheduler.testing.stories import H100, Story, Submit, Trouble

PARTS = 4
CONFIG = Config(
    {"h100": Flavor("h100", resource=GPU), "cpu": Flavor("cpu", default_for_cpu_pods=True)},
    {
        "org": Tenant("org"),
        "a": Tenant("a", parent="org", quota={H100: Quota(1)}),
        "b": Tenant("b", parent="org", quota={H100: Quota(1)}),
    },
)
STORY = Story(
    seed=0,
    configs=((0, CONFIG),),
    submits=(
        Submit(0, "a", "own", 1, 1, ("h100",), Script(500, 30_000)),
        Submit(0, "a", "borrows", 1, 1, ("h100",), Script(500, 30_000, stop_ms=3_000)),
        Submit(5_000, "b", "reclaims", 1, 1, ("h100",), Script(500, 10_000)),
        Submit(6_000, "b", "cancelled", 1, 1, ("h100",), Script(500, 10_000)),
    ),
    troubles=(Trouble(20_000, "cancel", "tenants/b/jobs/cancelled"),),
)


def _tell(is_crash_due):
    simulation = Simulation(STORY, is_crash_due=is_crash_due)
    history = simulation.run()
    return history, simulation.points.passed


@pytest.fixture(autouse=True)
def _no_logs_of_what_is_meant_to_fail():
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def test_the_story_has_an_eviction_and_a_cancelled_job():
    history, places = _tell(lambda _place: False)
    assert not broken_laws(history)
    assert history.jobs["tenants/a/jobs/borrows"].evictions == 1
    states = {name.rpartition("/")[2]: job.state for name, job in history.jobs.items()}
    assert states.pop("cancelled") in (JobState.CANCELLED, JobState.SUCCEEDED)
    assert set(states.values()) == {JobState.SUCCEEDED}
    assert places > 100


@pytest.mark.parametrize("part", range(PARTS))
def test_a_crash_anywhere_loses_nothing_and_starts_nothing_twice(part):
    _history, places = _tell(lambda _place: False)
    for crash_at in range(part + 1, places + 1, PARTS):
        history, _places = _tell(lambda place, crash_at=crash_at: place == crash_at)
        assert history.crashes == 1, crash_at
        assert not broken_laws(history), f"crash at call {crash_at}"
        starts = [(each.job, each.attempt) for each in history.processes]
        assert len(set(starts)) == len(starts), f"crash at call {crash_at}"
