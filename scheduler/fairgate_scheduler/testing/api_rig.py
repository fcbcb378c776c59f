"""What the contract of ``Api`` needs to know of the server under test, and the objects that it writes there."""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Protocol

import pytest

from fairgate_scheduler.adapters.kube.api import (
    Api,
    Manifest,
    Watched,
)

NUMBERS = count(1)
_ELSEWHERE = "kueue.x-k8s.io/multikueue"


class Rig(Protocol):
    """What the suite needs to know of the API server under test."""

    api: Api
    other: Api
    """The same server, written to by another field manager."""
    namespace: str
    """There, and empty."""

    def wait_until(self, holds: Callable[[], bool]) -> None:
        """Let the cluster's controllers work until something holds; fail when it does not within a reasonable time."""

    def expired_version(self) -> str:
        """A resource version that is too old to watch RayJobs from."""


def config_map(rig: Rig, name: str = "", data: dict[str, str] | None = None, **metadata: Any) -> dict[str, Any]:
    """A config map of the rig's namespace; of a name of its own if none is given."""
    named = {"name": name or f"map-{next(NUMBERS)}", "namespace": rig.namespace, **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": named, **({"data": data} if data else {})}


def ray_job(rig: Rig, entrypoint: str, **more: Any) -> dict[str, Any]:
    """A RayJob that no controller touches: it says that it is run in another cluster."""
    metadata = {"name": f"job-{next(NUMBERS)}", "namespace": rig.namespace}
    return {"metadata": metadata, "spec": {"entrypoint": entrypoint, "managedBy": _ELSEWHERE}, **more}


def pod(rig: Rig, containers: Sequence[dict[str, Any]], **spec: Any) -> dict[str, Any]:
    """A pod that no scheduler looks at."""
    metadata = {"name": f"pod-{next(NUMBERS)}", "namespace": rig.namespace}
    return {"metadata": metadata, "spec": {"schedulerName": "none", "containers": list(containers), **spec}}


def seen(events: Sequence[Watched]) -> list[tuple[str, str]]:
    """Type and name of what a watch said, without bookmarks."""
    return [(each.type, each.object["metadata"]["name"]) for each in events if each.type != "BOOKMARK"]


def version_of(manifest: Manifest) -> str:
    """Its resource version."""
    return str(manifest["metadata"]["resourceVersion"])


class ApiContract:
    """The suite. Names of objects are unique in one process, so that one namespace may serve all tests."""

    @pytest.fixture
    def rig(self) -> Rig:
        """The server under test; every subclass brings its own."""
        raise NotImplementedError("a fixture named rig")
