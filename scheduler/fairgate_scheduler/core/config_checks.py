"""Everything that is wrong with a config, by place: what the rest of the core takes for granted."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fairgate_scheduler.core.amounts import UNLIMITED, Amount, format_quantity
from fairgate_scheduler.core.tenancy import Config, Quota, Tenant

DOMINANT_RESOURCES = ("accelerator", "cpu", "memory")
"""What can count in the share."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong. ``where``: the names on the way to it, ``("tenants", "vision", "quota", "h100")``.

    ``unknown`` is a name that nothing has, ``known`` the names that there are, so that a near one can be suggested.
    """

    where: tuple[str, ...]
    message: str
    remedy: str
    unknown: str = ""
    known: tuple[str, ...] = ()


def check_config(config: Config) -> tuple[Fault, ...]:
    """All faults of a config, in its order; empty: it is sound."""
    return (
        *_flavors(config),
        *(fault for tenant in config.tenants.values() for fault in _tenant(config, tenant)),
        *_cycles(config),
        *_namespaces(config),
        *_speeds(config),
        *_policy(config),
    )


def _flavors(config: Config) -> Iterator[Fault]:
    default = config.cpu_flavor
    adopted: dict[str, str] = {}
    for name, flavor in config.flavors.items():
        where = ("flavors", name)
        if flavor.price < 0:
            yield Fault((*where, "price"), "a negative price", "write 0 or more")
        for resource, amount in (flavor.capacity or {}).items():
            if amount < 0:
                yield Fault((*where, "capacity", resource), "a negative capacity", "write 0 or more")
        if flavor.default_for_cpu_pods and name != default:
            message = f"{default!r} is the default for CPU pods already"
            yield Fault((*where, "default_for_cpu_pods"), message, "set it on one flavor only")
        if flavor.kueue_flavor is not None:
            other = adopted.setdefault(flavor.kueue_flavor, name)
            if other != name:
                message = f"{other!r} uses the ResourceFlavor {flavor.kueue_flavor!r} already"
                yield Fault((*where, "kueue_flavor"), message, "each flavor needs one of its own")


def _tenant(config: Config, tenant: Tenant) -> Iterator[Fault]:
    where = ("tenants", tenant.id)
    if tenant.parent is not None and tenant.parent not in config.tenants:
        others = [each for each in config.tenants if each != tenant.id]
        yield _unknown((*where, "parent"), "tenant", tenant.parent, others)
    if tenant.weight < 0:
        yield Fault((*where, "weight"), "a negative weight", "write 0 or more")
    for flavor in sorted(tenant.allowed_flavors or ()):
        if flavor not in config.flavors:
            yield _unknown((*where, "allowed_flavors"), "flavor", flavor, config.flavors)
    for (flavor, resource), quota in tenant.quota.items():
        if flavor not in config.flavors:
            yield _unknown((*where, "quota", flavor), "flavor", flavor, config.flavors)
        yield from _quota(tenant, (*where, "quota", flavor, resource), quota)
    if tenant.namespace is not None and config.children.get(tenant.id):
        message = "an inner tenant with a namespace"
        yield Fault((*where, "namespace"), message, "only leaf tenants submit jobs: give each leaf its own")
    if tenant.budget is not None and (tenant.budget.accelerator_hours < 0 or tenant.budget.period_ms <= 0):
        yield Fault((*where, "budget"), "a negative budget, or no period", "write hours ≥ 0 and a period above 0s")
    for name in ("max_pending_jobs", "max_running_jobs"):
        limit = getattr(tenant, name)
        if limit is not None and limit < 0:
            yield Fault((*where, name), "a negative number of jobs", "write 0 or more")


def _quota(tenant: Tenant, where: tuple[str, ...], quota: Quota) -> Iterator[Fault]:
    amounts: tuple[tuple[str, Amount | None], ...] = (
        ("nominal", quota.nominal),
        ("borrowing_limit", quota.borrowing_limit),
        ("lending_limit", quota.lending_limit),
    )
    for name, amount in amounts:
        if amount is not None and amount < 0:
            yield Fault((*where, name), "a negative amount", "write 0 or more")
        if amount is not None and name != "nominal" and tenant.parent is None:
            message = f"{tenant.id!r} is a root: there is nobody that it could borrow from or lend to"
            yield Fault((*where, name), message, "remove it")
    if quota.lending_limit is not None and UNLIMITED > quota.lending_limit > quota.nominal:
        lending, nominal = (format_quantity(each, where[-1]) for each in (quota.lending_limit, quota.nominal))
        message = f"lending_limit {lending} is above nominal {nominal}"
        yield Fault((*where, "lending_limit"), message, "lend at most what is owned, or leave it out")


def _cycles(config: Config) -> Iterator[Fault]:
    """Each cycle once, at its first tenant in the config's order."""
    told: set[str] = set()
    for start in config.tenants:
        path: list[str] = []
        at: str | None = start
        while at is not None and at in config.tenants and at not in path:
            path.append(at)
            at = config.tenants[at].parent
        if at == start and start not in told:
            told.update(path)
            message = "a tenant below itself: " + " → ".join([*path, start])
            yield Fault(("tenants", start, "parent"), message, "give one of them another parent, or none")


def _namespaces(config: Config) -> Iterator[Fault]:
    owners: dict[str, str] = {}
    for tenant in config.tenants.values():
        if tenant.namespace is None:
            continue
        owner = owners.setdefault(tenant.namespace, tenant.id)
        if owner != tenant.id:
            message = f"the namespace {tenant.namespace!r} belongs to {owner!r} already"
            yield Fault(("tenants", tenant.id, "namespace"), message, "one namespace is one tenant's trust domain")


def _speeds(config: Config) -> Iterator[Fault]:
    for workload, speeds in config.speeds.items():
        for flavor, speed in speeds.items():
            if flavor not in config.flavors:
                yield _unknown(("speeds", workload, flavor), "flavor", flavor, config.flavors)
            if speed < 0:
                yield Fault(("speeds", workload, flavor), "a negative speed", "write 0 or more; 0: does not run there")


def _policy(config: Config) -> Iterator[Fault]:
    policy = config.policy
    durations = {
        "min_runtime": policy.min_runtime_ms,
        "backfill_after": policy.backfill_after_ms,
        "ready_timeout": policy.ready_timeout_ms,
        "option_backoff": policy.option_backoff_ms,
    }
    for name, duration_ms in durations.items():
        if duration_ms is not None and duration_ms < 0:
            yield Fault(("policy", name), "a negative duration", "write 0s or more")
    if policy.history_half_life_ms is not None and policy.history_half_life_ms <= 0:
        yield Fault(("policy", "history_half_life"), "no time at all", "write a duration above 0s, or leave it out")
    names = policy.dominant_resources
    if not names or len(set(names)) != len(names) or not set(names) <= set(DOMINANT_RESOURCES):
        remedy = f"name each of {', '.join(DOMINANT_RESOURCES)} at most once, and one at least"
        yield Fault(("policy", "dominant_resources"), f"not a choice of resources: {', '.join(names)}", remedy)


def _unknown(where: tuple[str, ...], what: str, name: str, known: Iterable[str]) -> Fault:
    remedy = f"declare it under {what}s, or name one that is"
    return Fault(where, f"there is no {what} {name!r}", remedy, name, tuple(sorted(known)))
