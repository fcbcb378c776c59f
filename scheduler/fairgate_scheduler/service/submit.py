"""Take a job: checked against the configuration in force, written with its event and request id in one transaction."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from fairgate_scheduler.core import lifecycle
from fairgate_scheduler.core.admissible import RefusalCode, SubmitRefused, check_submit, limited_subtrees
from fairgate_scheduler.core.jobs import JobState
from fairgate_scheduler.core.manifests import normalize, read_option_specs
from fairgate_scheduler.core.manifests.changes import variants
from fairgate_scheduler.core.manifests.rayjob import MAX_NAME
from fairgate_scheduler.core.tenancy import Config, Tenant
from fairgate_scheduler.ports import ConfigVersion, RequestRecord, Runner, Transaction
from fairgate_scheduler.service.app import App, Writing
from fairgate_scheduler.service.errors import (
    AlreadyExists,
    FailedPrecondition,
    FairgateError,
    InvalidArgument,
    NotFound,
    ResourceExhausted,
    Violation,
)
from fairgate_scheduler.service.reading import (
    JobSpec,
    Prepared,
    SubmitRequest,
    digest_of,
    job_name,
)
from fairgate_scheduler.service.viewing import Viewer
from fairgate_scheduler.service.views import JobView

__all__ = ["JobSpec", "SubmitRequest", "check", "preview_many", "submit", "submit_many"]

SEQUENCE: Final = "job"
"""The durable counter that gives every job its place in the order of the submits."""
_SUFFIX: Final = 5
_LOWEST: Final = -(2**31)


def submit(app: App, request: SubmitRequest) -> JobView:
    """Take one job, or find the one that the same request has made before.

    With ``validate_only`` nothing is taken, and the answer says what would become of it.

    Raises:
        NotFound: no such tenant.
        InvalidArgument: with everything that is wrong, by field; an inner tenant; a job that could never start.
        AlreadyExists: the job id is taken; the request id has been used for something else.
        ResourceExhausted: the tenant has as many pending jobs as it may.
        FailedPrecondition: no configuration is applied yet.
    """
    answer = app.submits.call(request, partial(submit_many, app))
    if isinstance(answer, FairgateError):
        raise answer
    return Viewer(app).would_be(answer) if request.validate_only else answer


def submit_many(app: App, requests: Sequence[SubmitRequest]) -> list[JobView | FairgateError]:
    """Take many jobs in one transaction. Answers in the order of the requests, each a job or why it was refused.

    One that is refused does not keep the others out.
    """
    answers = None
    while answers is None:  # again when the configuration was changed meanwhile
        answers = _try_to_take(app, requests)
    if not any(isinstance(each, str) for each in answers):
        return [each for each in answers if not isinstance(each, str)]
    viewer = Viewer(app)
    with app.read() as transaction:
        return [_look_up(viewer, transaction, each) if isinstance(each, str) else each for each in answers]


def preview_many(app: App, requests: Sequence[SubmitRequest]) -> list[JobView | FairgateError]:
    """As ``submit_many``; of those with ``validate_only`` with what would become of them if all came together."""
    answers = submit_many(app, requests)
    asked = {
        place: answer
        for place, (request, answer) in enumerate(zip(requests, answers, strict=True))
        if request.validate_only and isinstance(answer, JobView) and not answer.job.sequence
    }
    for place, view in zip(asked, Viewer(app).would_all_be([*asked.values()]) if asked else (), strict=True):
        answers[place] = view
    return answers


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A request, what tells its content from other content, and whether it can be taken."""

    request: SubmitRequest
    digest: str
    outcome: Prepared | FairgateError


def _try_to_take(app: App, requests: Sequence[SubmitRequest]) -> "list[JobView | FairgateError | str] | None":
    """The answers; ``None``, and nothing done, if the configuration is not the one that was checked against."""
    version, now_ms = app.config_version(), app.clock.now_ms()
    candidates = [_consider(app, request, version, now_ms) for request in requests]
    with app.write() as writing:
        stored = writing.transaction.get_config()
        if (stored.etag if stored else None) != (version.etag if version else None):
            return None
        _look_ahead(writing.transaction, candidates)
        return [_answer(writing, version, each) for each in candidates]


def _look_ahead(transaction: Transaction, candidates: Sequence[_Candidate]) -> None:
    """One look for all that is asked for one by one afterwards."""
    if len(candidates) > 1:
        transaction.get_requests((each.request.tenant, each.request.request_id) for each in candidates)
        prepared = [each.outcome for each in candidates if isinstance(each.outcome, Prepared)]
        transaction.get_jobs(job_name(each.request.tenant, each.name) for each in prepared)


def check(app: App, request: SubmitRequest, version: ConfigVersion | None, now_ms: int) -> Prepared:
    """What a request would become under this configuration; whether there is room for one more job is not looked at.

    Raises: as ``submit``, but for ResourceExhausted and AlreadyExists.
    """
    if version is None:
        remedy = "apply one: fairgate quota apply -f config.yaml"
        raise FailedPrecondition("no configuration is applied yet", field="tenant", remedy=remedy)
    _check(version.config, request.tenant, _LOWEST, {})
    prepared = app.templates.prepare(request, version, now_ms)
    _check_runs_here(app.runner, prepared, version.config.tenants[request.tenant])
    return prepared


def _consider(app: App, request: SubmitRequest, version: ConfigVersion | None, now_ms: int) -> _Candidate:
    try:
        prepared = check(app, request, version, now_ms)
    except FairgateError as error:
        return _Candidate(request, digest_of(request), error)
    return _Candidate(request, digest_of(request, prepared.submission.manifest), prepared)


def _check_runs_here(runner: Runner, prepared: Prepared, tenant: Tenant) -> None:
    """Refuse now what the runner would fail at later, also what only an option makes of the manifest."""
    manifest = json.loads(prepared.submission.manifest)
    found = runner.check(manifest, tenant)
    violations = [_violation(problem) for problem in found]
    specs = read_option_specs(prepared.submission.spec.get("options"))
    for index, changed in variants(normalize(manifest), specs):
        more = [problem for problem in runner.check(changed, tenant) if problem not in found]
        violations += [
            Violation(f"options[{index}]", f"with it {each.field}: {each.message}", each.remedy)
            for each in map(_violation, more)
        ]
    if violations:
        raise InvalidArgument(violations)


def _violation(problem: str) -> Violation:
    field, _, rest = problem.partition(": ")
    message, _, remedy = rest.partition("; ")
    return Violation(f"manifest.{field}", message, remedy)


def _answer(writing: Writing, version: ConfigVersion | None, candidate: _Candidate) -> JobView | FairgateError | str:
    """The name of the job that was found again; or the new one; or why there is none."""
    try:
        known = _find_again(writing.transaction, candidate)
        if known:
            return known
        if isinstance(candidate.outcome, FairgateError):
            return candidate.outcome
        assert version is not None
        return _take(writing, version.config, candidate.outcome, candidate.digest)
    except FairgateError as error:
        return error


def _find_again(transaction: Transaction, candidate: _Candidate) -> str | None:
    request = candidate.request
    record = transaction.get_request(request.tenant, request.request_id) if request.request_id else None
    if record is None:
        return None
    if record.digest != candidate.digest:
        message = f"request id {request.request_id!r} was used for {record.job}, which was submitted with other content"
        raise AlreadyExists(message, field="request_id", remedy="use a new request id for a new job")
    return record.job


def _take(writing: Writing, config: Config, prepared: Prepared, digest: str) -> JobView:
    request, transaction = prepared.request, writing.transaction
    counts = {
        node: transaction.count_jobs(below, frozenset({JobState.PENDING}))
        for node, below in limited_subtrees(config, request.tenant).items()
    }
    _check(config, request.tenant, prepared.job.priority, counts)
    sequence = 0 if request.validate_only else transaction.next_number(SEQUENCE)
    name = _choose_name(transaction, prepared, sequence)
    uid = "" if request.validate_only else request.uid
    job = replace(prepared.job, id=name, sequence=sequence, uid=uid)
    if not request.validate_only:
        writing.insert(lifecycle.submit(job, job.submitted_at_ms), prepared.submission)
        if request.request_id:
            record = RequestRecord(request.tenant, request.request_id, digest, name, job.submitted_at_ms)
            transaction.put_request(record)
    return JobView(job, prepared.submission)


def _choose_name(transaction: Transaction, prepared: Prepared, sequence: int) -> str:
    """The id that was asked for; else the manifest's name if it is free, else that with a short suffix."""
    tenant = prepared.request.tenant
    name = job_name(tenant, prepared.name)
    is_free = not transaction.has_job(name)
    if prepared.request.job_id is not None and not is_free:
        remedy = "choose another id, or leave it out to get one"
        raise AlreadyExists(f"there is a job {name} already", field="job_id", remedy=remedy)
    if is_free and not prepared.needs_suffix:
        return name
    stem = prepared.name if prepared.needs_suffix else f"{prepared.name[: MAX_NAME - _SUFFIX - 1]}-"
    while True:
        name = job_name(tenant, stem + hashlib.sha256(f"{name}/{sequence}".encode()).hexdigest()[:_SUFFIX])
        if not transaction.has_job(name):
            return name


def _check(config: Config, tenant: str, priority: int, pending_counts: Mapping[str, int]) -> None:
    try:
        check_submit(config, tenant, priority, pending_counts)
    except SubmitRefused as refused:
        field, message, remedy = refused.field, refused.message, refused.remedy
        if refused.code is RefusalCode.NOT_FOUND:
            raise NotFound(message, field=field, remedy=remedy) from refused
        if refused.code is RefusalCode.RESOURCE_EXHAUSTED:
            raise ResourceExhausted(message, field=field, remedy=remedy) from refused
        raise InvalidArgument([Violation(field, message, remedy)]) from refused


def _look_up(viewer: Viewer, transaction: Transaction, name: str) -> JobView:
    job = transaction.get_job(name)
    assert job is not None, name
    return viewer.view(transaction, job)
