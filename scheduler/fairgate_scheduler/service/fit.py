"""A job that could not start even if nothing else ran is refused at submit, by the field that asks for too much."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fairgate_scheduler.core.amounts import Row, format_quantity
from fairgate_scheduler.core.holds import explain
from fairgate_scheduler.core.jobs import Job
from fairgate_scheduler.core.manifests.charge import gangs
from fairgate_scheduler.core.manifests.findings import child
from fairgate_scheduler.core.manifests.options import OptionSpec
from fairgate_scheduler.core.manifests.plain import normalize
from fairgate_scheduler.core.manifests.pods import find_resource
from fairgate_scheduler.core.snapshot import HoldReason, Need, OptionReport, Snapshot
from fairgate_scheduler.core.tenancy import Config
from fairgate_scheduler.service.errors import Violation

_HOPELESS = (HoldReason.NO_MATCHING_FLAVOR, HoldReason.EXCEEDS_MAX_QUOTA)


@dataclass(frozen=True, slots=True)
class Asked:
    """A job as it was asked for: its record, its manifest, and what each of its options changes there."""

    job: Job
    manifest: Mapping[str, Any]
    option_specs: tuple[OptionSpec, ...]


def misfits(config: Config, asked: Asked) -> tuple[Violation, ...]:
    """Why no option could ever start under this configuration, one violation a lack; none if one could."""
    hold = explain(Snapshot(config, pending=(asked.job,)), asked.job.id, asked.job.submitted_at_ms)
    if hold.reason not in _HOPELESS:
        return ()
    return tuple(each for report in hold.options for each in _lacks(config, asked, report))


def _lacks(config: Config, asked: Asked, report: OptionReport) -> Iterator[Violation]:
    if not report.needs:
        field = f"options[{report.index}].flavor" if len(asked.option_specs) > 1 else "options"
        yield Violation(
            field, f"{report.flavor}: {report.reason}", "name another flavor, or ask the admins for this one"
        )
    tightest: dict[Row, Need] = {}
    for need in report.needs:
        if need.row not in tightest or need.have < tightest[need.row].have:
            tightest[need.row] = need
    for need in tightest.values():
        yield Violation(_field(asked, report.index, need.row), *_lack(config, asked.job.tenant, need))


def _lack(config: Config, tenant: str, need: Need) -> tuple[str, str]:
    flavor, resource = need.row
    wanted, have = format_quantity(need.need, resource), format_quantity(need.have, resource)
    if not need.at:
        there = f"there are only {have} of them in all" if need.have else "there are none"
        return (
            f"the job asks for {wanted} {resource} of {flavor}; {there}",
            f"ask for {have} or fewer, or for another flavor",
        )
    who = f"tenant {tenant!r}" if need.at in (tenant, *config.paths[tenant][-1:]) else f"tenant {need.at!r} above it"
    message = (
        f"the job asks for {wanted} {resource} of {flavor}; {who} can never have more than {have}, borrowed included"
    )
    return message, f"ask for {have} or fewer, for another flavor, or ask the admins for more quota"


def _field(asked: Asked, index: int, row: Row) -> str:
    """The field that asks for most of a row: of the option if it says so, else of the manifest."""
    flavor, resource = row
    groups = [each for each in asked.job.options[index].groups if each.flavor == flavor and resource in each.requests]
    if not groups:
        return f"options[{index}]"
    group = max(groups, key=lambda each: each.requests[resource] * each.count).name
    spec = asked.option_specs[index]
    if group in spec.groups and resource in spec.groups[group].resources:
        return child(f"{child(f'options[{index}].groups', group)}.resources", resource)
    for gang in gangs(normalize(asked.manifest), []):
        if gang.name == group:
            return f"manifest.{find_resource(gang.template, gang.template_path, resource)}"
    return f"options[{index}]"
