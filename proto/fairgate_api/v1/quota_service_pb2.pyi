from fairgate_api.v1 import quotas_pb2 as _quotas_pb2
from google.api import field_behavior_pb2 as _field_behavior_pb2
from google.api import resource_pb2 as _resource_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetConfigRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ApplyConfigRequest(_message.Message):
    __slots__ = ("source", "etag", "validate_only", "comment")
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    COMMENT_FIELD_NUMBER: _ClassVar[int]
    source: str
    etag: str
    validate_only: bool
    comment: str
    def __init__(self, source: _Optional[str] = ..., etag: _Optional[str] = ..., validate_only: bool = ..., comment: _Optional[str] = ...) -> None: ...

class ApplyConfigResponse(_message.Message):
    __slots__ = ("config", "changes", "preview", "warnings")
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    PREVIEW_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    config: _quotas_pb2.Config
    changes: _containers.RepeatedScalarFieldContainer[str]
    preview: _quotas_pb2.ConfigPreview
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, config: _Optional[_Union[_quotas_pb2.Config, _Mapping]] = ..., changes: _Optional[_Iterable[str]] = ..., preview: _Optional[_Union[_quotas_pb2.ConfigPreview, _Mapping]] = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...

class ListTenantsRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListTenantsResponse(_message.Message):
    __slots__ = ("tenants", "next_page_token")
    TENANTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    tenants: _containers.RepeatedCompositeFieldContainer[_quotas_pb2.Tenant]
    next_page_token: str
    def __init__(self, tenants: _Optional[_Iterable[_Union[_quotas_pb2.Tenant, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GetTenantUsageRequest(_message.Message):
    __slots__ = ("tenant",)
    TENANT_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    def __init__(self, tenant: _Optional[str] = ...) -> None: ...

class ListFlavorsRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListFlavorsResponse(_message.Message):
    __slots__ = ("flavors", "next_page_token")
    FLAVORS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    flavors: _containers.RepeatedCompositeFieldContainer[_quotas_pb2.Flavor]
    next_page_token: str
    def __init__(self, flavors: _Optional[_Iterable[_Union[_quotas_pb2.Flavor, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...
