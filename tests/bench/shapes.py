"""The loads: which tenants there are, which jobs they submit, and when.

``BASELINE`` and ``LARGE`` are those of Kueue's scheduler performance tests (``test/performance/scheduler/configs`` of
kubernetes-sigs/kueue), so that figures can be laid beside each other.
"""

import heapq
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Final


@dataclass(frozen=True)
class JobClass:
    """Equal jobs that every tenant submits at a steady pace; each runs for ``run_ms`` on ``cpus``."""

    name: str
    cpus: int
    run_ms: int
    priority: int
    count: int
    every_ms: int


@dataclass(frozen=True)
class Arrival:
    """One job of the load. ``due_ms`` counts from the begin."""

    due_ms: int
    tenant: str
    kind: JobClass


@dataclass(frozen=True)
class Shape:
    """Cohorts of equal tenants, each with ``nominal`` CPUs of its own, that may borrow within their cohort."""

    name: str
    cohorts: int
    tenants: int
    classes: tuple[JobClass, ...]
    nominal: int = 20
    borrowing_limit: int = 100

    @property
    def leaves(self) -> list[str]:
        """The ids of the tenants that submit."""
        return [f"t{cohort}-{number}" for cohort in range(self.cohorts) for number in range(self.tenants)]

    @property
    def jobs(self) -> int:
        """How many jobs there are in all."""
        return len(self.leaves) * sum(each.count for each in self.classes)

    @property
    def cpus(self) -> int:
        """What all tenants own together."""
        return len(self.leaves) * self.nominal

    @property
    def work_ms(self) -> int:
        """CPU milliseconds of all jobs."""
        return len(self.leaves) * sum(each.count * each.cpus * each.run_ms for each in self.classes)

    @property
    def ideal_s(self) -> float:
        """How long the work takes if no CPU ever idles."""
        return self.work_ms / self.cpus / 1000

    def arrivals(self) -> Iterator[Arrival]:
        """Every job, in the order in which they are due."""
        lines = [_line(tenant, kind) for kind in self.classes for tenant in self.leaves]
        return heapq.merge(*lines, key=lambda each: each.due_ms)

    def config(self, *, priority_preemption: bool = True, history_half_life: str | None = None) -> str:
        """The configuration as an admin would write it."""
        quota = {"cpu": {"cpu": {"nominal": self.nominal, "borrowing_limit": self.borrowing_limit}}}
        cohorts = [{"id": f"c{number}"} for number in range(self.cohorts)]
        leaves = [{"id": leaf, "parent": f"c{leaf[1:].partition('-')[0]}", "quota": quota} for leaf in self.leaves]
        switch: dict[str, object] = {"reclaim": True, "priority_preemption": priority_preemption}
        if history_half_life is not None:
            switch["history_half_life"] = history_half_life
        flavors = {"cpu": {"default_for_cpu_pods": True}}
        return json.dumps({"version": 1, "flavors": flavors, "tenants": cohorts + leaves, "policy": switch})

    def part(self, divisor: int) -> "Shape":
        """The same with fewer tenants and jobs, for trying out."""
        classes = tuple(replace(each, count=max(1, each.count // divisor)) for each in self.classes)
        return replace(self, classes=classes, cohorts=2, tenants=2)


BASELINE: Final = Shape(
    "baseline",
    5,
    6,
    (
        JobClass("small", 1, 200, 50, 350, 100),
        JobClass("medium", 5, 500, 100, 100, 500),
        JobClass("large", 20, 1_000, 200, 50, 1_200),
    ),
)
LARGE: Final = Shape(
    "large-scale",
    10,
    100,
    (
        JobClass("small", 1, 150, 50, 35, 60),
        JobClass("medium", 5, 350, 100, 11, 300),
        JobClass("large", 20, 700, 200, 4, 700),
    ),
)


def _line(tenant: str, kind: JobClass) -> Iterator[Arrival]:
    return (Arrival(number * kind.every_ms, tenant, kind) for number in range(kind.count))


@cache
def manifest(kind: JobClass) -> str:
    """A RayJob that is charged exactly the CPUs of its class, and runs as a timer."""
    resources = {"requests": {"cpu": str(kind.cpus)}, "limits": {"cpu": str(kind.cpus)}}
    container = {"name": "ray-head", "image": "rayproject/ray:2.46.0", "resources": resources}
    head = {"rayStartParams": {}, "template": {"spec": {"containers": [container]}}}
    spec = {
        "entrypoint": f"sleep {kind.run_ms / 1000}",
        "submissionMode": "HTTPMode",
        "shutdownAfterJobFinishes": True,
        "rayClusterSpec": {"rayVersion": "2.46.0", "headGroupSpec": head},
    }
    named = {"name": kind.name}
    return json.dumps({"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": named, "spec": spec}, indent=2)
