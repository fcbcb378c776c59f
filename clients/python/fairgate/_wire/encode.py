"""What the client wants → protobuf requests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from fractions import Fraction
from typing import Final

from fairgate_api.v1 import job_service_pb2 as service_pb2
from fairgate_api.v1 import jobs_pb2

from fairgate._models import Fallback, GroupChange, OptionSpec

_FALLBACKS: Final = {
    None: jobs_pb2.FALLBACK_POLICY_UNSPECIFIED,
    Fallback.ORDERED: jobs_pb2.FALLBACK_POLICY_ORDERED,
    Fallback.SOONEST: jobs_pb2.FALLBACK_POLICY_SOONEST,
}


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A submission, checked and with all that the client adds to it."""

    tenant: str
    manifest: str
    request_id: str
    job_id: str = ""
    priority: int | str | None = None
    time_limit: timedelta | None = None
    preemptible: bool | None = None
    fallback: Fallback | None = None
    fallback_after: timedelta | None = None
    options: tuple[OptionSpec, ...] = ()
    workload: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    dry_run: bool = False


def submit_request(request: JobRequest) -> service_pb2.SubmitJobRequest:
    """The request for one job."""
    job = jobs_pb2.Job(
        manifest=request.manifest,
        fallback=_FALLBACKS[request.fallback],
        options=[_option(each) for each in request.options],
        workload=request.workload,
        labels=request.labels,
    )
    if isinstance(request.priority, int):
        job.priority = request.priority
    elif request.priority:
        job.priority_class = request.priority
    if request.preemptible is not None:
        job.preemptible = request.preemptible
    if request.time_limit is not None:
        job.time_limit.FromTimedelta(request.time_limit)
    if request.fallback_after is not None:
        job.fallback_after.FromTimedelta(request.fallback_after)
    return service_pb2.SubmitJobRequest(
        parent=f"tenants/{request.tenant}",
        job_id=request.job_id,
        job=job,
        request_id=request.request_id,
        validate_only=request.dry_run,
    )


def update_request(
    name: str, priority: int | None, time_limit: timedelta | None, etag: str
) -> service_pb2.UpdateJobRequest:
    """The request to change what is not ``None``."""
    request = service_pb2.UpdateJobRequest(job=jobs_pb2.Job(name=name, etag=etag))
    if priority is not None:
        request.job.priority = priority
        request.update_mask.paths.append("priority")
    if time_limit is not None:
        request.job.time_limit.FromTimedelta(time_limit)
        request.update_mask.paths.append("time_limit")
    return request


def _option(option: OptionSpec) -> jobs_pb2.OptionSpec:
    groups = {name: _change(change) for name, change in option.groups.items()}
    return jobs_pb2.OptionSpec(flavor=option.flavor, speed=_ratio(option.speed), groups=groups)


def _ratio(value: Fraction | None) -> str:
    return "" if value is None else str(value)


def _change(change: GroupChange) -> jobs_pb2.GroupChange:
    return jobs_pb2.GroupChange(
        flavor=change.flavor,
        resources=change.resources,
        replicas=change.replicas,
        min_replicas=change.min_replicas,
        max_replicas=change.max_replicas,
        num_of_hosts=change.num_of_hosts,
        image=change.image,
        env=change.env,
        ray_start_params=change.ray_start_params,
    )
