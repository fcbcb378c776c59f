"""Configuration, tenants, flavors and usage, from the service's words to the wire's."""

from collections.abc import Iterator

from fairgate_api.v1 import quota_service_pb2, quotas_pb2

from fairgate_scheduler.core.amounts import UNLIMITED, Amount, format_quantity
from fairgate_scheduler.core.holds import MESSAGES
from fairgate_scheduler.core.snapshot import HoldReason
from fairgate_scheduler.core.tenancy import Tenant
from fairgate_scheduler.entrypoints.grpc.codec import duration, ratio, timestamp
from fairgate_scheduler.entrypoints.grpc.names import tenant_name
from fairgate_scheduler.ports import ConfigVersion
from fairgate_scheduler.service.preview import Moved, Preview
from fairgate_scheduler.service.quota import ApplyResult
from fairgate_scheduler.service.standing import FlavorStanding, RowStanding, Standing


def encode_config(version: ConfigVersion) -> quotas_pb2.Config:
    """One applied configuration."""
    return quotas_pb2.Config(
        etag=version.etag,
        source=version.source,
        create_time=timestamp(version.at_ms),
        applied_by=version.by,
        comment=version.comment,
    )


def encode_applied(result: ApplyResult, *, names_jobs: bool) -> quota_service_pb2.ApplyConfigResponse:
    """What a new version changes. Without ``names_jobs`` it is not said which jobs these are, nor why."""
    return quota_service_pb2.ApplyConfigResponse(
        config=encode_config(result.version),
        changes=map(str, result.changes),
        preview=_encode_preview(result.preview, names_jobs=names_jobs),
        warnings=result.warnings,
    )


def encode_tenant(standing: Standing) -> quotas_pb2.Tenant:
    """A node of the tenant tree with what it uses."""
    tenant = standing.tenant
    out = quotas_pb2.Tenant(
        name=tenant_name(tenant.id),
        parent=tenant_name(tenant.parent) if tenant.parent else "",
        weight=ratio(tenant.weight),
        is_leaf=standing.is_leaf,
        quotas=_encode_quotas(tenant),
        restricts_flavors=tenant.allowed_flavors is not None,
        allowed_flavors=sorted(tenant.allowed_flavors or ()),
        max_priority=tenant.max_priority,
        max_pending_jobs=tenant.max_pending_jobs,
        max_running_jobs=tenant.max_running_jobs,
        namespace=tenant.namespace or "",
        usage=encode_usage(standing),
    )
    if tenant.budget is not None:
        out.budget.accelerator_hours = ratio(tenant.budget.accelerator_hours)
        out.budget.period.CopyFrom(duration(tenant.budget.period_ms))
    return out


def encode_usage(standing: Standing) -> quotas_pb2.TenantUsage:
    """What a tenant uses of its quota."""
    account, weight = standing.account, standing.tenant.weight
    return quotas_pb2.TenantUsage(
        tenant=tenant_name(standing.tenant.id),
        rows=map(_encode_row, standing.rows),
        share=ratio(account.share),
        weight=ratio(weight),
        running_job_count=account.running_jobs,
        pending_job_count=standing.pending_jobs,
        dominant_resource=account.dominant or "",
        weighted_share="" if account.weighted_share is None else ratio(account.weighted_share),
        entitlement=ratio(account.entitlement),
    )


def encode_flavor(standing: FlavorStanding) -> quotas_pb2.Flavor:
    """One kind of capacity."""
    flavor = standing.flavor
    resources = sorted({*standing.capacity, *standing.used, *standing.nominal})
    capacities = (
        quotas_pb2.FlavorCapacity(
            resource=resource,
            capacity=format_quantity(standing.capacity.get(resource, UNLIMITED), resource),
            nominal=format_quantity(standing.nominal.get(resource, UNLIMITED), resource),
            usage=format_quantity(standing.used.get(resource, 0), resource),
        )
        for resource in resources
    )
    return quotas_pb2.Flavor(
        name=f"flavors/{flavor.name}",
        price=ratio(flavor.price),
        resource=flavor.resource or "",
        capacities=capacities,
        node_labels=flavor.node_labels,
        kueue_flavor=flavor.kueue_flavor or "",
        default_for_cpu_pods=flavor.default_for_cpu_pods,
    )


def _encode_preview(preview: Preview, *, names_jobs: bool) -> quotas_pb2.ConfigPreview:
    flavors = preview.flavors
    out = quotas_pb2.ConfigPreview(
        starts=(quotas_pb2.JobPreview(job=job, flavor=flavors[job]) for job in preview.starts),
        evictions=(
            quotas_pb2.JobPreview(job=each.job, flavor=flavors[each.job], message=each.reason)
            for each in preview.evicts
        ),
        waits=(_encode_wait(job, reason, preview.latest_starts.get(job)) for job, reason in preview.reasons.items()),
        waiting_count=len(preview.waits),
    )
    for each in () if names_jobs else (*out.starts, *out.evictions, *out.waits):
        each.ClearField("job")
    for each in () if names_jobs else out.evictions:
        each.ClearField("message")  # it names whom it is for
    return out


def _encode_wait(job: str, reason: HoldReason, moved: Moved | None) -> quotas_pb2.JobPreview:
    return quotas_pb2.JobPreview(
        job=job,
        message=f"{reason.name}: {MESSAGES[reason]}",
        latest_start_time=timestamp(moved and moved.after_ms),
        latest_start_time_before=timestamp(moved and moved.before_ms),
    )


def _encode_quotas(tenant: Tenant) -> Iterator[quotas_pb2.Quota]:
    for (flavor, resource), quota in sorted(tenant.quota.items()):
        yield quotas_pb2.Quota(
            flavor=flavor,
            resource=resource,
            nominal=format_quantity(quota.nominal, resource),
            borrowing_limit=_bound(quota.borrowing_limit, resource),
            lending_limit=_bound(quota.lending_limit, resource),
        )


def _encode_row(row: RowStanding) -> quotas_pb2.QuotaUsage:
    flavor, resource = row.row
    return quotas_pb2.QuotaUsage(
        flavor=flavor,
        resource=resource,
        usage=format_quantity(row.used, resource),
        nominal=format_quantity(row.nominal, resource),
        borrowed=format_quantity(row.borrowed, resource),
        lent=format_quantity(row.lent, resource),
    )


def _bound(amount: Amount | None, resource: str) -> str:
    return format_quantity(UNLIMITED if amount is None else amount, resource)
