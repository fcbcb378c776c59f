"""The output of attempts: read from the pod for as long as there is one, kept when it is to go."""

from collections.abc import Sequence
from typing import Final, Protocol

from fairgate_scheduler.adapters.kube.api import Api, ApiError, InvalidError, Manifest, NotFoundError
from fairgate_scheduler.adapters.kube.watching.traces import Trace
from fairgate_scheduler.core.manifests.plain import get_list, get_map, get_text

MOST_KEPT: Final = 1 << 20
"""How many bytes of an attempt's output are kept after its pods are gone: the last ones."""
_NODE_TYPE: Final = "ray.io/node-type"
_SIDECAR: Final = "ray-job-submitter"


class LogArchive(Protocol):
    """Where the output of attempts is kept. It outlives a crash of ours."""

    def put(self, job: str, attempt: int, uid: str, data: bytes) -> None:
        """Keep this as the output of an attempt, in the place of what was kept of it."""

    def get(self, job: str, attempt: int, uid: str = "") -> bytes | None:
        """What was kept, ``None`` if nothing was. ``uid``: not that of an earlier job of the same name."""


def read_pods(api: Api, trace: Trace, limit_bytes: int | None = None) -> bytes | None:
    """What the program of an attempt has written so far; ``None``: there is no pod that has it.

    Ray's submitter passes on what the driver writes: it is a pod of its own, or a container beside the head.
    """
    for pod, container in _sources(trace.pods):
        metadata = pod["metadata"]
        try:
            return api.read_log(metadata["name"], metadata["namespace"], container, limit_bytes)
        except InvalidError:
            return b""  # it is there and has not started yet
        except NotFoundError:
            continue
    return None


def keep(api: Api, trace: Trace, archive: LogArchive) -> bool:
    """Keep the output of an attempt before its pods are deleted. Whether that is done, or can never be."""
    try:
        data = read_pods(api, trace)
    except ApiError:
        return False
    if data:
        archive.put(trace.job, trace.number, trace.uid, data[-MOST_KEPT:])
    return True


def _sources(pods: Sequence[Manifest]) -> list[tuple[Manifest, str]]:
    """The pods that have the output, the newest first, each with its container."""
    newest = sorted(pods, key=lambda pod: get_text(pod["metadata"], "creationTimestamp"), reverse=True)
    submitters = [(pod, _first_container(pod)) for pod in newest if _node_type(pod) == ""]
    beside = [(pod, _SIDECAR) for pod in newest if _node_type(pod) == "head" and _SIDECAR in _containers(pod)]
    return submitters or beside


def _node_type(pod: Manifest) -> str:
    return get_text(get_map(pod, "metadata", "labels"), _NODE_TYPE)


def _containers(pod: Manifest) -> list[str]:
    return [get_text(each, "name") for each in get_list(get_map(pod, "spec"), "containers")]


def _first_container(pod: Manifest) -> str:
    return next(iter(_containers(pod)), "")
