"""One look at all pods with devices, the oldest first: what was admitted is theirs, whoever comes later is outside."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fairgate_scheduler.adapters.kube.api import Api, Manifest
from fairgate_scheduler.adapters.kube.api.kinds import POD
from fairgate_scheduler.core.manifests.anypods import pod_demand
from fairgate_scheduler.core.manifests.findings import ManifestError
from fairgate_scheduler.core.manifests.plain import Plain, get_map, get_text, normalize
from fairgate_scheduler.core.tenancy import Config

from fairgate_admission.facts.identities import CONTROLLERS
from fairgate_admission.facts.owners import controller_of
from fairgate_admission.facts.request import Request
from fairgate_admission.facts.verdict import Denial
from fairgate_admission.facts.world import LookupFailedError, Reservation, Settings
from fairgate_admission.live.books import Books
from fairgate_admission.live.world import LiveWorld
from fairgate_admission.review.lineage import prove
from fairgate_admission.review.shapes import check_pod

_ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Stray:
    """A pod outside of all reservations. ``tenant`` "": its namespace is nobody's."""

    pod: Manifest
    tenant: str
    denials: tuple[Denial, ...]

    @property
    def uid(self) -> str:
        """The pod's uid."""
        return get_text(get_map(self.pod, "metadata"), "uid")


@dataclass(frozen=True, slots=True)
class Sight:
    """What one look has found. ``unknown``: pods that could not be judged."""

    strays: tuple[Stray, ...]
    unknown: tuple[str, ...]
    looked_at: int


def look(api: Api, books: Books, settings: Settings) -> Sight:
    """Judge every pod that holds devices now.

    Raises:
        ApiError: pods can not be listed.
        LookupFailedError: tenants are not known.
    """
    pods = sorted(_with_devices(api.list(POD).items), key=_age)
    tenants = books.tenants()
    world = _PodsSoFar(LiveWorld(api, books, settings, counts_leaving=True), [])
    strays, unknown = [], []
    for pod in pods:
        place = f"{get_text(get_map(pod, 'metadata'), 'namespace')}/{get_text(get_map(pod, 'metadata'), 'name')}"
        tenant = tenants.get(get_text(get_map(pod, "metadata"), "namespace"))
        try:
            denials = _judge(pod, tenant, world)
        except LookupFailedError:
            unknown.append(place)
            continue
        if denials:
            strays.append(Stray(pod, tenant or "", tuple(denials)))
        else:
            world.pods.append(pod)
    return Sight(tuple(strays), tuple(unknown), len(pods))


@dataclass(frozen=True)
class _PodsSoFar:
    """A world in which only those pods live that were found to be within their reservation."""

    world: LiveWorld
    pods: list[Plain]

    @property
    def settings(self) -> Settings:
        return self.world.settings

    @property
    def config(self) -> Config | None:
        return self.world.config

    def tenant_of(self, namespace: str) -> str | None:
        return self.world.tenant_of(namespace)

    def get(self, api_version: str, kind: str, namespace: str, name: str) -> Plain | None:
        return self.world.get(api_version, kind, namespace, name)

    def owned(self, api_version: str, kind: str, namespace: str, owner_uid: str) -> Sequence[Plain]:
        if kind != POD.kind:
            return self.world.owned(api_version, kind, namespace, owner_uid)
        return [each for each in self.pods if (owner := controller_of(each)) is not None and owner.uid == owner_uid]

    def reservation(self, uid: str, namespace: str, rayjob: str) -> Reservation | None:
        return self.world.reservation(uid, namespace, rayjob)

    def reservation_named(self, tenant: str, rayjob: str) -> Reservation | None:
        return self.world.reservation_named(tenant, rayjob)


def _with_devices(items: Iterable[Manifest]) -> Iterator[Plain]:
    """What is being deleted, or has ended, holds its devices no longer than it takes to end."""
    for item in items:
        try:
            pod: Plain = normalize(item)
        except ManifestError:
            continue  # no pod is nested so deep: it could not ask for anything
        is_over = get_text(get_map(pod, "status"), "phase") in _ENDED or "deletionTimestamp" in get_map(pod, "metadata")
        if not is_over and (pod_demand(pod, "").accelerators or pod_demand(pod, "").findings):
            yield pod


def _age(pod: Plain) -> tuple[str, str]:
    metadata = get_map(pod, "metadata")
    return get_text(metadata, "creationTimestamp"), get_text(metadata, "name")


def _judge(pod: Plain, tenant: str | None, world: _PodsSoFar) -> list[Denial]:
    if tenant is None:
        found = "has devices in a namespace that is no tenant's"
        return [Denial("FG-NS-001", "metadata.namespace", found, "end it, or make the namespace a tenant's")]
    metadata, owner = get_map(pod, "metadata"), controller_of(pod)
    makers = sorted(CONTROLLERS.get(owner.owner, ())) if owner else []
    request = Request(
        operation="CREATE",
        username=makers[0] if makers else "",
        object=pod,
        namespace=get_text(metadata, "namespace"),
        name=get_text(metadata, "name"),
    )
    proof = prove(request, world, tenant)
    return [proof] if isinstance(proof, Denial) else check_pod(request, proof, world)
