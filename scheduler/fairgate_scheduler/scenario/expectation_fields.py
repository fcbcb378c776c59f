"""The expectations of a scenario file, read into what they want; ``expectations`` says whether they hold."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from fairgate_scheduler.core.admissible import RefusalCode
from fairgate_scheduler.core.amounts import Amount, Row
from fairgate_scheduler.core.snapshot import HoldReason
from fairgate_scheduler.documents.fields import Fields, attempt, each_entry, each_item, itself
from fairgate_scheduler.documents.nodes import Kind, Node
from fairgate_scheduler.documents.problems import Problem
from fairgate_scheduler.documents.scalars import read_choice, read_duration, read_integer, wrong
from fairgate_scheduler.documents.tenancy_fields import read_capacity
from fairgate_scheduler.scenario.names import Names, check_keys
from fairgate_scheduler.scenario.story import Expectation

_Read = Callable[[Node, Names, list[Problem]], Any]

_read_count = read_integer()


def read_expectations(node: Node, names: Names, problems: list[Problem]) -> tuple[Expectation, ...]:
    """Every expectation, in file order."""
    out: list[Expectation] = []
    for index, item in enumerate(each_item(node, itself, problems)):
        fields = Fields(item, problems, ("at", *AT_FORMS, *WHOLE_FORMS))
        at_ms = fields.read("at", read_duration, None)
        forms = [key for key in item.entries if key in AT_FORMS or key in WHOLE_FORMS]
        if not forms:
            problems.append(item.problem("nothing is expected", f"write one of {', '.join((*AT_FORMS, *WHOLE_FORMS))}"))
        problems.extend(
            item.key_problem(key, f"{key} needs an instant", "add at: DURATION")
            for key in forms
            if key in AT_FORMS and not fields.has("at")
        )
        read = {key: {**AT_FORMS, **WHOLE_FORMS}[key](item.entries[key], names, problems) for key in forms}
        out.append(Expectation(index, item.line, at_ms, read))
    return tuple(out)


def _jobs(node: Node, names: Names, problems: list[Problem]) -> tuple[str, ...]:
    return each_item(node, names.job, problems)


def _by_job(reader: Callable[[Node], Any]) -> _Read:
    def read(node: Node, names: Names, problems: list[Problem]) -> Mapping[str, Any]:
        check_keys(node, "job", names.jobs, problems)
        return each_entry(node, reader, problems)

    return read


def _job_flavors(node: Node, names: Names, problems: list[Problem]) -> Mapping[str, str]:
    check_keys(node, "job", names.jobs, problems)
    return each_entry(node, names.flavor, problems)


def _read_interval(node: Node) -> tuple[int, int]:
    if node.kind is not Kind.SEQUENCE or len(node.items) != 2:
        raise wrong(node, "not an interval", "write [FROM, TO], two instants such as 1h and 1h30m")
    begin_ms, end_ms = (read_duration(item) for item in node.items)
    if end_ms < begin_ms:
        raise wrong(node, "an interval that ends before it begins", "write the earlier instant first")
    return begin_ms, end_ms


def _counts(node: Node, names: Names, problems: list[Problem]) -> Mapping[str, int]:
    check_keys(node, "tenant", names.tenants, problems)
    return each_entry(node, _read_count, problems)


def _usage(node: Node, names: Names, problems: list[Problem]) -> Mapping[str, Mapping[Row, Amount]]:
    check_keys(node, "tenant", names.tenants, problems)
    out: dict[str, Mapping[Row, Amount]] = {}
    for tenant, flavors in each_entry(node, itself, problems).items():
        check_keys(flavors, "flavor", names.flavors, problems)
        out[tenant] = {
            (flavor, resource): amount
            for flavor, resources in each_entry(flavors, itself, problems).items()
            for resource, amount in read_capacity(resources, problems).items()
        }
    return out


def _number(node: Node, _: Names, problems: list[Problem]) -> int:
    return attempt(node, _read_count, 0, problems)


def _event_codes(node: Node, names: Names, problems: list[Problem]) -> Mapping[int, RefusalCode]:
    check_keys(node, "event", [str(index) for index in range(names.events)], problems)
    codes = each_entry(node, read_choice(RefusalCode), problems)
    return {int(index): code for index, code in codes.items() if index.isdigit()}


AT_FORMS: Final[Mapping[str, _Read]] = {
    "running": _jobs,
    "running_includes": _jobs,
    "running_excludes": _jobs,
    "running_count": _counts,
    "pending": _by_job(read_choice(HoldReason)),
    "usage": _usage,
    "flavor": _job_flavors,
    "forecast": _by_job(_read_interval),
}
"""Forms about one instant."""

WHOLE_FORMS: Final[Mapping[str, _Read]] = {
    "started_by": _by_job(read_duration),
    "finished_by": _by_job(read_duration),
    "not_started_before": _by_job(read_duration),
    "evictions": _by_job(_read_count),
    "evictions_total": _number,
    "evictions_max": _number,
    "evicted_units": _number,
    "never_running": _jobs,
    "rejected": _by_job(read_choice(RefusalCode)),
    "event_rejected": _event_codes,
}
"""Forms about the whole story."""
