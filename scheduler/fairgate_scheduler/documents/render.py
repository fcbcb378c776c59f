"""A config as its canonical document, and what changed between two of them.

Canonical: names sorted, tenants after their parents, defaults left out. ``read_config`` reads it back exactly.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeVar

from fairgate_scheduler.core.amounts import Amount, format_quantity
from fairgate_scheduler.core.tenancy import Config, Flavor, Policy, Quota, Tenant
from fairgate_scheduler.documents.emit import Written, emit_document, emit_flow
from fairgate_scheduler.documents.nodes import child_path
from fairgate_scheduler.documents.scalars import format_duration, format_fraction

Value = TypeVar("Value")

_ROLES: Final = ("submitter", "operator", "viewer")
_TOLERATION_KEYS: Final = ("key", "operator", "value", "effect", "tolerationSeconds")
_POLICY_DURATIONS: Final = ("min_runtime", "backfill_after", "ready_timeout", "option_backoff", "history_half_life")


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """One field that differs. ``before`` ``None``: it was not there; ``after`` ``None``: it is not there any more."""

    path: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        if self.before is None:
            return f"+ {self.path}: {self.after}"
        return f"- {self.path}: {self.before}" if self.after is None else f"~ {self.path}: {self.before} → {self.after}"


def render_config(config: Config) -> str:
    """The canonical document of a config."""
    tenants = [
        {"id": tenant, **_without(_tenant(config.tenants[tenant]), _tenant(Tenant(tenant)))}
        for tenant in _parents_first(config)
    ]
    document: dict[str, object] = {"version": 1}
    sections: dict[str, object] = {
        "flavors": {name: _without(_flavor(each), _flavor(Flavor(name))) for name, each in _sorted(config.flavors)},
        "tenants": tenants,
        "priorities": dict(_sorted(config.priorities)),
        "speeds": [{"workload": name, **_speeds(speeds)} for name, speeds in _sorted(config.speeds)],
        "policy": _without(_policy(config.policy), _policy(Policy())),
    }
    return emit_document(document | {name: section for name, section in sections.items() if section})


def diff_configs(old: Config, new: Config) -> list[ConfigChange]:
    """What differs, field by field, in canonical order; a whole tenant or flavor that comes or goes is one change."""
    return list(_differences(_comparable(old), _comparable(new), ""))


def _comparable(config: Config) -> Mapping[str, object]:
    return {
        "flavors": {name: _flavor(flavor) for name, flavor in _sorted(config.flavors)},
        "tenants": {tenant: _tenant(config.tenants[tenant]) for tenant in _parents_first(config)},
        "priorities": dict(_sorted(config.priorities)),
        "speeds": {name: _speeds(speeds) for name, speeds in _sorted(config.speeds)},
        "policy": _policy(config.policy),
    }


def _differences(old: Mapping[str, object], new: Mapping[str, object], path: str) -> Iterator[ConfigChange]:
    for key in dict.fromkeys([*old, *new]):
        before, after = old.get(key), new.get(key)
        here = child_path(path, key)
        if before == after:
            continue
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from _differences(before, after, here)
        else:
            sides = (None if side is None else emit_flow(_bare(side, path)) for side in (before, after))
            yield ConfigChange(here, *sides)


def _bare(value: object, section: str) -> object:
    """A flavor or a tenant without what it has by default, as ``render_config`` writes it; other values as they are."""
    defaults = {"flavors": _flavor(Flavor("")), "tenants": _tenant(Tenant(""))}.get(section)
    return _without(value, defaults) if defaults and isinstance(value, Mapping) else value


def _flavor(flavor: Flavor) -> dict[str, object]:
    """Every field that has a value, defaults included."""
    return _present(
        {
            "price": _number(flavor.price),
            "resource": flavor.resource,
            "capacity": None if flavor.capacity is None else _amounts(flavor.capacity),
            "node_labels": dict(_sorted(flavor.node_labels)) or None,
            "tolerations": [_toleration(each) for each in flavor.tolerations] or None,
            "kueue_flavor": flavor.kueue_flavor,
            "default_for_cpu_pods": flavor.default_for_cpu_pods,
        }
    )


def _toleration(toleration: Mapping[str, str]) -> dict[str, object]:
    present = {key: toleration[key] for key in _TOLERATION_KEYS if key in toleration}
    return {key: Written(value) if key == "tolerationSeconds" else value for key, value in present.items()}


def _tenant(tenant: Tenant) -> dict[str, object]:
    quota: dict[str, dict[str, object]] = {}
    for (flavor, resource), row in sorted(tenant.quota.items()):
        quota.setdefault(flavor, {})[resource] = _quota(row, resource)
    budget = tenant.budget
    return _present(
        {
            "parent": tenant.parent,
            "weight": _number(tenant.weight),
            "namespace": tenant.namespace,
            "quota": quota or None,
            "budget": budget
            and {"accelerator_hours": _number(budget.accelerator_hours), "period": _duration(budget.period_ms)},
            "allowed_flavors": None if tenant.allowed_flavors is None else sorted(tenant.allowed_flavors),
            "max_priority": tenant.max_priority,
            "max_pending_jobs": tenant.max_pending_jobs,
            "max_running_jobs": tenant.max_running_jobs,
            "service_accounts": list(tenant.service_accounts) or None,
            "roles": {role: list(tenant.roles[role]) for role in _ROLES if role in tenant.roles} or None,
        }
    )


def _quota(quota: Quota, resource: str) -> dict[str, object]:
    amounts = {
        "nominal": quota.nominal or None,
        "borrowing_limit": quota.borrowing_limit,
        "lending_limit": quota.lending_limit,
    }
    return {key: _amount(amount, resource) for key, amount in amounts.items() if amount is not None}


def _policy(policy: Policy) -> dict[str, object]:
    durations = {key: getattr(policy, f"{key}_ms") for key in _POLICY_DURATIONS}
    return _present(
        {
            "reclaim": policy.reclaim,
            "rebalance": policy.rebalance,
            "priority_preemption": policy.priority_preemption,
            "quota_cut": str(policy.quota_cut),
            **{key: None if value is None else _duration(value) for key, value in durations.items()},
            "dominant_resources": list(policy.dominant_resources),
        }
    )


def _speeds(speeds: Mapping[str, Fraction]) -> dict[str, object]:
    return {flavor: _number(speed) for flavor, speed in _sorted(speeds)}


def _amounts(amounts: Mapping[str, Amount]) -> dict[str, object]:
    return {resource: _amount(amount, resource) for resource, amount in _sorted(amounts)}


def _amount(amount: Amount, resource: str) -> Written:
    return Written(format_quantity(amount, resource))


def _number(value: Fraction) -> Written:
    return Written(format_fraction(value))


def _duration(duration_ms: int) -> Written:
    return Written(format_duration(duration_ms))


def _present(fields: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in fields.items() if value is not None}


def _without(fields: Mapping[str, object], defaults: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in fields.items() if key not in defaults or value != defaults[key]}


def _sorted(mapping: Mapping[str, Value]) -> list[tuple[str, Value]]:
    return sorted(mapping.items(), key=lambda entry: entry[0])


def _parents_first(config: Config) -> Iterator[str]:
    waiting = list(reversed(config.children.get(None, ())))
    while waiting:
        tenant = waiting.pop()
        yield tenant
        waiting.extend(reversed(config.children.get(tenant, ())))
