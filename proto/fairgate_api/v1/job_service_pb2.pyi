from fairgate_api.v1 import jobs_pb2 as _jobs_pb2
from google.api import field_behavior_pb2 as _field_behavior_pb2
from google.api import resource_pb2 as _resource_pb2
from google.protobuf import field_mask_pb2 as _field_mask_pb2
from google.rpc import status_pb2 as _status_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SubmitJobRequest(_message.Message):
    __slots__ = ("parent", "job_id", "job", "request_id", "validate_only")
    PARENT_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    parent: str
    job_id: str
    job: _jobs_pb2.Job
    request_id: str
    validate_only: bool
    def __init__(self, parent: _Optional[str] = ..., job_id: _Optional[str] = ..., job: _Optional[_Union[_jobs_pb2.Job, _Mapping]] = ..., request_id: _Optional[str] = ..., validate_only: bool = ...) -> None: ...

class SubmitJobsRequest(_message.Message):
    __slots__ = ("parent", "requests")
    PARENT_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    parent: str
    requests: _containers.RepeatedCompositeFieldContainer[SubmitJobRequest]
    def __init__(self, parent: _Optional[str] = ..., requests: _Optional[_Iterable[_Union[SubmitJobRequest, _Mapping]]] = ...) -> None: ...

class SubmitJobsResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[SubmitJobResult]
    def __init__(self, results: _Optional[_Iterable[_Union[SubmitJobResult, _Mapping]]] = ...) -> None: ...

class SubmitJobResult(_message.Message):
    __slots__ = ("job", "error")
    JOB_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    job: _jobs_pb2.Job
    error: _status_pb2.Status
    def __init__(self, job: _Optional[_Union[_jobs_pb2.Job, _Mapping]] = ..., error: _Optional[_Union[_status_pb2.Status, _Mapping]] = ...) -> None: ...

class GetJobRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class ListJobsRequest(_message.Message):
    __slots__ = ("parent", "page_size", "page_token", "filter", "with_forecasts")
    PARENT_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    WITH_FORECASTS_FIELD_NUMBER: _ClassVar[int]
    parent: str
    page_size: int
    page_token: str
    filter: str
    with_forecasts: bool
    def __init__(self, parent: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., filter: _Optional[str] = ..., with_forecasts: bool = ...) -> None: ...

class ListJobsResponse(_message.Message):
    __slots__ = ("jobs", "next_page_token")
    JOBS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[_jobs_pb2.Job]
    next_page_token: str
    def __init__(self, jobs: _Optional[_Iterable[_Union[_jobs_pb2.Job, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class WatchJobsRequest(_message.Message):
    __slots__ = ("parent", "job", "after_sequence")
    PARENT_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    AFTER_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    parent: str
    job: str
    after_sequence: int
    def __init__(self, parent: _Optional[str] = ..., job: _Optional[str] = ..., after_sequence: _Optional[int] = ...) -> None: ...

class WatchJobsResponse(_message.Message):
    __slots__ = ("sequence", "event", "job", "caught_up")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    CAUGHT_UP_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    event: _jobs_pb2.JobEvent
    job: _jobs_pb2.Job
    caught_up: bool
    def __init__(self, sequence: _Optional[int] = ..., event: _Optional[_Union[_jobs_pb2.JobEvent, _Mapping]] = ..., job: _Optional[_Union[_jobs_pb2.Job, _Mapping]] = ..., caught_up: bool = ...) -> None: ...

class CancelJobRequest(_message.Message):
    __slots__ = ("name", "reason")
    NAME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    name: str
    reason: str
    def __init__(self, name: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class UpdateJobRequest(_message.Message):
    __slots__ = ("job", "update_mask")
    JOB_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    job: _jobs_pb2.Job
    update_mask: _field_mask_pb2.FieldMask
    def __init__(self, job: _Optional[_Union[_jobs_pb2.Job, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ...) -> None: ...

class ExplainJobRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class ExplainJobResponse(_message.Message):
    __slots__ = ("job", "hold")
    JOB_FIELD_NUMBER: _ClassVar[int]
    HOLD_FIELD_NUMBER: _ClassVar[int]
    job: _jobs_pb2.Job
    hold: HoldExplanation
    def __init__(self, job: _Optional[_Union[_jobs_pb2.Job, _Mapping]] = ..., hold: _Optional[_Union[HoldExplanation, _Mapping]] = ...) -> None: ...

class HoldExplanation(_message.Message):
    __slots__ = ("reason", "message", "position", "options")
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    reason: _jobs_pb2.HoldReason
    message: str
    position: int
    options: _containers.RepeatedCompositeFieldContainer[OptionReport]
    def __init__(self, reason: _Optional[_Union[_jobs_pb2.HoldReason, str]] = ..., message: _Optional[str] = ..., position: _Optional[int] = ..., options: _Optional[_Iterable[_Union[OptionReport, _Mapping]]] = ...) -> None: ...

class OptionReport(_message.Message):
    __slots__ = ("option", "flavor", "reason", "needs")
    OPTION_FIELD_NUMBER: _ClassVar[int]
    FLAVOR_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    NEEDS_FIELD_NUMBER: _ClassVar[int]
    option: int
    flavor: str
    reason: str
    needs: _containers.RepeatedCompositeFieldContainer[Need]
    def __init__(self, option: _Optional[int] = ..., flavor: _Optional[str] = ..., reason: _Optional[str] = ..., needs: _Optional[_Iterable[_Union[Need, _Mapping]]] = ...) -> None: ...

class Need(_message.Message):
    __slots__ = ("flavor", "resource", "need", "have", "at", "holders")
    class HoldersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    FLAVOR_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    NEED_FIELD_NUMBER: _ClassVar[int]
    HAVE_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    HOLDERS_FIELD_NUMBER: _ClassVar[int]
    flavor: str
    resource: str
    need: str
    have: str
    at: str
    holders: _containers.ScalarMap[str, str]
    def __init__(self, flavor: _Optional[str] = ..., resource: _Optional[str] = ..., need: _Optional[str] = ..., have: _Optional[str] = ..., at: _Optional[str] = ..., holders: _Optional[_Mapping[str, str]] = ...) -> None: ...

class StreamJobLogsRequest(_message.Message):
    __slots__ = ("name", "attempt", "offset", "follow")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    name: str
    attempt: int
    offset: int
    follow: bool
    def __init__(self, name: _Optional[str] = ..., attempt: _Optional[int] = ..., offset: _Optional[int] = ..., follow: bool = ...) -> None: ...

class StreamJobLogsResponse(_message.Message):
    __slots__ = ("attempt", "offset", "data", "next_offset")
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    NEXT_OFFSET_FIELD_NUMBER: _ClassVar[int]
    attempt: int
    offset: int
    data: bytes
    next_offset: int
    def __init__(self, attempt: _Optional[int] = ..., offset: _Optional[int] = ..., data: _Optional[bytes] = ..., next_offset: _Optional[int] = ...) -> None: ...
