"""``facts.world.World`` for one request: every answer is read when it is asked for, and once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from fairgate_scheduler.adapters.kube import names
from fairgate_scheduler.adapters.kube.api import Api, ApiError, NotFoundError
from fairgate_scheduler.adapters.kube.api.kinds import POD, RAY_JOB
from fairgate_scheduler.adapters.kube.attempts import digest_of
from fairgate_scheduler.core.manifests.findings import ManifestError
from fairgate_scheduler.core.manifests.plain import Plain, get_map, get_text, normalize
from fairgate_scheduler.core.tenancy import Config

from fairgate_admission.facts.owners import controller_of
from fairgate_admission.facts.world import LookupFailedError, Reservation, Settings
from fairgate_admission.live.books import Admitted, Books
from fairgate_admission.live.kinds import find_kind


@dataclass
class LiveWorld:
    """Made for one request and used by one thread. ``found``: the reservation that was asked for last.

    ``counts_leaving``: attempts that were evicted and are not gone yet hold their reservation, too.
    """

    api: Api
    books: Books
    settings: Settings
    counts_leaving: bool = False
    found: Admitted | None = None
    _objects: dict[tuple[str, ...], Plain | None] = field(default_factory=dict)
    _lists: dict[tuple[str, ...], Sequence[Plain]] = field(default_factory=dict)
    _tenants: Mapping[str, str] | None = None

    @property
    def config(self) -> Config | None:
        """See ``World``."""
        return self.books.config()

    def tenant_of(self, namespace: str) -> str | None:
        """See ``World``."""
        if self._tenants is None:
            self._tenants = self.books.tenants()
        return self._tenants.get(namespace)

    def get(self, api_version: str, kind: str, namespace: str, name: str) -> Plain | None:
        """See ``World``. A kind that the gate does not know could not be read."""
        served, what = find_kind(api_version, kind), f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"
        if served is None or not name:
            raise LookupFailedError(what)
        key = (served.group, served.kind, namespace, name)
        if key not in self._objects:
            try:
                self._objects[key] = normalize(self.api.get(served, name, namespace if served.is_namespaced else ""))
            except NotFoundError:
                self._objects[key] = None
            except (ApiError, ManifestError) as error:
                raise LookupFailedError(what) from error
        return self._objects[key]

    def owned(self, api_version: str, kind: str, namespace: str, owner_uid: str) -> Sequence[Plain]:
        """See ``World``."""
        served = find_kind(api_version, kind)
        if served is None:
            raise LookupFailedError(f"{kind} {namespace}")
        # All pods of an attempt have its labels, which nobody can take from them: the API server's own policy says so.
        labels = ""
        if served is POD and self.found is not None:
            labels = f"{names.JOB_UID}={self.found.job_uid},{names.ATTEMPT}={self.found.number}"
        key = (served.group, served.kind, namespace, labels)
        if key not in self._lists:
            try:
                items = self.api.list(served, namespace, labels).items
                self._lists[key] = [normalize(each) for each in items]
            except NotFoundError:
                self._lists[key] = []
            except (ApiError, ManifestError) as error:
                raise LookupFailedError(f"{kind} {namespace}") from error
        return [
            each
            for each in self._lists[key]
            if owner_uid and (owner := controller_of(each)) is not None and owner.uid == owner_uid
        ]

    def reservation(self, uid: str, namespace: str, rayjob: str) -> Reservation | None:
        """See ``World``: the RayJob there must be this one, marked as the attempt, and still what was rendered."""
        live = self.get(RAY_JOB.api_version, RAY_JOB.kind, namespace, rayjob)
        tenant = self.tenant_of(namespace)
        if live is None or tenant is None or get_text(get_map(live, "metadata"), "uid") != uid:
            return None
        admitted = self._admitted(tenant, rayjob)
        if admitted is None or not _is_of(live, admitted):
            return None
        self.found = admitted
        return replace(admitted.reservation, uid=uid)

    def reservation_named(self, tenant: str, rayjob: str) -> Reservation | None:
        """See ``World``."""
        admitted = self._admitted(tenant, rayjob)
        self.found = admitted or self.found
        return None if admitted is None else admitted.reservation

    def _admitted(self, tenant: str, rayjob: str) -> Admitted | None:
        return (self.books.present if self.counts_leaving else self.books.admitted)(tenant, rayjob)


def _is_of(live: Plain, admitted: Admitted) -> bool:
    labels = get_map(live, "metadata", "labels")
    marks = {names.JOB_UID: admitted.job_uid, names.ATTEMPT: str(admitted.number)}
    if any(labels.get(key) != text for key, text in marks.items()):
        return False
    return digest_of(live) == admitted.reservation.digest
