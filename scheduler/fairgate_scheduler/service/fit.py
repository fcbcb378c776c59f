"""A job that could not start even if nothing else ran is refused at submit, by the field that asks for too much."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fairgate_scheduler.core.amounts import Row, format_quantity
from fairgate_scheduler.core.contenders import Field, Obstacle
from fairgate_scheduler.core.holds import NEVER, explain
from fairgate_scheduler.core.jobs import Job, PodGroup
from fairgate_scheduler.core.manifests.charge import count_fields, gangs, is_autoscaled
from fairgate_scheduler.core.manifests.findings import child
from fairgate_scheduler.core.manifests.options import OptionSpec
from fairgate_scheduler.core.manifests.plain import get_list, get_map, get_text, normalize
from fairgate_scheduler.core.manifests.pods import find_resource
from fairgate_scheduler.core.snapshot import HoldReason, Need, OptionReport, Snapshot
from fairgate_scheduler.core.tenancy import Config
from fairgate_scheduler.service.errors import Violation

_OPTION_WORDS = {
    "replicas": "replicas",
    "minReplicas": "min_replicas",
    "maxReplicas": "max_replicas",
    "numOfHosts": "num_of_hosts",
}
_HOPELESS = (HoldReason.NO_MATCHING_FLAVOR, HoldReason.EXCEEDS_MAX_QUOTA)


@dataclass(frozen=True, slots=True)
class Asked:
    """A job as it was asked for: its record, its manifest, and what each of its options changes there."""

    job: Job
    manifest: Mapping[str, Any]
    option_specs: tuple[OptionSpec, ...]


class Fitting:
    """Tells what could never start. It keeps what it has reckoned of the configuration that it was asked of last."""

    def __init__(self) -> None:
        self._last: tuple[Config, Field] | None = None

    def misfits(self, config: Config, asked: Asked) -> tuple[Violation, ...]:
        """Why no option could ever start under this configuration, one violation a lack; none if one could."""
        field = self._field(config)
        job = asked.job
        obstacles = (field.obstacle(job, index, option) for index, option in enumerate(job.options))
        if not all(each in NEVER or each is Obstacle.NEVER_FITS for each in obstacles):
            return ()
        hold = explain(Snapshot(config, pending=(job,)), job.id, job.submitted_at_ms)
        assert hold.reason in _HOPELESS, hold.reason
        return tuple(each for report in hold.options for each in _lacks(config, asked, report))

    def _field(self, config: Config) -> Field:
        last = self._last
        if last is None or last[0] is not config:
            self._last = last = config, Field(Snapshot(config), 0)
        return last[1]


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
        group = _largest(asked, report.index, need.row)
        many = group if group is not None and _is_by_count(group, need) else None
        field = _count_field(asked, report.index, many.name) if many else _field(asked, report.index, need.row, group)
        yield Violation(field, *_lack(config, asked.job.tenant, need, many))


def _is_by_count(group: PodGroup, need: Need) -> bool:
    """Whether the number of its pods is what makes it too much: one of them would fit."""
    return group.count > 1 and group.requests[need.row[1]] <= need.have


def _lack(config: Config, tenant: str, need: Need, many: PodGroup | None) -> tuple[str, str]:
    """What is wrong and what to do. ``many``: the pod group of which there are too many pods."""
    flavor, resource = need.row
    wanted, have = format_quantity(need.need, resource), format_quantity(need.have, resource)
    message, remedy = f"the job asks for {wanted} {resource} of {flavor}", f"ask for {have} or fewer"
    if many is not None:
        message += (
            f" ({many.count} pods of {many.name!r} with {format_quantity(many.requests[resource], resource)} each)"
        )
        remedy = f"ask for fewer pods, with {have} {resource} or fewer in all"
    if not need.at:
        there = f"there are only {have} of them in all" if need.have else "there are none"
        return f"{message}; {there}", f"{remedy}, or for another flavor"
    who = f"tenant {tenant!r}" if need.at in (tenant, *config.paths[tenant][-1:]) else f"tenant {need.at!r} above it"
    message = f"{message}; {who} can never have more than {have}, borrowed included"
    return message, f"{remedy}, for another flavor, or ask the admins for more quota"


def _largest(asked: Asked, index: int, row: Row) -> PodGroup | None:
    """The pod group of an option that asks for most of a row."""
    flavor, resource = row
    groups = [each for each in asked.job.options[index].groups if each.flavor == flavor and resource in each.requests]
    return max(groups, key=lambda each: each.requests[resource] * each.count, default=None)


def _count_field(asked: Asked, index: int, group: str) -> str:
    """The field that says how many pods a group has: of the option if it says so, else of the manifest."""
    manifest = normalize(asked.manifest)
    change = asked.option_specs[index].change_of(group)
    places = {each.name: each.path for each in gangs(manifest, [])}
    changed = {
        "replicas": change.replicas,
        "minReplicas": change.min_replicas,
        "maxReplicas": change.max_replicas,
        "numOfHosts": change.num_of_hosts,
    }
    told = {key: count for key, count in changed.items() if count is not None}
    workers = get_list(get_map(manifest, "spec", "rayClusterSpec"), "workerGroupSpecs")
    own: Mapping[str, Any] = next((each for each in workers if get_text(each, "groupName") == group), {})
    replicas, hosts = count_fields({**own, **told}, is_autoscaled(manifest))
    is_by_hosts = bool(hosts) and {**own, **told}.get(replicas, 0) in (0, 1)
    key = hosts if is_by_hosts else replicas
    if key in told:
        return f"{child(f'options[{index}].groups', group)}.{_OPTION_WORDS[key]}"
    return f"manifest.{places[group]}.{key}"


def _field(asked: Asked, index: int, row: Row, largest: PodGroup | None) -> str:
    """The field that asks for most of a row: of the option if it says so, else of the manifest."""
    if largest is None:
        return f"options[{index}]"
    resource, group = row[1], largest.name
    spec = asked.option_specs[index]
    if group in spec.groups and resource in spec.groups[group].resources:
        return child(f"{child(f'options[{index}].groups', group)}.resources", resource)
    for gang in gangs(normalize(asked.manifest), []):
        if gang.name == group:
            return f"manifest.{find_resource(gang.template, gang.template_path, resource)}"
    return f"options[{index}]"
