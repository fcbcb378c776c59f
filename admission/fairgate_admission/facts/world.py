"""What the gate has to know beside the request, and the one way in which it may ask for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from fairgate_scheduler.core.amounts import Amount
from fairgate_scheduler.core.jobs import Option
from fairgate_scheduler.core.manifests.placement import PodLimits
from fairgate_scheduler.core.manifests.plain import Plain
from fairgate_scheduler.core.tenancy import Config


class LookupFailedError(Exception):
    """What was asked for could not be read. ``what`` names it as ``kind namespace/name``."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} could not be read")
        self.what = what


@dataclass(frozen=True, slots=True)
class AdmittedGroup:
    """What was reserved for one pod group: pods now and at most (an autoscaler's bound), and what each may take.

    A resource that ``requests`` does not name is not bounded here, unless it is a device: then there are none of it.
    """

    count: int
    max: int
    requests: Mapping[str, Amount]


@dataclass(frozen=True, slots=True)
class Reservation:
    """What an admitted attempt holds. ``digest`` is what its RayJob must be annotated with; "" if it is not known."""

    tenant: str
    rayjob: str
    uid: str
    groups: Mapping[str, AdmittedGroup]
    digest: str = ""


def reservation_of(tenant: str, rayjob: str, uid: str, option: Option, digest: str = "") -> Reservation:
    """What an attempt holds that was admitted on this option: an autoscaled group is charged at its bound."""
    groups = {group.name: AdmittedGroup(group.count, group.count, group.requests) for group in option.groups}
    return Reservation(tenant, rayjob, uid, groups, digest)


@dataclass(frozen=True, slots=True)
class Settings(PodLimits):
    """What admins decide about the gate: what pods may have, and the queues of requests and of attempts."""

    inbox: str = "inbox"
    launch: str = "fairgate"


class World(Protocol):
    """Tenants, reservations, live objects. Every method may raise ``LookupFailedError``; nothing comes from a cache."""

    @property
    def settings(self) -> Settings:
        """What admins decided."""

    @property
    def config(self) -> Config | None:
        """The configuration in force, against which requests are checked; ``None``: only in themselves."""

    def tenant_of(self, namespace: str) -> str | None:
        """The leaf tenant that a namespace belongs to."""

    def get(self, api_version: str, kind: str, namespace: str, name: str) -> Plain | None:
        """A live object; ``None``: there is none of this name."""

    def owned(self, api_version: str, kind: str, namespace: str, owner_uid: str) -> Sequence[Plain]:
        """The live objects of a kind that have the object of this uid as their controller."""

    def reservation(self, uid: str, namespace: str, rayjob: str) -> Reservation | None:
        """What the RayJob of this uid, at this place, holds; ``None``: it is no admitted attempt."""

    def reservation_named(self, tenant: str, rayjob: str) -> Reservation | None:
        """What the RayJob that will get this name holds: its uid may not be known yet."""
