"""What the demo saw: looks at the service one after the other, the events, and the jobs' output."""

from collections.abc import Mapping
from dataclasses import dataclass

from fairgate import Job, JobEvent, LogLine, Tenant


@dataclass(frozen=True, slots=True)
class Look:
    """Jobs and tenants at one moment, ``at_s`` seconds after the start."""

    at_s: float
    jobs: tuple[Job, ...]
    tenants: tuple[Tenant, ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that was seen. ``jobs`` and ``logs`` are by job id, at the end; ``events`` in their order."""

    looks: tuple[Look, ...]
    events: tuple[JobEvent, ...]
    jobs: Mapping[str, Job]
    logs: Mapping[str, tuple[LogLine, ...]]

    def output(self, job: str) -> list[str]:
        """The lines that a job printed, over all its attempts."""
        return [line.text for line in self.logs.get(job, ())]
