"""How forecasts are told to people."""

import time
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest
from fairgate import Help, HelpKind, JobForecast, OptionCost
from fairgate._cli import forecasts, times

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def noon(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    monkeypatch.setattr(times, "now", lambda: NOW)
    yield
    monkeypatch.undo()
    time.tzset()


def after(**span: float) -> datetime:
    return NOW + timedelta(**span)


@pytest.mark.parametrize(
    ("forecast", "line", "cell"),
    [
        (JobForecast(), "not by anything that is known now", "unknown"),
        (JobForecast(is_partial=True), "not known", "later"),
        (JobForecast(is_partial=True, not_before=after(hours=1)), "not before 13:00; more is not known", "later"),
        (JobForecast(NOW, NOW, flavor="h100"), "now, on h100", "now"),
        (
            JobForecast(after(hours=2, minutes=20), after(hours=2, minutes=45), flavor="h100"),
            "14:20\N{EN DASH}14:45 (in 2h20m to 2h45m), on h100",
            "14:20\N{EN DASH}14:45",
        ),
        (
            JobForecast(after(seconds=30), after(days=1)),
            "12:01\N{EN DASH}2026-03-02 12:00 (in 30s to 1d)",
            "12:01\N{EN DASH}2026-03-02 12:00",
        ),
        (
            JobForecast(after(hours=1)),
            "13:00 at the earliest: it depends on jobs that end before their time limits",
            "13:00 at the earliest",
        ),
    ],
)
def test_when_it_starts(forecast, line, cell):
    assert next(forecasts.lines(forecast)) == f"Starts:    {line}"
    assert forecasts.cell(forecast) == cell


def test_a_job_that_does_not_wait_has_no_start():
    assert forecasts.cell(None) == "-"


def test_all_that_is_known():
    helps = (
        Help(HelpKind.PRIORITY, "priority ≥ 10"),
        Help(HelpKind.QUOTA, "4 more tpu of v5e in the quota of tenant a"),
    )
    costs = (OptionCost(0, "h100", Fraction(12)), OptionCost(1, "v5e", Fraction(10, 3)))
    start, finish = after(hours=1), after(hours=3)
    told = JobForecast(start, start, finish, finish, 0, "h100", ("tenants/a/jobs/x",), 3, True, None, helps, costs)
    assert list(forecasts.lines(told)) == [
        "Starts:    13:00 (in 1h), on h100",
        "Finishes:  15:00 (in 3h)",
        "Evicts:    a/x, 2 more jobs",
        "Costs:     12 on h100, 3.333 on v5e (priced accelerator-hours until its time limit)",
        "Only part of what waits was looked at: too much waits to look at all of it.",
        "What would help: priority ≥ 10, or 4 more tpu of v5e in the quota of tenant a, or wait until 13:00",
    ]


def test_jobs_that_may_not_be_named_are_counted():
    assert "Evicts:    1 job" in forecasts.lines(JobForecast(NOW, NOW, eviction_count=1))
