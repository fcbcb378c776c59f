"""The jobs of a scenario file."""

from dataclasses import replace
from fractions import Fraction
from typing import Final

from fairgate_scheduler.core.jobs import Fallback
from fairgate_scheduler.documents.fields import Fields, each_item, itself
from fairgate_scheduler.documents.nodes import Node
from fairgate_scheduler.documents.problems import Problem
from fairgate_scheduler.documents.scalars import (
    INTEGER_MAX,
    is_quantity,
    read_boolean,
    read_choice,
    read_duration,
    read_fraction,
    read_integer,
    read_positive_duration,
    read_text,
    wrong,
)
from fairgate_scheduler.documents.tenancy_fields import read_priority
from fairgate_scheduler.scenario.names import Names
from fairgate_scheduler.scenario.story import JobSpec, OptionSpec, PodSpec

JOB_KEYS: Final = (
    "id",
    "tenant",
    "at",
    "run",
    "time_limit",
    "priority",
    "preemptible",
    "flavors",
    "pods",
    "options",
    "checkpoint_every",
    "fallback_after",
    "fallback",
    "repeat",
)
JOBS_MAX: Final = 100_000

_read_count = read_integer(-INTEGER_MAX)


def read_jobs(node: Node, names: Names, problems: list[Problem]) -> dict[str, JobSpec]:
    """Every job by id, repeats written out (``b`` three times: ``b-1``, ``b-2``, ``b-3``)."""
    jobs: dict[str, JobSpec] = {}
    for item in each_item(node, itself, problems):
        fields = Fields(item, problems, JOB_KEYS, ("id", "tenant", "run"))
        repeated = _read_repeat(fields, problems)
        if len(jobs) + repeated[0] > JOBS_MAX:
            problems.append(item.problem(f"more than {JOBS_MAX} jobs", "tell a smaller story"))
            break
        spec = _read_job(fields, names, problems)
        for job in _repeat(spec, *repeated) if fields.has("repeat") else [spec]:
            if job.id in jobs:
                problems.append(item.problem(f"the job id {job.id!r} a second time", "give each job an id of its own"))
            jobs[job.id] = replace(job, order=len(jobs))
    return jobs


def _repeat(spec: JobSpec, count: int, every_ms: int) -> list[JobSpec]:
    return [replace(spec, id=f"{spec.id}-{n + 1}", at_ms=spec.at_ms + n * every_ms) for n in range(count)]


def _read_repeat(fields: Fields, problems: list[Problem]) -> tuple[int, int]:
    if not fields.has("repeat"):
        return 1, 0
    repeat = Fields(fields["repeat"], problems, ("count", "every"), ("count",))
    return repeat.read("count", read_integer(1, JOBS_MAX), 1), repeat.read("every", read_duration, 0)


def _read_job(fields: Fields, names: Names, problems: list[Problem]) -> JobSpec:
    run_ms = fields.read("run", read_positive_duration, 1)
    return JobSpec(
        id=fields.read("id", _read_id, ""),
        order=0,
        tenant=fields.read("tenant", names.tenant, ""),
        at_ms=fields.read("at", read_duration, 0),
        run_ms=run_ms,
        time_limit_ms=fields.read("time_limit", read_positive_duration, run_ms),
        options=_read_options(fields, names, problems),
        priority=fields.read("priority", read_priority, 0),
        preemptible=fields.read("preemptible", read_boolean, True),
        checkpoint_every_ms=fields.read("checkpoint_every", read_positive_duration, None),
        fallback_after_ms=fields.read("fallback_after", read_duration, 0),
        fallback=fields.read("fallback", read_choice(Fallback), Fallback.ORDERED),
    )


def _read_id(node: Node) -> str:
    text = read_text(node)
    if not text.strip():
        raise wrong(node, "an empty id", "write a word")
    return text


def _read_options(fields: Fields, names: Names, problems: list[Problem]) -> tuple[OptionSpec, ...]:
    if fields.has("options") == (fields.has("flavors") or fields.has("pods")):
        message = "a job needs either options, or flavors and pods"
        problems.append(fields.node.problem(message, "write flavors: [NAME] and pods: [{requests: {…}}]"))
        return ()
    if fields.has("options"):
        items = each_item(fields["options"], itself, problems)
        if not items:
            problems.append(fields["options"].problem("no options", "write one at least"))
        return tuple(_read_option(item, names, problems) for item in items)
    problems.extend(
        fields.node.problem(f"{key} is missing", "flavors and pods belong together")
        for key in ("flavors", "pods")
        if not fields.has(key)
    )
    flavors = fields.listed("flavors", names.flavor)
    if fields.has("flavors") and not fields["flavors"].items:
        problems.append(fields["flavors"].problem("no flavors", "name one at least"))
    return tuple(
        OptionSpec(flavor, Fraction(1), _read_pods(fields, flavor, names, problems) if fields.has("pods") else ())
        for flavor in flavors
    )


def _read_option(node: Node, names: Names, problems: list[Problem]) -> OptionSpec:
    fields = Fields(node, problems, ("flavor", "speed", "pods"), ("flavor", "pods"))
    flavor = fields.read("flavor", names.flavor, "")
    pods = _read_pods(fields, flavor, names, problems) if fields.has("pods") else ()
    return OptionSpec(flavor, fields.read("speed", read_fraction, Fraction(1)), pods)


def _read_pods(fields: Fields, flavor: str, names: Names, problems: list[Problem]) -> tuple[PodSpec, ...]:
    return tuple(_read_pod(item, flavor, names, problems) for item in each_item(fields["pods"], itself, problems))


def _read_pod(node: Node, flavor: str, names: Names, problems: list[Problem]) -> PodSpec:
    fields = Fields(node, problems, ("count", "requests", "flavor"))
    if "requests" not in node.entries:
        problems.append(node.problem("requests is missing", "add requests: {RESOURCE: amount}"))
    return PodSpec(
        fields.read("flavor", names.flavor, flavor),
        fields.read("count", _read_count, 1),
        fields.each("requests", _read_request),
    )


def _read_request(node: Node) -> str:
    text = read_text(node)
    if not is_quantity(text):
        raise wrong(node, f"{text!r} is not a Kubernetes quantity", "write a number such as 2, 500m, 1.5 or 16Gi")
    return text
