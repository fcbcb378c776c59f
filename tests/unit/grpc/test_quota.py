"""QuotaService over the wire."""

import grpc
import pytest
from fairgate_api.v1 import quota_service_pb2 as wire_pb2
from fairgate_api.v1 import quotas_pb2
from fairgate_scheduler.entrypoints.grpc import quota_codec
from fairgate_scheduler.service.privacy import sees_jobs_of_all
from fairgate_scheduler.service.quota import apply_config

CODE = grpc.StatusCode
GPU = "nvidia.com/gpu"


def _apply(wire, source, **fields):
    return wire.quotas.ApplyConfig(wire_pb2.ApplyConfigRequest(source=source, **fields))


def _source(wire):
    return wire.quotas.GetConfig(wire_pb2.GetConfigRequest()).source


def _usage(wire, tenant):
    usage = wire.quotas.GetTenantUsage(wire_pb2.GetTenantUsageRequest(tenant=f"tenants/{tenant}"))
    rows = {
        (row.flavor, row.resource): (row.usage, row.nominal, row.borrowed, row.lent)
        for row in usage.rows
        if row.resource == GPU
    }
    return usage, rows


def test_before_the_first_configuration_there_is_none(settings, make_wire, refused):
    wire = make_wire(settings, config="")
    assert refused(wire.quotas.GetConfig, wire_pb2.GetConfigRequest()).code is CODE.NOT_FOUND


def test_a_configuration_is_applied_and_read_back(wire):
    source = _source(wire).replace("weight: 2", "weight: 5/2")
    before = wire.quotas.GetConfig(wire_pb2.GetConfigRequest())
    answer = _apply(wire, source, etag=before.etag, comment="more for a")
    assert [change for change in answer.changes if ("weight" in change and "5/2" in change) or "2.5" in change]
    now = wire.quotas.GetConfig(wire_pb2.GetConfigRequest())
    assert now == answer.config
    assert (now.source, now.applied_by, now.comment) == (source, "local", "more for a")
    assert now.etag != before.etag


def _told(previews):
    return [(each.job.rpartition("/")[2], each.flavor, bool(each.message)) for each in previews]


def test_validate_only_shows_who_would_start_give_way_and_wait(wire):
    wire.submit("big", tenant="b", gpus=6)
    wire.turn()
    wire.submit("asks", gpus=8)
    before = _source(wire)
    source = before.replace("nominal: 4, lending_limit: 2", "nominal: 8")
    answer = _apply(wire, source, validate_only=True)
    assert answer.changes
    assert _told(answer.preview.starts) == [("asks", "h100", False)]
    assert _told(answer.preview.evictions) == [("big", "h100", True)]
    assert (_told(answer.preview.waits), answer.preview.waiting_count) == ([("big", "", True)], 1)
    assert answer.preview.waits[0].message == "WAITING_FOR_QUOTA: there is not enough free for it now"
    assert _source(wire) == before


def test_who_is_no_admin_is_not_told_whose_jobs_those_are(wire):
    wire.submit("big", tenant="b", gpus=6)
    wire.turn()
    wire.submit("asks", gpus=8)
    source = _source(wire).replace("nominal: 4, lending_limit: 2", "nominal: 8")
    result = apply_config(wire.app, source, validate_only=True)
    shown = quota_codec.encode_applied(result, names_jobs=False)
    assert (_told(shown.preview.starts), _told(shown.preview.evictions)) == (
        [("", "h100", False)],
        [("", "h100", False)],
    )
    assert (_told(shown.preview.waits), shown.preview.waiting_count) == ([("", "", True)], 1)
    assert "tenants/" not in str(shown.preview)
    assert (sees_jobs_of_all({"admin"}), sees_jobs_of_all({"submitter"})) == (True, False)


def test_a_stale_etag_is_aborted(wire, refused):
    etag = wire.quotas.GetConfig(wire_pb2.GetConfigRequest()).etag
    source = _source(wire)
    _apply(wire, source.replace("weight: 2", "weight: 3"))
    request = wire_pb2.ApplyConfigRequest(source=source.replace("weight: 2", "weight: 4"), etag=etag)
    answer = refused(wire.quotas.ApplyConfig, request)
    assert (answer.code, answer.details["ErrorInfo"].reason) == (CODE.ABORTED, "STALE_ETAG")


def test_each_problem_is_named_by_its_place_in_the_document(wire, refused):
    source = _source(wire).replace("weight: 2", "weigth: 2").replace("max_priority: 10", "max_priority: many")
    answer = refused(wire.quotas.ApplyConfig, wire_pb2.ApplyConfigRequest(source=source))
    assert answer.code is CODE.INVALID_ARGUMENT
    assert len(answer.fields) == 2
    assert all(field.startswith("source.tenants") for field in answer.fields)
    assert all("line " in each.description for each in answer.details["BadRequest"].field_violations)


def test_a_tenant_in_use_can_not_go(wire, refused):
    wire.submit(tenant="b")
    source = "\n".join(line for line in _source(wire).splitlines() if "id: b" not in line)
    answer = refused(wire.quotas.ApplyConfig, wire_pb2.ApplyConfigRequest(source=source))
    assert (answer.code, "PreconditionFailure" in answer.details) == (CODE.FAILED_PRECONDITION, True)


def test_the_tenant_tree_parents_first(wire):
    tenants = wire.quotas.ListTenants(wire_pb2.ListTenantsRequest()).tenants
    assert [(each.name, each.parent, each.is_leaf) for each in tenants] == [
        ("tenants/org", "", False),
        ("tenants/a", "tenants/org", True),
        ("tenants/b", "tenants/org", True),
    ]
    a = tenants[1]
    assert (a.weight, a.max_priority, a.max_pending_jobs, a.HasField("max_running_jobs")) == ("2", 10, 3, False)
    assert list(a.quotas) == [
        quotas_pb2.Quota(flavor="h100", resource=GPU, nominal="4", borrowing_limit="UNLIMITED", lending_limit="2")
    ]
    assert a.usage.tenant == "tenants/a"


def test_tenants_come_in_pages(wire):
    first = wire.quotas.ListTenants(wire_pb2.ListTenantsRequest(page_size=2))
    rest = wire.quotas.ListTenants(wire_pb2.ListTenantsRequest(page_size=2, page_token=first.next_page_token))
    assert [each.name for each in (*first.tenants, *rest.tenants)] == ["tenants/org", "tenants/a", "tenants/b"]
    assert rest.next_page_token == ""


def test_usage_is_told_against_what_is_owned(wire):
    wire.submit("train", tenant="b", gpus=6)
    wire.turn()
    wire.submit("second", tenant="b", gpus=6)
    usage, rows = _usage(wire, "b")
    assert rows == {("h100", GPU): ("6", "4", "2", "0")}
    assert (usage.running_job_count, usage.pending_job_count) == (1, 1)
    assert (usage.share, usage.weight) == ("0.75", "1")
    usage, rows = _usage(wire, "a")
    assert rows == {("h100", GPU): ("0", "4", "0", "2")}
    assert (usage.running_job_count, usage.pending_job_count, usage.share) == (0, 0, "0")
    usage, rows = _usage(wire, "org")
    assert rows == {("h100", GPU): ("6", "8", "0", "0")}
    assert (usage.running_job_count, usage.pending_job_count) == (1, 1)


def test_what_nobody_declared_is_unlimited_and_not_borrowed(wire):
    wire.submit("train")
    wire.turn()
    usage = wire.quotas.GetTenantUsage(wire_pb2.GetTenantUsageRequest(tenant="tenants/a"))
    (row,) = (row for row in usage.rows if (row.flavor, row.resource) == ("h100", "cpu"))
    assert (row.usage, row.nominal, row.borrowed, row.lent) == ("1", "UNLIMITED", "0", "0")


def test_a_share_is_told_with_what_the_weights_give(wire):
    wire.submit("train", tenant="a", gpus=3)
    wire.turn()
    found = {tenant: _usage(wire, tenant)[0] for tenant in ("org", "a", "b")}
    assert [(each.share, each.weighted_share, each.dominant_resource) for each in found.values()] == [
        ("0.375", "0.375", "accelerator"),
        ("0.375", "0.1875", "accelerator"),
        ("0", "0", ""),
    ]
    assert [each.entitlement for each in found.values()] == ["1", "2/3", "1/3"]


def test_weight_zero_has_no_weighted_share_and_is_entitled_to_nothing(wire):
    _apply(wire, _source(wire).replace("weight: 2", "weight: 0"))
    wire.submit("train", tenant="a", gpus=3)
    wire.turn()
    usage = _usage(wire, "a")[0]
    assert (usage.share, usage.weighted_share, usage.entitlement) == ("0.375", "", "0")


@pytest.mark.parametrize(("name", "code"), [("tenants/nobody", CODE.NOT_FOUND), ("nobody", CODE.INVALID_ARGUMENT)])
def test_the_usage_of_nobody(wire, refused, name, code):
    answer = refused(wire.quotas.GetTenantUsage, wire_pb2.GetTenantUsageRequest(tenant=name))
    assert (answer.code, answer.details["ErrorInfo"].metadata["field"]) == (code, "tenant")


def test_flavors_with_what_is_used_of_them(wire):
    wire.submit("train", gpus=3)
    wire.turn()
    cpu, h100 = wire.quotas.ListFlavors(wire_pb2.ListFlavorsRequest()).flavors
    assert (cpu.name, cpu.default_for_cpu_pods, cpu.resource) == ("flavors/cpu", True, "")
    assert (h100.name, h100.price, h100.resource, dict(h100.node_labels)) == ("flavors/h100", "3", GPU, {"gpu": "h100"})
    (gpus,) = (each for each in h100.capacities if each.resource == GPU)
    assert (gpus.capacity, gpus.nominal, gpus.usage) == ("8", "8", "3")
