"""RayJobs in the inbox queue as jobs: new ones are submitted, edited ones revised, deleted ones cancelled.

Level by level: what is there is compared with what should be, so that nothing is lost when we were away. A request is
known by its uid, which is also the request id of its submit: after a crash in between it is found again.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from fairgate_scheduler.adapters.kube import names
from fairgate_scheduler.adapters.kube.api import Api, ApiError, Manifest, NotFoundError
from fairgate_scheduler.adapters.kube.api.kinds import RAY_JOB
from fairgate_scheduler.adapters.kube.reports import Reports
from fairgate_scheduler.core.manifests import ManifestError, canonical
from fairgate_scheduler.core.manifests.plain import get_map, get_text
from fairgate_scheduler.entrypoints.requests.essence import essence_of
from fairgate_scheduler.entrypoints.requests.progress import REFUSED, differs, refusal, status_of
from fairgate_scheduler.service import applied
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.cancel import cancel
from fairgate_scheduler.service.errors import FailedPrecondition, FairgateError, NotFound, Unavailable
from fairgate_scheduler.service.query import get_job
from fairgate_scheduler.service.reading import SubmitRequest
from fairgate_scheduler.service.revise import revise
from fairgate_scheduler.service.submit import submit
from fairgate_scheduler.service.views import JobView

_logger = logging.getLogger(__name__)
_EVENTS: Final = 500
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_BY: Final = "kubectl"


class Requests(Protocol):
    """The RayJobs of the inbox queue, as a mirror has them."""

    @property
    def synced(self) -> bool:
        """Whether all were seen at least once."""

    def items(self) -> Sequence[Manifest]:
        """All of them."""


@dataclass(frozen=True, slots=True)
class _Taken:
    """What was made of a request. ``content``: the essence of what it asked for then. ``job`` "": it was refused."""

    job: str
    content: str


class Inbox:
    """Owned by one thread. All that it remembers it can find again in the store and in the cluster."""

    def __init__(self, app: App, api: Api, requests: Requests, reports: Reports) -> None:
        self._app = app
        self._api = api
        self._requests = requests
        self._reports = reports
        self._taken: dict[str, _Taken] = {}
        self._looked: dict[str, str] = {}
        self._at: int | None = None
        self._unshown: set[str] = set()

    def step(self) -> bool:
        """Do what is to be done now; whether something could not be done and is to be tried again."""
        if not self._requests.synced:
            return True
        there = {each["metadata"]["uid"]: each for each in self._requests.items() if not _is_leaving(each)}
        if self._at is None:
            self._begin(there)
        has_failed = False
        versions = {uid: request["metadata"]["resourceVersion"] for uid, request in there.items()}
        for uid, request in there.items():
            if self._looked.get(uid) == versions[uid]:
                continue
            if self._take(uid, request):
                self._looked[uid] = versions[uid]
            else:
                has_failed = True
        self._looked = {uid: version for uid, version in self._looked.items() if uid in versions}
        has_failed |= not self._cancel_missing(there)
        self._hear()
        return self._show(there) or has_failed

    def _begin(self, there: Mapping[str, Manifest]) -> None:
        """Remember what was taken before: the jobs that live, so that those whose requests are gone end too."""
        with self._app.read() as transaction:
            at = transaction.last_event()
        for each in applied.live(self._app):
            self._taken[each.uid] = _Taken(each.job, self._stored_content(each.job) if each.uid in there else "")
            self._unshown.add(each.job)
        self._at = at

    def _stored_content(self, job: str) -> str:
        with self._app.read() as transaction:
            submission = transaction.get_submission(job)
        return essence_of(submission.manifest) if submission else ""

    def _take(self, uid: str, request: Manifest) -> bool:
        """Whether all that this request asks for is done."""
        known = self._taken.get(uid)
        try:
            content = _content(request)
            essence = essence_of(content)
        except ManifestError as error:
            content = essence = f"unreadable: {error}"
        if known is not None and known.content == essence:
            return True
        tenant = self._tenant_of(request)
        job = known.job if known else (applied.find(self._app, tenant, uid) or "" if tenant else "")
        if _is_over(request) and not (known and job):
            self._taken[uid] = _Taken(job, essence)  # it has ended, and shows it; also if we have no record of it
            return True
        if tenant is None:
            return self._refuse(uid, request, essence, NotFound("this namespace belongs to no tenant of Fairgate"))
        wanted = SubmitRequest(
            tenant=tenant,
            job_id=None,
            manifest_text=content,
            request_id=uid,
            submitted_by=_BY,
            uid=uid,
            origin=_origin(request),
        )
        return self._revise(uid, request, job, wanted) if job else self._submit(uid, request, wanted)

    def _submit(self, uid: str, request: Manifest, wanted: SubmitRequest) -> bool:
        try:
            view = submit(self._app, wanted)
        except (FailedPrecondition, Unavailable) as error:
            self._reports.warn(request, "Waiting", str(error))
            return False
        except FairgateError as error:
            return self._refuse(uid, request, essence_of(wanted.manifest_text), error)
        for warning in view.submission.warnings:
            self._reports.tell(request, "Warning", "Noticed", warning)
        self._taken[uid] = _Taken(view.job.id, essence_of(wanted.manifest_text))
        self._unshown.add(view.job.id)
        return True

    def _revise(self, uid: str, request: Manifest, job: str, wanted: SubmitRequest) -> bool:
        """An edit, or a request that was taken before we were restarted."""
        try:
            if self._stored_content(job) != essence_of(wanted.manifest_text):
                revise(self._app, job, wanted)
        except Unavailable:
            return False
        except FairgateError as error:
            self._reports.warn(request, "EditIgnored", f"the change has no effect: {error}")
        self._taken[uid] = _Taken(job, essence_of(wanted.manifest_text))
        self._unshown.add(job)
        return True

    def _refuse(self, uid: str, request: Manifest, content: str, error: FairgateError) -> bool:
        message = str(error).replace("manifest.", "")
        self._reports.warn(request, "Refused", message)
        done = self._patch(request, refusal(message, uid, self._app.clock.now_ms()))
        if done:
            self._taken[uid] = _Taken("", content)
        return done

    def _cancel_missing(self, there: Mapping[str, Manifest]) -> bool:
        """Cancel the jobs whose requests are gone."""
        for uid in [each for each in self._taken if each not in there]:
            job = self._taken[uid].job
            if job:
                try:
                    cancel(self._app, job, "its RayJob was deleted", _BY)
                except (FailedPrecondition, NotFound):
                    pass  # it has ended by itself
                except FairgateError as error:
                    _logger.warning("%s can not be cancelled yet: %s", job, error)
                    return False
            del self._taken[uid]
        return True

    def _hear(self) -> None:
        """Note which jobs have got on."""
        assert self._at is not None
        while True:
            with self._app.read() as transaction:
                events = transaction.list_events(self._at, _EVENTS)
            self._unshown |= {each.event.job for each in events}
            self._at = events[-1].sequence if events else self._at
            if len(events) < _EVENTS:
                return

    def _show(self, there: Mapping[str, Manifest]) -> bool:
        """Show on the requests how their jobs get on; whether something could not be shown."""
        requests = {each.job: there[uid] for uid, each in self._taken.items() if each.job and uid in there}
        failed: set[str] = set()
        for job in sorted(self._unshown & requests.keys()):
            if not self._show_one(requests[job], get_job(self._app, job)):
                failed.add(job)
        self._unshown = failed
        return bool(failed)

    def _show_one(self, request: Manifest, view: JobView) -> bool:
        status = status_of(view, request["metadata"]["uid"])
        self._reports.tell(request, "Normal", view.job.state.capitalize(), status["message"])
        return not differs(get_map(request, "status"), status) or self._patch(request, status)

    def _patch(self, request: Manifest, status: Mapping[str, object]) -> bool:
        metadata = request["metadata"]
        patch = {"metadata": {"uid": metadata["uid"]}, "status": status}
        try:
            self._api.patch(RAY_JOB, metadata["name"], patch, metadata["namespace"], subresource="status")
        except NotFoundError:
            return True
        except ApiError as error:
            _logger.warning("the status of RayJob %s can not be written yet: %s", metadata["name"], error)
            return False
        return True

    def _tenant_of(self, request: Manifest) -> str | None:
        config = self._app.config()
        namespace = request["metadata"]["namespace"]
        leaves = (each for each in config.tenants.values() if config.is_leaf(each.id))
        return next((each.id for each in leaves if names.namespace_of(each) == namespace), None)


def _content(request: Manifest) -> str:
    """What it asks for, as text: without what Kueue, kubectl and we write into it."""
    metadata = request["metadata"]
    annotations = {key: text for key, text in get_map(metadata, "annotations").items() if key != _LAST_APPLIED}
    kept = {key: metadata[key] for key in ("name", "namespace", "labels") if key in metadata}
    spec = {key: value for key, value in request["spec"].items() if key not in ("suspend", "managedBy")}
    kept["annotations"] = annotations
    return canonical({**{key: request[key] for key in ("apiVersion", "kind")}, "metadata": kept, "spec": spec})


def _origin(request: Manifest) -> Mapping[str, object]:
    metadata = request["metadata"]
    return {
        "apiVersion": request["apiVersion"],
        "kind": request["kind"],
        "metadata": {"name": metadata["name"], "uid": metadata["uid"]},
    }


def _is_leaving(request: Manifest) -> bool:
    return bool(get_text(request["metadata"], "deletionTimestamp"))


def _is_over(request: Manifest) -> bool:
    """Whether it shows the end of a job: not that it was refused."""
    status = get_map(request, "status")
    is_refused = get_text(status, "reason") == REFUSED
    return get_text(status, "jobDeploymentStatus") in ("Complete", "Failed") and not is_refused
