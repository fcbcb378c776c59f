"""From a manifest and its options to what the scheduler needs: each pod group charged to a flavor, summed up by row."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from fairgate_scheduler.core.amounts import Amount, Row, is_accelerator, is_chargeable, scale, total
from fairgate_scheduler.core.jobs import Option, PodGroup
from fairgate_scheduler.core.manifests.changes import apply_changes
from fairgate_scheduler.core.manifests.charge import REDIS_CLEANUP, UNBOUNDED, Gang, gangs
from fairgate_scheduler.core.manifests.entrypoint import read_entrypoint
from fairgate_scheduler.core.manifests.findings import Finding, ManifestError, child, did_you_mean
from fairgate_scheduler.core.manifests.flavors import Flavors
from fairgate_scheduler.core.manifests.options import HEAD, SUBMITTER, GroupChange, OptionSpec
from fairgate_scheduler.core.manifests.plain import get_list, get_map, get_text
from fairgate_scheduler.core.manifests.pods import find_resource
from fairgate_scheduler.core.manifests.rayclaims import check_ray_claims
from fairgate_scheduler.core.manifests.raynodes import node_resources
from fairgate_scheduler.core.tenancy import Config


@dataclass
class Derivation:
    """One pass over the options of a manifest: what they are charged to, and everything found on the way.

    ``is_derived``: the manifest came without options, so what is wrong is found in the manifest itself.
    """

    flavors: Flavors
    findings: list[Finding] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    is_derived: bool = False


def derive_options(
    manifest: Mapping[str, Any],
    specs: Sequence[OptionSpec],
    config: Config,
    tenant: str | None = None,
    workload: str | None = None,
) -> tuple[Option, ...]:
    """The options of a job as the scheduler sees them, in the order of ``specs``; none given: one is derived.

    ``manifest`` is normalized and right in itself. ``workload`` gives speeds to options that name none.

    Raises:
        ManifestError: an option that could never be charged rightly, by field.
    """
    derivation = Derivation(Flavors(config, tenant))
    specs = specs or derive_specs(manifest, derivation)
    options = charge_options(manifest, specs, workload, derivation)
    if derivation.findings:
        raise ManifestError(derivation.findings)
    return options


def charge_options(
    manifest: Mapping[str, Any], specs: Sequence[OptionSpec], workload: str | None, derivation: Derivation
) -> tuple[Option, ...]:
    """One ``Option`` for each spec that is right; what is wrong with others is in ``derivation.findings``."""
    speeds = derivation.flavors.config.speeds
    if workload and workload not in speeds:
        remedy = did_you_mean(workload, speeds) or "leave it out, or ask the admins to add its speeds"
        derivation.findings.append(Finding("workload", f"no workload class {workload!r}", remedy))
    options = []
    for index, spec in enumerate(specs):
        known = len(derivation.findings)
        groups = _charge(manifest, spec, f"options[{index}]", derivation)
        if len(derivation.findings) == known:
            speed = speeds.get(workload or "", {}).get(spec.flavor, Fraction(1)) if spec.speed is None else spec.speed
            options.append(Option(spec.flavor, speed, groups, total(map(_rows, groups))))
    return tuple(options)


def derive_specs(manifest: Mapping[str, Any], derivation: Derivation) -> tuple[OptionSpec, ...]:
    """The one option that a manifest without options means: every group on the flavor that serves what it asks.

    Of several flavors the one whose node labels the group selects is taken, else the first that the tenant may use, in
    the order of the configuration; a warning says so. Nothing, with findings, if there is none.
    """
    derivation.is_derived = True
    taken: dict[str, str] = {}
    for gang in gangs(manifest, []):
        if gang.count and gang.accelerators:
            found = _serving_flavor(gang, derivation)
            if found:
                taken[gang.name] = found
    if derivation.findings:
        return ()
    if not taken:
        cpu = derivation.flavors.config.cpu_flavor
        if cpu is None:
            derivation.findings.append(_no_cpu_flavor("spec.rayClusterSpec"))
            return ()
        return (OptionSpec(cpu),)
    workers = [name for group, name in taken.items() if group != HEAD]
    main = workers[0] if workers else taken[HEAD]
    others = {group: GroupChange(flavor=name) for group, name in taken.items() if name != main}
    return (OptionSpec(main, groups=others),)


def largest_row(option: Option) -> tuple[Row, Amount] | None:
    """The accelerator row of which an option asks most, else its largest row; nothing if it asks for nothing."""
    return max(option.demand.items(), key=lambda item: (is_accelerator(item[0][1]), item[1], item[0]), default=None)


def _serving_flavor(gang: Gang, derivation: Derivation) -> str | None:
    flavors, resource = derivation.flavors, gang.accelerators[0]
    at = find_resource(gang.template, gang.template_path, resource)
    servers = flavors.serving(resource)
    if not servers:
        derivation.findings.append(_nobody_serves(at, resource, flavors))
        return None
    allowed = [name for name in servers if flavors.is_allowed(name)]
    if not allowed:
        message = f"the tenant may use none of the flavors that offer {resource} ({', '.join(servers)})"
        derivation.findings.append(Finding(at, message, "ask the admins for allowed_flavors"))
        return None
    fitting = flavors.matching(allowed, gang.node_selector)
    if not fitting:
        message = f"selects other nodes than those of {', '.join(allowed)}, which offer {resource}"
        at = f"{gang.template_path}.spec.nodeSelector"
        derivation.findings.append(Finding(at, message, "remove the selector, or name a flavor by options"))
        return None
    if len(fitting) > 1:
        names = ", ".join(fitting)
        warning = f"{gang.name}: {names} offer {resource}; {fitting[0]} was taken. Add `options` to allow the others"
        derivation.warnings.append(warning)
    return fitting[0]


def _charge(manifest: Mapping[str, Any], spec: OptionSpec, path: str, derivation: Derivation) -> tuple[PodGroup, ...]:
    flavors, findings, known = derivation.flavors, derivation.findings, len(derivation.findings)
    if spec.flavor not in flavors.config.flavors:
        findings.append(_unknown_flavor(child(path, "flavor"), spec.flavor, flavors.config))
        return ()
    changed = apply_changes(manifest, spec)
    pods = gangs(changed, findings)
    names = [gang.name for gang in pods if gang.name != REDIS_CLEANUP]
    for group in spec.groups:
        if group not in names:
            at = child(f"{path}.groups", group)
            findings.append(Finding(at, "the manifest has no such pod group", did_you_mean(group, names)))
    out = []
    for gang in pods:
        if gang.count > UNBOUNDED:
            message = f"{gang.count} pods are more than can be"
            findings.append(Finding(gang.path, message, "lower its replicas or numOfHosts"))
        flavor = _flavor_of(gang, spec, path, derivation)
        if flavor is not None:
            out.append(PodGroup(gang.name, flavor, gang.count, gang.requests))
    _check_ray(changed, spec, path, findings)
    for name in dict.fromkeys(group.flavor for group in out if group.count and not flavors.is_allowed(group.flavor)):
        derivation.warnings.append(f"{path}: the tenant may not use flavor {name}, so this option is never taken")
    _warn_driver(changed, path, derivation.warnings)
    if len(findings) == known and not any(group.flavor == spec.flavor and group.count for group in out):
        wanted = flavors.config.flavors[spec.flavor].resource
        remedy = f"ask for {wanted} in a worker group" if wanted else "leave the option out"
        findings.append(Finding(child(path, "flavor"), f"no pod of this option would run on {spec.flavor}", remedy))
    return tuple(out)


def _check_ray(changed: Mapping[str, Any], spec: OptionSpec, path: str, findings: list[Finding]) -> None:
    """What the option's start parameters claim must be what its pods ask for."""
    cluster = get_map(changed, "spec", "rayClusterSpec")
    groups = [(HEAD, get_map(cluster, "headGroupSpec"))]
    groups += [(get_text(group, "groupName"), group) for group in get_list(cluster, "workerGroupSpecs")]
    for name, group in groups:
        change = spec.change_of(name)
        if change.ray_start_params or change.accelerators:
            check_ray_claims(group, child(f"{path}.groups", name), findings)


def _warn_driver(changed: Mapping[str, Any], path: str, warnings: list[str]) -> None:
    """The driver runs on one Ray node, which must have what the entrypoint reserves."""
    spec = get_map(changed, "spec")
    cluster = get_map(spec, "rayClusterSpec")
    nodes = [
        node_resources(group) for group in (get_map(cluster, "headGroupSpec"), *get_list(cluster, "workerGroupSpecs"))
    ]
    entrypoint = read_entrypoint(changed)
    wanted = {"CPU": entrypoint.cpus or 0, "GPU": entrypoint.gpus or 0, **entrypoint.resources}
    if not any(all(node.get(name, 0) >= amount for name, amount in wanted.items()) for node in nodes):
        asked = ", ".join(f"{amount} {name}" for name, amount in wanted.items() if amount)
        warnings.append(f"{path}: no Ray node has all that the entrypoint reserves ({asked}), so it would never start")


def _flavor_of(gang: Gang, spec: OptionSpec, path: str, derivation: Derivation) -> str | None:
    """The flavor that a group is charged to; nothing, with findings, if it can not be charged to it."""
    flavors, change = derivation.flavors, spec.change_of(gang.name)
    changed_at = child(f"{path}.groups", gang.name)
    if change.flavor is not None:
        flavor = change.flavor
        if flavor not in flavors.config.flavors:
            derivation.findings.append(_unknown_flavor(f"{changed_at}.flavor", flavor, flavors.config))
            return None
    elif gang.accelerators:
        flavor = _accelerated_flavor(gang, spec, flavors)
    else:
        found = _cpu_flavor(gang, spec, derivation)
        if found is None:
            return None
        flavor = found
    if not gang.count:
        return flavor
    known = len(derivation.findings)
    for resource in gang.requests:
        _check_resource(gang, resource, flavor, f"{changed_at}.resources", derivation)
    if not gang.requests:
        at = f"{gang.template_path}.spec.containers[0].resources"
        message = f"{gang.name} asks for nothing, so it could not be charged"
        derivation.findings.append(Finding(at, message, "request at least cpu and memory"))
    return flavor if len(derivation.findings) == known else None


def _accelerated_flavor(gang: Gang, spec: OptionSpec, flavors: Flavors) -> str:
    """The option's flavor; a group without pods there may ask for what another flavor has."""
    if gang.count or flavors.serves(spec.flavor, gang.accelerators[0]):
        return spec.flavor
    return next(iter(flavors.serving(gang.accelerators[0])), spec.flavor)


def _cpu_flavor(gang: Gang, spec: OptionSpec, derivation: Derivation) -> str | None:
    """The flavor of pods without accelerators: workers follow an option that is itself a CPU flavor."""
    flavors = derivation.flavors
    default = flavors.config.cpu_flavor
    is_worker = gang.name not in (HEAD, SUBMITTER, REDIS_CLEANUP)
    if is_worker and spec.flavor != default and flavors.is_plain(spec.flavor):
        return spec.flavor
    if default is None:
        derivation.findings.append(_no_cpu_flavor(gang.path))
        return None
    fitting = flavors.matching(flavors.plain_from(default), gang.node_selector)
    if not fitting:
        message = f"selects other nodes than those of the CPU flavor {default}"
        remedy = "remove the selector, or name the group's flavor by options"
        derivation.findings.append(Finding(f"{gang.template_path}.spec.nodeSelector", message, remedy))
        return None
    return fitting[0]


def _check_resource(gang: Gang, resource: str, flavor: str, change_path: str, derivation: Derivation) -> None:
    """Whether a group can be charged for this resource on this flavor. ``change_path``: where an option changes it."""
    flavors, findings = derivation.flavors, derivation.findings
    path = find_resource(gang.template, gang.template_path, resource)
    if resource in gang.accelerators and not flavors.serves(flavor, resource):
        servers = flavors.serving(resource)
        if not servers:
            findings.append(_nobody_serves(path, resource, flavors))
            return
        offered = flavors.config.flavors[flavor].resource or "no accelerator"
        message = f"{gang.name} asks for {resource}, but flavor {flavor} offers {offered}"
        remedy = f"say here what it asks for on {flavor}, or charge it to {' or '.join(servers)}"
        findings.append(Finding(path if derivation.is_derived else change_path, message, remedy))
    elif not is_chargeable(resource) and not flavors.is_declared(flavor, resource):
        message = f"{resource} can not be charged on flavor {flavor}: no tenant has quota of it there"
        findings.append(Finding(path, message, "remove it, or ask the admins to declare quota of it"))


def _nobody_serves(path: str, resource: str, flavors: Flavors) -> Finding:
    served = flavors.served_resources()
    return Finding(
        path, f"no flavor offers {resource}", did_you_mean(resource, served) or "ask the admins for a flavor"
    )


def _unknown_flavor(path: str, flavor: str, config: Config) -> Finding:
    return Finding(path, f"no flavor {flavor!r}", did_you_mean(flavor, config.flavors))


def _no_cpu_flavor(path: str) -> Finding:
    message = "has pods without accelerator, but no flavor is the default for them"
    return Finding(path, message, "ask the admins for a flavor with default_for_cpu_pods")


def _rows(group: PodGroup) -> Mapping[Row, Amount]:
    return {(group.flavor, name): scale(amount, group.count) for name, amount in group.requests.items() if group.count}


def unique(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Each finding once, in order."""
    return tuple(dict.fromkeys(findings))
