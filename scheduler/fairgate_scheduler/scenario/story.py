"""What a scenario file tells, typed: flavors and tenants, jobs, events, and what must come of it.

Instants and durations are integer milliseconds of virtual time; the story begins at 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fairgate_scheduler.core.amounts import Amount, Row
from fairgate_scheduler.core.jobs import Fallback
from fairgate_scheduler.core.tenancy import Config


@dataclass(frozen=True, slots=True)
class PodSpec:
    """Equal pods of one option. ``requests`` are as written: what is wrong with them is found at submit."""

    flavor: str
    count: int
    requests: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class OptionSpec:
    """One way to run a job."""

    flavor: str
    speed: Fraction
    pods: tuple[PodSpec, ...]


@dataclass(frozen=True, slots=True)
class JobSpec:
    """A job that will be submitted. ``order`` is its place in the file.

    ``run_ms`` is how long it really takes at speed 1, which nobody tells the scheduler.
    """

    id: str
    order: int
    tenant: str
    at_ms: int
    run_ms: int
    time_limit_ms: int
    options: tuple[OptionSpec, ...]
    priority: int = 0
    preemptible: bool = True
    checkpoint_every_ms: int | None = None
    fallback_after_ms: int = 0
    fallback: Fallback = Fallback.ORDERED


@dataclass(frozen=True, slots=True)
class QuotaPatch:
    """A merge patch of one row. ``resource`` ``None``: every row of the flavor; ``amounts`` ``None``: remove.

    Of ``amounts``, which are as written, ``None`` takes away what was said before.
    """

    flavor: str
    resource: str | None
    amounts: Mapping[str, str | None] | None


@dataclass(frozen=True, slots=True)
class TenantPatch:
    """A merge patch of one tenant: the fields of ``Tenant`` that change, and its quota row by row."""

    path: str
    fields: Mapping[str, Any]
    quota: tuple[QuotaPatch, ...] = ()


@dataclass(frozen=True, slots=True)
class CancelJob:
    """Somebody cancels a job."""

    job: str


@dataclass(frozen=True, slots=True)
class FailJob:
    """A running job ends as failed."""

    job: str


@dataclass(frozen=True, slots=True)
class SetPriorities:
    """Jobs get other priorities."""

    priorities: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ChangeTenants:
    """Tenants are changed, all of them or none. ``may_add``: one that is not there yet is added."""

    patches: tuple[TenantPatch, ...]
    may_add: bool


@dataclass(frozen=True, slots=True)
class DeleteTenant:
    """A tenant is deleted."""

    path: str


@dataclass(frozen=True, slots=True)
class SetCapacity:
    """Other amounts are physically there."""

    amounts: Mapping[Row, Amount]


@dataclass(frozen=True, slots=True)
class Stockout:
    """Pods on a flavor do not get ready until then; ``None``: never again."""

    flavor: str
    until_ms: int | None


@dataclass(frozen=True, slots=True)
class Restart:
    """The service stops and starts again from its store."""


Deed = CancelJob | FailJob | SetPriorities | ChangeTenants | DeleteTenant | SetCapacity | Stockout | Restart


@dataclass(frozen=True, slots=True)
class StoryEvent:
    """Something that happens from outside. ``index`` counts the file's events from 0."""

    index: int
    at_ms: int
    deed: Deed


@dataclass(frozen=True, slots=True)
class Expectation:
    """One item of ``expect``: every form in it must hold, at ``at_ms`` or over the whole story."""

    index: int
    line: int
    at_ms: int | None
    forms: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Story:
    """A whole scenario file. ``jobs`` by id, in file order."""

    name: str
    file: str
    config: Config
    jobs: Mapping[str, JobSpec]
    events: tuple[StoryEvent, ...]
    expectations: tuple[Expectation, ...]
