"""``JobService`` on the wire: each method decodes, makes one call of the service, and encodes."""

import threading
from collections.abc import Callable, Iterator
from typing import Final

import grpc
from fairgate_api.v1 import job_service_pb2, job_service_pb2_grpc, jobs_pb2

from fairgate_scheduler.entrypoints.grpc import codec, fields, names, requests
from fairgate_scheduler.entrypoints.grpc.auth import principal_of
from fairgate_scheduler.entrypoints.grpc.errors import to_status
from fairgate_scheduler.entrypoints.grpc.log_stream import stream_log
from fairgate_scheduler.service import cancel, query, submit, update
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.errors import FairgateError, Unavailable
from fairgate_scheduler.service.privacy import explanation_for, view_for
from fairgate_scheduler.service.views import JobView
from fairgate_scheduler.service.watch import watch

MAX_ANSWER_BYTES: Final = 3 * 1024**2
"""Lists are cut to pages below this: callers accept messages of at most 4 MiB unless they say otherwise."""


class JobServicer(job_service_pb2_grpc.JobServiceServicer):
    """Jobs over the wire. ``stopping`` ends its streams when the server stops."""

    def __init__(self, app: App, stopping: threading.Event) -> None:
        self._app = app
        self._stopping = stopping

    def SubmitJob(  # noqa: N802 - the names of the wire contract
        self, request: job_service_pb2.SubmitJobRequest, context: grpc.ServicerContext
    ) -> jobs_pb2.Job:
        caller = principal_of(context)
        asked = requests.read_submit(request, caller.name)
        with fields.renamed(fields.of_submit):
            return codec.encode_job(view_for(submit.submit(self._app, asked), caller.roles))

    def SubmitJobs(  # noqa: N802
        self, request: job_service_pb2.SubmitJobsRequest, context: grpc.ServicerContext
    ) -> job_service_pb2.SubmitJobsResponse:
        caller = principal_of(context)
        asked = requests.read_submits(request, caller.name)
        accepted = [each for each in asked if not isinstance(each, FairgateError)]
        told = submit.preview_many(self._app, accepted) if accepted else []
        answers = iter(each if isinstance(each, FairgateError) else view_for(each, caller.roles) for each in told)
        results = [each if isinstance(each, FairgateError) else _renamed(next(answers)) for each in asked]
        out = job_service_pb2.SubmitJobsResponse(results=map(_encode_result, results))
        if out.ByteSize() > MAX_ANSWER_BYTES:
            for result in out.results:
                result.job.ClearField("charges")
                result.job.ClearField("options")
        return out

    def GetJob(  # noqa: N802
        self, request: job_service_pb2.GetJobRequest, context: grpc.ServicerContext
    ) -> jobs_pb2.Job:
        return codec.encode_job(query.get_job(self._app, names.read_job(request.name)), full=True)

    def ListJobs(  # noqa: N802
        self, request: job_service_pb2.ListJobsRequest, context: grpc.ServicerContext
    ) -> job_service_pb2.ListJobsResponse:
        caller, wanted = principal_of(context), requests.read_filter(request)
        size = names.read_page_size(request.page_size)
        while True:
            with fields.renamed(fields.of_parent):
                views, token = query.list_jobs(
                    self._app, wanted, size, request.page_token, with_outlooks=request.with_forecasts
                )
            views = [view_for(view, caller.roles) for view in views]
            out = job_service_pb2.ListJobsResponse(jobs=map(codec.encode_job, views), next_page_token=token)
            if out.ByteSize() <= MAX_ANSWER_BYTES or len(views) <= 1:
                return out
            size = len(views) // 2

    def WatchJobs(  # noqa: N802
        self, request: job_service_pb2.WatchJobsRequest, context: grpc.ServicerContext
    ) -> Iterator[job_service_pb2.WatchJobsResponse]:
        tenant = names.read_tenants(request.parent)
        job = names.read_job(request.job, "job") if request.job else None
        after = request.after_sequence if request.HasField("after_sequence") else None
        with fields.renamed(fields.of_parent):
            for item in watch(self._app, tenant, job, after, self._should_stop(context)):
                yield codec.encode_watch_item(item)
        self._check_not_stopping("watch again after the last sequence number")

    def CancelJob(  # noqa: N802
        self, request: job_service_pb2.CancelJobRequest, context: grpc.ServicerContext
    ) -> jobs_pb2.Job:
        caller = principal_of(context).name
        return codec.encode_job(cancel.cancel(self._app, names.read_job(request.name), request.reason, caller))

    def UpdateJob(  # noqa: N802
        self, request: job_service_pb2.UpdateJobRequest, context: grpc.ServicerContext
    ) -> jobs_pb2.Job:
        change = requests.read_update(request)
        with fields.renamed(fields.of_update):
            view = update.update(
                self._app,
                change.name,
                priority=change.priority,
                time_limit_ms=change.time_limit_ms,
                etag=change.etag,
                by=principal_of(context).name,
            )
        return codec.encode_job(view)

    def ExplainJob(  # noqa: N802
        self, request: job_service_pb2.ExplainJobRequest, context: grpc.ServicerContext
    ) -> job_service_pb2.ExplainJobResponse:
        explanation = query.explain(self._app, names.read_job(request.name))
        return codec.encode_explanation(explanation_for(explanation, principal_of(context).roles))

    def StreamJobLogs(  # noqa: N802
        self, request: job_service_pb2.StreamJobLogsRequest, context: grpc.ServicerContext
    ) -> Iterator[job_service_pb2.StreamJobLogsResponse]:
        wanted = requests.read_log_request(request)
        yield from stream_log(self._app, wanted, self._should_stop(context))
        self._check_not_stopping("ask again from the last offset")

    def _should_stop(self, context: grpc.ServicerContext) -> Callable[[], bool]:
        return lambda: self._stopping.is_set() or not context.is_active()

    def _check_not_stopping(self, remedy: str) -> None:
        """A stream that the server cuts must not look as if it had come to its end. Raises Unavailable."""
        if self._stopping.is_set():
            raise Unavailable("the server is stopping", remedy=remedy)


def _renamed(answer: JobView | FairgateError) -> JobView | FairgateError:
    if isinstance(answer, FairgateError):
        fields.rename(answer, fields.of_submit)
    return answer


def _encode_result(result: JobView | FairgateError) -> job_service_pb2.SubmitJobResult:
    if isinstance(result, FairgateError):
        return job_service_pb2.SubmitJobResult(error=to_status(result))
    return job_service_pb2.SubmitJobResult(job=codec.encode_job(result))
