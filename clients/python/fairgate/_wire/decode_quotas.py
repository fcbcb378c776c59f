"""Protobuf messages → the client's models of the configuration and of what is used."""

from fractions import Fraction

from fairgate_api.v1 import quota_service_pb2 as service_pb2
from fairgate_api.v1 import quotas_pb2

from fairgate import _quota_models as models
from fairgate._wire.decode import duration, instant, texts


def config(message: quotas_pb2.Config) -> models.Config:
    """One applied configuration."""
    at = instant(message.create_time) if message.HasField("create_time") else None
    return models.Config(message.etag, message.source, at, message.applied_by, message.comment)


def config_change(message: service_pb2.ApplyConfigResponse) -> models.ConfigChange:
    """What a new version changes."""
    preview = message.preview
    return models.ConfigChange(
        config(message.config),
        tuple(message.changes),
        tuple(_preview(each) for each in preview.starts),
        tuple(_preview(each) for each in preview.evictions),
        tuple(_preview(each) for each in preview.waits),
        preview.waiting_count,
        tuple(message.warnings),
    )


def tenant(message: quotas_pb2.Tenant) -> models.Tenant:
    """A node of the tenant tree."""
    budget = None
    if message.HasField("budget"):
        budget = models.Budget(Fraction(message.budget.accelerator_hours), duration(message.budget.period))
    return models.Tenant(
        name=message.name,
        parent=message.parent,
        weight=Fraction(message.weight or 1),
        is_leaf=message.is_leaf,
        quotas=tuple(
            models.Quota(each.flavor, each.resource, each.nominal, each.borrowing_limit, each.lending_limit)
            for each in message.quotas
        ),
        budget=budget,
        allowed_flavors=tuple(message.allowed_flavors) if message.restricts_flavors else None,
        max_priority=message.max_priority if message.HasField("max_priority") else None,
        max_pending_jobs=message.max_pending_jobs if message.HasField("max_pending_jobs") else None,
        max_running_jobs=message.max_running_jobs if message.HasField("max_running_jobs") else None,
        namespace=message.namespace,
        usage=usage(message.usage) if message.HasField("usage") else None,
    )


def usage(message: quotas_pb2.TenantUsage) -> models.TenantUsage:
    """What a tenant uses."""
    return models.TenantUsage(
        message.tenant,
        tuple(
            models.QuotaUsage(each.flavor, each.resource, each.usage, each.nominal, each.borrowed, each.lent)
            for each in message.rows
        ),
        Fraction(message.share or 0),
        Fraction(message.weight or 1),
        message.running_job_count,
        message.pending_job_count,
        message.dominant_resource,
        Fraction(message.weighted_share) if message.weighted_share else None,
        Fraction(message.entitlement or 0),
    )


def flavor(message: quotas_pb2.Flavor) -> models.Flavor:
    """One kind of capacity."""
    return models.Flavor(
        message.name,
        Fraction(message.price or 1),
        message.resource,
        tuple(
            models.FlavorCapacity(each.resource, each.capacity, each.nominal, each.usage) for each in message.capacities
        ),
        texts(message.node_labels),
        message.kueue_flavor,
        message.default_for_cpu_pods,
    )


def _preview(message: quotas_pb2.JobPreview) -> models.JobPreview:
    before, after = message.latest_start_time_before, message.latest_start_time
    return models.JobPreview(
        message.job,
        message.flavor,
        message.message,
        instant(after) if message.HasField("latest_start_time") else None,
        instant(before) if message.HasField("latest_start_time_before") else None,
    )
