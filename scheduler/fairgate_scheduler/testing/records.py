"""Small valid records for tests of stores: say what matters to the test, the rest is filled in."""

from fractions import Fraction
from typing import Any

from fairgate_scheduler.core.jobs import Attempt, Job, Option, PodGroup
from fairgate_scheduler.core.lifecycle import Event, EventKind
from fairgate_scheduler.core.tenancy import Config, Flavor, Quota, Tenant
from fairgate_scheduler.ports import ConfigVersion, Submission, Transaction

GPU = "nvidia.com/gpu"


def an_option(flavor: str = "h100", count: int = 2, speed: Fraction = Fraction(1, 3)) -> Option:
    """``count`` workers with one GPU each and a head on the flavor ``cpu``."""
    head = PodGroup("head", "cpu", 1, {"cpu": 1000, "memory": 2**30})
    workers = PodGroup("workers", flavor, count, {"cpu": 4000, GPU: 1})
    demand = {("cpu", "cpu"): 1000, ("cpu", "memory"): 2**30, (flavor, "cpu"): 4000 * count, (flavor, GPU): count}
    return Option(flavor, speed, (head, workers), demand)


def a_job(number: int = 1, tenant: str = "physics", **changes: Any) -> Job:
    """A pending job with two options. Its sequence is ``number``."""
    fields: dict[str, Any] = {
        "id": f"tenants/{tenant}/jobs/job-{number}",
        "tenant": tenant,
        "submitted_at_ms": 1_000 * number,
        "sequence": number,
        "options": (an_option("h100"), an_option("a100", 4)),
        "time_limit_ms": 3_600_000,
    }
    return Job(**{**fields, **changes})


def a_submission(**changes: Any) -> Submission:
    """A manifest of one line."""
    fields: dict[str, Any] = {"manifest": '{"kind":"RayJob"}', "spec": {"priority": 1}, "submitted_by": "anna"}
    return Submission(**{**fields, **changes})


def an_attempt(job: Job, number: int = 1, **changes: Any) -> Attempt:
    """A reserved attempt on the job's first option. Its admission is ``number``."""
    fields: dict[str, Any] = {
        "job": job.id,
        "number": number,
        "option": 0,
        "demand": job.options[0].demand,
        "admission": number,
        "admitted_at_ms": 5_000,
    }
    return Attempt(**{**fields, **changes})


def an_event(job: Job, kind: EventKind = EventKind.SUBMITTED, **changes: Any) -> Event:
    """An event of a job."""
    fields: dict[str, Any] = {"job": job.id, "kind": kind, "at_ms": 7_000}
    return Event(**{**fields, **changes})


def a_config_version(etag: str = "etag-1", **changes: Any) -> ConfigVersion:
    """Two tenants that share eight GPUs."""
    tenants = (
        Tenant("all", quota={("h100", GPU): Quota(nominal=8)}),
        Tenant("physics", parent="all", weight=Fraction(2, 3), allowed_flavors=frozenset({"h100", "cpu"})),
    )
    flavors = (Flavor("h100", Fraction(5, 2), GPU), Flavor("cpu", default_for_cpu_pods=True))
    config = Config({each.name: each for each in flavors}, {each.id: each for each in tenants})
    fields: dict[str, Any] = {"etag": etag, "source": "tenants: []", "config": config, "at_ms": 1, "by": "root"}
    return ConfigVersion(**{**fields, **changes})


def insert(transaction: Transaction, *jobs: Job) -> None:
    """Add jobs, each with its submission."""
    for job in jobs:
        transaction.insert_job(job, a_submission())
