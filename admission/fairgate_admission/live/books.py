"""What was admitted and what is configured, read from the scheduler's store within a deadline."""

import json
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as DeadlineError
from dataclasses import dataclass
from typing import Final, TypeVar

from fairgate_scheduler.adapters.kube import names
from fairgate_scheduler.adapters.kube.attempts import attempt_names, render
from fairgate_scheduler.core.jobs import Attempt, AttemptState, Job, JobState
from fairgate_scheduler.core.tenancy import Config
from fairgate_scheduler.ports import JobQuery, Launch, Store, StoreError, Transaction

from fairgate_admission.facts.world import LookupFailedError, Reservation, reservation_of

DEADLINE_S: Final = 1.0
_THREADS: Final = 8
_NUMBERED: Final = re.compile(r"(.+)-([0-9]{1,9})")
_LOOKED_BACK: Final = 20
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Admitted:
    """An attempt that holds a reservation, with what tells its RayJob from others of its name."""

    reservation: Reservation
    job_uid: str
    number: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """How long a tenant's jobs wait: how many do now, and the median of those that started last."""

    pending: int
    usual_ms: int | None


class Books:
    """One store, read-only. A read that takes longer than ``deadline_s`` fails, and so do those that queue for it."""

    def __init__(self, store: Store, deadline_s: float = DEADLINE_S) -> None:
        self._store = store
        self._deadline_s = deadline_s
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="store")
        self._tenants: tuple[str, Mapping[str, str]] = ("", {})

    def close(self) -> None:
        """Let go of what still waits."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def config(self) -> Config | None:
        """The configuration in force; ``None``: there is none yet. Raises LookupFailedError, as every read does."""
        version = self._read("the configuration", lambda transaction: transaction.get_config())
        return None if version is None else version.config

    def tenants(self) -> Mapping[str, str]:
        """Namespace → leaf tenant, by the configuration in force."""
        version = self._read("the configuration", lambda transaction: transaction.get_config())
        if version is None:
            return {}
        etag, tenants = self._tenants
        if etag != version.etag:
            config = version.config
            leaves = [each for each in config.tenants.values() if config.is_leaf(each.id)]
            tenants = {names.namespace_of(each): each.id for each in leaves}
            self._tenants = (version.etag, tenants)
        return tenants

    def admitted(self, tenant: str, rayjob: str) -> Admitted | None:
        """The attempt of this tenant whose RayJob has, or will get, this name; one that holds quota."""
        return self._named(tenant, rayjob, lambda attempt: attempt.holds_quota)

    def present(self, tenant: str, rayjob: str) -> Admitted | None:
        """The same, also of an attempt that was evicted and whose pods are on their way out."""
        return self._named(tenant, rayjob, lambda attempt: attempt.holds_quota or attempt.is_present)

    def waiting(self, tenant: str) -> Waiting:
        """What the tenant's jobs have to wait."""
        return self._read("the queue", lambda transaction: _waiting(transaction, tenant))

    def _named(self, tenant: str, rayjob: str, counts: Callable[[Attempt], bool]) -> Admitted | None:
        return self._read(
            f"the reservation of {rayjob}", lambda transaction: _find(transaction, tenant, rayjob, counts)
        )

    def _read(self, what: str, act: Callable[[Transaction], _T]) -> _T:
        try:
            future = self._pool.submit(self._in_transaction, act)
        except RuntimeError as error:  # it is being closed
            raise LookupFailedError(what) from error
        try:
            return future.result(self._deadline_s)
        except DeadlineError as error:
            future.cancel()
            raise LookupFailedError(f"{what} (the store is too slow)") from error
        except StoreError as error:
            raise LookupFailedError(f"{what} (the store can not be read)") from error

    def _in_transaction(self, act: Callable[[Transaction], _T]) -> _T:
        with self._store.transaction(read_only=True) as transaction:
            return act(transaction)


def _find(transaction: Transaction, tenant: str, rayjob: str, counts: Callable[[Attempt], bool]) -> Admitted | None:
    match = _NUMBERED.fullmatch(rayjob)
    if match is None:
        return None
    number, home = int(match[2]), f"tenants/{tenant}/jobs/"
    likely = transaction.get_job(home + match[1])
    found = [] if likely is None else [(likely, each) for each in transaction.get_attempts(likely.id)]
    if not any(each.number == number and rayjob in _names(job, each) for job, each in found):
        # Its name was shortened, or the plain one was taken.
        live = [each for each in transaction.live_attempts() if each.number == number and each.job.startswith(home)]
        jobs = transaction.get_jobs(each.job for each in live)
        found = [(jobs[each.job], each) for each in live if each.job in jobs]
    for job, attempt in found:
        is_it = attempt.number == number and rayjob in _names(job, attempt)
        if is_it and attempt.state is not AttemptState.GONE and counts(attempt):
            return _admitted(transaction, job, attempt, rayjob)
    return None


def _names(job: Job, attempt: Attempt) -> tuple[str, str]:
    return attempt_names(job.id, job.uid, attempt.number)


def _admitted(transaction: Transaction, job: Job, attempt: Attempt, rayjob: str) -> Admitted | None:
    submission, version = transaction.get_submission(job.id), transaction.get_config()
    if submission is None or version is None:
        return None
    launch = Launch(job, attempt, json.loads(submission.manifest), submission.spec, version.config)
    digest = render(launch, rayjob)["metadata"]["annotations"][names.DIGEST]
    held = reservation_of(job.tenant, rayjob, "", job.options[attempt.option], digest)
    return Admitted(held, job.uid, attempt.number)


def _waiting(transaction: Transaction, tenant: str) -> Waiting:
    tenants = frozenset({tenant})
    pending = transaction.count_jobs(tenants, frozenset({JobState.PENDING}))
    started = frozenset({JobState.RUNNING, JobState.SUCCEEDED, JobState.FAILED})
    last = transaction.list_jobs(JobQuery(tenants, started, limit=_LOOKED_BACK))
    waits = sorted(each.started_at_ms - each.submitted_at_ms for each in last if each.started_at_ms is not None)
    return Waiting(pending, waits[len(waits) // 2] if waits else None)
