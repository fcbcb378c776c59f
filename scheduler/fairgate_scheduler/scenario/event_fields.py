"""The events of a scenario file."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from fairgate_scheduler.core.amounts import Amount, Row
from fairgate_scheduler.documents.fields import Fields, attempt, each_entry, each_item, itself
from fairgate_scheduler.documents.nodes import Kind, Node
from fairgate_scheduler.documents.problems import Problem, suggest
from fairgate_scheduler.documents.scalars import (
    is_quantity,
    read_boolean,
    read_duration,
    read_fraction,
    read_text,
    wrong,
)
from fairgate_scheduler.documents.tenancy_fields import (
    LIMIT_KEYS,
    QUOTA_KEYS,
    read_budget,
    read_capacity,
    read_limits,
    read_priority,
)
from fairgate_scheduler.scenario.names import Names, check_keys
from fairgate_scheduler.scenario.story import (
    CancelJob,
    ChangeTenants,
    Deed,
    DeleteTenant,
    FailJob,
    QuotaPatch,
    Restart,
    SetCapacity,
    SetPriorities,
    Stockout,
    StoryEvent,
    TenantPatch,
)

_Reader = Callable[["_EventFields"], Deed | None]


class _EventFields:
    """One event: its fields, the names it may use, and where problems go."""

    def __init__(self, fields: Fields, verb: str, names: Names, problems: list[Problem]) -> None:
        self.fields = fields
        self.verb = verb
        self.names = names
        self.problems = problems

    @property
    def body(self) -> Node:
        """What stands behind the verb."""
        return self.fields[self.verb]


def read_events(node: Node, names: Names, problems: list[Problem]) -> tuple[StoryEvent, ...]:
    """Every event, in file order."""
    events: list[StoryEvent] = []
    for index, item in enumerate(each_item(node, itself, problems)):
        fields = Fields(item, problems, ("at", "until", *VERBS), ("at",))
        at_ms = fields.read("at", read_duration, 0)
        verbs = [verb for verb in VERBS if fields.has(verb)]
        if len(verbs) != 1:
            problems.append(
                item.problem(f"{len(verbs)} things happen in one event", f"write one of {', '.join(VERBS)}")
            )
            continue
        if fields.has("until") and verbs != ["stockout"]:
            problems.append(item.key_problem("until", "until belongs to a stockout", "remove it"))
        deed = VERBS[verbs[0]](_EventFields(fields, verbs[0], names, problems))
        if deed is not None:
            events.append(StoryEvent(index, at_ms, deed))
    return tuple(events)


def _cancel(event: _EventFields) -> Deed | None:
    job = event.fields.read("cancel", event.names.job, None)
    return None if job is None else CancelJob(job)


def _fail(event: _EventFields) -> Deed | None:
    job = event.fields.read("fail", event.names.job, None)
    return None if job is None else FailJob(job)


def _priority(event: _EventFields) -> Deed:
    check_keys(event.body, "job", event.names.jobs, event.problems)
    return SetPriorities(each_entry(event.body, read_priority, event.problems))


def _quota(event: _EventFields) -> Deed:
    check_keys(event.body, "tenant", event.names.tenants, event.problems)
    patches = [
        TenantPatch(path, {}, _read_quota_patch(node, event))
        for path, node in each_entry(event.body, itself, event.problems).items()
    ]
    return ChangeTenants(tuple(patches), may_add=False)


def _tenant(event: _EventFields) -> Deed:
    entries = each_entry(event.body, itself, event.problems)
    return ChangeTenants(tuple(_read_tenant_patch(path, node, event) for path, node in entries.items()), may_add=True)


def _delete_tenant(event: _EventFields) -> Deed | None:
    path = event.fields.read("delete_tenant", event.names.tenant, None)
    return None if path is None else DeleteTenant(path)


def _capacity(event: _EventFields) -> Deed:
    check_keys(event.body, "flavor", event.names.flavors, event.problems)
    amounts: dict[Row, Amount] = {}
    for flavor, node in each_entry(event.body, itself, event.problems).items():
        amounts |= {(flavor, resource): amount for resource, amount in read_capacity(node, event.problems).items()}
    return SetCapacity(amounts)


def _stockout(event: _EventFields) -> Deed | None:
    flavor = event.fields.read("stockout", event.names.flavor, None)
    until_ms = event.fields.read("until", read_duration, None)
    if until_ms is not None and until_ms <= event.fields.read("at", _quietly_duration, 0):
        event.problems.append(event.fields["until"].problem("it ends before it begins", "until is an instant after at"))
    return None if flavor is None else Stockout(flavor, until_ms)


def _restart(event: _EventFields) -> Deed:
    if not event.fields.read("restart", read_boolean, True):
        event.problems.append(event.body.problem("restart: false is no event", "write restart: true"))
    return Restart()


VERBS: Final[Mapping[str, _Reader]] = {
    "cancel": _cancel,
    "quota": _quota,
    "tenant": _tenant,
    "delete_tenant": _delete_tenant,
    "capacity": _capacity,
    "priority": _priority,
    "stockout": _stockout,
    "fail": _fail,
    "restart": _restart,
}


def _quietly_duration(node: Node) -> int:
    """The instant of the event once more; what is wrong with it has been told."""
    problems: list[Problem] = []
    return attempt(node, read_duration, 0, problems)


def _read_tenant_patch(path: str, node: Node, event: _EventFields) -> TenantPatch:
    fields = Fields(node, event.problems, ("weight", "quota", "budget", *LIMIT_KEYS))
    given: dict[str, Any] = {}
    if "weight" in node.entries:
        given["weight"] = fields.read("weight", read_fraction, 1)
    if "budget" in node.entries:
        given["budget"] = read_budget(fields["budget"], event.problems) if fields.has("budget") else None
    given |= {key: value for key, value in read_limits(fields).items() if key in node.entries}
    for flavor in sorted(given.get("allowed_flavors") or ()):
        if flavor not in event.names.flavors:
            remedy = suggest(flavor, event.names.flavors)
            event.problems.append(node.key_problem("allowed_flavors", f"there is no flavor {flavor!r}", remedy))
    quota = _read_quota_patch(fields["quota"], event) if "quota" in node.entries else ()
    return TenantPatch(path, given, quota)


def _read_quota_patch(node: Node, event: _EventFields) -> tuple[QuotaPatch, ...]:
    check_keys(node, "flavor", event.names.flavors, event.problems)
    patches: list[QuotaPatch] = []
    if node.kind is Kind.NULL:
        return tuple(QuotaPatch(flavor, None, None) for flavor in event.names.flavors)
    for flavor, resources in each_entry(node, itself, event.problems).items():
        if resources.kind is Kind.NULL:
            patches.append(QuotaPatch(flavor, None, None))
        for resource, row in each_entry(resources, itself, event.problems).items():
            patches.append(QuotaPatch(flavor, resource, _read_row_patch(row, event.problems)))
    return tuple(patches)


def _read_row_patch(node: Node, problems: list[Problem]) -> Mapping[str, str | None] | None:
    if node.kind is Kind.NULL:
        return None
    Fields(node, problems, QUOTA_KEYS)
    known = {key: child for key, child in node.entries.items() if key in QUOTA_KEYS}
    return {key: attempt(child, _read_written_amount, None, problems) for key, child in known.items()}


def _read_written_amount(node: Node) -> str | None:
    """A quantity as written; what it can not be is found when the event happens."""
    if node.kind is Kind.NULL:
        return None
    text = read_text(node)
    if text != "UNLIMITED" and not is_quantity(text):
        raise wrong(node, f"{text!r} is not a quantity", "write a number such as 2, 500m or 16Gi, or UNLIMITED")
    return text
