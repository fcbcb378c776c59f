"""A story of six jobs that fits on one page, every figure of it worked out by hand.

Tenants a and b own 2 of 4 accelerators each, and may borrow the rest. Seconds:

- a1 (4 accelerators, 100 s) comes at 0 and borrows b's 2. b1 (2, 60 s) comes at 20 and takes them back: a1 is evicted,
  80 accelerator-seconds are lost. a2 (1, 40 s) and a3 (2, 20 s) come at 30; a2 starts, a3 has room when it ends at 70.
- b2 (2, 30 s) starts at 85, b3 (1, 10 s) at 100 beside it. a1 finds its 4 accelerators again at 115, and ends at 215.

Alone on 2 accelerators each: a1 gets both for 200 s, then a2 until 240, a3 until 260; b1 until 80, b2 until 115, b3
until 125.
"""

import json
from datetime import UTC

import pytest
from fairgate_scheduler.core.snapshot import Admit, Plan, Preempt
from fairgate_scheduler.documents.config_file import read_config
from fairgate_scheduler.replay.plot import draw
from fairgate_scheduler.replay.readers import read_trace
from fairgate_scheduler.replay.report import render_json, render_text
from fairgate_scheduler.replay.study import Wish, study

LOG = """timestamp,duration,num_gpus,gpu_time,cluster
2017-10-09 00:00:00,100,4,400,a
2017-10-09 00:00:20,60,2,120,b
2017-10-09 00:00:30,40,1,40,a
2017-10-09 00:00:30,20,2,40,a
2017-10-09 00:01:25,30,2,60,b
2017-10-09 00:01:40,10,1,10,b
nonsense
"""
CONFIG = """version: 1
flavors: {gpu: {resource: nvidia.com/gpu}}
tenants:
  - {id: org}
  - {id: a, parent: org, quota: {gpu: {nvidia.com/gpu: {nominal: 2}}}}
  - {id: b, parent: org, quota: {gpu: {nvidia.com/gpu: {nominal: 2}}}}
"""


@pytest.fixture(scope="module")
def told():
    return study(read_trace(LOG, "philly", "six.csv", UTC), Wish(read_config(CONFIG)))


def runs(told) -> dict[str, list[tuple[float, float]]]:
    begin_ms = told.figures.begin_ms
    return {
        each.arrival.job.id: [((run.begin_ms - begin_ms) / 1000, (run.end_ms - begin_ms) / 1000) for run in each.runs]
        for each in told.outcomes
    }


def test_who_ran_when(told):
    assert runs(told) == {
        "line-2": [(0, 20), (115, 215)],
        "line-3": [(20, 80)],
        "line-4": [(30, 70)],
        "line-5": [(70, 90)],
        "line-6": [(85, 115)],
        "line-7": [(100, 110)],
    }


def test_waits_and_slowdowns(told):
    wait, slow = told.figures.wait_s, told.figures.slowdown
    assert (wait.mean, wait.median, wait.p99, wait.largest) == (22.5, 0, 95, 95)
    assert (slow.mean, slow.median, slow.p99, slow.largest) == (pytest.approx(9.15 / 6), 1, 3, 3)
    assert told.figures.logged_wait_s is None


def test_use_and_loss(told):
    figures = told.figures
    assert figures.accelerators == 4
    assert figures.utilisation == 750 / 860
    assert figures.utilisation_loaded == 310 / 400
    assert (figures.evictions, figures.evicted_jobs) == (1, 1)
    assert figures.accelerator_hours == 750 / 3600
    assert figures.lost_accelerator_hours == 80 / 3600


def test_finish_time_fairness(told):
    whole = told.figures.fairness
    assert (whole.rho, whole.rho_max, whole.unfair_fraction) == (415 / 755, 215 / 200, 1 / 6)
    assert sorted(told.rhos) == [40 / 210, 60 / 230, 10 / 25, 1, 1, 215 / 200]
    a, b = told.figures.tenants
    assert (a.fairness.rho, a.fairness.rho_max, a.fairness.unfair_fraction) == (315 / 640, 215 / 200, 1 / 3)
    assert (b.fairness.rho, b.fairness.rho_max, b.fairness.unfair_fraction) == (100 / 115, 1, 0)


def test_entitlement(told):
    a, b = told.figures.tenants
    assert (a.entitled, a.used_of_entitled, a.used_of_due) == (2, 560 / 430, 560 / 430)
    assert (b.entitled, b.used_of_entitled, b.used_of_due) == (2, 190 / 430, 190 / 180)
    assert told.figures.jain == pytest.approx(750**2 / (2 * (560**2 + 190**2)))
    due = (560 / 430, 190 / 180)
    assert told.figures.jain_due == pytest.approx(sum(due) ** 2 / (2 * sum(x * x for x in due)))


def test_causes_and_the_sharing_anomaly(told):
    anomaly = told.figures.anomaly
    assert (anomaly.mean_s, anomaly.later, anomaly.later_mean_s, anomaly.worst_s) == (-340 / 6, 1, 15, 15)
    by_gang = {each.gang: each for each in told.figures.causes}
    assert list(by_gang) == ["1", "2-4", "5-8", "over 8"]
    assert (by_gang["2-4"].quota.jobs, by_gang["2-4"].quota.accelerator_hours) == (2, 460 / 3600)
    assert sum(each.capacity.jobs + each.capacity.accelerator_hours for each in told.figures.causes) == 0


def test_a_checkpoint_saves_what_it_can():
    told = study(read_trace(LOG, "philly", "six.csv", UTC), Wish(read_config(CONFIG), checkpoint_every_ms=15_000))
    assert runs(told)["line-2"] == [(0, 20), (115, 200)]
    assert told.figures.lost_accelerator_hours == 5 * 4 / 3600


def test_the_first_jobs_only():
    told = study(read_trace(LOG, "philly", "six.csv", UTC), Wish(read_config(CONFIG), limit=2))
    assert runs(told) == {"line-2": [(0, 20), (80, 180)], "line-3": [(20, 80)]}


def test_a_job_that_can_never_run_is_told():
    small = CONFIG.replace("nominal: 2", "nominal: 1")
    told = study(read_trace(LOG, "philly", "six.csv", UTC), Wish(read_config(small)))
    assert told.figures.unfinished == {"EXCEEDS_MAX_QUOTA": 1}
    assert told.figures.finished == 5
    assert "never finished        1 jobs: EXCEEDS_MAX_QUOTA" in render_text(told)


def test_a_job_that_is_refused_is_told():
    full = CONFIG.replace("{id: b, parent: org,", "{id: b, parent: org, max_pending_jobs: 0,")
    told = study(read_trace(LOG, "philly", "six.csv", UTC), Wish(read_config(full)))
    assert told.figures.unfinished == {"RESOURCE_EXHAUSTED": 3}


TURNS = CONFIG.replace("nominal: 2", "nominal: 0").replace(
    "{id: org}", "{id: org, quota: {gpu: {nvidia.com/gpu: {nominal: 1}}}}"
)
TURNS_LOG = """timestamp,duration,num_gpus,cluster
2017-10-09 00:00:00,20,1,a
2017-10-09 00:00:00,20,1,b
2017-10-19 00:00:00,20,1,b
"""


def test_history_makes_nobody_take_turns():
    policy = "policy: {rebalance: true, min_runtime: 7s, history_half_life: 1m}"
    told = study(read_trace(TURNS_LOG, "philly", "turns.csv", UTC), Wish(read_config(TURNS + policy)))
    assert runs(told) == {"line-2": [(0, 20)], "line-3": [(20, 40)], "line-4": [(864_000, 864_020)]}


def test_jobs_that_take_turns_and_never_finish_are_told(monkeypatch):
    def swap(books, now_ms):
        old = [name for name, each in books.running.items() if each.attempt.admitted_at_ms + 7_000 <= now_ms]
        if books.running and not old:
            return Plan()
        return Plan(tuple(Preempt(name, "swap") for name in old), (Admit(min(books.pending), 0),))

    monkeypatch.setattr("fairgate_scheduler.replay.books.Books.plan", swap)
    config = read_config(TURNS + "policy: {min_runtime: 7s}")
    told = study(read_trace(TURNS_LOG, "philly", "turns.csv", UTC), Wish(config))
    assert told.figures.unfinished == {"EVICTED_IN_VAIN": 2, "NOT_REACHED": 1}
    # With what a checkpoint keeps each turn gets them further.
    told = study(read_trace(TURNS_LOG, "philly", "turns.csv", UTC), Wish(config, checkpoint_every_ms=5_000))
    assert told.figures.unfinished == {}


def test_the_page(told):
    assert render_text(told) == PAGE


def test_the_json(told):
    document = json.loads(render_json(told))
    assert document["log"] == {
        "file": "six.csv",
        "format": "philly",
        "jobs": 6,
        "left_out": {},
        "problems": [
            "six.csv:8: 1 cells where the first line has 5 (is there a ',' in a value, or is the line cut off?)"
        ],
        "notes": {},
    }
    assert read_config(document["config"]["document"]) == told.config
    assert (document["config"]["derived"], document["begin"]) == (False, "2017-10-09T00:00:00Z")
    assert document["figures"]["fairness"] == {"rho": 0.549669, "rho_max": 1.075, "unfair_fraction": 0.166667}
    assert document["figures"]["tenants"][1]["wait_s"] == {"mean": 0.0, "median": 0.0, "p99": 0.0, "largest": 0.0}


@pytest.mark.parametrize(("image", "begin"), [("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_the_picture(told, image, begin):
    picture = draw(told, image)
    assert picture.startswith(begin)
    assert draw(told, image) == picture


PAGE = """\
six.csv: 6 jobs of 2 tenants, 2017-10-09 to 2017-10-09, on 4 accelerators (configuration as given)
  not readable: 1 rows
    six.csv:8: 1 cells where the first line has 5 (is there a ',' in a value, or is the line cut off?)

wait                  mean 22s, median 0s, p99 1.6m, longest 1.6m
slowdown              mean 1.53, median 1.00, p99 3.00, largest 3.00
utilisation           87.2 % to the last end, 77.5 % to the last submit
evictions             1 of 1 jobs; 0.02 accelerator-hours lost, 10.7 % of those used
finish-time fairness  ρ 0.550 over all, largest 1.075; above 1.05: 16.7 % of jobs
Jain index            0.804 of accelerator time ÷ entitlement, 0.989 of accelerator time ÷ what was due
sharing anomaly       mean -57s; 1 jobs later than in a private cluster, by 15s in the mean, 15s at worst

waited for       quota: jobs  accel.-hours  capacity: jobs  accel.-hours
gangs of 1                 0             0               0             0
gangs of 2-4               2          0.13               0             0
gangs of 5-8               0             0               0             0
gangs of over 8            0             0               0             0

tenant  jobs  accel.-hours  entitled  ÷ entitled  ÷ due  evictions  lost accel.-hours
a          3          0.16         2       1.302  1.302          1               0.02
b          3          0.05         2       0.442  1.056          0                  0

tenant  wait: mean  median   p99  slowdown      ρ  ρ max  above 1.05  anomaly
a              45s     40s  1.6m      2.05  0.492  1.075      33.3 %    -1.8m
b               0s      0s    0s      1.00  0.870  1.000       0.0 %      -5s"""
