"""Every law can be broken: a good history, bent in one place, is found out by the law that is meant."""

from dataclasses import replace

import pytest
from fairgate_scheduler.core.jobs import JobState
from fairgate_scheduler.core.lifecycle import EventKind, Phase
from fairgate_scheduler.core.tenancy import Config, Flavor, Quota, Tenant
from fairgate_scheduler.testing.fake_runner import Script
from fairgate_scheduler.testing.history import LAWS, SLACK_MS, broken_laws
from fairgate_scheduler.testing.simulation import Simulation
from fairgate_scheduler.testing.stories import H100, NEVER_MS, Story, Submit, make_story

CONFIG = Config(
    {"h100": Flavor("h100"), "cpu": Flavor("cpu", default_for_cpu_pods=True)},
    {"org": Tenant("org"), "a": Tenant("a", parent="org", quota={H100: Quota(1)})},
)
FIRST, SECOND = "tenants/a/jobs/first", "tenants/a/jobs/second"


@pytest.fixture(scope="module")
def good():
    submits = [
        Submit(at_ms, "a", name, 1, 1, ("h100",), Script(500, 20_000))
        for at_ms, name in ((0, "zero"), (1, "first"), (2, "second"))
    ]
    history = Simulation(Story(0, ((0, CONFIG),), tuple(submits))).run()
    assert not broken_laws(history)
    return history


def _with_job(history, name, **changes):
    return replace(history, jobs={**history.jobs, name: replace(history.jobs[name], **changes)})


def _with_attempt(history, name, **changes):
    (attempt,) = history.attempts[name]
    return replace(history, attempts={**history.attempts, name: [replace(attempt, **changes)]})


def _with_process(history, at, end=None, **changes):
    processes, ends = list(history.processes), list(history.ends)
    processes[at] = replace(processes[at], **changes)
    ends[at] = end or ends[at]
    return replace(history, processes=processes, ends=ends)


def _without_job(history, name):
    jobs = {each: job for each, job in history.jobs.items() if each != name}
    spans = [each for each in zip(history.processes, history.ends, strict=True) if each[0].job != name]
    processes, ends = zip(*spans, strict=True)
    attempts = {each: group for each, group in history.attempts.items() if each != name}
    return replace(history, jobs=jobs, attempts=attempts, processes=processes, ends=ends, events=[])


def _reordered(history):
    """The second job is admitted before the first one, which has waited for longer."""
    names = {FIRST: SECOND, SECOND: FIRST}
    events = [
        replace(each, event=replace(each.event, job=names.get(each.event.job, each.event.job)))
        if each.event.kind is not EventKind.SUBMITTED
        else each
        for each in history.events
    ]
    return replace(history, events=events)


BENT = {
    "everything_comes_to_rest": lambda good: replace(good, is_over=False),
    "no_job_is_lost": lambda good: _without_job(good, SECOND),
    "every_job_ends": lambda good: _with_job(good, FIRST, state=JobState.RUNNING),
    "ends_are_true": lambda good: _with_process(good, 0, (good.ends[0][0], Phase.STOPPED)),
    "losses_are_true": lambda good: _with_attempt(good, FIRST, reason="LOST"),
    "nothing_outruns_its_time_limit": lambda good: _with_job(good, FIRST, time_limit_ms=19_000 - SLACK_MS),
    "nothing_is_waited_for_without_end": lambda good: _with_process(
        good, 0, (good.ends[0][0] + 600_000 + SLACK_MS, Phase.STOPPED), script=Script(NEVER_MS)
    ),
    "attempts_never_overlap": lambda good: _with_process(
        good, 2, job=FIRST, attempt=2, launched_at_ms=good.processes[1].launched_at_ms + 1
    ),
    "attempts_have_no_gaps": lambda good: _with_attempt(good, FIRST, number=2),
    "nothing_starts_above_quota": lambda good: _with_process(good, 0, (good.ends[1][0], Phase.SUCCEEDED)),
    "events_tell_one_story": lambda good: replace(good, events=good.events[:-1]),
    "equals_start_in_order": _reordered,
}


def test_every_law_is_bent_once():
    assert BENT.keys() == {law.__name__.removeprefix("_") for law in LAWS}


@pytest.mark.parametrize("law", BENT)
def test_a_law_finds_what_breaks_it(good, law):
    broken = broken_laws(BENT[law](good))
    assert law in {each.partition(":")[0] for each in broken}


def test_a_job_that_lost_its_submit_time_is_found(good):
    broken = broken_laws(_with_job(good, FIRST, submitted_at_ms=1))
    assert [each.partition(":")[0] for each in broken] == ["no_job_is_lost"]


def test_a_story_is_all_in_its_seed():
    assert make_story(5) == make_story(5)
    assert make_story(5) != make_story(6)
