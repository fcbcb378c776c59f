"""What an attack file says: a world, and cases in it."""

from dataclasses import dataclass, field
from enum import StrEnum

from fairgate_scheduler.core.manifests.plain import Plain

from fairgate_admission.facts.request import Request
from fairgate_admission.facts.world import Reservation, Settings


class Layer(StrEnum):
    """Who must say no: our webhook, the API server by our policies, its roles, or anybody."""

    WEBHOOK = "webhook"
    POLICY = "policy"
    RBAC = "rbac"
    ANY = "any"


@dataclass(frozen=True)
class Case:
    """One request and what must come of it. ``rule`` "": any rule may refuse it. ``line`` is where it begins."""

    name: str
    line: int
    request: Request
    want_allow: bool
    layer: Layer = Layer.WEBHOOK
    rule: str = ""


@dataclass(frozen=True)
class Setting:
    """The world of an attack file. ``tenants`` maps namespaces to them; ``lookup_errors``: what can not be read."""

    tenants: dict[str, str]
    settings: Settings = field(default_factory=Settings)
    admitted: tuple[Reservation, ...] = ()
    objects: tuple[Plain, ...] = ()
    lookup_errors: tuple[str, ...] = ()


@dataclass(frozen=True)
class AttackFile:
    """One file. ``name`` is its title; its file name where it has none."""

    file: str
    name: str
    setting: Setting
    cases: tuple[Case, ...]
