"""What of ours is wanted no longer, and may go now: only what nobody holds on to."""

from collections.abc import Iterator, Mapping, Set
from typing import Any, Final

from fairgate_scheduler.adapters.kube import names
from fairgate_scheduler.adapters.kube.api import Kind, Manifest
from fairgate_scheduler.adapters.kube.api.kinds import (
    CLUSTER_QUEUE,
    COHORT,
    LOCAL_QUEUE,
    NAMESPACE,
    NETWORK_POLICY,
    RAY_JOB,
    RESOURCE_FLAVOR,
    RESOURCE_QUOTA,
    WORKLOAD_PRIORITY_CLASS,
)
from fairgate_scheduler.adapters.kube.keeping.estate import Seen
from fairgate_scheduler.adapters.kube.mapping import Key, is_ours, key_of
from fairgate_scheduler.core.manifests.plain import get_int, get_list, get_map, get_text

_ORDER: Final = (
    LOCAL_QUEUE,
    RESOURCE_QUOTA,
    NETWORK_POLICY,
    CLUSTER_QUEUE,
    COHORT,
    RESOURCE_FLAVOR,
    WORKLOAD_PRIORITY_CLASS,
)
_COUNTS: Final = ("reservingWorkloads", "admittedWorkloads", "pendingWorkloads")


class Holds:
    """Who holds on to what, as it was seen."""

    def __init__(self, seen: Seen) -> None:
        self._seen = seen
        ray_jobs = [get_map(each, "metadata") for each in seen.items(RAY_JOB)]
        self._busy = {get_text(each, "namespace") for each in ray_jobs}
        self._priorities = {get_map(each, "labels").get(names.PRIORITY_LABEL) for each in ray_jobs}
        queues = [get_map(each, "spec") for each in seen.items(CLUSTER_QUEUE)]
        cohorts = [get_map(each, "spec") for each in seen.items(COHORT)]
        self._served = {get_text(get_map(each, "spec"), "clusterQueue") for each in seen.items(LOCAL_QUEUE)}
        self._parents = {get_text(each, "cohortName") for each in queues}
        self._parents |= {get_text(each, "parentName") for each in cohorts}
        self._flavors = {name for each in (*queues, *cohorts) for name in _flavors(each)}

    def holder(self, key: Key, manifest: Manifest) -> str:
        """Who still needs an object of ours, in words; "" if nobody does."""
        if key.kind in (LOCAL_QUEUE, RESOURCE_QUOTA, NETWORK_POLICY) and key.namespace in self._busy:
            return "RayJobs in its namespace"
        if key.kind in (LOCAL_QUEUE, CLUSTER_QUEUE) and _has_workloads(manifest):
            return "workloads"
        users: Mapping[Kind, tuple[str, Set[Any]]] = {
            CLUSTER_QUEUE: ("a LocalQueue", self._served),
            COHORT: ("a queue or cohort below it", self._parents),
            RESOURCE_FLAVOR: ("a queue or cohort", self._flavors),
            WORKLOAD_PRIORITY_CLASS: ("RayJobs", self._priorities),
        }
        who, used = users.get(key.kind, ("", frozenset()))
        return who if key.name in used else ""

    def holds_namespace(self, name: str) -> bool:
        """Whether anything of ours is in a namespace."""
        kinds = (LOCAL_QUEUE, RESOURCE_QUOTA, NETWORK_POLICY)
        mine = (each for kind in kinds for each in self._seen.items(kind) if is_ours(each))
        return any(each["metadata"].get("namespace") == name for each in mine)


def unwanted(seen: Seen, wanted: Set[Key]) -> Iterator[tuple[Key, Manifest]]:
    """Objects of ours that nobody wants, those first that others hold on to."""
    for kind in _ORDER:
        for manifest in seen.items(kind):
            key = key_of(kind, manifest)
            if key not in wanted and is_ours(manifest):
                yield key, manifest


def released_namespaces(seen: Seen, wanted: Set[Key], holds: Holds) -> Iterator[Manifest]:
    """Namespaces that are labelled as a tenant's and are none's, once nothing of ours is in them."""
    for manifest in seen.items(NAMESPACE):
        is_labelled = names.TENANT in get_map(manifest, "metadata", "labels")
        key = key_of(NAMESPACE, manifest)
        if is_labelled and key not in wanted and not holds.holds_namespace(key.name):
            yield manifest


def _flavors(spec: dict[str, Any]) -> Iterator[str]:
    for group in get_list(spec, "resourceGroups"):
        yield from (get_text(flavor, "name") for flavor in get_list(group, "flavors"))


def _has_workloads(manifest: Manifest) -> bool:
    return any(get_int(get_map(manifest, "status"), count, 0) for count in _COUNTS)
