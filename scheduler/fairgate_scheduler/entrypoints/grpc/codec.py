"""Jobs, attempts, events and holds, from the service's words to the wire's."""

import json
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from fairgate_api.v1 import job_service_pb2, jobs_pb2
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from fairgate_scheduler.core.advice import Help, HelpKind
from fairgate_scheduler.core.amounts import Demand, format_quantity
from fairgate_scheduler.core.holds import MESSAGES
from fairgate_scheduler.core.jobs import Attempt, Job, JobState, Option
from fairgate_scheduler.core.manifests.options import OptionSpec, read_option_specs
from fairgate_scheduler.core.snapshot import Hold, HoldReason, Need
from fairgate_scheduler.ports import StoredEvent
from fairgate_scheduler.service.views import Explanation, JobView, Prospect
from fairgate_scheduler.service.watch import WatchItem


def encode_job(view: JobView, *, full: bool = False) -> jobs_pb2.Job:
    """A job as callers see it; ``full``: with its manifest and its attempts."""
    job = view.job
    out = jobs_pb2.Job(
        name=job.id,
        uid=job.uid,
        tenant=job.tenant,
        priority=job.priority,
        preemptible=job.preemptible,
        time_limit=duration(job.time_limit_ms),
        fallback=f"FALLBACK_POLICY_{job.fallback.name}",
        fallback_after=duration(job.fallback_after_ms),
        state=f"JOB_STATE_{job.state.name}",
        outcome=f"JOB_STATE_{job.outcome.name}" if job.outcome and not job.state.is_final else None,
        message=job.message,
        charges=(encode_charge(index, option) for index, option in enumerate(job.options)),
        warnings=view.submission.warnings,
        submitted_by=view.submission.submitted_by,
        create_time=timestamp(job.submitted_at_ms),
        attempt_count=job.attempts,
        eviction_count=job.evictions,
        etag=view.etag,
    )
    spec = view.submission.spec
    out.workload = spec.get("workload") or ""
    out.labels.update(spec.get("labels") or {})
    out.options.extend(map(encode_option, read_option_specs(spec.get("options"))))
    _encode_progress(view, out)
    if view.prospect is not None:
        out.forecast.CopyFrom(encode_forecast(view.prospect, job))
    if full:
        out.manifest = view.submission.manifest
        out.attempts.extend(encode_attempt(attempt, job) for attempt in view.attempts)
    return out


def encode_option(option: OptionSpec) -> jobs_pb2.OptionSpec:
    """One way to run a job, as it was asked for."""
    groups = {
        name: jobs_pb2.GroupChange(
            flavor=change.flavor or "",
            resources=change.resources,
            replicas=change.replicas,
            min_replicas=change.min_replicas,
            max_replicas=change.max_replicas,
            num_of_hosts=change.num_of_hosts,
            image=change.image or "",
            env=change.env,
            ray_start_params=change.ray_start_params,
        )
        for name, change in option.groups.items()
    }
    return jobs_pb2.OptionSpec(
        flavor=option.flavor, speed="" if option.speed is None else ratio(option.speed), groups=groups
    )


def encode_charge(index: int, option: Option) -> jobs_pb2.OptionCharge:
    """What an option is charged."""
    groups = (
        jobs_pb2.PodGroup(
            name=group.name,
            flavor=group.flavor,
            count=group.count,
            requests={name: format_quantity(amount, name) for name, amount in group.requests.items()},
        )
        for group in option.groups
    )
    return jobs_pb2.OptionCharge(
        option=index,
        flavor=option.flavor,
        speed=ratio(option.speed),
        groups=groups,
        rows=encode_demand(option.demand),
    )


def encode_demand(demand: Demand) -> Iterable[jobs_pb2.Charge]:
    """Rows by flavor and resource."""
    for (flavor, resource), amount in sorted(demand.items()):
        yield jobs_pb2.Charge(flavor=flavor, resource=resource, amount=format_quantity(amount, resource))


def encode_forecast(prospect: Prospect, job: Job) -> jobs_pb2.JobForecast:
    """When a job starts, what would help it, and what it costs."""
    found = prospect.outlook
    return jobs_pb2.JobForecast(
        earliest_start_time=timestamp(found.earliest_start_ms),
        latest_start_time=timestamp(found.latest_start_ms),
        earliest_finish_time=timestamp(found.earliest_finish_ms),
        latest_finish_time=timestamp(found.latest_finish_ms),
        option=found.option,
        flavor="" if found.option is None else job.options[found.option].flavor,
        evictions=found.evicts,
        eviction_count=len(found.evicts) + prospect.unnamed_evictions,
        partial=found.is_cut,
        not_before_time=timestamp(found.reached_ms),
        helps=map(_encode_help, prospect.helps),
        costs=(
            jobs_pb2.OptionCost(option=each.option, flavor=each.flavor, accelerator_hours=ratio(each.accelerator_hours))
            for each in prospect.costs
        ),
    )


def encode_attempt(attempt: Attempt, job: Job) -> jobs_pb2.Attempt:
    """One run of a job."""
    return jobs_pb2.Attempt(
        number=attempt.number,
        state=f"ATTEMPT_STATE_{attempt.state.name}",
        option=attempt.option,
        flavor=job.options[attempt.option].flavor,
        admit_time=timestamp(attempt.admitted_at_ms),
        ready_time=timestamp(attempt.ready_at_ms),
        end_time=timestamp(attempt.ended_at_ms),
        reason=attempt.reason,
        exit_code=attempt.exit_code,
    )


def encode_event(stored: StoredEvent) -> jobs_pb2.JobEvent:
    """Something that happened to a job."""
    event = stored.event
    return jobs_pb2.JobEvent(
        job=event.job,
        kind=f"EVENT_KIND_{event.kind.name}",
        time=timestamp(event.at_ms),
        message=event.message,
        attempt=event.attempt or 0,
        details={name: _text(value) for name, value in event.details.items()},
    )


def encode_watch_item(item: WatchItem) -> job_service_pb2.WatchJobsResponse:
    """An event with its job, or a heartbeat."""
    return job_service_pb2.WatchJobsResponse(
        sequence=item.sequence,
        event=encode_event(item.stored) if item.stored else None,
        job=encode_job(item.view) if item.view else None,
        caught_up=item.is_caught_up,
    )


def encode_explanation(explanation: Explanation) -> job_service_pb2.ExplainJobResponse:
    """Why a job stands where it stands."""
    out = job_service_pb2.ExplainJobResponse(job=encode_job(explanation.view, full=True))
    if explanation.hold is not None:
        out.hold.CopyFrom(_encode_hold(explanation.hold))
        leaving = list(explanation.leaving)
        if explanation.unnamed_leaving:
            several = "s" if explanation.unnamed_leaving > 1 else ""
            leaving.append(f"{explanation.unnamed_leaving} job{several} of other tenants")
        if leaving:
            out.hold.message += f": {', '.join(leaving)}"
    return out


def encode_reason(reason: HoldReason) -> str:
    """The wire's word for a reason."""
    return f"HOLD_REASON_{reason.name}"


def timestamp(at_ms: int | None) -> Timestamp | None:
    """An instant; ``None`` stays unset."""
    if at_ms is None:
        return None
    return Timestamp(seconds=at_ms // 1000, nanos=at_ms % 1000 * 1_000_000)


def duration(span_ms: int) -> Duration:
    """A span of time."""
    return Duration(seconds=span_ms // 1000, nanos=span_ms % 1000 * 1_000_000)


def ratio(value: Fraction) -> str:
    """An exact decimal where there is one, else a fraction."""
    shift = 0
    while (value * 10**shift).denominator != 1:
        if shift == 12:
            return str(value)
        shift += 1
    digits = f"{abs(value * 10**shift).numerator:0{shift + 1}d}"
    sign = "-" if value < 0 else ""
    return sign + (f"{digits[:-shift]}.{digits[-shift:]}" if shift else digits)


def _encode_progress(view: JobView, out: jobs_pb2.Job) -> None:
    job = view.job
    for field, at_ms in (
        ("start_time", job.started_at_ms),
        ("finish_time", job.finished_at_ms),
        ("pending_since", job.pending_since_ms),
    ):
        if at_ms is not None:
            getattr(out, field).CopyFrom(timestamp(at_ms))
    if view.hold is not None:
        out.hold.CopyFrom(jobs_pb2.JobHold(reason=encode_reason(view.hold), message=MESSAGES[view.hold]))
    if view.attempts:
        last = view.attempts[-1]
        if job.state is not JobState.PENDING:  # evicted, it has given back what it held
            out.flavor = job.options[last.option].flavor
        if last.exit_code is not None:
            out.exit_code = last.exit_code


def _encode_hold(hold: Hold) -> job_service_pb2.HoldExplanation:
    reports = (
        job_service_pb2.OptionReport(
            option=report.index,
            flavor=report.flavor,
            reason=report.reason,
            needs=(_encode_need(need) for need in report.needs),
        )
        for report in hold.options
    )
    return job_service_pb2.HoldExplanation(
        reason=encode_reason(hold.reason), message=hold.message, position=hold.position or 0, options=reports
    )


def _encode_need(need: Need) -> job_service_pb2.Need:
    flavor, resource = need.row
    return job_service_pb2.Need(
        flavor=flavor,
        resource=resource,
        need=format_quantity(need.need, resource),
        have=format_quantity(need.have, resource),
        at=need.at,
        holders={tenant: format_quantity(amount, resource) for tenant, amount in need.holders.items()},
    )


def _encode_help(told: Help) -> jobs_pb2.Help:
    return jobs_pb2.Help(
        kind=f"KIND_{told.kind.name}",
        message=told.text,
        priority=told.value if told.kind is HelpKind.PRIORITY else None,
        time_limit=duration(told.value) if told.kind is HelpKind.TIME_LIMIT else None,
        rows=encode_demand(told.rows),
        tenant=told.tenant,
        max_running_jobs=told.value if told.kind is HelpKind.RUNNING_JOBS else 0,
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)
