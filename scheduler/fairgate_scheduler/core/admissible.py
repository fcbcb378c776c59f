"""What is known at submit time: whether a tenant may submit this job at all. Says nothing about when it may run."""

import difflib
from collections.abc import Iterable, Mapping
from enum import StrEnum

from fairgate_scheduler.core.amounts import is_chargeable
from fairgate_scheduler.core.jobs import PodGroup
from fairgate_scheduler.core.tenancy import Config


class RefusalCode(StrEnum):
    """Why something is refused; the names of the gRPC codes that say the same."""

    NOT_FOUND = "NOT_FOUND"
    INVALID_ARGUMENT = "INVALID_ARGUMENT"
    RESOURCE_EXHAUSTED = "RESOURCE_EXHAUSTED"
    FAILED_PRECONDITION = "FAILED_PRECONDITION"


class SubmitRefused(Exception):  # noqa: N818 - a refusal is an answer, not a fault
    """A job is not taken. ``field`` is what is wrong with the request, ``remedy`` what to do about it."""

    def __init__(self, code: RefusalCode, field: str, message: str, remedy: str) -> None:
        super().__init__(f"{field}: {message} ({remedy})")
        self.code = code
        self.field = field
        self.message = message
        self.remedy = remedy


def limited_subtrees(config: Config, tenant: str) -> Mapping[str, frozenset[str]]:
    """The tenants whose ``max_pending_jobs`` a job of this tenant counts against, each with all that is below it.

    What is pending in each of these subtrees is the ``pending_counts`` of ``check_submit``.
    """
    path = config.paths.get(tenant, ())
    return {
        node: frozenset(each for each, upwards in config.paths.items() if node in upwards)
        for node in path
        if config.tenants[node].max_pending_jobs is not None
    }


def check_submit(config: Config, tenant: str, priority: int, pending_counts: Mapping[str, int]) -> None:
    """Whether this tenant may submit a job of this priority now.

    ``pending_counts``: tenant → pending jobs in its subtree, for the tenants that ``limited_subtrees`` names.

    Raises:
        SubmitRefused: NOT_FOUND for an unknown tenant; INVALID_ARGUMENT for an inner tenant, or a priority above
            what the path allows; RESOURCE_EXHAUSTED where a tenant of the path has as many pending jobs as it may.
    """
    if tenant not in config.tenants:
        leaves = sorted(each for each in config.tenants if config.is_leaf(each))
        raise SubmitRefused(RefusalCode.NOT_FOUND, "tenant", f"no tenant {tenant!r}", _similar(tenant, leaves))
    if not config.is_leaf(tenant):
        leaves = sorted(each for each, path in config.paths.items() if tenant in path and config.is_leaf(each))
        message = f"{tenant!r} has tenants below it; only leaves submit jobs"
        raise SubmitRefused(RefusalCode.INVALID_ARGUMENT, "tenant", message, _choices(leaves))
    check_priority(config, tenant, priority)
    for node in config.paths[tenant]:
        limit = config.tenants[node].max_pending_jobs
        if limit is not None and pending_counts.get(node, 0) >= limit:
            message = f"{pending_counts.get(node, 0)} jobs of {node!r} are pending and max_pending_jobs is {limit}"
            remedy = "wait until some have started, cancel some, or ask for a higher limit"
            raise SubmitRefused(RefusalCode.RESOURCE_EXHAUSTED, "tenant", message, remedy)


def check_priority(config: Config, tenant: str, priority: int) -> None:
    """Whether a job of this tenant may have this priority.

    Raises:
        SubmitRefused: INVALID_ARGUMENT, above the ``max_priority`` of a tenant of the path.
    """
    for node in config.paths[tenant]:
        highest = config.tenants[node].max_priority
        if highest is not None and priority > highest:
            message = f"{priority} is above the max_priority of {node!r}"
            raise SubmitRefused(RefusalCode.INVALID_ARGUMENT, "priority", message, f"{highest} at most")


def check_groups(groups: Iterable[PodGroup], config: Config, field: str = "pods") -> None:
    """Whether what the pod groups of one option request can be charged.

    Raises:
        SubmitRefused: INVALID_ARGUMENT for a negative amount, fewer than one pod, a resource that can not be charged
            and of which no quota is declared, and for groups that request nothing at all.
    """
    declared = {row for tenant in config.tenants.values() for row in tenant.quota}
    requested = 0
    for index, group in enumerate(groups):
        where = f"{field}[{index}]"
        if group.count < 1:
            raise _invalid(f"{where}.count", f"{group.count} pods", "1 at least")
        for resource, amount in group.requests.items():
            at = f"{where}.requests[{resource}]"
            if amount < 0:
                raise _invalid(at, "a negative amount", "write 0 or more")
            if amount and not is_chargeable(resource) and (group.flavor, resource) not in declared:
                remedy = "leave it out, or have quota for it declared"
                raise _invalid(at, f"no quota for {resource} is declared on {group.flavor!r}", remedy)
            requested += amount
    if not requested:
        raise _invalid(field, "nothing is requested", "request cpu, memory or accelerators")


def _invalid(field: str, message: str, remedy: str) -> SubmitRefused:
    return SubmitRefused(RefusalCode.INVALID_ARGUMENT, field, message, remedy)


def _similar(name: str, names: list[str]) -> str:
    close = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {close[0]}?" if close else _choices(names)


def _choices(names: list[str]) -> str:
    if not names:
        return "there is no tenant that can submit"
    return "choose one of " + ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
