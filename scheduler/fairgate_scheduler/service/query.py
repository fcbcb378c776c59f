"""What callers read: one job, many jobs, why a job waits, its log. Nothing here writes."""

import base64
import binascii
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fairgate_scheduler.core.jobs import Job, JobState
from fairgate_scheduler.core.manifests.findings import nearest
from fairgate_scheduler.ports import ConfigVersion, JobQuery, LogChunk, Transaction
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.errors import InvalidArgument, NotFound, Violation
from fairgate_scheduler.service.filters import Condition, parse_filter
from fairgate_scheduler.service.viewing import Viewer
from fairgate_scheduler.service.views import Explanation, JobView

DEFAULT_PAGE: Final = 50
LARGEST_PAGE: Final = 1_000
MOST_READ: Final = 20_000
"""Jobs that one call looks at. A page of a filter that few jobs pass may be short, and even empty, with a next page."""
LARGEST_LOG_CHUNK: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs are meant: of these tenants and all below them, in these states, and with what the text says."""

    tenants: frozenset[str] | None = None
    states: frozenset[JobState] | None = None
    filter_text: str = ""


def get_job(app: App, name: str) -> JobView:
    """One job as it is now. Raises NotFound."""
    viewer = Viewer(app)
    with app.read() as transaction:
        return viewer.view(transaction, _find(transaction, name))


def explain(app: App, name: str) -> Explanation:
    """Why a job stands where it stands; if it waits with numbers, a forecast and what would help. Raises NotFound."""
    viewer = Viewer(app)
    with app.read() as transaction:
        view = viewer.view(transaction, _find(transaction, name))
    return Explanation(viewer.with_prospect(view), viewer.hold(view), viewer.leaving(view))


def list_jobs(
    app: App, wanted: JobFilter, page_size: int = 0, page_token: str = "", *, with_outlooks: bool = False
) -> tuple[list[JobView], str]:
    """A page of jobs, newest first, and the token of the next page, "" after the last one.

    ``with_outlooks``: with the forecasts of those that wait.

    ``page_size`` 0 means ``DEFAULT_PAGE``; more than ``LARGEST_PAGE`` is cut to it. A page may be shorter than asked.

    Raises:
        InvalidArgument: the filter, the page size or the token is wrong; a token is only good for its own filter.
        NotFound: nothing is found because there is no such tenant.
    """
    conditions = parse_filter(wanted.filter_text)
    if page_size < 0:
        raise InvalidArgument([Violation("page_size", "it is negative", f"ask for 1 to {LARGEST_PAGE} jobs")])
    size = min(page_size or DEFAULT_PAGE, LARGEST_PAGE)
    digest = hashlib.sha256(repr(_key(wanted)).encode()).hexdigest()[:12]
    before = _read_token(page_token, digest) if page_token else None
    tenants = subtrees(app, wanted.tenants)
    states = wanted.states
    for condition in conditions:
        if condition.field == "state" and condition.op == "=":
            states = frozenset({JobState(str(condition.value))}) & (
                states if states is not None else frozenset(JobState)
            )
    viewer = Viewer(app)
    with app.read() as transaction:
        query = JobQuery(tenants, states, before, size + 1)
        found, next_before = _scan(transaction, query, conditions, size)
        views = viewer.view_all(transaction, found)
    if not found and not page_token and wanted.tenants is not None:
        _check_known(app, wanted.tenants)
    if with_outlooks:
        views = viewer.with_outlooks(views)
    return views, _write_token(next_before, digest) if next_before is not None else ""


def read_log(app: App, name: str, attempt: int | None = None, offset: int = 0, limit: int = 65_536) -> LogChunk:
    """A piece of the log of an attempt, of the last one if none is named.

    Raises:
        NotFound: no such job or attempt.
        InvalidArgument: a negative offset, a limit that is not from 1 to ``LARGEST_LOG_CHUNK`` bytes.
    """
    if offset < 0:
        raise InvalidArgument([Violation("offset", "it is negative", "0 is the begin")])
    if not 1 <= limit <= LARGEST_LOG_CHUNK:
        raise InvalidArgument([Violation("limit", f"{limit} bytes", f"ask for 1 to {LARGEST_LOG_CHUNK}")])
    with app.read() as transaction:
        job = _find(transaction, name)
        numbers = [each.number for each in transaction.get_attempts(name)]
    if attempt is None and not numbers:
        return LogChunk(b"", offset, is_end=job.state.is_final)
    if attempt is not None and attempt not in numbers:
        known = f"it has 1 to {numbers[-1]}" if numbers else "it has none yet; follow its log to wait for one"
        raise NotFound(f"{name} has no attempt {attempt}", field="attempt", remedy=known)
    number = numbers[-1] if attempt is None else attempt
    chunk = app.runner.read_log(name, number, offset, limit, job.uid)
    if not chunk.data and not chunk.is_end and (job.state.is_final or number < numbers[-1]):
        return LogChunk(b"", offset, is_end=True)  # it ended without ever writing a log
    return chunk


def subtrees(app: App, tenants: frozenset[str] | None) -> frozenset[str] | None:
    """These tenants and all below them; one that is gone from the configuration is only itself."""
    version = app.config_version()
    if tenants is None or version is None:
        return tenants
    paths = version.config.paths
    return tenants | {each for each, path in paths.items() if not tenants.isdisjoint(path)}


def unknown_tenant(tenant: str, version: ConfigVersion | None) -> NotFound:
    """That there is no such tenant, and which one was probably meant."""
    close = nearest(tenant, version.config.tenants) if version else ""
    remedy = f"did you mean {close}?" if close else "see: fairgate get tenants"
    return NotFound(f"there is no tenant {tenant!r}", field="tenant", remedy=remedy)


def _check_known(app: App, tenants: frozenset[str]) -> None:
    version = app.config_version()
    for tenant in sorted(tenants):
        if version is None or tenant not in version.config.tenants:
            raise unknown_tenant(tenant, version)


def _find(transaction: Transaction, name: str) -> Job:
    job = transaction.get_job(name)
    if job is None:
        raise NotFound(f"there is no job {name}", field="name", remedy="see: fairgate get jobs")
    return job


def _scan(
    transaction: Transaction, query: JobQuery, conditions: Sequence[Condition], size: int
) -> tuple[list[Job], int | None]:
    """The first ``size`` jobs that meet the conditions, and where to go on; ``None`` when there are no more."""
    found: list[Job] = []
    read = 0
    while True:
        jobs = transaction.list_jobs(query)
        for job in jobs:
            if len(found) == size or read == MOST_READ:
                return found, job.sequence + 1
            read += 1
            if not conditions or _meets(transaction, job, conditions):
                found.append(job)
        if len(jobs) < query.limit:
            return found, None
        query = JobQuery(query.tenants, query.states, jobs[-1].sequence, query.limit)


def _meets(transaction: Transaction, job: Job, conditions: Sequence[Condition]) -> bool:
    submission = transaction.get_submission(job.id)
    assert submission is not None, job.id
    return all(condition.holds(job, submission) for condition in conditions)


def _key(wanted: JobFilter) -> tuple[object, ...]:
    return (
        sorted(wanted.tenants) if wanted.tenants is not None else None,
        sorted(wanted.states) if wanted.states is not None else None,
        wanted.filter_text,
    )


def _write_token(before: int, digest: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([before, digest]).encode()).decode()


def _read_token(token: str, digest: str) -> int:
    try:
        before, made_for = json.loads(base64.urlsafe_b64decode(token.encode()))
    except (binascii.Error, ValueError, TypeError):
        before, made_for = None, ""
    if not isinstance(before, int) or made_for != digest:
        message = "it is not a token of a list with this filter"
        raise InvalidArgument([Violation("page_token", message, "begin again without a token")])
    return before
