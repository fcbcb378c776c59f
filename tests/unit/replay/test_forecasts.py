"""How good forecasts at submit were, on a log whose every start is known.

One accelerator; tenant b owns it, tenant a borrows it, and nobody is evicted. Seconds, with the time limit:

- j1 (40 of 100) starts at 0. j2 (50 of 100) comes at 10 and is told 100; it starts at 40: 60 too early.
- Then a's jobs are known to run for 0.4 of their limits. j3 (100 of 100) comes at 50 and is told 80 to 140; it starts
  at 90. j4 (20 of 20) comes at 60 and is told 120 to 240; it starts at 190.
- j5 (10 of 20) comes at 195 and is told 200 to 210, but k1 (30 of 30) comes at 200, of b who owns the accelerator, and
  is told 200 to 210, too: it starts at 210, and j5 at 240, 30 too late.
"""

import json
from datetime import UTC

import pytest
from fairgate_scheduler.documents.config_file import read_config
from fairgate_scheduler.replay.forecasts import ForecastQuality
from fairgate_scheduler.replay.readers import read_trace
from fairgate_scheduler.replay.report import render_json, render_text
from fairgate_scheduler.replay.study import Study, Wish, study

HEAD = "JobID|User|Account|Submit|Start|End|Elapsed|Timelimit|State|AllocTRES\n"
CONFIG = """version: 1
flavors: {gpu: {resource: nvidia.com/gpu}}
tenants:
  - {id: org}
  - {id: a, parent: org}
  - {id: b, parent: org, quota: {gpu: {nvidia.com/gpu: {nominal: 1}}}}
policy: {reclaim: false}
"""


def clock(seconds: int) -> str:
    return f"00:{seconds // 60:02}:{seconds % 60:02}"


def row(number: int, tenant: str, submit: int, run: int, limit: int) -> str:
    at = f"2024-01-15T{clock(submit)}"
    end = f"2024-01-15T{clock(submit + run)}"
    return f"{number}|u|{tenant}|{at}|{at}|{end}|{clock(run)}|{clock(limit)}|COMPLETED|gres/gpu=1\n"


LOG = HEAD + "".join(
    row(number, *rest)
    for number, rest in enumerate(
        [
            ("a", 0, 40, 100),
            ("a", 10, 50, 100),
            ("a", 50, 100, 100),
            ("a", 60, 20, 20),
            ("a", 195, 10, 20),
            ("b", 200, 30, 30),
        ],
        1,
    )
)


def told(forecasts: int | None) -> Study:
    return study(read_trace(LOG, "slurm", "six.txt", UTC), Wish(read_config(CONFIG), forecasts=forecasts))


def test_the_starts_are_those_of_the_story():
    done = told(None)
    begin_ms = done.figures.begin_ms
    assert [(each.runs[0].begin_ms - begin_ms) // 1000 for each in done.outcomes] == [0, 40, 90, 190, 240, 210]
    assert done.forecasts is None
    assert json.loads(render_json(done))["forecasts"] is None


@pytest.mark.parametrize("forecasts", [6, 100])
def test_every_forecast_is_judged_by_the_real_start(forecasts):
    done = told(forecasts)
    assert done.forecasts == ForecastQuality(6, 6, 4 / 6, 1, 1, 0.0, 60.0)
    assert (
        "forecasts at submit   of 6 jobs that were told an interval 66.7 % started in it, 1 earlier, 1 later; "
        "error median 0 s, p90 60 s"
    ) in render_text(done).splitlines()
    assert json.loads(render_json(done))["forecasts"] == {
        "asked": 6,
        "told": 6,
        "inside": 0.666667,
        "earlier": 1,
        "later": 1,
        "median_s": 0.0,
        "p90_s": 60.0,
    }


def test_a_sample_is_spread_over_the_log():
    assert told(2).forecasts == ForecastQuality(2, 2, 1.0, 0, 0, 0.0, 0.0)  # j1 and j4
    assert told(3).forecasts == ForecastQuality(3, 3, 2 / 3, 0, 1, 0.0, 30.0)  # j1, j3 and j5


def test_who_never_starts_is_not_judged():
    large = LOG.replace("|gres/gpu=1", "|gres/gpu=2")
    done = study(read_trace(large, "slurm", "six.txt", UTC), Wish(read_config(CONFIG), forecasts=6))
    assert done.forecasts == ForecastQuality(6, 0, None, 0, 0, None, None)
    assert "forecasts at submit   none of 6 jobs was told an interval and started" in render_text(done).splitlines()
