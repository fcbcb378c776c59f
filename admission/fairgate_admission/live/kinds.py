"""The kinds of objects that rules look up, each with where the API server serves it."""

from typing import Final

from fairgate_scheduler.adapters.kube.api.kinds import (
    DEPLOYMENT,
    JOB,
    NAMESPACE,
    POD,
    RAY_CLUSTER,
    RAY_JOB,
    Kind,
)

PRIORITY_CLASS: Final = Kind("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", is_namespaced=False)
_ALL: Final = (
    NAMESPACE,
    POD,
    JOB,
    DEPLOYMENT,
    RAY_JOB,
    RAY_CLUSTER,
    PRIORITY_CLASS,
    Kind("apps", "v1", "ReplicaSet", "replicasets"),
    Kind("apps", "v1", "StatefulSet", "statefulsets"),
    Kind("apps", "v1", "DaemonSet", "daemonsets"),
    Kind("", "v1", "ReplicationController", "replicationcontrollers"),
    Kind("batch", "v1", "CronJob", "cronjobs"),
    Kind("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet", "leaderworkersets"),
)
_BY_NAME: Final = {(each.group, each.kind): each for each in _ALL}
LOOKED_UP: Final = tuple(each for each in _ALL if each is not POD)
"""What is read one by one."""


def find_kind(api_version: str, kind: str) -> Kind | None:
    """The kind of this API group, whatever version was said; ``None``: it is none that is looked up."""
    return _BY_NAME.get((api_version.rpartition("/")[0], kind))
