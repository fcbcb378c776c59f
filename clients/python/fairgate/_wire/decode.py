"""Protobuf messages → the client's models of jobs."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from fractions import Fraction
from typing import Any, Final, TypeVar

from fairgate_api.v1 import job_service_pb2 as service_pb2
from fairgate_api.v1 import jobs_pb2
from google.protobuf.duration_pb2 import Duration
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from google.protobuf.timestamp_pb2 import Timestamp

from fairgate import _forecasts as forecasts
from fairgate import _models as models

Word = TypeVar("Word", bound=StrEnum)

_STATE: Final = "JOB_STATE_"


def word(kind: type[Word], names: Any, prefix: str, number: int) -> Word:
    """A number of a protobuf enum as the client's word for it; ``UNKNOWN`` for one that this client does not know."""
    wrapper: EnumTypeWrapper = names
    try:
        return kind(wrapper.Name(number).removeprefix(prefix))
    except ValueError:
        return kind("UNKNOWN")


def instant(stamp: Timestamp) -> datetime:
    """A timestamp, to the microsecond."""
    return datetime.fromtimestamp(stamp.seconds, UTC) + timedelta(microseconds=stamp.nanos // 1000)


def duration(value: Duration) -> timedelta:
    """A duration, to the microsecond."""
    return timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)


def texts(found: Mapping[str, str]) -> dict[str, str]:
    """A map of texts by name: the wire has no order."""
    return dict(sorted(found.items()))


def job(message: jobs_pb2.Job, client: models.JobActions | None = None) -> models.Job:
    """One job, as a handle if ``client`` is given."""
    return models.Job(
        name=message.name,
        tenant=message.tenant,
        state=_state(message.state),
        priority=message.priority,
        preemptible=message.preemptible if message.HasField("preemptible") else True,
        time_limit=duration(message.time_limit) if message.HasField("time_limit") else None,
        fallback=_fallback(message.fallback),
        fallback_after=duration(message.fallback_after),
        options=tuple(_option(each) for each in message.options),
        workload=message.workload,
        labels=texts(message.labels),
        outcome=_state(message.outcome) if message.outcome else None,
        message=message.message,
        hold=_hold(message.hold.reason, message.hold.message) if message.HasField("hold") else None,
        flavor=message.flavor,
        charges=tuple(_option_charge(each) for each in message.charges),
        warnings=tuple(message.warnings),
        submitted_by=message.submitted_by,
        create_time=_when(message, "create_time"),
        start_time=_when(message, "start_time"),
        finish_time=_when(message, "finish_time"),
        pending_since=_when(message, "pending_since"),
        attempt_count=message.attempt_count,
        eviction_count=message.eviction_count,
        exit_code=message.exit_code if message.HasField("exit_code") else None,
        attempts=tuple(_attempt(each) for each in message.attempts),
        etag=message.etag,
        uid=message.uid,
        manifest=_manifest(message.manifest),
        forecast=forecast(message.forecast) if message.HasField("forecast") else None,
        _client=client,
    )


def forecast(message: jobs_pb2.JobForecast) -> forecasts.JobForecast:
    """When a job starts, what would help it, and what it costs."""
    return forecasts.JobForecast(
        earliest_start=_when(message, "earliest_start_time"),
        latest_start=_when(message, "latest_start_time"),
        earliest_finish=_when(message, "earliest_finish_time"),
        latest_finish=_when(message, "latest_finish_time"),
        option=message.option if message.HasField("option") else None,
        flavor=message.flavor,
        evictions=tuple(message.evictions),
        eviction_count=message.eviction_count,
        is_partial=message.partial,
        not_before=_when(message, "not_before_time"),
        helps=tuple(_help(each) for each in message.helps),
        costs=tuple(
            forecasts.OptionCost(each.option, each.flavor, Fraction(each.accelerator_hours or 0))
            for each in message.costs
        ),
    )


def event(message: jobs_pb2.JobEvent) -> models.JobEvent:
    """Something that happened to a job."""
    return models.JobEvent(
        message.job,
        word(models.EventKind, jobs_pb2.EventKind, "EVENT_KIND_", message.kind),
        instant(message.time),
        message.message,
        message.attempt or None,
        texts(message.details),
    )


def log_chunk(message: service_pb2.StreamJobLogsResponse) -> models.LogChunk:
    """A piece of a job's output."""
    return models.LogChunk(message.attempt, message.offset, message.data, message.next_offset)


def explanation(message: service_pb2.ExplainJobResponse, client: models.JobActions | None = None) -> models.Explanation:
    """Why a job does not run."""
    told = job(message.job, client)
    if not message.HasField("hold"):
        return models.Explanation(told)
    hold = message.hold
    reports = tuple(
        models.OptionReport(each.option, each.flavor, each.reason, tuple(_need(need) for need in each.needs))
        for each in hold.options
    )
    return models.Explanation(told, _hold(hold.reason, hold.message), hold.position or None, reports)


def _state(number: int) -> models.JobState:
    return word(models.JobState, jobs_pb2.JobState, _STATE, number)


def _fallback(number: int) -> models.Fallback:
    is_soonest = number == jobs_pb2.FALLBACK_POLICY_SOONEST
    return models.Fallback.SOONEST if is_soonest else models.Fallback.ORDERED


def _hold(reason: int, message: str) -> models.Hold:
    return models.Hold(word(models.HoldReason, jobs_pb2.HoldReason, "HOLD_REASON_", reason), message)


def _when(message: Any, field: str) -> datetime | None:
    return instant(getattr(message, field)) if message.HasField(field) else None


def _manifest(text: str) -> Mapping[str, Any] | None:
    if not text:
        return None
    parsed: Mapping[str, Any] = json.loads(text)
    return parsed


def _option(message: jobs_pb2.OptionSpec) -> models.OptionSpec:
    groups = {name: _change(message.groups[name]) for name in sorted(message.groups)}
    return models.OptionSpec(message.flavor, Fraction(message.speed) if message.speed else None, groups)


def _change(message: jobs_pb2.GroupChange) -> models.GroupChange:
    numbers = {
        name: getattr(message, name)
        for name in ("replicas", "min_replicas", "max_replicas", "num_of_hosts")
        if message.HasField(name)
    }
    return models.GroupChange(
        flavor=message.flavor,
        resources=texts(message.resources),
        image=message.image,
        env=texts(message.env),
        ray_start_params=texts(message.ray_start_params),
        **numbers,
    )


def _option_charge(message: jobs_pb2.OptionCharge) -> models.OptionCharge:
    return models.OptionCharge(
        message.option,
        message.flavor,
        Fraction(message.speed or 1),
        tuple(models.PodGroup(each.name, each.flavor, each.count, texts(each.requests)) for each in message.groups),
        _charges(message.rows),
    )


def _charges(rows: Iterable[jobs_pb2.Charge]) -> tuple[forecasts.Charge, ...]:
    return tuple(forecasts.Charge(each.flavor, each.resource, each.amount) for each in rows)


def _help(message: jobs_pb2.Help) -> forecasts.Help:
    return forecasts.Help(
        kind=word(forecasts.HelpKind, jobs_pb2.Help.Kind, "KIND_", message.kind),
        message=message.message,
        priority=message.priority if message.HasField("priority") else None,
        time_limit=duration(message.time_limit) if message.HasField("time_limit") else None,
        rows=_charges(message.rows),
        tenant=message.tenant,
        max_running_jobs=message.max_running_jobs or None,
    )


def _attempt(message: jobs_pb2.Attempt) -> models.Attempt:
    return models.Attempt(
        message.number,
        word(models.AttemptState, jobs_pb2.AttemptState, "ATTEMPT_STATE_", message.state),
        message.option,
        message.flavor,
        _when(message, "admit_time"),
        _when(message, "ready_time"),
        _when(message, "end_time"),
        message.reason,
        message.exit_code if message.HasField("exit_code") else None,
    )


def _need(message: service_pb2.Need) -> models.Need:
    return models.Need(message.flavor, message.resource, message.need, message.have, message.at, texts(message.holders))
