import datetime

from google.api import field_behavior_pb2 as _field_behavior_pb2
from google.api import field_info_pb2 as _field_info_pb2
from google.api import resource_pb2 as _resource_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class JobState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    JOB_STATE_UNSPECIFIED: _ClassVar[JobState]
    JOB_STATE_PENDING: _ClassVar[JobState]
    JOB_STATE_ADMITTED: _ClassVar[JobState]
    JOB_STATE_RUNNING: _ClassVar[JobState]
    JOB_STATE_STOPPING: _ClassVar[JobState]
    JOB_STATE_SUCCEEDED: _ClassVar[JobState]
    JOB_STATE_FAILED: _ClassVar[JobState]
    JOB_STATE_CANCELLED: _ClassVar[JobState]

class FallbackPolicy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FALLBACK_POLICY_UNSPECIFIED: _ClassVar[FallbackPolicy]
    FALLBACK_POLICY_ORDERED: _ClassVar[FallbackPolicy]
    FALLBACK_POLICY_SOONEST: _ClassVar[FallbackPolicy]

class HoldReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    HOLD_REASON_UNSPECIFIED: _ClassVar[HoldReason]
    HOLD_REASON_NO_MATCHING_FLAVOR: _ClassVar[HoldReason]
    HOLD_REASON_EXCEEDS_MAX_QUOTA: _ClassVar[HoldReason]
    HOLD_REASON_TENANT_LIMIT: _ClassVar[HoldReason]
    HOLD_REASON_BACKOFF: _ClassVar[HoldReason]
    HOLD_REASON_WAITING_FOR_PREFERRED: _ClassVar[HoldReason]
    HOLD_REASON_BUDGET_EXHAUSTED: _ClassVar[HoldReason]
    HOLD_REASON_WAITING_FOR_QUOTA: _ClassVar[HoldReason]
    HOLD_REASON_BACKFILL_CLAIM: _ClassVar[HoldReason]
    HOLD_REASON_WAITING_FOR_PREEMPTED: _ClassVar[HoldReason]
    HOLD_REASON_SUSPENDED: _ClassVar[HoldReason]

class AttemptState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ATTEMPT_STATE_UNSPECIFIED: _ClassVar[AttemptState]
    ATTEMPT_STATE_RESERVED: _ClassVar[AttemptState]
    ATTEMPT_STATE_LAUNCHED: _ClassVar[AttemptState]
    ATTEMPT_STATE_RUNNING: _ClassVar[AttemptState]
    ATTEMPT_STATE_STOPPING: _ClassVar[AttemptState]
    ATTEMPT_STATE_GONE: _ClassVar[AttemptState]

class EventKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EVENT_KIND_UNSPECIFIED: _ClassVar[EventKind]
    EVENT_KIND_SUBMITTED: _ClassVar[EventKind]
    EVENT_KIND_UPDATED: _ClassVar[EventKind]
    EVENT_KIND_ADMITTED: _ClassVar[EventKind]
    EVENT_KIND_LAUNCHED: _ClassVar[EventKind]
    EVENT_KIND_RUNNING: _ClassVar[EventKind]
    EVENT_KIND_EVICTED: _ClassVar[EventKind]
    EVENT_KIND_REQUEUED: _ClassVar[EventKind]
    EVENT_KIND_STOPPING: _ClassVar[EventKind]
    EVENT_KIND_SUCCEEDED: _ClassVar[EventKind]
    EVENT_KIND_FAILED: _ClassVar[EventKind]
    EVENT_KIND_CANCELLED: _ClassVar[EventKind]
JOB_STATE_UNSPECIFIED: JobState
JOB_STATE_PENDING: JobState
JOB_STATE_ADMITTED: JobState
JOB_STATE_RUNNING: JobState
JOB_STATE_STOPPING: JobState
JOB_STATE_SUCCEEDED: JobState
JOB_STATE_FAILED: JobState
JOB_STATE_CANCELLED: JobState
FALLBACK_POLICY_UNSPECIFIED: FallbackPolicy
FALLBACK_POLICY_ORDERED: FallbackPolicy
FALLBACK_POLICY_SOONEST: FallbackPolicy
HOLD_REASON_UNSPECIFIED: HoldReason
HOLD_REASON_NO_MATCHING_FLAVOR: HoldReason
HOLD_REASON_EXCEEDS_MAX_QUOTA: HoldReason
HOLD_REASON_TENANT_LIMIT: HoldReason
HOLD_REASON_BACKOFF: HoldReason
HOLD_REASON_WAITING_FOR_PREFERRED: HoldReason
HOLD_REASON_BUDGET_EXHAUSTED: HoldReason
HOLD_REASON_WAITING_FOR_QUOTA: HoldReason
HOLD_REASON_BACKFILL_CLAIM: HoldReason
HOLD_REASON_WAITING_FOR_PREEMPTED: HoldReason
HOLD_REASON_SUSPENDED: HoldReason
ATTEMPT_STATE_UNSPECIFIED: AttemptState
ATTEMPT_STATE_RESERVED: AttemptState
ATTEMPT_STATE_LAUNCHED: AttemptState
ATTEMPT_STATE_RUNNING: AttemptState
ATTEMPT_STATE_STOPPING: AttemptState
ATTEMPT_STATE_GONE: AttemptState
EVENT_KIND_UNSPECIFIED: EventKind
EVENT_KIND_SUBMITTED: EventKind
EVENT_KIND_UPDATED: EventKind
EVENT_KIND_ADMITTED: EventKind
EVENT_KIND_LAUNCHED: EventKind
EVENT_KIND_RUNNING: EventKind
EVENT_KIND_EVICTED: EventKind
EVENT_KIND_REQUEUED: EventKind
EVENT_KIND_STOPPING: EventKind
EVENT_KIND_SUCCEEDED: EventKind
EVENT_KIND_FAILED: EventKind
EVENT_KIND_CANCELLED: EventKind

class Job(_message.Message):
    __slots__ = ("name", "tenant", "manifest", "priority", "priority_class", "preemptible", "time_limit", "fallback", "fallback_after", "options", "workload", "labels", "state", "outcome", "message", "hold", "flavor", "charges", "warnings", "submitted_by", "create_time", "start_time", "finish_time", "pending_since", "attempt_count", "eviction_count", "exit_code", "attempts", "etag", "uid", "forecast")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    MANIFEST_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_CLASS_FIELD_NUMBER: _ClassVar[int]
    PREEMPTIBLE_FIELD_NUMBER: _ClassVar[int]
    TIME_LIMIT_FIELD_NUMBER: _ClassVar[int]
    FALLBACK_FIELD_NUMBER: _ClassVar[int]
    FALLBACK_AFTER_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    WORKLOAD_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    HOLD_FIELD_NUMBER: _ClassVar[int]
    FLAVOR_FIELD_NUMBER: _ClassVar[int]
    CHARGES_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    SUBMITTED_BY_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    FINISH_TIME_FIELD_NUMBER: _ClassVar[int]
    PENDING_SINCE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_COUNT_FIELD_NUMBER: _ClassVar[int]
    EVICTION_COUNT_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    UID_FIELD_NUMBER: _ClassVar[int]
    FORECAST_FIELD_NUMBER: _ClassVar[int]
    name: str
    tenant: str
    manifest: str
    priority: int
    priority_class: str
    preemptible: bool
    time_limit: _duration_pb2.Duration
    fallback: FallbackPolicy
    fallback_after: _duration_pb2.Duration
    options: _containers.RepeatedCompositeFieldContainer[OptionSpec]
    workload: str
    labels: _containers.ScalarMap[str, str]
    state: JobState
    outcome: JobState
    message: str
    hold: JobHold
    flavor: str
    charges: _containers.RepeatedCompositeFieldContainer[OptionCharge]
    warnings: _containers.RepeatedScalarFieldContainer[str]
    submitted_by: str
    create_time: _timestamp_pb2.Timestamp
    start_time: _timestamp_pb2.Timestamp
    finish_time: _timestamp_pb2.Timestamp
    pending_since: _timestamp_pb2.Timestamp
    attempt_count: int
    eviction_count: int
    exit_code: int
    attempts: _containers.RepeatedCompositeFieldContainer[Attempt]
    etag: str
    uid: str
    forecast: JobForecast
    def __init__(self, name: _Optional[str] = ..., tenant: _Optional[str] = ..., manifest: _Optional[str] = ..., priority: _Optional[int] = ..., priority_class: _Optional[str] = ..., preemptible: bool = ..., time_limit: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., fallback: _Optional[_Union[FallbackPolicy, str]] = ..., fallback_after: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., options: _Optional[_Iterable[_Union[OptionSpec, _Mapping]]] = ..., workload: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., state: _Optional[_Union[JobState, str]] = ..., outcome: _Optional[_Union[JobState, str]] = ..., message: _Optional[str] = ..., hold: _Optional[_Union[JobHold, _Mapping]] = ..., flavor: _Optional[str] = ..., charges: _Optional[_Iterable[_Union[OptionCharge, _Mapping]]] = ..., warnings: _Optional[_Iterable[str]] = ..., submitted_by: _Optional[str] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., finish_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., pending_since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., attempt_count: _Optional[int] = ..., eviction_count: _Optional[int] = ..., exit_code: _Optional[int] = ..., attempts: _Optional[_Iterable[_Union[Attempt, _Mapping]]] = ..., etag: _Optional[str] = ..., uid: _Optional[str] = ..., forecast: _Optional[_Union[JobForecast, _Mapping]] = ...) -> None: ...

class JobForecast(_message.Message):
    __slots__ = ("earliest_start_time", "latest_start_time", "earliest_finish_time", "latest_finish_time", "option", "flavor", "evictions", "eviction_count", "partial", "not_before_time", "helps", "costs")
    EARLIEST_START_TIME_FIELD_NUMBER: _ClassVar[int]
    LATEST_START_TIME_FIELD_NUMBER: _ClassVar[int]
    EARLIEST_FINISH_TIME_FIELD_NUMBER: _ClassVar[int]
    LATEST_FINISH_TIME_FIELD_NUMBER: _ClassVar[int]
    OPTION_FIELD_NUMBER: _ClassVar[int]
    FLAVOR_FIELD_NUMBER: _ClassVar[int]
    EVICTIONS_FIELD_NUMBER: _ClassVar[int]
    EVICTION_COUNT_FIELD_NUMBER: _ClassVar[int]
    PARTIAL_FIELD_NUMBER: _ClassVar[int]
    NOT_BEFORE_TIME_FIELD_NUMBER: _ClassVar[int]
    HELPS_FIELD_NUMBER: _ClassVar[int]
    COSTS_FIELD_NUMBER: _ClassVar[int]
    earliest_start_time: _timestamp_pb2.Timestamp
    latest_start_time: _timestamp_pb2.Timestamp
    earliest_finish_time: _timestamp_pb2.Timestamp
    latest_finish_time: _timestamp_pb2.Timestamp
    option: int
    flavor: str
    evictions: _containers.RepeatedScalarFieldContainer[str]
    eviction_count: int
    partial: bool
    not_before_time: _timestamp_pb2.Timestamp
    helps: _containers.RepeatedCompositeFieldContainer[Help]
    costs: _containers.RepeatedCompositeFieldContainer[OptionCost]
    def __init__(self, earliest_start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., latest_start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., earliest_finish_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., latest_finish_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., option: _Optional[int] = ..., flavor: _Optional[str] = ..., evictions: _Optional[_Iterable[str]] = ..., eviction_count: _Optional[int] = ..., partial: bool = ..., not_before_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., helps: _Optional[_Iterable[_Union[Help, _Mapping]]] = ..., costs: _Optional[_Iterable[_Union[OptionCost, _Mapping]]] = ...) -> None: ...

class Help(_message.Message):
    __slots__ = ("kind", "message", "priority", "time_limit", "rows", "tenant", "max_running_jobs")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        KIND_UNSPECIFIED: _ClassVar[Help.Kind]
        KIND_PRIORITY: _ClassVar[Help.Kind]
        KIND_TIME_LIMIT: _ClassVar[Help.Kind]
        KIND_QUOTA: _ClassVar[Help.Kind]
        KIND_FALLBACK_AFTER: _ClassVar[Help.Kind]
        KIND_RUNNING_JOBS: _ClassVar[Help.Kind]
    KIND_UNSPECIFIED: Help.Kind
    KIND_PRIORITY: Help.Kind
    KIND_TIME_LIMIT: Help.Kind
    KIND_QUOTA: Help.Kind
    KIND_FALLBACK_AFTER: Help.Kind
    KIND_RUNNING_JOBS: Help.Kind
    KIND_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    TIME_LIMIT_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    MAX_RUNNING_JOBS_FIELD_NUMBER: _ClassVar[int]
    kind: Help.Kind
    message: str
    priority: int
    time_limit: _duration_pb2.Duration
    rows: _containers.RepeatedCompositeFieldContainer[Charge]
    tenant: str
    max_running_jobs: int
    def __init__(self, kind: _Optional[_Union[Help.Kind, str]] = ..., message: _Optional[str] = ..., priority: _Optional[int] = ..., time_limit: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., rows: _Optional[_Iterable[_Union[Charge, _Mapping]]] = ..., tenant: _Optional[str] = ..., max_running_jobs: _Optional[int] = ...) -> None: ...

class OptionCost(_message.Message):
    __slots__ = ("option", "flavor", "accelerator_hours")
    OPTION_FIELD_NUMBER: _ClassVar[int]
    FLAVOR_FIELD_NUMBER: _ClassVar[int]
    ACCELERATOR_HOURS_FIELD_NUMBER: _ClassVar[int]
    option: int
    flavor: str
    accelerator_hours: str
    def __init__(self, option: _Optional[int] = ..., flavor: _Optional[str] = ..., accelerator_hours: _Optional[str] = ...) -> None: ...

class OptionSpec(_message.Message):
    __slots__ = ("flavor", "speed", "groups")
    class GroupsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: GroupChange
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[GroupChange, _Mapping]] = ...) -> None: ...
    FLAVOR_FIELD_NUMBER: _ClassVar[int]
    SPEED_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    flavor: str
    speed: str
    groups: _containers.MessageMap[str, GroupChange]
    def __init__(self, flavor: _Optional[str] = ..., speed: _Optional[str] = ..., groups: _Optional[_Mapping[str, GroupChange]] = ...) -> None: ...

class GroupChange(_message.Message):
    __slots__ = ("flavor", "resources", "replicas", "min_replicas", "max_replicas", "num_of_hosts", "image", "env", "ray_start_params")
    class ResourcesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class EnvEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class RayStartParamsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    FLAVOR_FIELD_NUMBER: _ClassVar[int]
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    MIN_REPLICAS_FIELD_NUMBER: _ClassVar[int]
    MAX_REPLICAS_FIELD_NUMBER: _ClassVar[int]
    NUM_OF_HOSTS_FIELD_NUMBER: _ClassVar[int]
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    ENV_FIELD_NUMBER: _ClassVar[int]
    RAY_START_PARAMS_FIELD_NUMBER: _ClassVar[int]
    flavor: str
    resources: _containers.ScalarMap[str, str]
    replicas: int
    min_replicas: int
    max_replicas: int
    num_of_hosts: int
    image: str
    env: _containers.ScalarMap[str, str]
    ray_start_params: _containers.ScalarMap[str, str]
    def __init__(self, flavor: _Optional[str] = ..., resources: _Optional[_Mapping[str, str]] = ..., replicas: _Optional[int] = ..., min_replicas: _Optional[int] = ..., max_replicas: _Optional[int] = ..., num_of_hosts: _Optional[int] = ..., image: _Optional[str] = ..., env: _Optional[_Mapping[str, str]] = ..., ray_start_params: _Optional[_Mapping[str, str]] = ...) -> None: ...

class OptionCharge(_message.Message):
    __slots__ = ("option", "flavor", "speed", "groups", "rows")
    OPTION_FIELD_NUMBER: _ClassVar[int]
    FLAVOR_FIELD_NUMBER: _ClassVar[int]
    SPEED_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    option: int
    flavor: str
    speed: str
    groups: _containers.RepeatedCompositeFieldContainer[PodGroup]
    rows: _containers.RepeatedCompositeFieldContainer[Charge]
    def __init__(self, option: _Optional[int] = ..., flavor: _Optional[str] = ..., speed: _Optional[str] = ..., groups: _Optional[_Iterable[_Union[PodGroup, _Mapping]]] = ..., rows: _Optional[_Iterable[_Union[Charge, _Mapping]]] = ...) -> None: ...

class PodGroup(_message.Message):
    __slots__ = ("name", "flavor", "count", "requests")
    class RequestsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    FLAVOR_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    name: str
    flavor: str
    count: int
    requests: _containers.ScalarMap[str, str]
    def __init__(self, name: _Optional[str] = ..., flavor: _Optional[str] = ..., count: _Optional[int] = ..., requests: _Optional[_Mapping[str, str]] = ...) -> None: ...

class Charge(_message.Message):
    __slots__ = ("flavor", "resource", "amount")
    FLAVOR_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    flavor: str
    resource: str
    amount: str
    def __init__(self, flavor: _Optional[str] = ..., resource: _Optional[str] = ..., amount: _Optional[str] = ...) -> None: ...

class JobHold(_message.Message):
    __slots__ = ("reason", "message")
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    reason: HoldReason
    message: str
    def __init__(self, reason: _Optional[_Union[HoldReason, str]] = ..., message: _Optional[str] = ...) -> None: ...

class Attempt(_message.Message):
    __slots__ = ("number", "state", "option", "flavor", "admit_time", "ready_time", "end_time", "reason", "exit_code")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    OPTION_FIELD_NUMBER: _ClassVar[int]
    FLAVOR_FIELD_NUMBER: _ClassVar[int]
    ADMIT_TIME_FIELD_NUMBER: _ClassVar[int]
    READY_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    number: int
    state: AttemptState
    option: int
    flavor: str
    admit_time: _timestamp_pb2.Timestamp
    ready_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    reason: str
    exit_code: int
    def __init__(self, number: _Optional[int] = ..., state: _Optional[_Union[AttemptState, str]] = ..., option: _Optional[int] = ..., flavor: _Optional[str] = ..., admit_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ready_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reason: _Optional[str] = ..., exit_code: _Optional[int] = ...) -> None: ...

class JobEvent(_message.Message):
    __slots__ = ("job", "kind", "time", "message", "attempt", "details")
    class DetailsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    JOB_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    job: str
    kind: EventKind
    time: _timestamp_pb2.Timestamp
    message: str
    attempt: int
    details: _containers.ScalarMap[str, str]
    def __init__(self, job: _Optional[str] = ..., kind: _Optional[_Union[EventKind, str]] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., message: _Optional[str] = ..., attempt: _Optional[int] = ..., details: _Optional[_Mapping[str, str]] = ...) -> None: ...
