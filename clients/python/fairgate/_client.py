"""``Client``: everything that the service does, as plain Python. Safe to use from many threads."""

import os
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypedDict, TypeVar, Unpack

from fairgate import _config, _follow, _manifests
from fairgate._durations import parse_duration
from fairgate._errors import FairgateError, InvalidArgument, Violation
from fairgate._models import Explanation, Fallback, Job, JobUpdate, LogChunk, LogLine, OptionSpec, Submission
from fairgate._options import parse_options
from fairgate._quota_models import Config, ConfigChange, Flavor, Tenant, TenantUsage
from fairgate._retry import Backoff
from fairgate._wire import JobRequest, Wire
from fairgate._wire.calls import ListRequest

Value = TypeVar("Value")

PAGE_SIZE: Final = 500
BATCH_JOBS: Final = 500
BATCH_BYTES: Final = 2 * 1024 * 1024
"""Of manifests in one call, well within what gRPC servers take by default (4 MiB)."""


class SubmitFields(TypedDict, total=False):
    """What ``submit`` takes besides the manifest: the fields of ``Submission``."""

    tenant: str | None
    job_id: str | None
    request_id: str | None
    priority: int | str | None
    time_limit: timedelta | str | None
    preemptible: bool | None
    fallback: Fallback | None
    fallback_after: timedelta | str | None
    options: Sequence[OptionSpec | Mapping[str, Any]]
    workload: str | None
    labels: Mapping[str, str]
    dry_run: bool


class Client:
    """A connection to a Fairgate service.

    ``address``: ``unix:PATH``, ``HOST:PORT`` or ``https://HOST:PORT``; else ``$FAIRGATE_ADDRESS``, else the socket of
    the local service in ``~/.fairgate`` (``$FAIRGATE_STATE_DIR``). ``token`` or ``token_file``: else
    ``$FAIRGATE_TOKEN``, ``$FAIRGATE_TOKEN_FILE``, or the local service's token. ``ca_file``: the roots to trust, else
    ``$FAIRGATE_CA_FILE``, else the system's. ``timeout_s`` is for each call, retries included; ``patience_s`` is how
    long a service that can not be reached is tried again, ``timeout_s`` if it is ``None``.

    Calls that may be made twice are made again while the service is unavailable. Every method raises ``FairgateError``.
    """

    def __init__(
        self,
        address: str | None = None,
        token: str | None = None,
        token_file: str | Path | None = None,
        ca_file: str | Path | None = None,
        timeout_s: float = 30.0,
        patience_s: float | None = None,
    ) -> None:
        self._timeout_s = timeout_s
        self._patience_s = timeout_s if patience_s is None else patience_s
        self._backoff = Backoff()
        endpoint = _config.find_endpoint(address, ca_file)
        self._wire = Wire(endpoint, _config.find_token(token, token_file))
        self.address: Final = endpoint.target
        """Where it connects to."""

    def close(self) -> None:
        """Give up what is under way and close the connection; once more is no error."""
        self._wire.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def submit(self, manifest: str | Mapping[str, Any] | Path, **fields: Unpack[SubmitFields]) -> Job:
        """Submit one job and return it as accepted, or (``dry_run``) as it would be.

        ``manifest`` is a RayJob as YAML or JSON text, as a mapping, or the path of its file; ``fields`` are those of
        ``Submission``. The tenant is the argument, else the manifest's annotation ``fairgate.internal/tenant``, else
        ``$FAIRGATE_TENANT``. Without a ``request_id`` one is made, so that a retry never makes a second job.

        Raises:
            InvalidArgument: something is wrong with it; ``violations`` lists all that is.
            AlreadyExists: the job id, or the request id with other content, is taken.
            ResourceExhausted: the tenant has as many pending jobs as it may.
        """
        request = _to_request(Submission(manifest, **fields))
        return self._try(lambda left_s: self._wire.submit_job(request, self, left_s))

    def submit_many(self, submissions: Iterable[Submission]) -> list[Job | FairgateError]:
        """Submit many jobs, in batches of one transaction each; what became of each, in their order.

        What is wrong with one does not keep the others back.
        """
        results: list[Job | FairgateError | None] = []
        batch: list[tuple[int, JobRequest]] = []
        size = 0
        for index, submission in enumerate(submissions):
            results.append(None)
            try:
                request = _to_request(submission)
            except FairgateError as error:
                results[index] = error
                continue
            if batch and (len(batch) == BATCH_JOBS or size + len(request.manifest) > BATCH_BYTES):
                self._submit_batch(batch, results)
                batch, size = [], 0
            batch.append((index, request))
            size += len(request.manifest)
        self._submit_batch(batch, results)
        return [result for result in results if result is not None]

    def _submit_batch(self, batch: Sequence[tuple[int, JobRequest]], results: list[Job | FairgateError | None]) -> None:
        if not batch:
            return
        requests = [request for _, request in batch]
        answers = self._try(lambda left_s: self._wire.submit_jobs(requests, self, left_s))
        for (index, _), answer in zip(batch, answers, strict=True):
            results[index] = answer

    def get(self, name: str) -> Job:
        """One job with its manifest and its attempts. Raises NotFound."""
        name = job_name(name)
        return self._try(lambda left_s: self._wire.get_job(name, self, left_s))

    def list(
        self,
        tenant: str | None = None,
        filter: str = "",  # noqa: A002 - the API's word
        *,
        with_forecasts: bool = False,
    ) -> Iterator[Job]:
        """The jobs of a tenant and of those below it (``None``: of all), the newest first, page by page.

        ``filter`` chooses, for example ``state = PENDING AND priority >= 5``. ``with_forecasts``: also say when those
        that wait start, as of a moment ago, as far as a short look at all of them finds it.
        """
        wanted = ListRequest(_parent(tenant), filter, with_forecasts)

        def page(token: str, left_s: float) -> tuple[Sequence[Job], str]:
            return self._wire.list_jobs(wanted, (PAGE_SIZE, token), self, left_s)

        return self._pages(page)

    def watch(
        self,
        tenant: str | None = None,
        job: str | None = None,
        after_sequence: int | None = None,
        timeout_s: float | None = None,
        until_sequence: int | None = None,
    ) -> Iterator[JobUpdate]:
        """What happens to jobs, one event after the other, none twice and none left out, also over lost connections.

        Of one job, or of a tenant and those below it (``None``: of all). ``after_sequence``: go on from there, 0: from
        the first event on, ``None``: from now on. Does not end by itself, but when all up to
        ``until_sequence`` is told.

        Raises:
            DeadlineExceeded: ``timeout_s`` seconds are over.
            Unavailable: the service stayed away.
        """
        parent = _parent(tenant) if job is None else _parent(job_name(job).split("/")[1])
        watching = _follow.Watch(self._wire, self, parent, job_name(job) if job else "")
        for item in watching.items(after_sequence, self._patience_s, self._deadline_s(timeout_s)):
            if item.event is not None and item.job is not None:
                yield JobUpdate(item.sequence, item.event, item.job)
            if until_sequence is not None and item.sequence >= until_sequence:
                return

    def sequence(self, tenant: str | None = None) -> int:
        """The place in the order of events that is reached now: list jobs after asking, then watch from here on."""
        watching = _follow.Watch(self._wire, self, _parent(tenant), "")
        first = next(watching.items(None, self._patience_s, self._deadline_s(self._timeout_s)))
        return first.sequence

    def wait(self, name: str, timeout_s: float | None = None) -> Job:
        """Wait until a job has ended, well or badly, and return it as it is then.

        Raises:
            NotFound: there is no such job.
            DeadlineExceeded: it has not ended after ``timeout_s`` seconds.
        """
        for job in self.progress(name, timeout_s):
            if job.state.is_final:
                return job
        raise AssertionError("progress ends with a final state")

    def progress(self, name: str, timeout_s: float | None = None) -> Iterator[Job]:
        """A job as it is now, again after each change and at least every few seconds, until it has ended."""
        name = job_name(name)
        return _follow.progress(self._wire, self, name, self._patience_s, self._deadline_s(timeout_s))

    def logs(self, name: str, attempt: int = 0, offset: int = 0, follow: bool = True) -> Iterator[LogLine]:
        """A job's output line by line; see ``log_chunks``."""
        return _follow.lines(self.log_chunks(name, attempt, offset, follow))

    def log_chunks(self, name: str, attempt: int = 0, offset: int = 0, follow: bool = True) -> Iterator[LogChunk]:
        """A job's output as it was written, over lost connections without a gap or a repeat.

        From an attempt (0: the latest) and, in that, ``offset`` bytes on. ``follow``: go on with what is written, and
        with later attempts, until the job has ended; else what that attempt has written by now.
        """
        name = job_name(name)

        def open_log(attempt: int, offset: int, longest_s: float) -> Iterator[LogChunk]:
            return self._wire.stream_logs(name, attempt, offset, follow, longest_s)

        return _follow.chunks(open_log, (attempt, offset), self._patience_s)

    def cancel(self, name: str, reason: str = "") -> Job:
        """End a job. Returns at once: a job that runs is STOPPING until nothing of it is left. Again is no error.

        Raises:
            NotFound: there is no such job.
            FailedPrecondition: it has SUCCEEDED or FAILED already; it stays as it is.
        """
        name = job_name(name)
        return self._try(lambda left_s: self._wire.cancel_job(name, reason, self, left_s))

    def update(
        self,
        name: str,
        priority: int | None = None,
        time_limit: timedelta | str | None = None,
        etag: str = "",
    ) -> Job:
        """Change what is not ``None`` of a job that has not ended; with ``etag``, only if it is still that version.

        Raises:
            Aborted: it is another version by now.
        """
        name = job_name(name)
        limit = None if time_limit is None else parse_duration(time_limit, "time_limit")
        if priority is None and limit is None:
            raise InvalidArgument([Violation("", "nothing to change", "name a priority or a time limit")])
        _check_priority(priority)
        patience_s = 0.0 if etag else self._patience_s  # made twice it would be refused for the etag of its own doing
        return self._try(lambda left_s: self._wire.update_job(name, (priority, limit, etag), self, left_s), patience_s)

    def explain(self, name: str) -> Explanation:
        """Why a job does not run now: what each option lacks, and who holds it; when it starts, and what would help."""
        name = job_name(name)
        return self._try(lambda left_s: self._wire.explain_job(name, self, left_s))

    def get_config(self) -> Config:
        """The configuration in force."""
        return self._try(self._wire.get_config)

    def apply_config(
        self, source: str | Path, dry_run: bool = False, etag: str = "", comment: str = ""
    ) -> ConfigChange:
        """Make a new version of the whole configuration, or (``dry_run``) say what it would do.

        ``source`` is the YAML text or its file; ``etag`` the version that it is meant to follow ("": any). It is not
        tried twice, unless it is a dry run.

        Raises:
            InvalidArgument: something is wrong with it; ``violations`` lists all that is.
            Aborted: another version is in force.
        """
        text = _manifests.manifest_text(source)
        patience_s = self._patience_s if dry_run else 0.0
        return self._try(lambda left_s: self._wire.apply_config(text, etag, comment, dry_run, left_s), patience_s)

    def tenants(self) -> Iterator[Tenant]:
        """The tenant tree, parents before children."""
        return self._pages(lambda token, left_s: self._wire.list_tenants((PAGE_SIZE, token), left_s))

    def usage(self, tenant: str) -> TenantUsage:
        """What a tenant uses against its quota now. Raises NotFound."""
        name = _parent(tenant)
        return self._try(lambda left_s: self._wire.get_usage(name, left_s))

    def flavors(self) -> Iterator[Flavor]:
        """The flavors with their capacity, by name."""
        return self._pages(lambda token, left_s: self._wire.list_flavors((PAGE_SIZE, token), left_s))

    def _try(self, call: Callable[[float], Value], patience_s: float | None = None) -> Value:
        return self._backoff.retry(call, self._timeout_s, self._patience_s if patience_s is None else patience_s)

    def _pages(self, page: Callable[[str, float], tuple[Sequence[Value], str]]) -> Iterator[Value]:
        token = ""
        while True:
            items, token = self._try(partial(page, token))
            yield from items
            if not token:
                return

    def _deadline_s(self, timeout_s: float | None) -> float | None:
        return None if timeout_s is None else time.monotonic() + timeout_s


def job_name(name: str) -> str:
    """A job's full name ``tenants/TENANT/jobs/JOB``, from itself or from ``TENANT/JOB``. Raises InvalidArgument."""
    parts = name.split("/")
    if len(parts) == 2 and all(parts):
        return f"tenants/{parts[0]}/jobs/{parts[1]}"
    if len(parts) == 4 and parts[0] == "tenants" and parts[2] == "jobs" and all(parts):
        return name
    remedy = "write TENANT/JOB, or tenants/TENANT/jobs/JOB"
    raise InvalidArgument([Violation("name", f"{name!r} does not name a job", remedy)])


def _check_priority(priority: int | str | None) -> None:
    if isinstance(priority, int) and not -(2**31) <= priority < 2**31:
        raise InvalidArgument(
            [Violation("job.priority", f"{priority} does not fit 32 bits", "choose a smaller number")]
        )


def _parent(tenant: str | None) -> str:
    tenant_id = "-" if tenant is None else tenant.removeprefix("tenants/")
    if not tenant_id or "/" in tenant_id:
        raise InvalidArgument([Violation("tenant", f"{tenant!r} does not name a tenant", "write the tenant's id")])
    return f"tenants/{tenant_id}"


def _to_request(submission: Submission) -> JobRequest:
    """What is sent of a submission, with its own request id and the durations and options that people wrote parsed."""
    manifest = _manifests.manifest_text(submission.manifest)
    tenant = submission.tenant
    if tenant is None:
        mapping = submission.manifest if isinstance(submission.manifest, Mapping) else manifest
        tenant = _manifests.tenant_of(mapping) or os.environ.get(_config.TENANT)
    if not tenant:
        remedy = f"name one, annotate the manifest with {_manifests.TENANT}, or set {_config.TENANT}"
        raise InvalidArgument([Violation("tenant", "no tenant is named", remedy)])
    limit, after = submission.time_limit, submission.fallback_after
    _check_priority(submission.priority)
    return JobRequest(
        tenant=_parent(tenant).removeprefix("tenants/"),
        manifest=manifest,
        request_id=submission.request_id or str(uuid.uuid4()),
        job_id=submission.job_id or "",
        priority=submission.priority,
        time_limit=None if limit is None else parse_duration(limit, "job.time_limit"),
        preemptible=submission.preemptible,
        fallback=submission.fallback,
        fallback_after=None if after is None else parse_duration(after, "job.fallback_after"),
        options=parse_options(submission.options, "job.options"),
        workload=submission.workload or "",
        labels=submission.labels,
        dry_run=submission.dry_run,
    )
