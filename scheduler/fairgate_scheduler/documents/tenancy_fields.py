"""The parts that config and scenario files have in common: quota, budget, tenant limits, policy."""

from collections.abc import Mapping
from typing import Any, Final

from fairgate_scheduler.core.amounts import UNLIMITED, Amount, Row
from fairgate_scheduler.core.tenancy import Budget, Policy, Quota, QuotaCut
from fairgate_scheduler.documents.fields import Fields, attempt, each_entry, itself
from fairgate_scheduler.documents.nodes import Node
from fairgate_scheduler.documents.problems import Problem
from fairgate_scheduler.documents.scalars import (
    INTEGER_MAX,
    read_amount,
    read_amount_or_unlimited,
    read_boolean,
    read_choice,
    read_duration,
    read_fraction,
    read_integer,
    read_positive_duration,
    read_text,
)

QUOTA_KEYS: Final = ("nominal", "borrowing_limit", "lending_limit")
BUDGET_KEYS: Final = ("accelerator_hours", "period")
LIMIT_KEYS: Final = ("allowed_flavors", "max_priority", "max_pending_jobs", "max_running_jobs")
POLICY_KEYS: Final = (
    "reclaim",
    "rebalance",
    "priority_preemption",
    "min_runtime",
    "backfill_after",
    "quota_cut",
    "ready_timeout",
    "option_backoff",
    "history_half_life",
    "dominant_resources",
)

_read_count = read_integer()
_read_priority = read_integer(-INTEGER_MAX - 1)
read_priority: Final = _read_priority
"""A job's priority: any 32-bit number."""


def read_quota(node: Node, problems: list[Problem]) -> dict[Row, Quota]:
    """``{FLAVOR: {RESOURCE: {nominal, borrowing_limit, lending_limit}}}``; a limit UNLIMITED is no limit."""
    rows: dict[Row, Quota] = {}
    for flavor, resources in each_entry(node, itself, problems).items():
        for resource, body in each_entry(resources, itself, problems).items():
            rows[flavor, resource] = _read_row(body, resource, problems)
    return rows


def _read_row(node: Node, resource: str, problems: list[Problem]) -> Quota:
    fields = Fields(node, problems, QUOTA_KEYS)
    reader = read_amount_or_unlimited(resource)
    return Quota(
        fields.read("nominal", reader, 0),
        _limit(fields.read("borrowing_limit", reader, None)),
        _limit(fields.read("lending_limit", reader, None)),
    )


def _limit(amount: Amount | None) -> Amount | None:
    return None if amount == UNLIMITED else amount


def read_budget(node: Node, problems: list[Problem]) -> Budget | None:
    """``{accelerator_hours, period}``; both are needed."""
    fields = Fields(node, problems, BUDGET_KEYS, BUDGET_KEYS)
    hours = fields.read("accelerator_hours", read_fraction, None)
    period_ms = fields.read("period", read_positive_duration, None)
    return None if hours is None or period_ms is None else Budget(hours, period_ms)


def read_limits(fields: Fields) -> dict[str, Any]:
    """``allowed_flavors`` and the ``max_…`` keys of a tenant, as keyword arguments of ``Tenant``; null: no limit."""
    return {
        "allowed_flavors": frozenset(fields.listed("allowed_flavors", read_text))
        if fields.has("allowed_flavors")
        else None,
        "max_priority": fields.read("max_priority", _read_priority, None),
        "max_pending_jobs": fields.read("max_pending_jobs", _read_count, None),
        "max_running_jobs": fields.read("max_running_jobs", _read_count, None),
    }


def read_capacity(node: Node, problems: list[Problem]) -> Mapping[str, Amount]:
    """``{RESOURCE: amount}``: what is physically there."""
    out: dict[str, Amount] = {}
    for resource, child in each_entry(node, itself, problems).items():
        amount = attempt(child, read_amount(resource), None, problems)
        if amount is not None:
            out[resource] = amount
    return out


def read_policy(node: Node, problems: list[Problem]) -> Policy:
    """The switches; what is left out has its default."""
    fields = Fields(node, problems, POLICY_KEYS)
    default = Policy()
    chosen = fields.listed("dominant_resources", read_text) if fields.has("dominant_resources") else None
    return Policy(
        fields.read("reclaim", read_boolean, default.reclaim),
        fields.read("rebalance", read_boolean, default.rebalance),
        fields.read("priority_preemption", read_boolean, default.priority_preemption),
        fields.read("min_runtime", read_duration, default.min_runtime_ms),
        fields.read("backfill_after", read_duration, default.backfill_after_ms),
        fields.read("quota_cut", read_choice(QuotaCut), default.quota_cut),
        fields.read("ready_timeout", read_duration, default.ready_timeout_ms),
        fields.read("option_backoff", read_duration, default.option_backoff_ms),
        fields.read("history_half_life", read_positive_duration, default.history_half_life_ms),
        default.dominant_resources if chosen is None else chosen,
    )
