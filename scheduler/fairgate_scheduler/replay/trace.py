"""What a job log tells, whatever its format: jobs that really ran, and every row that could not be used."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fairgate_scheduler.core.amounts import Amount
from fairgate_scheduler.documents.problems import Problem


@dataclass(frozen=True, slots=True)
class TraceJob:
    """One job of a log. ``line`` counts from 1; instants and durations in milliseconds.

    ``tenant`` and ``flavors`` are as the log writes them; no flavor: any. ``run_ms`` is how long it really ran;
    ``waited_ms`` how long it waited there, ``time_limit_ms`` what it was allowed, where the log says so.
    ``cpu`` in milli-CPU and ``memory`` in bytes are those of the whole job.
    """

    id: str
    line: int
    tenant: str
    submitted_at_ms: int
    run_ms: int
    accelerators: int
    flavors: tuple[str, ...] = ()
    cpu: Amount = 0
    memory: Amount = 0
    time_limit_ms: int | None = None
    waited_ms: int | None = None


@dataclass(frozen=True)
class Trace:
    """A whole log, its jobs in the order of their submits.

    ``left_out``: why rows that are in order are no jobs of the replay → their lines. ``problems``: rows that can not be
    read. ``notes``: what was taken differently from how it is written → how many jobs.
    """

    file: str
    format: str
    jobs: tuple[TraceJob, ...]
    left_out: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    notes: Mapping[str, int] = field(default_factory=dict)
