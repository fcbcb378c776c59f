"""Bad scenario files: each mistake is told with its line, its field and what would be right."""

import pytest
from fairgate_scheduler.documents.problems import DocumentError
from fairgate_scheduler.scenario.reader import read_story
from fairgate_scheduler.scenario.story import (
    CancelJob,
    ChangeTenants,
    DeleteTenant,
    FailJob,
    QuotaPatch,
    Restart,
    SetCapacity,
    SetPriorities,
    Stockout,
    TenantPatch,
)

HEAD = """\
version: 1
flavors: {gpu: {capacity: {nvidia.com/gpu: 4}}, cpu: {}}
tenants:
  lab: {quota: {gpu: {nvidia.com/gpu: {nominal: 4}}}}
  lab/a: {}
jobs:
  - {id: j, tenant: lab/a, run: 10m, flavors: [gpu], pods: [{requests: {nvidia.com/gpu: 1}}]}
"""
JOB = "tenant: lab/a, run: 10m, flavors: [gpu], pods: [{requests: {nvidia.com/gpu: 1}}]"


def found(text):
    with pytest.raises(DocumentError) as error:
        read_story(text, "s.yaml")
    return [str(problem) for problem in error.value.problems]


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (f"  - {{{JOB}}}\n", "s.yaml:8: jobs[1]: id is missing (add id: …)"),
        (f"  - {{id: j, {JOB}}}\n", "s.yaml:8: jobs[1]: the job id 'j' a second time (give each job an id of its own)"),
        (
            f"  - {{id: k, {JOB}, repeat: {{count: 2}}}}\n  - {{id: k-2, {JOB}}}\n",
            "s.yaml:9: jobs[2]: the job id 'k-2' a second time (give each job an id of its own)",
        ),
        (f"  - {{id: k, {JOB}, prio: 1}}\n", "s.yaml:8: jobs[1].prio: unknown key 'prio' (did you mean 'priority'?)"),
        (
            f"  - {{id: k, {JOB.replace('10m', '10')}}}\n",
            (
                "s.yaml:8: jobs[1].run: '10' is not a duration (write a number with its unit, such as 90s, "
                "10m, 1h30m or 7d)"
            ),
        ),
        (
            f"  - {{id: k, {JOB.replace('10m', '0s')}}}\n",
            "s.yaml:8: jobs[1].run: 0s is no time at all (write a duration above 0s)",
        ),
        (
            f"  - {{id: k, {JOB.replace('lab/a', 'lab/b')}}}\n",
            "s.yaml:8: jobs[1].tenant: there is no tenant 'lab/b' (did you mean 'lab/a'?)",
        ),
        (
            f"  - {{id: k, {JOB.replace('[gpu]', '[gpus]')}}}\n",
            "s.yaml:8: jobs[1].flavors[0]: there is no flavor 'gpus' (did you mean 'gpu'?)",
        ),
        (
            f"  - {{id: k, {JOB.replace('[gpu]', '[]')}}}\n",
            "s.yaml:8: jobs[1].flavors: no flavors (name one at least)",
        ),
        (
            f"  - {{id: k, {JOB}, options: []}}\n",
            (
                "s.yaml:8: jobs[1]: a job needs either options, or flavors and pods "
                "(write flavors: [NAME] and pods: [{requests: {…}}])"
            ),
        ),
        (
            "  - {id: k, tenant: lab/a, run: 1s, flavors: [gpu]}\n",
            "s.yaml:8: jobs[1]: pods is missing (flavors and pods belong together)",
        ),
        (
            (
                "  - id: k\n    tenant: lab/a\n    run: 1s\n    options:\n      - flavor: gpu\n        pods:\n"
                "          - {count: 1}\n"
            ),
            "s.yaml:14: jobs[1].options[0].pods[0]: requests is missing (add requests: {RESOURCE: amount})",
        ),
        (
            (
                "  - id: k\n    tenant: lab/a\n    run: 1s\n    options:\n      - flavor: gpu\n        pods:\n"
                "          - {requests: {cpu: lots}}\n"
            ),
            (
                "s.yaml:14: jobs[1].options[0].pods[0].requests.cpu: 'lots' is not a Kubernetes quantity "
                "(write a number such as 2, 500m, 1.5 or 16Gi)"
            ),
        ),
        (
            "  - {id: k, tenant: lab/a, run: 1s, options: [{flavor: gpu, speed: -1, pods: []}]}\n",
            "s.yaml:8: jobs[1].options[0].speed: -1 is negative (write 0 or more)",
        ),
        (
            f"  - {{id: k, {JOB}, fallback: first}}\n",
            "s.yaml:8: jobs[1].fallback: unknown word 'first' (expected one of ordered, soonest)",
        ),
        (
            f"  - {{id: k, {JOB}, repeat: {{every: 1s}}}}\n",
            "s.yaml:8: jobs[1].repeat: count is missing (add count: …)",
        ),
        (
            f"  - {{id: k, {JOB}, preemptible: yes}}\n",
            "s.yaml:8: jobs[1].preemptible: 'yes' is neither true nor false (write true or false, without quotes)",
        ),
        (
            f"  - {{id: k, {JOB}, repeat: {{count: 100000}}}}\n",
            "s.yaml:8: jobs[1]: more than 100000 jobs (tell a smaller story)",
        ),
        ("events:\n  - {cancel: j}\n", "s.yaml:9: events[0]: at is missing (add at: …)"),
        ("events:\n  - {at: 1s, cancel: k}\n", "s.yaml:9: events[0].cancel: there is no job 'k' (expected one of j)"),
        (
            "events:\n  - {at: 1s, cancel: j, fail: j}\n",
            (
                "s.yaml:9: events[0]: 2 things happen in one event (write one of cancel, quota, tenant, delete_tenant, "
                "capacity, priority, stockout, fail, restart)"
            ),
        ),
        (
            "events:\n  - {at: 1s, cancle: j}\n",
            "s.yaml:9: events[0].cancle: unknown key 'cancle' (did you mean 'cancel'?)",
        ),
        (
            "events:\n  - {at: 1s, cancel: j, until: 2s}\n",
            "s.yaml:9: events[0].until: until belongs to a stockout (remove it)",
        ),
        (
            "events:\n  - {at: 2s, stockout: gpu, until: 2s}\n",
            "s.yaml:9: events[0].until: it ends before it begins (until is an instant after at)",
        ),
        (
            "events:\n  - {at: 1s, restart: false}\n",
            "s.yaml:9: events[0].restart: restart: false is no event (write restart: true)",
        ),
        (
            "events:\n  - {at: 1s, quota: {lab/c: {}}}\n",
            "s.yaml:9: events[0].quota[lab/c]: there is no tenant 'lab/c' (did you mean 'lab/a'?)",
        ),
        (
            "events:\n  - {at: 1s, quota: {lab: {l4: {}}}}\n",
            "s.yaml:9: events[0].quota.lab.l4: there is no flavor 'l4' (expected one of gpu, cpu)",
        ),
        (
            "events:\n  - {at: 1s, quota: {lab: {gpu: {cpu: {nominal: x}}}}}\n",
            (
                "s.yaml:9: events[0].quota.lab.gpu.cpu.nominal: 'x' is not a quantity "
                "(write a number such as 2, 500m or 16Gi, or UNLIMITED)"
            ),
        ),
        (
            "events:\n  - {at: 1s, tenant: {lab/n: {wheight: 1}}}\n",
            "s.yaml:9: events[0].tenant[lab/n].wheight: unknown key 'wheight' (did you mean 'weight'?)",
        ),
        (
            "events:\n  - {at: 1s, capacity: {gpu: {nvidia.com/gpu: -1}}}\n",
            "s.yaml:9: events[0].capacity.gpu[nvidia.com/gpu]: -1 is negative (write 0 or more)",
        ),
        (
            "events:\n  - {at: 1s, priority: {j: high}}\n",
            (
                "s.yaml:9: events[0].priority.j: 'high' is not a whole number that fits here "
                "(write -2147483648 to 2147483647)"
            ),
        ),
        (
            "expect:\n  - {at: 1s, runing: [j]}\n",
            "s.yaml:9: expect[0].runing: unknown key 'runing' (did you mean 'running'?)",
        ),
        ("expect:\n  - {running: [j]}\n", "s.yaml:9: expect[0].running: running needs an instant (add at: DURATION)"),
        (
            "expect:\n  - {at: 1s, running: [k]}\n",
            "s.yaml:9: expect[0].running[0]: there is no job 'k' (expected one of j)",
        ),
        (
            "expect:\n  - {at: 1s, pending: {j: WAITING_FOR_QOUTA}}\n",
            "s.yaml:9: expect[0].pending.j: unknown word 'WAITING_FOR_QOUTA' (did you mean 'WAITING_FOR_QUOTA'?)",
        ),
        (
            "expect:\n  - {at: 1s, usage: {lab: {gpus: {}}}}\n",
            "s.yaml:9: expect[0].usage.lab.gpus: there is no flavor 'gpus' (did you mean 'gpu'?)",
        ),
        (
            "expect:\n  - {rejected: {j: OK}}\n",
            (
                "s.yaml:9: expect[0].rejected.j: unknown word 'OK' (expected one of NOT_FOUND, INVALID_ARGUMENT, "
                "RESOURCE_EXHAUSTED, FAILED_PRECONDITION)"
            ),
        ),
        (
            "expect:\n  - {event_rejected: {0: NOT_FOUND}}\n",
            "s.yaml:9: expect[0].event_rejected.0: there is no event '0' (there are none)",
        ),
        (
            "expect:\n  - {evictions_total: none}\n",
            "s.yaml:9: expect[0].evictions_total: 'none' is not a whole number that fits here (write 0 to 2147483647)",
        ),
        (
            "policy: {rebalanced: true}\n",
            "s.yaml:8: policy.rebalanced: unknown key 'rebalanced' (did you mean 'rebalance'?)",
        ),
        (
            "expect:\n  - {at: 1s, forecast: {j: [2s, 1s]}}\n",
            "s.yaml:9: expect[0].forecast.j: an interval that ends before it begins (write the earlier instant first)",
        ),
        (
            "expect:\n  - {at: 1s, forecast: {j: 2s}}\n",
            "s.yaml:9: expect[0].forecast.j: not an interval (write [FROM, TO], two instants such as 1h and 1h30m)",
        ),
        (
            "expect:\n  - {forecast: {j: [1s, 2s]}}\n",
            "s.yaml:9: expect[0].forecast: forecast needs an instant (add at: DURATION)",
        ),
        (
            "events:\n  - {at: 1s, tenant: {lab/a: {budget: {accelerator_hours: 1, period: 0s}}}}\n",
            "s.yaml:9: events[0].tenant[lab/a].budget.period: 0s is no time at all (write a duration above 0s)",
        ),
    ],
)
def test_wrong(more, problem):
    assert problem in found(HEAD + more)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("version: 1", "version: 2", "s.yaml:1: version: version '2' is not known (write version: 1)"),
        ("lab/a: {}", "lab/a/b: {}", "s.yaml:5: tenants[lab/a/b]: there is no tenant 'lab/a' (did you mean 'lab'?)"),
        ("lab/a: {}", "lab/a: {weight: -1}", "s.yaml:5: tenants[lab/a].weight: -1 is negative (write 0 or more)"),
        (
            "lab/a: {}",
            "lab/a: {quota: {gpu: {nvidia.com/gpu: {nominal: 1.5}}}}",
            (
                "s.yaml:5: tenants[lab/a].quota.gpu[nvidia.com/gpu].nominal: '1.5' is a fraction of a "
                "nvidia.com/gpu device "
                "(ask for whole devices)"
            ),
        ),
        (
            "lab/a: {}",
            "lab/a:\n    quota:\n      gpu:\n        nvidia.com/gpu: {nominal: 1, lending_limit: 2}",
            (
                "s.yaml:8: tenants[lab/a].quota.gpu[nvidia.com/gpu].lending_limit: lending_limit 2 is above nominal 1 "
                "(lend at most what is owned, or leave it out)"
            ),
        ),
        (
            "lab/a: {}",
            "lab/a: {allowed_flavors: [l4]}",
            "s.yaml:5: tenants[lab/a].allowed_flavors: there is no flavor 'l4' (expected one of cpu, gpu)",
        ),
        (
            "lab/a: {}",
            "lab/a: {budget: {accelerator_hours: 1, period: 0s}}",
            "s.yaml:5: tenants[lab/a].budget.period: 0s is no time at all (write a duration above 0s)",
        ),
        (
            "nominal: 4",
            "nominal: 4, borrowing_limit: 1",
            (
                "s.yaml:4: tenants.lab.quota.gpu[nvidia.com/gpu].borrowing_limit: 'lab' is a root: there "
                "is nobody that it could borrow from or lend to (remove it)"
            ),
        ),
        ("cpu: {}", "cpu: {prize: 1}", "s.yaml:2: flavors.cpu.prize: unknown key 'prize' (did you mean 'price'?)"),
        (
            "  lab/a: {}",
            "  lab/a: {}\n  lab/a: {}",
            ("s.yaml:6: the key 'lab/a' a second time, first on line 5 (keep one of them)"),
        ),
    ],
)
def test_wrong_in_the_head(old, new, problem):
    assert problem in found(HEAD.replace(old, new))


def test_an_empty_file_says_what_is_missing():
    assert found("{}") == [
        "s.yaml:1: version is missing (add version: …)",
        "s.yaml:1: flavors is missing (add flavors: …)",
        "s.yaml:1: tenants is missing (add tenants: …)",
    ]


def test_repeats_are_written_out():
    story = read_story(HEAD + f"  - {{id: k, at: 5s, {JOB}, repeat: {{count: 3, every: 10s}}}}\n", "s.yaml")
    assert [(job.id, job.order, job.at_ms) for job in story.jobs.values()] == [
        ("j", 0, 0),
        ("k-1", 1, 5_000),
        ("k-2", 2, 15_000),
        ("k-3", 3, 25_000),
    ]


def test_a_job_without_a_time_limit_has_its_run_time():
    jobs = read_story(HEAD + f"  - {{id: k, {JOB}, time_limit: 5m}}\n", "s.yaml").jobs
    assert (jobs["j"].time_limit_ms, jobs["k"].time_limit_ms) == (600_000, 300_000)


EVENTS = """\
events:
  - {at: 1s, cancel: j}
  - {at: 2s, fail: j}
  - {at: 3s, priority: {j: -4}}
  - {at: 4s, quota: {lab/a: {gpu: {nvidia.com/gpu: {nominal: 2, lending_limit: null}, cpu: null}, cpu: null}}}
  - {at: 5s, tenant: {lab/n: {weight: 1/2, max_running_jobs: 3, allowed_flavors: null}}}
  - {at: 6s, delete_tenant: lab/n}
  - {at: 7s, capacity: {gpu: {nvidia.com/gpu: 2}}}
  - {at: 8s, stockout: gpu, until: 30m}
  - {at: 9s, restart: true}
"""


def test_events():
    story = read_story(HEAD + EVENTS, "s.yaml")
    assert [event.deed for event in story.events] == [
        CancelJob("j"),
        FailJob("j"),
        SetPriorities({"j": -4}),
        ChangeTenants(
            (
                TenantPatch(
                    "lab/a",
                    {},
                    (
                        QuotaPatch("gpu", "nvidia.com/gpu", {"nominal": "2", "lending_limit": None}),
                        QuotaPatch("gpu", "cpu", None),
                        QuotaPatch("cpu", None, None),
                    ),
                ),
            ),
            may_add=False,
        ),
        ChangeTenants(
            (TenantPatch("lab/n", {"weight": 0.5, "allowed_flavors": None, "max_running_jobs": 3}),), may_add=True
        ),
        DeleteTenant("lab/n"),
        SetCapacity({("gpu", "nvidia.com/gpu"): 2}),
        Stockout("gpu", 1_800_000),
        Restart(),
    ]
    assert [event.at_ms for event in story.events] == [1000 * second for second in range(1, 10)]
