"""Who sees all that happens in some namespaces while a test goes on, and what must hold at every moment."""

import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from rig.kubectl import Kubectl, KubectlError

GPU: Final = "nvidia.com/gpu"
_ATTEMPT: Final = "fairgate.internal/attempt"
_CLUSTER_OF: Final = "ray.io/originated-from-cr-name"
_PAUSE_S: Final = 0.3


@dataclass
class Witness:
    """``most``: the highest sum of each resource that Kueue had reserved at one moment. ``uids``: those of the RayJobs
    of each attempt, ``NAMESPACE/NAME``, in the order in which they were seen. ``clusters``: the RayClusters of each
    RayJob. ``overlaps``: attempts that were there while pods of others, whose place they were given, still were.
    """

    kubectl: Kubectl
    namespaces: Sequence[str]
    instead_of: Mapping[str, str]
    most: dict[str, int] = field(default_factory=dict)
    uids: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    clusters: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    overlaps: set[tuple[str, str]] = field(default_factory=set)
    looks: int = 0

    def look(self) -> None:
        """Look once. Each kind is one answer of the API server, so what it sums up was so at one moment."""
        self._reserved(self._all("workloads"))
        attempts = [each for each in self._all("rayjobs") if _ATTEMPT in each["metadata"].get("labels", {})]
        for attempt in attempts:
            uids = self.uids[_place(attempt)]
            if attempt["metadata"]["uid"] not in uids:
                uids.append(attempt["metadata"]["uid"])
        for cluster in self._all("rayclusters"):
            metadata = cluster["metadata"]
            self.clusters[f"{metadata['namespace']}/{metadata['labels'][_CLUSTER_OF]}"].add(metadata["name"])
        # Pods after attempts: a pod that is there now was there when the attempt was.
        left = {
            _attempt_of(pod)
            for pod in self._all("pods")
            if _ATTEMPT in pod["metadata"].get("labels", {}) and _runs(pod)
        }
        for attempt in attempts:
            if (victim := self.instead_of.get(_place(attempt))) in left:
                self.overlaps.add((_place(attempt), victim))
        self.looks += 1

    def _reserved(self, workloads: Sequence[Any]) -> None:
        sums: dict[str, int] = defaultdict(int)
        for each in workloads:
            conditions = {
                one["type"] for one in each.get("status", {}).get("conditions", ()) if one["status"] == "True"
            }
            if "QuotaReserved" in conditions and "Finished" not in conditions:
                for assignment in each["status"]["admission"]["podSetAssignments"]:
                    for resource, amount in assignment.get("resourceUsage", {}).items():
                        if "/" in resource:
                            sums[resource] += int(amount)
        for resource, total in sums.items():
            self.most[resource] = max(total, self.most.get(resource, 0))

    def _all(self, kind: str) -> list[Any]:
        found = self.kubectl.get(kind, "--all-namespaces")
        return [each for each in found if each["metadata"]["namespace"] in self.namespaces]


@contextmanager
def witness(
    kubectl: Kubectl, namespaces: Sequence[str], instead_of: Mapping[str, str] | None = None
) -> Iterator[Witness]:
    """Look on until the block ends; what can not be seen because the API server is away is left out.

    ``instead_of``: which attempt gives way to which, both as ``NAMESPACE/NAME``.
    """
    seen, ending = Witness(kubectl, namespaces, instead_of or {}), threading.Event()

    def watch() -> None:
        while not ending.wait(_PAUSE_S):
            try:
                seen.look()
            except KubectlError:
                continue

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        ending.set()
        thread.join()
    assert seen.looks, "nothing was seen"


def _place(thing: Any) -> str:
    return f"{thing['metadata']['namespace']}/{thing['metadata']['name']}"


def _attempt_of(pod: Any) -> str:
    """The attempt of a pod, by the name of its job and its number."""
    metadata = pod["metadata"]
    job = metadata["annotations"]["fairgate.internal/job"].rpartition("/")[2]
    return f"{metadata['namespace']}/{job}-{metadata['labels'][_ATTEMPT]}"


def _runs(pod: Any) -> bool:
    return pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")
