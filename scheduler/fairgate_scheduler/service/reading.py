"""What a submit asks for, checked against a configuration: all that is wrong is said at once. Writes nothing."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

from fairgate_scheduler.core.admissible import SubmitRefused, check_priority
from fairgate_scheduler.core.jobs import Fallback, Job
from fairgate_scheduler.core.manifests import Finding, ManifestError, Understood, canonical, understand
from fairgate_scheduler.core.manifests.rayjob import MAX_NAME
from fairgate_scheduler.core.tenancy import Config
from fairgate_scheduler.documents.annotations import JobFields, read_annotations
from fairgate_scheduler.documents.mapping import MappingDocument, read_mapping
from fairgate_scheduler.documents.problems import DocumentError, Problem, suggest
from fairgate_scheduler.ports import Submission
from fairgate_scheduler.service.errors import InvalidArgument, Violation
from fairgate_scheduler.service.fit import Asked, Fitting

ORIGIN: Final = "request"
"""Under this key of what is kept beside the manifest is the object that the job was applied as."""
DEFAULT_TIME_LIMIT_MS: Final = 24 * 3_600_000
"""Of a job that says none, and whose manifest has no ``activeDeadlineSeconds``."""
LONGEST_MS: Final = 10 * 365 * 24 * 3_600_000
MOST_LABELS: Final = 64
_JOB_ID: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_LABEL_KEY: Final = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_PRIORITIES: Final = 2**31


@dataclass(frozen=True, slots=True)
class JobSpec(JobFields):
    """Fairgate's own fields of a job, as given beside its manifest.

    What is not said there is as the manifest's annotations say, else as the default is.
    """

    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SubmitRequest:
    """One job to submit. ``job_id`` ``None``: named after the manifest. ``request_id`` "": a new job each time.

    ``uid`` names the job for good, if this becomes one. ``origin``: the object that somebody has applied for it, by
    ``apiVersion``, ``kind`` and ``metadata`` with ``name`` and ``uid``; kept with the job, for the runner.
    """

    tenant: str
    job_id: str | None
    manifest_text: str
    spec: JobSpec = field(default_factory=JobSpec)
    request_id: str = ""
    validate_only: bool = False
    submitted_by: str = ""
    uid: str = ""
    origin: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request that can be taken. ``job`` is complete but for its name and its place in the order of the submits.

    ``name``: the id that was asked for, or that the manifest gives; ``needs_suffix``: it is only how the id begins.
    """

    request: SubmitRequest
    job: Job
    submission: Submission
    name: str
    needs_suffix: bool


def digest_of(request: SubmitRequest, content: str | None = None) -> str:
    """Tells the same content from other content. What can not be read has the digest of its text.

    ``content``: the manifest in its canonical form, where that is known already.
    """
    if content is None:
        try:
            content = canonical(read_mapping(request.manifest_text).data)
        except (DocumentError, ManifestError):
            content = request.manifest_text
    key = json.dumps([request.tenant, request.job_id, content, as_given(request.spec)], sort_keys=True)
    return hashlib.sha256(key.encode()).hexdigest()


def read(manifest_text: str) -> MappingDocument:
    """A manifest as plain data. Raises DocumentError."""
    return read_mapping(manifest_text, "manifest")


@dataclass(frozen=True, slots=True)
class Using:
    """What whoever prepares many requests keeps between them. ``read`` reads a manifest, or remembers it."""

    fitting: Fitting = field(default_factory=Fitting)
    read: Callable[[str], MappingDocument] = read


def prepare(request: SubmitRequest, config: Config, now_ms: int, using: Using | None = None) -> Prepared:
    """Check a request. The tenant is known to be a leaf. ``using``: of whoever checks many.

    Raises:
        InvalidArgument: with everything that is wrong with the manifest, its options and the other fields.
    """
    violations: list[Violation] = []
    document, understood = None, None
    using = using or Using()
    try:
        document = using.read(request.manifest_text)
        request = replace(request, spec=_with_annotations(request.spec, document))
        workload = request.spec.workload if request.spec.workload in config.speeds else None  # _check_fields tells
        understood = understand(document.data, list(request.spec.options), config, request.tenant, workload)
    except DocumentError as error:
        violations += [_of_problem(each, document) for each in error.problems]
    except ManifestError as error:
        violations += [_locate(each, document) for each in error.findings]
    violations += _check_fields(request, config)
    if violations or document is None or understood is None:
        raise InvalidArgument(violations)
    job = _job(request, understood, config, now_ms)
    lacks = using.fitting.misfits(config, Asked(job, document.data, understood.option_specs))
    if lacks:
        raise InvalidArgument(_with_line(each, document) for each in lacks)
    limit_warning = () if request.spec.time_limit_ms or understood.active_deadline_s else (_NO_LIMIT,)
    submission = Submission(
        canonical(document.data), kept_fields(request), request.submitted_by, understood.warnings + limit_warning
    )
    name = request.job_id or understood.name
    return Prepared(request, job, submission, name or understood.generate_name, needs_suffix=not name)


_NO_LIMIT: Final = "no time limit is given: 24 hours are assumed; give one, so that others can plan around the job"


def priority_of(spec: JobSpec, config: Config) -> int:
    """The priority that a job asks for, by number or by name; 0 if it says none."""
    if spec.priority is not None:
        return spec.priority
    return config.priorities.get(spec.priority_class or "", 0)


def _job(request: SubmitRequest, understood: Understood, config: Config, now_ms: int) -> Job:
    spec, deadline_s = request.spec, understood.active_deadline_s
    return Job(
        id=job_name(request.tenant, request.job_id or understood.name or understood.generate_name),
        tenant=request.tenant,
        submitted_at_ms=now_ms,
        sequence=0,
        options=understood.options,
        time_limit_ms=spec.time_limit_ms or (deadline_s * 1000 if deadline_s else DEFAULT_TIME_LIMIT_MS),
        priority=priority_of(spec, config),
        preemptible=spec.preemptible is not False,
        fallback=spec.fallback or Fallback.ORDERED,
        fallback_after_ms=spec.fallback_after_ms or 0,
        pending_since_ms=now_ms,
    )


def job_name(tenant: str, job_id: str) -> str:
    """The resource name of a job."""
    return f"tenants/{tenant}/jobs/{job_id}"


def is_job_id(text: str) -> bool:
    """Whether a job can have this id."""
    return len(text) <= MAX_NAME and _JOB_ID.fullmatch(text) is not None


def _check_fields(request: SubmitRequest, config: Config) -> Iterator[Violation]:
    spec, job_id = request.spec, request.job_id
    if job_id is not None and not is_job_id(job_id):
        remedy = f"use at most {MAX_NAME} lower-case letters, digits and -, beginning with a letter"
        yield Violation("job_id", f"{job_id!r} is not an id that a job can have", remedy)
    if spec.time_limit_ms is not None and not 0 < spec.time_limit_ms <= LONGEST_MS:
        yield Violation("time_limit", "it is not between 0 and ten years", "write a duration such as 30m or 12h")
    if not 0 <= (spec.fallback_after_ms or 0) <= LONGEST_MS:
        yield Violation(
            "fallback_after", "it is not between 0 and ten years", "write a duration such as 10m, or leave it out"
        )
    yield from _check_priority(request, config)
    if spec.workload is not None and spec.workload not in config.speeds:
        remedy = suggest(spec.workload, sorted(config.speeds)) + " (speeds of the configuration), or leave it out"
        yield Violation("workload", f"no workload class {spec.workload!r}", remedy)
    if len(spec.labels) > MOST_LABELS:
        yield Violation("labels", f"there are {len(spec.labels)}", f"{MOST_LABELS} at most")
    for key, value in spec.labels.items():
        if not _LABEL_KEY.fullmatch(key) or len(value) > 256:
            remedy = "use letters, digits, -, _ and . in keys, and values of at most 256 characters"
            yield Violation(f"labels[{key}]", f"{key}={value[:64]} is not a label", remedy)


def _check_priority(request: SubmitRequest, config: Config) -> Iterator[Violation]:
    spec = request.spec
    if spec.priority is not None and spec.priority_class is not None:
        yield Violation("priority_class", "priority is given too", "give one of them")
    elif spec.priority_class is not None and spec.priority_class not in config.priorities:
        remedy = suggest(spec.priority_class, sorted(config.priorities))
        yield Violation("priority_class", f"no priority {spec.priority_class!r}", remedy)
    priority = priority_of(spec, config)
    if not -_PRIORITIES <= priority < _PRIORITIES:
        yield Violation("priority", f"{priority} does not fit 32 bits", "choose a smaller number")
        return
    try:
        check_priority(config, request.tenant, priority)
    except SubmitRefused as refused:
        named = "priority_class" if spec.priority is None else "priority"
        yield Violation(named, refused.message, refused.remedy)


def _with_annotations(spec: JobSpec, document: MappingDocument) -> JobSpec:
    """The fields as given beside the manifest, else as its annotations say."""
    said = read_annotations(document.data)
    silent = {name for name in _SHARED if not _is_said(getattr(spec, name))}
    if _is_said(spec.priority) or _is_said(spec.priority_class):
        silent -= {"priority", "priority_class"}  # each says the same thing
    return replace(spec, **{name: getattr(said, name) for name in silent})


def _is_said(value: object) -> bool:
    return value not in (None, (), [], {})


def _of_problem(problem: Problem, document: MappingDocument | None) -> Violation:
    """A problem with its line; one that was found in a value knows only its field."""
    field = f"manifest.{problem.path}" if problem.path else "manifest"
    if problem.line == 0 and document is not None:
        return _with_line(Violation(field, problem.message, problem.remedy), document)
    return Violation(field, f"line {problem.line}: {problem.message}", problem.remedy)


def _locate(finding: Finding, document: MappingDocument | None) -> Violation:
    """A finding with its line; options lie beside the manifest, all else lies in it."""
    if finding.field == "options" or finding.field.startswith(("options[", "options.")):
        return Violation(finding.field, finding.message, finding.remedy)
    if document is None or finding.field == "manifest":
        return Violation("manifest", finding.message, finding.remedy)
    return _with_line(Violation(f"manifest.{finding.field}", finding.message, finding.remedy), document)


def _with_line(violation: Violation, document: MappingDocument) -> Violation:
    """The same, with the line of the field if it is one of the manifest."""
    path = violation.field.removeprefix("manifest.")
    if path == violation.field:
        return violation
    return replace(violation, message=f"line {document.line_of(path)}: {violation.message}")


def kept_fields(request: SubmitRequest) -> dict[str, Any]:
    """What is kept beside the manifest: the fields that were given, and what the job was applied as."""
    return {**as_given(request.spec), **({ORIGIN: request.origin} if request.origin else {})}


def as_given(spec: JobSpec) -> dict[str, Any]:
    """The fields that were given, as JSON has them."""
    given = {name: value for name in _FIELDS if _is_said(value := getattr(spec, name))}
    out: dict[str, Any] = json.loads(json.dumps(given, default=str))
    return out


_FIELDS: Final = tuple(each.name for each in fields(JobSpec))
_SHARED: Final = tuple(each.name for each in fields(JobFields))
