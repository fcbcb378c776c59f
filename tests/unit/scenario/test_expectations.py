"""Every form of expectation can hold, and can fail with what is instead."""

import pytest
from fairgate_scheduler.scenario.expectation_fields import AT_FORMS, WHOLE_FORMS
from fairgate_scheduler.scenario.expectations import AT, WHOLE
from fairgate_scheduler.scenario.simulation import simulate

STORY = """\
version: 1
flavors: {h: {capacity: {nvidia.com/gpu: 2}}, c: {capacity: {cpu: 1}}}
tenants:
  o: {quota: {c: {cpu: {nominal: 1}}}}
  o/own: {quota: {h: {nvidia.com/gpu: {nominal: 2}}}}
  o/guest: {}
jobs:
  - {id: g, tenant: o/guest, run: 10m, flavors: [h], pods: [{requests: {nvidia.com/gpu: 2}}]}
  - {id: o, tenant: o/own, at: 2m, run: 10m, flavors: [h], pods: [{requests: {nvidia.com/gpu: 2}}]}
  - {id: n, tenant: o/own, run: 10m, flavors: [h], pods: [{requests: {nvidia.com/gpu: 3}}]}
  - {id: r, tenant: o/own, run: 10m, flavors: [h], pods: [{requests: {}}]}
events:
  - {at: 1m, cancel: r}
  - {at: 1m, restart: true}
expect:
"""


@pytest.mark.parametrize(
    ("holds", "fails", "found"),
    [
        ("at: 1m, running: [g]", "at: 1m, running: [g, o]", "running: expected [g, o], found [g]"),
        ("at: 1m, running_includes: [g]", "at: 1m, running_includes: [o]", "expected [o], found [g]"),
        ("at: 1m, running_excludes: [o]", "at: 1m, running_excludes: [g]", "expected none of [g], found [g]"),
        (
            "at: 1m, running_count: {o: 1, o/own: 0}",
            "at: 1m, running_count: {o/guest: 2}",
            "expected {o/guest: 2}, found {o/guest: 1}",
        ),
        (
            "at: 3m, pending: {g: WAITING_FOR_QUOTA, n: EXCEEDS_MAX_QUOTA}",
            "at: 3m, pending: {o: WAITING_FOR_QUOTA, r: BACKOFF}",
            "expected {o: WAITING_FOR_QUOTA, r: BACKOFF}, found {o: RUNNING, r: REJECTED}",
        ),
        (
            "at: 1m, usage: {o: {h: {nvidia.com/gpu: 2}, c: {cpu: 0}}}",
            "at: 1m, usage: {o/guest: {h: {nvidia.com/gpu: 1}}}",
            "expected {o/guest: {h nvidia.com/gpu: 1}}, found {o/guest: {h nvidia.com/gpu: 2}}",
        ),
        ("at: 1m, flavor: {g: h}", "at: 1m, flavor: {g: c, o: h}", "expected {g: c, o: h}, found {g: h, o: FUTURE}"),
        ("started_by: {g: 0s, o: 2m}", "started_by: {o: 119s}", "expected {o: 1m59s}, found {o: 2m}"),
        ("finished_by: {o: 12m, g: 22m}", "finished_by: {g: 21m, n: 1h}", "found {g: 22m, n: never}"),
        ("not_started_before: {o: 2m, n: 1h}", "not_started_before: {o: 3m}", "expected {o: 3m}, found {o: 2m}"),
        ("evictions: {g: 1, o: 0, r: 0}", "evictions: {g: 0}", "expected {g: 0}, found {g: 1}"),
        ("evictions_total: 1", "evictions_total: 0", "expected 0, found 1"),
        ("evictions_max: 1", "evictions_max: 0", "expected 0 at most, found 1"),
        ("evicted_units: 2", "evicted_units: 1", "expected 1, found 2"),
        ("never_running: [n, r]", "never_running: [o, n]", "expected [o, n] never to run, found {o: 2m}"),
        (
            "rejected: {r: INVALID_ARGUMENT}",
            "rejected: {r: NOT_FOUND, g: NOT_FOUND}",
            "found {r: INVALID_ARGUMENT, g: taken}",
        ),
        (
            "event_rejected: {0: NOT_FOUND}",
            "event_rejected: {0: INVALID_ARGUMENT, 1: NOT_FOUND}",
            "found {0: NOT_FOUND, 1: done}",
        ),
    ],
)
def test_form(holds, fails, found):
    good, bad = simulate(STORY + f"  - {{{holds}}}\n  - {{{fails}}}\n", "s.yaml").outcomes
    assert (good.ok, good.detail) == (True, "")
    assert (bad.ok, bad.index, bad.line) == (False, 1, 17)
    assert found in bad.detail


def test_every_form_that_is_read_is_asked():
    assert AT_FORMS.keys() == AT.keys()
    assert WHOLE_FORMS.keys() == WHOLE.keys()


def test_an_instant_is_asked_when_it_is_settled():
    """What ends at that instant has ended, what is submitted then has started."""
    story = STORY + "  - {at: 12m, running: [g]}\n  - {at: 2m, running: [o]}\n"
    assert simulate(story, "s.yaml").ok
