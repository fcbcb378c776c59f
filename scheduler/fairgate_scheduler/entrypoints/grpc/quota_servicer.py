"""``QuotaService`` on the wire: each method decodes, makes one call of the service, and encodes."""

import grpc
from fairgate_api.v1 import quota_service_pb2, quota_service_pb2_grpc, quotas_pb2

from fairgate_scheduler.entrypoints.grpc import fields, names, pages, quota_codec
from fairgate_scheduler.entrypoints.grpc.auth import principal_of
from fairgate_scheduler.service import quota, standing
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.privacy import sees_jobs_of_all


class QuotaServicer(quota_service_pb2_grpc.QuotaServiceServicer):
    """Configuration and usage over the wire."""

    def __init__(self, app: App) -> None:
        self._app = app

    def GetConfig(  # noqa: N802 - the names of the wire contract
        self, request: quota_service_pb2.GetConfigRequest, context: grpc.ServicerContext
    ) -> quotas_pb2.Config:
        return quota_codec.encode_config(quota.get_config(self._app))

    def ApplyConfig(  # noqa: N802
        self, request: quota_service_pb2.ApplyConfigRequest, context: grpc.ServicerContext
    ) -> quota_service_pb2.ApplyConfigResponse:
        caller = principal_of(context)
        with fields.renamed(fields.of_config):
            result = quota.apply_config(
                self._app,
                request.source,
                etag=request.etag or None,
                validate_only=request.validate_only,
                by=caller.name,
                comment=request.comment,
            )
        return quota_codec.encode_applied(result, names_jobs=sees_jobs_of_all(caller.roles))

    def ListTenants(  # noqa: N802
        self, request: quota_service_pb2.ListTenantsRequest, context: grpc.ServicerContext
    ) -> quota_service_pb2.ListTenantsResponse:
        page, token = pages.cut(standing.list_tenants(self._app), request.page_size, request.page_token)
        return quota_service_pb2.ListTenantsResponse(
            tenants=map(quota_codec.encode_tenant, page), next_page_token=token
        )

    def GetTenantUsage(  # noqa: N802
        self, request: quota_service_pb2.GetTenantUsageRequest, context: grpc.ServicerContext
    ) -> quotas_pb2.TenantUsage:
        tenant = names.read_tenant(request.tenant, "tenant")
        with fields.renamed(lambda field: "tenant" if field == "name" else field):
            return quota_codec.encode_usage(standing.get_tenant(self._app, tenant))

    def ListFlavors(  # noqa: N802
        self, request: quota_service_pb2.ListFlavorsRequest, context: grpc.ServicerContext
    ) -> quota_service_pb2.ListFlavorsResponse:
        page, token = pages.cut(standing.list_flavors(self._app), request.page_size, request.page_token)
        return quota_service_pb2.ListFlavorsResponse(
            flavors=map(quota_codec.encode_flavor, page), next_page_token=token
        )
