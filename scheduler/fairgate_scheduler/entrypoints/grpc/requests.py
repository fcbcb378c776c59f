"""What callers ask of jobs, from the wire's words to the service's; and refusals in the words of the wire again."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from fairgate_api.v1 import job_service_pb2, jobs_pb2

from fairgate_scheduler.core.jobs import Fallback
from fairgate_scheduler.entrypoints.grpc import names
from fairgate_scheduler.entrypoints.grpc.log_stream import LogRequest
from fairgate_scheduler.service.errors import FairgateError
from fairgate_scheduler.service.query import JobFilter
from fairgate_scheduler.service.submit import JobSpec, SubmitRequest

MAX_ITEMS: Final = 1000
UPDATABLE: Final = ("priority", "time_limit")

_FALLBACKS: Final = {
    jobs_pb2.FALLBACK_POLICY_UNSPECIFIED: None,
    jobs_pb2.FALLBACK_POLICY_ORDERED: Fallback.ORDERED,
    jobs_pb2.FALLBACK_POLICY_SOONEST: Fallback.SOONEST,
}
_SCALARS: Final = ("flavor", "replicas", "min_replicas", "max_replicas", "num_of_hosts", "image")
_MAPS: Final = ("resources", "env", "ray_start_params")


@dataclass(frozen=True, slots=True)
class Update:
    """What to change of a job; ``None``: as it is."""

    name: str
    priority: int | None
    time_limit_ms: int | None
    etag: str | None


def read_submit(request: job_service_pb2.SubmitJobRequest, submitted_by: str) -> SubmitRequest:
    """One job to submit. Raises InvalidArgument."""
    tenant = names.read_tenant(request.parent)
    if not request.job.manifest.strip():
        raise names.invalid("job.manifest", "is missing", "send the RayJob as YAML or JSON text")
    return SubmitRequest(
        tenant=tenant,
        job_id=request.job_id or None,
        manifest_text=request.job.manifest,
        spec=_read_spec(request.job),
        request_id=names.read_request_id(request.request_id),
        validate_only=request.validate_only,
        submitted_by=submitted_by,
        uid=str(uuid.uuid4()),
    )


def read_submits(
    request: job_service_pb2.SubmitJobsRequest, submitted_by: str
) -> Sequence[SubmitRequest | FairgateError]:
    """Many jobs to submit, each as a request or as what is wrong with it. Raises InvalidArgument."""
    parent = names.read_tenants(request.parent)
    if len(request.requests) > MAX_ITEMS:
        raise names.invalid("requests", f"{len(request.requests)} jobs; {MAX_ITEMS} at most", "send them in parts")
    return [_read_item(item, parent, request.parent, submitted_by) for item in request.requests]


def read_update(request: job_service_pb2.UpdateJobRequest) -> Update:
    """A change of a job. Raises InvalidArgument."""
    job = request.job
    paths = list(request.update_mask.paths) or [path for path in UPDATABLE if job.HasField(path)]
    if paths == ["*"]:
        paths = list(UPDATABLE)
    for path in paths:
        if path not in UPDATABLE:
            raise names.invalid("update_mask", f"{path} can not be changed", f"name some of {', '.join(UPDATABLE)}")
        if not job.HasField(path):
            raise names.invalid(f"job.{path}", "is to be changed but has no value", "set it, or mask it out")
    if not paths:
        raise names.invalid("update_mask", "names nothing to change", f"name some of {', '.join(UPDATABLE)}")
    limit_ms = names.read_duration_ms(job.time_limit, "job.time_limit") if "time_limit" in paths else None
    priority = job.priority if "priority" in paths else None
    return Update(names.read_job(job.name, "job.name"), priority, limit_ms, job.etag or None)


def read_log_request(request: job_service_pb2.StreamJobLogsRequest) -> LogRequest:
    """Which output to stream. Raises InvalidArgument."""
    for field in ("attempt", "offset"):
        if getattr(request, field) < 0:
            raise names.invalid(field, f"{getattr(request, field)} is negative", "leave it out for the default")
    if request.offset and not request.attempt:
        raise names.invalid("attempt", "is missing; an offset is one in the output of an attempt", "name it")
    return LogRequest(names.read_job(request.name), request.attempt or None, request.offset, request.follow)


def read_filter(request: job_service_pb2.ListJobsRequest) -> JobFilter:
    """Which jobs to list. Raises InvalidArgument."""
    tenant = names.read_tenants(request.parent)
    return JobFilter(None if tenant is None else frozenset({tenant}), None, request.filter)


def _read_item(
    item: job_service_pb2.SubmitJobRequest, tenant: str | None, parent: str, submitted_by: str
) -> SubmitRequest | FairgateError:
    try:
        if not item.parent:
            item.parent = parent
        elif tenant is not None and item.parent != parent:
            raise names.invalid("parent", f"{item.parent} is not {parent}, the parent of the call", "leave it out")
        return read_submit(item, submitted_by)
    except FairgateError as error:
        return error


def _read_spec(job: jobs_pb2.Job) -> JobSpec:
    if job.fallback not in _FALLBACKS:
        raise names.invalid("job.fallback", f"{job.fallback} is no fallback policy", "send ORDERED or SOONEST")
    limit = names.read_duration_ms(job.time_limit, "job.time_limit") if job.HasField("time_limit") else None
    after = names.read_duration_ms(job.fallback_after, "job.fallback_after") if job.HasField("fallback_after") else None
    return JobSpec(
        priority=job.priority if job.HasField("priority") else None,
        priority_class=job.priority_class or None,
        time_limit_ms=limit,
        preemptible=job.preemptible if job.HasField("preemptible") else None,
        fallback=_FALLBACKS[job.fallback],
        fallback_after_ms=after,
        options=[_read_option(option) for option in job.options],
        workload=job.workload or None,
        labels=dict(job.labels),
    )


def _read_option(option: jobs_pb2.OptionSpec) -> dict[str, Any]:
    out: dict[str, Any] = {"flavor": option.flavor}
    if option.speed:
        out["speed"] = option.speed
    if option.groups:
        out["groups"] = {name: _read_change(change) for name, change in option.groups.items()}
    return out


def _read_change(change: jobs_pb2.GroupChange) -> dict[str, Any]:
    """Only what is set: what is unset stays as the manifest has it."""
    out: dict[str, Any] = {}
    for name in _SCALARS:
        if change.HasField(name) if name.endswith(("replicas", "hosts")) else getattr(change, name):
            out[name] = getattr(change, name)
    for name in _MAPS:
        if getattr(change, name):
            out[name] = dict(getattr(change, name))
    return out
