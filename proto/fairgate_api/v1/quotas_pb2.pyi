import datetime

from google.api import field_behavior_pb2 as _field_behavior_pb2
from google.api import resource_pb2 as _resource_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Config(_message.Message):
    __slots__ = ("etag", "source", "create_time", "applied_by", "comment")
    ETAG_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    APPLIED_BY_FIELD_NUMBER: _ClassVar[int]
    COMMENT_FIELD_NUMBER: _ClassVar[int]
    etag: str
    source: str
    create_time: _timestamp_pb2.Timestamp
    applied_by: str
    comment: str
    def __init__(self, etag: _Optional[str] = ..., source: _Optional[str] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., applied_by: _Optional[str] = ..., comment: _Optional[str] = ...) -> None: ...

class ConfigPreview(_message.Message):
    __slots__ = ("starts", "evictions", "waits", "waiting_count")
    STARTS_FIELD_NUMBER: _ClassVar[int]
    EVICTIONS_FIELD_NUMBER: _ClassVar[int]
    WAITS_FIELD_NUMBER: _ClassVar[int]
    WAITING_COUNT_FIELD_NUMBER: _ClassVar[int]
    starts: _containers.RepeatedCompositeFieldContainer[JobPreview]
    evictions: _containers.RepeatedCompositeFieldContainer[JobPreview]
    waits: _containers.RepeatedCompositeFieldContainer[JobPreview]
    waiting_count: int
    def __init__(self, starts: _Optional[_Iterable[_Union[JobPreview, _Mapping]]] = ..., evictions: _Optional[_Iterable[_Union[JobPreview, _Mapping]]] = ..., waits: _Optional[_Iterable[_Union[JobPreview, _Mapping]]] = ..., waiting_count: _Optional[int] = ...) -> None: ...

class JobPreview(_message.Message):
    __slots__ = ("job", "flavor", "message", "latest_start_time", "latest_start_time_before")
    JOB_FIELD_NUMBER: _ClassVar[int]
    FLAVOR_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    LATEST_START_TIME_FIELD_NUMBER: _ClassVar[int]
    LATEST_START_TIME_BEFORE_FIELD_NUMBER: _ClassVar[int]
    job: str
    flavor: str
    message: str
    latest_start_time: _timestamp_pb2.Timestamp
    latest_start_time_before: _timestamp_pb2.Timestamp
    def __init__(self, job: _Optional[str] = ..., flavor: _Optional[str] = ..., message: _Optional[str] = ..., latest_start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., latest_start_time_before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Tenant(_message.Message):
    __slots__ = ("name", "parent", "weight", "is_leaf", "quotas", "budget", "restricts_flavors", "allowed_flavors", "max_priority", "max_pending_jobs", "max_running_jobs", "namespace", "usage")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PARENT_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    IS_LEAF_FIELD_NUMBER: _ClassVar[int]
    QUOTAS_FIELD_NUMBER: _ClassVar[int]
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    RESTRICTS_FLAVORS_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_FLAVORS_FIELD_NUMBER: _ClassVar[int]
    MAX_PRIORITY_FIELD_NUMBER: _ClassVar[int]
    MAX_PENDING_JOBS_FIELD_NUMBER: _ClassVar[int]
    MAX_RUNNING_JOBS_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    name: str
    parent: str
    weight: str
    is_leaf: bool
    quotas: _containers.RepeatedCompositeFieldContainer[Quota]
    budget: Budget
    restricts_flavors: bool
    allowed_flavors: _containers.RepeatedScalarFieldContainer[str]
    max_priority: int
    max_pending_jobs: int
    max_running_jobs: int
    namespace: str
    usage: TenantUsage
    def __init__(self, name: _Optional[str] = ..., parent: _Optional[str] = ..., weight: _Optional[str] = ..., is_leaf: bool = ..., quotas: _Optional[_Iterable[_Union[Quota, _Mapping]]] = ..., budget: _Optional[_Union[Budget, _Mapping]] = ..., restricts_flavors: bool = ..., allowed_flavors: _Optional[_Iterable[str]] = ..., max_priority: _Optional[int] = ..., max_pending_jobs: _Optional[int] = ..., max_running_jobs: _Optional[int] = ..., namespace: _Optional[str] = ..., usage: _Optional[_Union[TenantUsage, _Mapping]] = ...) -> None: ...

class Quota(_message.Message):
    __slots__ = ("flavor", "resource", "nominal", "borrowing_limit", "lending_limit")
    FLAVOR_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    NOMINAL_FIELD_NUMBER: _ClassVar[int]
    BORROWING_LIMIT_FIELD_NUMBER: _ClassVar[int]
    LENDING_LIMIT_FIELD_NUMBER: _ClassVar[int]
    flavor: str
    resource: str
    nominal: str
    borrowing_limit: str
    lending_limit: str
    def __init__(self, flavor: _Optional[str] = ..., resource: _Optional[str] = ..., nominal: _Optional[str] = ..., borrowing_limit: _Optional[str] = ..., lending_limit: _Optional[str] = ...) -> None: ...

class Budget(_message.Message):
    __slots__ = ("accelerator_hours", "period")
    ACCELERATOR_HOURS_FIELD_NUMBER: _ClassVar[int]
    PERIOD_FIELD_NUMBER: _ClassVar[int]
    accelerator_hours: str
    period: _duration_pb2.Duration
    def __init__(self, accelerator_hours: _Optional[str] = ..., period: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class TenantUsage(_message.Message):
    __slots__ = ("tenant", "rows", "share", "weight", "running_job_count", "pending_job_count", "dominant_resource", "weighted_share", "entitlement")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    SHARE_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    RUNNING_JOB_COUNT_FIELD_NUMBER: _ClassVar[int]
    PENDING_JOB_COUNT_FIELD_NUMBER: _ClassVar[int]
    DOMINANT_RESOURCE_FIELD_NUMBER: _ClassVar[int]
    WEIGHTED_SHARE_FIELD_NUMBER: _ClassVar[int]
    ENTITLEMENT_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    rows: _containers.RepeatedCompositeFieldContainer[QuotaUsage]
    share: str
    weight: str
    running_job_count: int
    pending_job_count: int
    dominant_resource: str
    weighted_share: str
    entitlement: str
    def __init__(self, tenant: _Optional[str] = ..., rows: _Optional[_Iterable[_Union[QuotaUsage, _Mapping]]] = ..., share: _Optional[str] = ..., weight: _Optional[str] = ..., running_job_count: _Optional[int] = ..., pending_job_count: _Optional[int] = ..., dominant_resource: _Optional[str] = ..., weighted_share: _Optional[str] = ..., entitlement: _Optional[str] = ...) -> None: ...

class QuotaUsage(_message.Message):
    __slots__ = ("flavor", "resource", "usage", "nominal", "borrowed", "lent")
    FLAVOR_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    NOMINAL_FIELD_NUMBER: _ClassVar[int]
    BORROWED_FIELD_NUMBER: _ClassVar[int]
    LENT_FIELD_NUMBER: _ClassVar[int]
    flavor: str
    resource: str
    usage: str
    nominal: str
    borrowed: str
    lent: str
    def __init__(self, flavor: _Optional[str] = ..., resource: _Optional[str] = ..., usage: _Optional[str] = ..., nominal: _Optional[str] = ..., borrowed: _Optional[str] = ..., lent: _Optional[str] = ...) -> None: ...

class Flavor(_message.Message):
    __slots__ = ("name", "price", "resource", "capacities", "node_labels", "kueue_flavor", "default_for_cpu_pods")
    class NodeLabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    PRICE_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    CAPACITIES_FIELD_NUMBER: _ClassVar[int]
    NODE_LABELS_FIELD_NUMBER: _ClassVar[int]
    KUEUE_FLAVOR_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_FOR_CPU_PODS_FIELD_NUMBER: _ClassVar[int]
    name: str
    price: str
    resource: str
    capacities: _containers.RepeatedCompositeFieldContainer[FlavorCapacity]
    node_labels: _containers.ScalarMap[str, str]
    kueue_flavor: str
    default_for_cpu_pods: bool
    def __init__(self, name: _Optional[str] = ..., price: _Optional[str] = ..., resource: _Optional[str] = ..., capacities: _Optional[_Iterable[_Union[FlavorCapacity, _Mapping]]] = ..., node_labels: _Optional[_Mapping[str, str]] = ..., kueue_flavor: _Optional[str] = ..., default_for_cpu_pods: bool = ...) -> None: ...

class FlavorCapacity(_message.Message):
    __slots__ = ("resource", "capacity", "nominal", "usage")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    CAPACITY_FIELD_NUMBER: _ClassVar[int]
    NOMINAL_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    resource: str
    capacity: str
    nominal: str
    usage: str
    def __init__(self, resource: _Optional[str] = ..., capacity: _Optional[str] = ..., nominal: _Optional[str] = ..., usage: _Optional[str] = ...) -> None: ...
