"""What we ask of an API server: few calls, each on manifests as plain data. The HTTP client and its twin have it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from fairgate_scheduler.adapters.kube.api.kinds import Kind

Manifest = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Listing:
    """All objects of a kind at one instant; watch from ``resource_version`` to hear what comes after it."""

    items: Sequence[Manifest]
    resource_version: str


@dataclass(frozen=True, slots=True)
class Watched:
    """One event of a watch. A BOOKMARK only tells how far the watch has come (``metadata.resourceVersion``)."""

    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]
    object: Manifest


class Watch(Protocol):
    """What happens, one after the other, until the time is over or the server ends it. Iterated by one thread."""

    def __iter__(self) -> Iterator[Watched]:
        """Itself."""

    def __next__(self) -> Watched:
        """The next event; waits for it. Raises GoneError, and UnavailableError when the connection is lost."""

    def close(self) -> None:
        """End it, from any thread: who waits for the next event is told that there is none."""


class Api(Protocol):
    """One API server. Every call may raise UnavailableError and ForbiddenError; all errors are ``ApiError``s.

    ``namespace`` "" is all namespaces in ``list`` and ``watch``, and none for kinds without one. ``labels`` is a label
    selector as kubectl takes it. Manifests that come back always name their ``apiVersion`` and ``kind``. May be used by
    several threads.
    """

    def get(self, kind: Kind, name: str, namespace: str = "") -> Manifest:
        """One object, read from the server, never from a cache. Raises NotFoundError."""

    def list(self, kind: Kind, namespace: str = "", labels: str = "") -> Listing:
        """All objects of a kind; large answers are read in pages. Raises NotFoundError if the kind is not served."""

    def watch(
        self, kind: Kind, resource_version: str, namespace: str = "", labels: str = "", timeout_s: int = 300
    ) -> Watch:
        """What happens after this version, for about ``timeout_s`` (0: what is there already); bookmarks are asked for.

        Raises GoneError when the version is too old, here or while it runs.
        """

    def create(self, kind: Kind, manifest: Manifest) -> Manifest:
        """A new object. Raises ConflictError if there is one of this name, NotFoundError if its namespace is not there,
        ForbiddenError if that is being deleted, InvalidError.
        """

    def apply(self, kind: Kind, manifest: Manifest, *, force: bool = False, dry_run: bool = False) -> Manifest:
        """Server-side apply as ``names.FIELD_MANAGER``; creates what is missing.

        A ``resourceVersion`` or ``uid`` in the metadata must be the object's; only a ``uid`` keeps what is gone from
        being made anew. Raises ConflictError: another manager
        owns a field and ``force`` is not set, or the version is another. Raises InvalidError, and
        NotFoundError if its namespace is not there.
        """

    def patch(self, kind: Kind, name: str, patch: Manifest, namespace: str = "", *, subresource: str = "") -> Manifest:
        """A JSON merge patch, of the object or of ``status``. With ``metadata.resourceVersion`` in it: only of that
        version. Raises NotFoundError, ConflictError, InvalidError.
        """

    def delete(
        self, kind: Kind, name: str, namespace: str = "", *, uid: str = "", propagation: str = "Background"
    ) -> bool:
        """Ask for its deletion; whether it was there. Raises ConflictError if ``uid`` is given and it has another."""

    def read_log(self, pod: str, namespace: str, container: str = "", limit_bytes: int | None = None) -> bytes:
        """What a container has written, from its first byte; nothing if its pod has no node yet.

        Raises NotFoundError, InvalidError (not started yet, or which of several is not said).
        """
