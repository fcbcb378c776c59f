"""Names, ids, sizes and durations as they come from outside."""

import pytest
from fairgate_scheduler.entrypoints.grpc import names, pages
from fairgate_scheduler.service.errors import InvalidArgument
from google.protobuf.duration_pb2 import Duration


def _field(call, *arguments):
    with pytest.raises(InvalidArgument) as caught:
        call(*arguments)
    return caught.value.field


def test_a_parent_is_a_tenant_or_all_of_them():
    assert names.read_tenants("tenants/vision") == "vision"
    assert names.read_tenants("tenants/-") is None


@pytest.mark.parametrize("text", ["", "vision", "tenants/", "tenants/A", "tenants/a\n", "tenants/a/jobs/b"])
def test_what_is_no_parent_is_refused(text):
    assert _field(names.read_tenants, text) == "parent"


def test_one_tenant_can_not_be_all():
    assert _field(names.read_tenant, "tenants/-", "tenant") == "tenant"


def test_a_job_has_a_tenant():
    assert names.read_job("tenants/a/jobs/b-1") == "tenants/a/jobs/b-1"


@pytest.mark.parametrize("text", ["", "b", "jobs/b", "tenants/-/jobs/b", "tenants/a/jobs/", "tenants/a/jobs/B/c"])
def test_what_is_no_job_is_refused(text):
    assert _field(names.read_job, text, "job.name") == "job.name"


@pytest.mark.parametrize("text", ["", "x" * 128, "6f1c0c5e-31d5-4c8d-9d0a-8a2f3b1f0a77", "a/b:c=d"])
def test_request_ids(text):
    assert names.read_request_id(text) == text


@pytest.mark.parametrize("text", ["x" * 129, "a b", "ä", "a\n", "a\0"])
def test_what_is_no_request_id_is_refused(text):
    assert _field(names.read_request_id, text) == "request_id"


@pytest.mark.parametrize(("asked", "given"), [(0, 100), (1, 1), (1000, 1000), (1001, 1000)])
def test_page_sizes(asked, given):
    assert names.read_page_size(asked) == given


def test_a_negative_page_size_is_refused():
    assert _field(names.read_page_size, -1) == "page_size"


def test_durations_are_whole_milliseconds():
    assert names.read_duration_ms(Duration(seconds=90, nanos=5_000_000), "x") == 90_005


@pytest.mark.parametrize(
    "duration", [Duration(seconds=-1), Duration(nanos=-1), Duration(nanos=1), Duration(seconds=2**40)]
)
def test_what_is_no_duration_is_refused(duration):
    assert _field(names.read_duration_ms, duration, "job.time_limit") == "job.time_limit"


def test_pages_are_cut_in_order_and_end():
    items = list(range(5))
    first, token = pages.cut(items, 2, "")
    second, token = pages.cut(items, 2, token)
    third, end = pages.cut(items, 2, token)
    assert [*first, *second, *third] == items
    assert end == ""


@pytest.mark.parametrize("token", ["x", "-1", "²", "1" * 10])
def test_a_token_of_something_else_is_refused(token):
    assert _field(pages.cut, [1], 0, token) == "page_token"
