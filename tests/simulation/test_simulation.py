"""Random stories with crashes between any two steps, bad disks and a bad runner: no law may ever break.

A story that fails is told again by ``python -m fairgate_scheduler.testing.simulation SEED``.
"""

import logging

import pytest
from fairgate_scheduler.adapters.sql import SqlStore
from fairgate_scheduler.testing.history import broken_laws
from fairgate_scheduler.testing.simulation import Simulation
from fairgate_scheduler.testing.stories import make_story

SEEDS = 240
IN_ONE_TEST = 10
SQL_SEEDS = (3, 31, 42, 93)


@pytest.fixture(autouse=True)
def _no_logs_of_what_is_meant_to_fail():
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def _tell(seed, store=None):
    again = f"seed {seed}: python -m fairgate_scheduler.testing.simulation {seed}"
    try:
        history = Simulation(make_story(seed), store).run()
    except Exception as error:
        error.add_note(again)
        raise
    broken = broken_laws(history)
    assert not broken, "\n".join([again, *broken])
    return history


@pytest.mark.parametrize("first", range(0, SEEDS, IN_ONE_TEST))
def test_no_law_breaks(first):
    histories = [_tell(seed) for seed in range(first, first + IN_ONE_TEST)]
    assert sum(each.crashes for each in histories) > IN_ONE_TEST, "the crashes are not there any more"
    assert any(job.backoff for each in histories for job in each.jobs.values()), "nothing fails to get ready any more"
    assert sum(job.attempts > 1 for each in histories for job in each.jobs.values()) > 0, "nothing is ever tried again"


@pytest.mark.parametrize("seed", SQL_SEEDS)
def test_no_law_breaks_on_sqlite(seed, tmp_path):
    store = SqlStore.open(tmp_path / "fairgate.db")
    try:
        _tell(seed, store)
    finally:
        store.close()


def test_the_same_seed_tells_the_same_story():
    one, other = _tell(7), _tell(7)
    assert [each.event for each in one.events] == [each.event for each in other.events]
    assert one.processes == other.processes
