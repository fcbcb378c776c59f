"""What is refused at submit, with which code, and what is said about it."""

import pytest
from fairgate_scheduler.core.admissible import (
    RefusalCode,
    SubmitRefused,
    check_groups,
    check_priority,
    check_submit,
    limited_subtrees,
)
from fairgate_scheduler.core.jobs import PodGroup
from fairgate_scheduler.core.tenancy import Config, Quota, Tenant

CONFIG = Config(
    tenants={
        tenant.id: tenant
        for tenant in (
            Tenant("org", max_pending_jobs=5, quota={("disk", "ephemeral-storage"): Quota(10)}),
            Tenant("mid", "org", max_priority=7),
            Tenant("leaf", "mid", max_pending_jobs=2),
            Tenant("free", "org"),
        )
    }
)


@pytest.mark.parametrize(
    ("tenant", "priority", "pending"),
    [("leaf", 7, {"leaf": 1, "org": 4}), ("leaf", -3, {}), ("free", 1000, {"org": 0})],
)
def test_taken(tenant, priority, pending):
    check_submit(CONFIG, tenant, priority, pending)


@pytest.mark.parametrize(
    ("tenant", "priority", "pending", "code", "field", "says"),
    [
        ("lea", 0, {}, RefusalCode.NOT_FOUND, "tenant", "did you mean leaf?"),
        ("nobody", 0, {}, RefusalCode.NOT_FOUND, "tenant", "choose one of free, leaf"),
        ("mid", 0, {}, RefusalCode.INVALID_ARGUMENT, "tenant", "choose one of leaf"),
        ("leaf", 8, {}, RefusalCode.INVALID_ARGUMENT, "priority", "8 is above the max_priority of 'mid' (7 at most)"),
        ("leaf", 0, {"leaf": 2}, RefusalCode.RESOURCE_EXHAUSTED, "tenant", "2 jobs of 'leaf' are pending"),
        ("free", 0, {"org": 5}, RefusalCode.RESOURCE_EXHAUSTED, "tenant", "5 jobs of 'org' are pending"),
    ],
)
def test_refused(tenant, priority, pending, code, field, says):
    with pytest.raises(SubmitRefused) as refused:
        check_submit(CONFIG, tenant, priority, pending)
    assert (refused.value.code, refused.value.field) == (code, field)
    assert says in str(refused.value)


def test_a_raised_priority_is_checked_by_itself():
    check_priority(CONFIG, "leaf", 7)
    with pytest.raises(SubmitRefused, match="7 at most"):
        check_priority(CONFIG, "leaf", 8)


def test_pending_jobs_count_in_every_limited_tenant_of_the_path():
    assert limited_subtrees(CONFIG, "leaf") == {
        "leaf": {"leaf"},
        "org": {"org", "mid", "leaf", "free"},
    }
    assert limited_subtrees(CONFIG, "unknown") == {}


@pytest.mark.parametrize(
    ("group", "says"),
    [
        (PodGroup("w", "h100", 1, {"nvidia.com/gpu": -8}), r"pods\[0\]\.requests\[nvidia.com/gpu\]: a negative amount"),
        (PodGroup("w", "h100", 0, {"cpu": 1}), r"pods\[0\]\.count: 0 pods"),
        (PodGroup("w", "h100", 1, {}), "nothing is requested"),
        (PodGroup("w", "h100", 1, {"cpu": 0}), "nothing is requested"),
        (PodGroup("w", "h100", 1, {"hugepages-2Mi": 1}), "no quota for hugepages-2Mi is declared on 'h100'"),
    ],
)
def test_requests_that_cannot_be_charged(group, says):
    with pytest.raises(SubmitRefused, match=says) as refused:
        check_groups([group], CONFIG)
    assert refused.value.code is RefusalCode.INVALID_ARGUMENT


def test_declared_disk_can_be_charged():
    check_groups([PodGroup("w", "disk", 1, {"ephemeral-storage": 5})], CONFIG)
