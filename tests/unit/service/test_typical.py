"""How long jobs run compared with their time limits, as the store tells it."""

from fractions import Fraction

import pytest
from fairgate_scheduler.service import typical
from fairgate_scheduler.service.cancel import cancel
from fairgate_scheduler.service.typical import FRESH_MS, TypicalRuns
from fairgate_scheduler.testing.fake_runner import Script

MINUTE_MS = 60_000


@pytest.fixture
def runs(rig):
    return TypicalRuns(rig.app.store)


def finish(rig, name, run_ms, state="SUCCEEDED", **spec):
    exit_code = 0 if state == "SUCCEEDED" else 1
    rig.runner.script = lambda _launch: Script(start_ms=0, run_ms=run_ms, exit_code=exit_code)
    job = rig.submit(name, time_limit_ms=10 * MINUTE_MS, **spec).job.id
    rig.run_until(job, state)


def rounded(found):
    """The service looks at its runner now and then, so runs are a little longer than they were."""
    return {tenant: round(part * 20) for tenant, part in found.parts.items()}


def test_nothing_is_known_of_who_has_run_nothing(rig, runs):
    rig.submit("waits")
    assert runs.of(["a", "b", "gone"], 0).parts == {}


def test_the_median_of_real_runs(rig, runs):
    for number, minutes in enumerate((1, 9, 5)):
        finish(rig, f"j{number}", minutes * MINUTE_MS, state="FAILED" if minutes == 9 else "SUCCEEDED")
    assert rounded(runs.of(["a"], 0)) == {"a": 10}


def test_a_fast_option_counts_as_what_it_would_be_at_speed_1(rig, runs):
    finish(rig, "fast", 2 * MINUTE_MS, options=[{"flavor": "h100", "speed": "2"}])
    assert rounded(runs.of(["a"], 0)) == {"a": 8}


def test_cancelled_jobs_do_not_count(rig, runs):
    job = rig.submit("job").job.id
    rig.run_until(job, "RUNNING")
    cancel(rig.app, job, "", "me")
    rig.run_until(job, "CANCELLED")
    assert runs.of(["a"], 0).parts == {}


def test_what_was_read_is_good_for_a_while(rig, runs):
    now_ms = rig.clock.now_ms()
    assert runs.of(["a"], now_ms).parts == {}
    finish(rig, "job", MINUTE_MS)
    assert runs.of(["a"], now_ms + FRESH_MS - 1).parts == {}
    assert rounded(runs.of(["a"], now_ms + FRESH_MS)) == {"a": 2}


def test_so_many_tenants_are_read_at_once(rig, runs, monkeypatch):
    finish(rig, "job", MINUTE_MS)
    monkeypatch.setattr(typical, "MOST_TENANTS", 1)
    assert runs.of(["b", "a"], 0).parts == {}
    assert runs.of(["b", "a"], 0).parts.keys() == {"a"}
    assert all(isinstance(each, Fraction) for each in runs.of(["a"], 0).parts.values())
