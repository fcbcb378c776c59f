"""A configuration from a log: how large, of what kinds, and who owns how much of it."""

from datetime import UTC
from fractions import Fraction

import pytest
from fairgate_scheduler.core.config_checks import check_config
from fairgate_scheduler.documents.config_file import read_config
from fairgate_scheduler.documents.problems import DocumentError
from fairgate_scheduler.documents.render import render_config
from fairgate_scheduler.replay.cluster import Cluster
from fairgate_scheduler.replay.derive import RESOURCE, apportion, derive_config
from fairgate_scheduler.replay.load import make_load
from fairgate_scheduler.replay.readers import read_trace
from fairgate_scheduler.replay.trace import Trace, TraceJob

HOUR_MS = 3_600_000


def trace(*jobs: TraceJob) -> Trace:
    return Trace("log", "philly", jobs)


def job(number: int, tenant: str, accelerators: int, *flavors: str, at_h: int = 0, **more) -> TraceJob:
    return TraceJob(str(number), number, tenant, at_h * HOUR_MS, HOUR_MS, accelerators, flavors, **more)


def nominal(config, flavor: str) -> dict[str, int]:
    return {
        tenant.id: tenant.quota[flavor, RESOURCE].nominal
        for tenant in config.tenants.values()
        if (flavor, RESOURCE) in tenant.quota
    }


@pytest.mark.parametrize(
    ("total", "parts", "expected"),
    [
        (10, {"a": 1, "b": 1}, {"a": 5, "b": 5}),
        (10, {"a": 6, "b": 3, "c": 1}, {"a": 6, "b": 3, "c": 1}),
        (10, {"a": 1000, "b": 1, "c": 0}, {"a": 9, "b": 1, "c": 0}),
        (3, {"a": 1, "b": 1}, {"a": 2, "b": 1}),
        (2, {"a": 1, "b": 5, "c": 4}, {"a": 0, "b": 1, "c": 1}),
        (0, {"a": 1}, {"a": 0}),
    ],
)
def test_apportioning_is_by_largest_remainders_with_one_for_everybody(total, parts, expected):
    assert apportion(total, {name: Fraction(part) for name, part in parts.items()}) == expected


def test_without_real_starts_the_cluster_would_be_80_percent_busy_in_whole_nodes():
    # 30 h of 8 accelerators each hour: 8 on average are 80 % of 10, and whole nodes are 16.
    config = derive_config(trace(*(job(hour, "a" if hour % 3 else "b", 8, at_h=hour) for hour in range(31))))
    assert config.flavors["gpu"].capacity == {RESOURCE: 16}
    assert nominal(config, "gpu") == {"a": 10, "b": 6}
    assert config.tenants["a"].parent == "all"


def test_with_real_starts_the_cluster_is_as_large_as_what_was_in_use():
    jobs = (job(1, "a", 3, waited_ms=0), job(2, "a", 2, waited_ms=HOUR_MS), job(3, "b", 1, waited_ms=HOUR_MS // 2))
    assert derive_config(trace(*jobs)).flavors["gpu"].capacity == {RESOURCE: 4}


def test_kinds_are_the_logs_and_the_largest_gang_fits_somewhere():
    jobs = trace(job(1, "a", 1, "T4"), job(2, "a", 16, "T4", "V100_M16"), job(3, "b", 2))
    config = derive_config(jobs)
    # 19 accelerator-hours within one: 24 of 80 %, of which t4 has 10/19 and v100-m16 9/19; the gang wants 16 at once.
    assert {name: flavor.capacity[RESOURCE] for name, flavor in config.flavors.items()} == {"t4": 16, "v100-m16": 11}
    with pytest.raises(DocumentError, match="2 needs 16 accelerators and t4 would have 11") as refused:
        derive_config(jobs, 20)
    assert refused.value.problems[0].line == 2


def test_tenants_that_would_be_one_are_refused():
    with pytest.raises(DocumentError, match="'NLP_x' and 'nlp-x' of the log would both be 'nlp-x'"):
        derive_config(trace(job(1, "NLP_x", 1), job(2, "nlp-x", 1)))


def test_the_root_is_named_apart_from_the_tenants():
    config = derive_config(trace(job(1, "all", 1)))
    assert config.tenants["all"].parent == "all-tenants"


def test_it_is_a_configuration_like_any_other():
    config = derive_config(trace(job(1, "A b", 1, "T4"), job(2, "c", 3)))
    assert not list(check_config(config))
    assert read_config(render_config(config)) == config


def test_the_log_must_fit_the_configuration():
    config = read_config(
        """{version: 1, flavors: {t4: {resource: nvidia.com/gpu}, cpu: {}},
        tenants: [{id: root}, {id: nlp, parent: root, quota: {t4: {nvidia.com/gpu: {nominal: 4}}}}]}"""
    )
    text = (
        "JobID|Account|Submit|Start|Elapsed|State|AllocTRES\n"
        "1|nlp|10|10|00:01:00|COMPLETED|gres/gpu:t4=1\n"
        "2|vision|10|10|00:01:00|COMPLETED|gres/gpu:t4=1\n"
        "3|vision|10|10|00:01:00|COMPLETED|gres/gpu:T5=1\n"
    )
    with pytest.raises(DocumentError) as refused:
        make_load(read_trace(text, "slurm", "log.txt", UTC), Cluster(config))
    assert str(refused.value) == (
        "log.txt:3: tenant 'vision' of the log, with 2 jobs: the configuration has no leaf tenant 'vision' "
        "(expected one of nlp)\n"
        "log.txt:4: flavor 'T5' of the log, with 1 jobs: the configuration has no flavor with an accelerator 't5' "
        "(expected one of t4)"
    )


def test_cpu_and_memory_are_charged_where_the_configuration_counts_them():
    quota = "{nvidia.com/gpu: {nominal: 4}, cpu: {nominal: 16}}"
    config = read_config(
        f"""{{version: 1, flavors: {{t4: {{resource: nvidia.com/gpu}}}},
        tenants: [{{id: root}}, {{id: nlp, parent: root, quota: {{t4: {quota}}}}}]}}"""
    )
    (arrival,) = make_load(trace(job(1, "nlp", 2, cpu=3001, memory=2**30)), Cluster(config))
    assert arrival.job.options[0].demand == {("t4", RESOURCE): 2, ("t4", "cpu"): 3002}
    assert arrival.job.time_limit_ms == arrival.run_ms == HOUR_MS


def test_entitlements_are_own_nominal_and_a_part_by_weight_of_what_is_above():
    config = read_config(
        """{version: 1, flavors: {t4: {resource: nvidia.com/gpu}, l4: {resource: nvidia.com/gpu,
        capacity: {nvidia.com/gpu: 9}}}, tenants: [{id: root}, {id: org, parent: root,
        quota: {t4: {nvidia.com/gpu: {nominal: 6}}}},
        {id: a, parent: org, weight: 2, quota: {t4: {nvidia.com/gpu: {nominal: 1}}}}, {id: b, parent: org}]}"""
    )
    cluster = Cluster(config)
    assert cluster.capacity == {"t4": 7, "l4": 9}
    assert cluster.entitled == {"a": {"t4": 5, "l4": 6}, "b": {"t4": 2, "l4": 3}}
    assert cluster.private == cluster.entitled
    assert cluster.total == 16
