"""``ports.Runner`` on Kubernetes: each attempt a RayJob that Kueue admits and KubeRay runs.

All that it must not forget is written on the objects: whose they are, that an attempt was given notice, and until when.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from fairgate_scheduler.adapters.kube import logs, names
from fairgate_scheduler.adapters.kube.api import Api, ConflictError, Kind, Manifest, NotFoundError, UnavailableError
from fairgate_scheduler.adapters.kube.api.kinds import POD, RAY_JOB, WORKLOAD
from fairgate_scheduler.adapters.kube.attempts import attempt_names, render
from fairgate_scheduler.adapters.kube.checks import check, remarks
from fairgate_scheduler.adapters.kube.logs import Archive
from fairgate_scheduler.adapters.kube.mapping import check_mapping
from fairgate_scheduler.adapters.kube.reports import Reports
from fairgate_scheduler.adapters.kube.watching.capacity import capacity, lost_nodes
from fairgate_scheduler.adapters.kube.watching.scene import Scene
from fairgate_scheduler.adapters.kube.watching.sight import Patience, instant_ms, noticed, see
from fairgate_scheduler.adapters.kube.watching.traces import AttemptKey, Trace, collect
from fairgate_scheduler.core.amounts import Amount, Row
from fairgate_scheduler.core.config_checks import Fault
from fairgate_scheduler.core.lifecycle import Observation, Phase
from fairgate_scheduler.core.manifests.plain import get_map, get_text
from fairgate_scheduler.core.tenancy import Config, Tenant
from fairgate_scheduler.ports import Clock, Launch, LogChunk

_logger = logging.getLogger(__name__)
_UNSEEN_MS: Final = 30_000
"""How long a launched attempt counts as there while no mirror has shown it."""
_POD_ENDS: Final = ("Succeeded", "Failed")


class OccupiedError(Exception):
    """The names of an attempt are taken, or an earlier job of its name still runs."""


@dataclass(frozen=True, slots=True)
class KubeSettings:
    """``grace_ms`` lies between an eviction's notice and the deletion of the attempt."""

    grace_ms: int = 30_000
    patience: Patience = field(default_factory=Patience)


class KubeRunner:
    """Runs attempts in one cluster. What it remembers in memory only makes ends known sooner."""

    def __init__(self, api: Api, scene: Scene, archive: Archive, clock: Clock, settings: KubeSettings) -> None:
        self._api = api
        self._scene = scene
        self._archive = archive
        self._clock = clock
        self._settings = settings
        self._reports = Reports(api, clock)
        self._launched: dict[AttemptKey, Observation] = {}
        self._seen: dict[AttemptKey, Observation] = {}
        self._forgotten: set[AttemptKey] = set()
        self._kept: set[AttemptKey] = set()
        self._ending: dict[AttemptKey, tuple[Phase, str]] = {}
        self._clusters: dict[AttemptKey, str] = {}

    def check(self, manifest: Mapping[str, Any], tenant: Tenant) -> Sequence[str]:
        """See ``ports.Runner``."""
        return check(manifest, tenant)

    def objections(self, config: Config) -> Sequence[Fault]:
        """See ``ports.Runner``."""
        return check_mapping(config)

    def remarks(self, config: Config) -> Sequence[str]:
        """See ``ports.Runner``."""
        return remarks(config)

    def capacity(self, config: Config) -> Mapping[Row, Amount]:
        """See ``ports.Runner``. Raises UnavailableError while the nodes can not be seen."""
        self._assert_seen()
        return capacity(config, self._scene.nodes(), self._scene.pods())

    def launch(self, launch: Launch) -> None:
        """See ``ports.Runner``. Raises ApiError, OccupiedError."""
        self._assert_seen()
        key, uid = (launch.job.id, launch.attempt.number), launch.job.uid
        traces = collect(self._scene.objects())
        for trace in traces.values():
            if trace.job == key[0] and trace.uid != uid and not self._look(trace).is_gone:
                raise OccupiedError(f"an earlier job {trace.job} still runs as attempt {trace.number}")
        found = traces.get(key)
        if found is None or found.ray_job is None or found.uid != uid:
            self._create(launch)
        self._forgotten.discard(key)
        self._launched[key] = Observation(*key, Phase.STARTING, self._clock.now_ms(), uid=uid)

    def stop(self, job: str, attempt: int, reason: str) -> None:
        """See ``ports.Runner``. Raises ApiError."""
        trace = self._find(job, attempt)
        if trace is None or trace.ray_job is None or noticed(trace.ray_job):
            return
        now_ms = self._clock.now_ms()
        has_begun = any(get_text(get_map(pod, "status"), "phase") == "Running" for pod in trace.pods)
        kill_at_ms = now_ms + (self._settings.grace_ms if has_begun else 0)
        notice = json.dumps({"reason": reason, "at_ms": now_ms, "kill_at_ms": kill_at_ms})
        marks = {names.NOTICE: notice, names.STOP_AT: _timestamp(kill_at_ms)}
        self._pass_on(trace, notice)  # first: the time runs from the mark on the RayJob, whatever becomes of us
        self._annotate(RAY_JOB, trace.ray_job, marks, trace.ray_job["metadata"]["uid"])

    def observe(self) -> Sequence[Observation]:
        """See ``ports.Runner``. Ends what is over its grace period or is not what was admitted, and passes on notice to
        pods that have not got it: we may have died in between, and pods may have come since. Raises ApiError.
        """
        self._assert_seen()
        traces = collect(self._scene.objects())
        now_ms = self._clock.now_ms()
        nodes = lost_nodes(self._scene.nodes())
        seen: dict[AttemptKey, Observation] = {}
        for key, trace in traces.items():
            if trace.clusters:
                self._clusters.setdefault(key, trace.clusters[0]["metadata"]["name"])
            trace.first_cluster = self._clusters.get(key, "")
            sighting = see(trace, nodes, now_ms, self._settings.patience)
            if sighting.diverged:
                sighting = see(self._reread(trace), nodes, now_ms, self._settings.patience)
            seen[key] = sighting.observation
            if sighting.diverged:
                self._reports.diverged(trace, sighting.diverged)
                self._ending.setdefault(key, (Phase.LOST, sighting.diverged))
                self._end(trace)
            elif not sighting.is_ended and _is_due(trace, now_ms):
                self._ending.setdefault(key, (Phase.STOPPED, "its grace period was over"))
                self._end(trace)
            elif not sighting.is_ended:
                self._pass_on(trace, noticed(trace.ray_job) if trace.ray_job else "")
        self._remember(seen, now_ms)
        return [each for key, each in self._seen.items() if key not in self._forgotten]

    def forget(self, job: str, attempt: int) -> None:
        """See ``ports.Runner``. Keeps its output and deletes its RayJob. Raises ApiError."""
        key = job, attempt
        trace = collect(self._scene.objects()).get(key)
        if trace is None:
            self._seen.pop(key, None)
            self._launched.pop(key, None)
            self._kept.discard(key)
        elif self._end(trace):
            self._forgotten.add(key)

    def read_log(self, job: str, attempt: int, offset: int, limit: int, uid: str = "") -> LogChunk:
        """See ``ports.Runner``. Raises ApiError."""
        trace = collect(self._scene.objects()).get((job, attempt))
        if trace is not None and uid in ("", trace.uid):
            ended = self._look(trace).phase not in (Phase.STARTING, Phase.RUNNING)
            data = logs.read_pods(self._api, trace, None if ended else offset + limit)
            if data is not None or not ended:
                return _chunk(data or b"", offset, limit, ended)
        kept = self._archive.get(job, attempt, uid)
        if kept is None:
            return LogChunk(b"", offset, is_end=trace is None)
        return _chunk(kept.data, offset, limit, is_whole=True, first=kept.offset)

    def _assert_seen(self) -> None:
        """While a kind of object is not watched, what is missing says nothing: no end is told and nothing begun."""
        if not self._scene.is_complete:
            raise UnavailableError("the cluster was not seen completely yet")
        if troubles := self._scene.troubles:
            raise UnavailableError(f"the cluster can not be seen now: {'; '.join(troubles)}")

    def _look(self, trace: Trace) -> Observation:
        nodes = lost_nodes(self._scene.nodes())
        return see(trace, nodes, self._clock.now_ms(), self._settings.patience).observation

    def _create(self, launch: Launch) -> None:
        job, number = launch.job, launch.attempt.number
        for name in dict.fromkeys(attempt_names(job.id, job.uid, number)):
            manifest = render(launch, name, launch.spec.get("request"))
            try:
                self._api.create(RAY_JOB, manifest)
            except ConflictError:
                there = self._api.get(RAY_JOB, name, manifest["metadata"]["namespace"])
                if _is_same(there, manifest):
                    return
                _logger.warning("RayJob %s is not attempt %s of %s: it gets another name", name, number, job.id)
                continue
            return
        raise OccupiedError(f"both names of attempt {number} of {job.id} are taken by other RayJobs")

    def _find(self, job: str, attempt: int) -> Trace | None:
        """Its traces; read from the server where the mirrors show none and it was launched just now."""
        traces = collect(self._scene.objects())
        found = traces.get((job, attempt))
        if found is None and (job, attempt) in self._launched:
            listing = self._api.list(RAY_JOB, labels=f"{names.MANAGED}={names.FIELD_MANAGER},{names.ATTEMPT}={attempt}")
            found = collect(replace(self._scene.objects(), ray_jobs=listing.items)).get((job, attempt))
        return found

    def _reread(self, trace: Trace) -> Trace:
        """The same as it is now: mirrors of several kinds are not of one instant, and an attempt is ended only once."""
        assert trace.ray_job is not None
        metadata = trace.ray_job["metadata"]
        namespace, uid = metadata["namespace"], metadata["uid"]
        try:
            ray_job: Manifest | None = self._api.get(RAY_JOB, metadata["name"], namespace)
        except NotFoundError:
            ray_job = None
        workloads = self._api.list(WORKLOAD, namespace, f"{names.WORKLOAD_OF}={uid}").items
        same = ray_job if ray_job is not None and ray_job["metadata"]["uid"] == uid else None
        return replace(trace, ray_job=same, workload=next(iter(workloads), None))

    def _annotate(self, kind: Kind, about: Manifest, marks: Mapping[str, str], uid: str = "") -> None:
        """Write annotations; what is gone needs none. ``uid``: only of that very object."""
        metadata = about["metadata"]
        patch = {"metadata": {**({"uid": uid} if uid else {}), "annotations": marks}}
        with suppress(NotFoundError):
            self._api.patch(kind, metadata["name"], patch, metadata["namespace"])

    def _pass_on(self, trace: Trace, notice: str) -> None:
        """Show a notice to the programs in the pods."""
        for pod in trace.pods if notice else ():
            has_ended = get_text(get_map(pod, "status"), "phase") in _POD_ENDS
            if not has_ended and get_text(get_map(pod, "metadata", "annotations"), names.NOTICE) != notice:
                self._annotate(POD, pod, {names.NOTICE: notice})

    def _end(self, trace: Trace) -> bool:
        """Keep its output and delete its RayJob; whether both is done. What can not be done is tried again."""
        if trace.ray_job is None:
            return True
        metadata = trace.ray_job["metadata"]
        if get_text(metadata, "deletionTimestamp"):
            return True
        if trace.key not in self._kept and not logs.keep(self._api, trace, self._archive):
            return False
        self._kept.add(trace.key)
        try:
            self._api.delete(RAY_JOB, metadata["name"], metadata["namespace"], uid=metadata["uid"])
        except ConflictError:
            return False  # it is another one by now: look again
        return True

    def _remember(self, seen: Mapping[AttemptKey, Observation], now_ms: int) -> None:
        """What vanished has ended: as it was seen to end last, or as we ended it, or it is lost."""
        self._launched = {
            key: each for key, each in self._launched.items() if key not in seen and now_ms - each.at_ms < _UNSEEN_MS
        }
        vanished = self._seen.keys() - seen.keys() - self._launched.keys() - self._forgotten
        gone = {key: self._vanished(self._seen[key]) for key in sorted(vanished)}
        self._forgotten &= seen.keys()
        self._kept &= seen.keys()
        self._clusters = {key: name for key, name in self._clusters.items() if key in seen}
        self._ending = {key: each for key, each in self._ending.items() if key in seen or key in gone}
        self._seen = {**gone, **self._launched, **seen}

    def _vanished(self, last: Observation) -> Observation:
        phase, message = last.phase, last.message
        if phase in (Phase.STARTING, Phase.RUNNING):
            phase, message = self._ending.get((last.job, last.attempt), (Phase.LOST, "its RayJob was deleted"))
        return replace(last, phase=phase, is_gone=True, message=message)


def _is_due(trace: Trace, now_ms: int) -> bool:
    """Whether its grace period is over."""
    stop_at_ms = instant_ms(get_text(get_map(trace.ray_job, "metadata", "annotations"), names.STOP_AT))
    return stop_at_ms is not None and stop_at_ms <= now_ms


def _is_same(there: Manifest, manifest: Manifest) -> bool:
    labels, wanted = get_map(there, "metadata", "labels"), manifest["metadata"]["labels"]
    return all(labels.get(key) == wanted[key] for key in (names.MANAGED, names.JOB_UID, names.ATTEMPT))


def _timestamp(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds")


def _chunk(data: bytes, offset: int, limit: int, is_whole: bool, first: int = 0) -> LogChunk:
    """``first``: the offset of the first byte of ``data``. What was not kept is left out."""
    begin = max(offset - first, 0)
    piece = data[begin : begin + limit]
    next_offset = max(min(offset, first + len(data)), first) + len(piece)
    return LogChunk(piece, next_offset, is_end=is_whole and next_offset >= first + len(data))
