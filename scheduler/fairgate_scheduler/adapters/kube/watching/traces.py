"""All that a cluster has of each attempt, brought together from what its mirrors hold."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from fairgate_scheduler.adapters.kube import names
from fairgate_scheduler.adapters.kube.api import Manifest
from fairgate_scheduler.core.manifests.plain import get_list, get_map, get_text

AttemptKey = tuple[str, int]
_CLUSTER_OF: Final = "ray.io/originated-from-cr-name"


@dataclass(slots=True)
class Trace:
    """What there is of one attempt. ``uid``: that of its job; "" is not known any more. ``first_cluster``: the name of
    the first RayCluster that it was seen with; "" is not known.
    """

    job: str
    number: int
    uid: str
    ray_job: Manifest | None = None
    workload: Manifest | None = None
    clusters: list[Manifest] = field(default_factory=list)
    pods: list[Manifest] = field(default_factory=list)
    first_cluster: str = ""

    @property
    def key(self) -> AttemptKey:
        """The attempt."""
        return self.job, self.number


@dataclass(frozen=True, slots=True)
class Objects:
    """What the mirrors hold: only what is marked as an attempt's, besides workloads and clusters."""

    ray_jobs: Iterable[Manifest] = ()
    workloads: Iterable[Manifest] = ()
    clusters: Iterable[Manifest] = ()
    pods: Iterable[Manifest] = ()


def collect(objects: Objects) -> Mapping[AttemptKey, Trace]:
    """Everything by attempt. Of two jobs that had the same name one after the other, what is left of the older one is
    under the newer one's key only if that has nothing there itself.
    """
    traces: dict[tuple[str, int, str], Trace] = {}
    by_uid: dict[str, Trace] = {}
    by_name: dict[tuple[str, str], Trace] = {}
    for ray_job in objects.ray_jobs:
        trace = _trace_of(ray_job, traces)
        if trace is not None:
            metadata = ray_job["metadata"]
            trace.ray_job = ray_job
            by_uid[metadata["uid"]] = by_name[metadata["namespace"], metadata["name"]] = trace
    for workload in objects.workloads:
        for owner in _owners(workload):
            if owner in by_uid:
                by_uid[owner].workload = workload
    for cluster in objects.clusters:
        place = cluster["metadata"]["namespace"], get_text(get_map(cluster, "metadata", "labels"), _CLUSTER_OF)
        found = by_name.get(place)
        if found is not None and found.ray_job is not None and _is_of(cluster, found.ray_job):
            found.clusters.append(cluster)
    for pod in objects.pods:
        trace = _trace_of(pod, traces)
        if trace is not None:
            trace.pods.append(pod)
    return _by_attempt(traces.values())


def _by_attempt(traces: Iterable[Trace]) -> Mapping[AttemptKey, Trace]:
    groups: defaultdict[AttemptKey, list[Trace]] = defaultdict(list)
    for trace in traces:
        groups[trace.key].append(trace)
    return {key: max(group, key=_age) for key, group in groups.items()}


def _age(trace: Trace) -> tuple[bool, str, str]:
    created = trace.ray_job["metadata"].get("creationTimestamp", "") if trace.ray_job else ""
    return trace.ray_job is not None, created, trace.uid


def _trace_of(marked: Manifest, traces: dict[tuple[str, int, str], Trace]) -> Trace | None:
    metadata = get_map(marked, "metadata")
    labels = get_map(metadata, "labels")
    job, number = get_text(get_map(metadata, "annotations"), names.JOB), get_text(labels, names.ATTEMPT)
    if not job or not number.isdecimal() or get_text(labels, names.MANAGED) != names.FIELD_MANAGER:
        return None
    key = job, int(number), get_text(labels, names.JOB_UID)
    return traces.setdefault(key, Trace(*key))


def _owners(owned: Manifest) -> list[str]:
    return [get_text(each, "uid") for each in get_list(get_map(owned, "metadata"), "ownerReferences")]


def _is_of(cluster: Manifest, ray_job: Manifest) -> bool:
    """Owned by it; or by nobody any more, which does not happen but must not hide a cluster."""
    owners = _owners(cluster)
    return not owners or ray_job["metadata"]["uid"] in owners
