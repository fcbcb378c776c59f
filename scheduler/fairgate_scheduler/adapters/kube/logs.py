"""The output of attempts: read from the pod for as long as there is one, kept when it is to go."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from fairgate_scheduler.adapters.kube.api import Api, ApiError, InvalidError, Manifest, NotFoundError
from fairgate_scheduler.adapters.kube.watching.traces import Trace
from fairgate_scheduler.core.manifests.plain import get_list, get_map, get_text
from fairgate_scheduler.ports import KeptLog, StaleVersionError, Store

MOST_KEPT: Final = 1 << 20
"""How many bytes of an attempt's output are kept after its pods are gone: the last ones."""
_NODE_TYPE: Final = "ray.io/node-type"
_SIDECAR: Final = "ray-job-submitter"


class Archive:
    """Keeps the output of attempts in the store, so that it outlives their pods and us."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def put(self, trace: Trace, data: bytes) -> None:
        """Keep the end of this as the output of an attempt. Of a job that is not there any more nothing is kept."""
        offset = max(len(data) - MOST_KEPT, 0)
        with suppress(StaleVersionError), self._store.transaction() as transaction:
            transaction.put_log(trace.job, trace.number, KeptLog(trace.uid, data[offset:], offset))

    def get(self, job: str, attempt: int, uid: str = "") -> KeptLog | None:
        """What was kept, ``None`` if nothing was. ``uid``: not that of an earlier job of the same name."""
        with self._store.transaction(read_only=True) as transaction:
            kept = transaction.get_log(job, attempt)
        return kept if kept is not None and uid in ("", kept.uid) else None


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


def keep(api: Api, trace: Trace, archive: Archive) -> bool:
    """Keep the output of an attempt before its pods are deleted. Whether that is done, or can never be."""
    try:
        data = read_pods(api, trace)
    except ApiError:
        return False
    if data:
        archive.put(trace, data)
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
