"""What happens from outside, done to the world as the service would do it: submits, cancels, changes of the config."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from fairgate_scheduler.core.admissible import (
    RefusalCode,
    SubmitRefused,
    check_groups,
    check_priority,
    check_submit,
    limited_subtrees,
)
from fairgate_scheduler.core.amounts import UNLIMITED, QuantityError, parse_quantity, total
from fairgate_scheduler.core.config_checks import check_config
from fairgate_scheduler.core.jobs import Job, Option, PodGroup
from fairgate_scheduler.core.tenancy import Config, Quota, Tenant
from fairgate_scheduler.scenario.story import ChangeTenants, JobSpec, OptionSpec, QuotaPatch, TenantPatch
from fairgate_scheduler.scenario.world import World


class Refused(Exception):  # noqa: N818 - a refusal is an answer, not a fault
    """An event is refused with this code."""

    def __init__(self, code: RefusalCode, message: str) -> None:
        super().__init__(message)
        self.code = code


def submit(world: World, spec: JobSpec, now_ms: int) -> None:
    """Submit a job. What is wrong with the job itself is told before what is full just now.

    Raises:
        SubmitRefused: the service would not take it.
    """
    check_submit(world.config, spec.tenant, spec.priority, {})
    options = tuple(
        _option(option, world.config, f"options[{index}].pods") for index, option in enumerate(spec.options)
    )
    counts = {node: len(world.below(node, pending=True)) for node in limited_subtrees(world.config, spec.tenant)}
    check_submit(world.config, spec.tenant, spec.priority, counts)
    world.add(
        Job(
            spec.id,
            spec.tenant,
            now_ms,
            spec.order,
            options,
            spec.time_limit_ms,
            spec.priority,
            spec.preemptible,
            spec.fallback,
            fallback_after_ms=spec.fallback_after_ms,
            pending_since_ms=now_ms,
        )
    )


def _option(spec: OptionSpec, config: Config, field: str) -> Option:
    groups: list[PodGroup] = []
    for index, pod in enumerate(spec.pods):
        where = f"{field}[{index}]"
        requests = {resource: _amount(text, resource, where) for resource, text in pod.requests.items()}
        groups.append(PodGroup(f"group-{index}", pod.flavor, pod.count, requests))
    check_groups(groups, config, field)
    demands = [
        {(group.flavor, resource): amount * group.count for resource, amount in group.requests.items()}
        for group in groups
    ]
    return Option(spec.flavor, spec.speed, tuple(groups), total(demands))


def _amount(text: str, resource: str, where: str) -> int:
    try:
        return parse_quantity(text, resource)
    except QuantityError as error:
        message, _, remedy = str(error).partition("; ")
        where = f"{where}.requests[{resource}]"
        raise SubmitRefused(RefusalCode.INVALID_ARGUMENT, where, message, remedy) from None


def live_job(world: World, job: str) -> Job:
    """A job that was taken and has not ended.

    Raises:
        Refused: NOT_FOUND, or FAILED_PRECONDITION for one that has ended.
    """
    found = world.jobs.get(job)
    if found is None:
        raise Refused(RefusalCode.NOT_FOUND, f"there is no job {job!r} (yet)")
    if found.state.is_final:
        raise Refused(RefusalCode.FAILED_PRECONDITION, f"{job!r} has ended: {found.state}")
    return found


def set_priorities(world: World, priorities: Mapping[str, int]) -> None:
    """Give jobs other priorities, all of them or none.

    Raises:
        Refused: a job is unknown or has ended, or a priority is above what its tenants may have.
    """
    changed: list[Job] = []
    for name, priority in priorities.items():
        job = live_job(world, name)
        try:
            check_priority(world.config, job.tenant, priority)
        except SubmitRefused as error:
            raise Refused(error.code, str(error)) from None
        changed.append(replace(job, priority=priority, version=job.version + 1))
    world.jobs.update({job.id: job for job in changed})


def delete_tenant(world: World, path: str) -> None:
    """Delete a tenant.

    Raises:
        Refused: NOT_FOUND, or FAILED_PRECONDITION while it has jobs that have not ended or tenants below it.
    """
    if path not in world.config.tenants:
        raise Refused(RefusalCode.NOT_FOUND, f"there is no tenant {path!r}")
    jobs = world.below(path, pending=True) + world.below(path, pending=False)
    if jobs or world.config.children.get(path):
        raise Refused(RefusalCode.FAILED_PRECONDITION, f"{path!r} has jobs or tenants below it")
    world.config = _with_tenants(world.config, {key: each for key, each in world.config.tenants.items() if key != path})


def change_tenants(world: World, deed: ChangeTenants) -> None:
    """Change tenants, all of them or none.

    Raises:
        Refused: NOT_FOUND; FAILED_PRECONDITION where a leaf with jobs would become an inner tenant;
            INVALID_ARGUMENT where the config would not be sound.
    """
    tenants = dict(world.config.tenants)
    for patch in deed.patches:
        if patch.path not in tenants:
            _check_new(world, patch.path, may_add=deed.may_add)
        before = tenants.get(patch.path, Tenant(patch.path, patch.path.rpartition("/")[0] or None))
        tenants[patch.path] = _patched(before, patch)
    config = _with_tenants(world.config, tenants)
    faults = check_config(config)
    if faults:
        raise Refused(RefusalCode.INVALID_ARGUMENT, f"{'.'.join(faults[0].where)}: {faults[0].message}")
    world.config = config


def _check_new(world: World, path: str, *, may_add: bool) -> None:
    if not may_add:
        raise Refused(RefusalCode.NOT_FOUND, f"there is no tenant {path!r}")
    parent = path.rpartition("/")[0]
    if world.config.is_leaf(parent) and world.below(parent, pending=True) + world.below(parent, pending=False):
        message = f"{parent!r} has jobs that have not ended and would become an inner tenant"
        raise Refused(RefusalCode.FAILED_PRECONDITION, message)


def _with_tenants(config: Config, tenants: Mapping[str, Tenant]) -> Config:
    return replace(config, tenants=tenants)


def _patched(tenant: Tenant, patch: TenantPatch) -> Tenant:
    quota = dict(tenant.quota)
    for row in patch.quota:
        _patch_quota(quota, row)
    fields = dict(patch.fields)
    if "weight" in fields:
        fields["weight"] = Fraction(fields["weight"])
    return replace(tenant, quota=quota, **fields)


def _patch_quota(quota: dict[tuple[str, str], Quota], patch: QuotaPatch) -> None:
    if patch.resource is None or patch.amounts is None:
        for row in [row for row in quota if row[0] == patch.flavor and patch.resource in (None, row[1])]:
            del quota[row]
        return
    row = (patch.flavor, patch.resource)
    amounts = {key: _quota_amount(key, text, patch.resource) for key, text in patch.amounts.items()}
    before = quota.get(row, Quota())
    quota[row] = Quota(
        amounts.get("nominal", before.nominal) or 0,
        amounts.get("borrowing_limit", before.borrowing_limit),
        amounts.get("lending_limit", before.lending_limit),
    )


def _quota_amount(key: str, text: str | None, resource: str) -> int | None:
    """A written amount; an unlimited limit is none."""
    if text is None:
        return None
    if text == "UNLIMITED":
        return UNLIMITED if key == "nominal" else None
    try:
        return parse_quantity(text, resource)
    except QuantityError as error:
        raise Refused(RefusalCode.INVALID_ARGUMENT, str(error)) from None
