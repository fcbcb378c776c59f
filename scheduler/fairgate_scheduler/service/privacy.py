"""What a caller may learn of other tenants: how much they hold, and how many of their jobs give way, but not who.

Admins see everything. Everybody else sees the tenants on the path of the job that the answer is about: what limits
those limits the job, and it is theirs.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final

from fairgate_scheduler.core.amounts import Amount, add
from fairgate_scheduler.core.snapshot import Hold, Need
from fairgate_scheduler.service.views import Explanation, JobView

ADMIN: Final = "admin"
"""The role that sees all tenants."""
OTHERS: Final = "(other tenants)"
"""Stands for the tenants that are not named; no tenant can have this id."""


def sees_jobs_of_all(roles: Collection[str]) -> bool:
    """Whether a caller may learn the names of jobs in an answer that is about no job of theirs."""
    return ADMIN in roles


def view_for(view: JobView, roles: Collection[str]) -> JobView:
    """What a caller with these roles may see of a job."""
    prospect = view.prospect
    if ADMIN in roles or prospect is None:
        return view
    own = tuple(each for each in prospect.outlook.evicts if _tenant_of(each) == view.job.tenant)
    hidden = len(prospect.outlook.evicts) - len(own)
    shown = replace(prospect, outlook=replace(prospect.outlook, evicts=own), unnamed_evictions=hidden)
    return replace(view, prospect=shown)


def explanation_for(explanation: Explanation, roles: Collection[str]) -> Explanation:
    """What a caller with these roles may see of why a job waits."""
    if ADMIN in roles:
        return explanation
    tenant = explanation.view.job.tenant
    hold = explanation.hold and _redacted(explanation.hold, tenant)
    own = tuple(each for each in explanation.leaving if _tenant_of(each) == tenant)
    hidden = len(explanation.leaving) - len(own)
    return Explanation(view_for(explanation.view, roles), hold, own, hidden)


def _tenant_of(job: str) -> str:
    return job.split("/")[1]


def _redacted(hold: Hold, tenant: str) -> Hold:
    reports = tuple(
        replace(report, needs=tuple(_redacted_need(need, tenant) for need in report.needs)) for report in hold.options
    )
    return replace(hold, options=reports)


def _redacted_need(need: Need, tenant: str) -> Need:
    return replace(need, holders=_merged(need.holders, tenant))


def _merged(holders: Mapping[str, Amount], tenant: str) -> Mapping[str, Amount]:
    out: dict[str, Amount] = {}
    for holder, amount in holders.items():
        name = holder if holder == tenant else OTHERS
        out[name] = add(out.get(name, 0), amount)
    return out
