"""Understands a KubeRay ``ray.io/v1`` RayJob, given as plain data: is it right, what is it charged.

Data in, data out. It must never read files or YAML, talk to a cluster, or change a manifest that it was given. What it
charges is what KubeRay would really run, so that nothing runs beside a quota.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fairgate_scheduler.core.jobs import Option
from fairgate_scheduler.core.manifests.derive import (
    Derivation,
    charge_options,
    derive_options,
    derive_specs,
    largest_row,
    unique,
)
from fairgate_scheduler.core.manifests.entrypoint import Entrypoint, read_entrypoint
from fairgate_scheduler.core.manifests.findings import Finding, ManifestError
from fairgate_scheduler.core.manifests.flavors import Flavors
from fairgate_scheduler.core.manifests.options import (
    GroupChange,
    OptionSpec,
    collect_option_specs,
    read_option_specs,
)
from fairgate_scheduler.core.manifests.plain import canonical, get_int, get_map, get_text, normalize
from fairgate_scheduler.core.manifests.rayjob import inspect, validate
from fairgate_scheduler.core.manifests.raynodes import ray_resources
from fairgate_scheduler.core.manifests.rewrite import render_for_option
from fairgate_scheduler.core.tenancy import Config

__all__ = [
    "Entrypoint",
    "Finding",
    "GroupChange",
    "ManifestError",
    "OptionSpec",
    "Understood",
    "canonical",
    "derive_options",
    "largest_row",
    "normalize",
    "ray_resources",
    "read_entrypoint",
    "read_option_specs",
    "render_for_option",
    "spec_of",
    "understand",
    "validate",
]


@dataclass(frozen=True, slots=True)
class Understood:
    """A manifest that can be run under quota. ``options`` and ``option_specs`` go together, index by index.

    ``name`` is "" if the manifest only has ``generate_name``. ``active_deadline_s`` is the manifest's own time limit in
    seconds, which KubeRay counts anew for each attempt. ``warnings`` say what was set, ignored or charged unexpectedly.
    """

    name: str
    options: tuple[Option, ...]
    option_specs: tuple[OptionSpec, ...]
    warnings: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    generate_name: str = ""
    namespace: str = ""
    active_deadline_s: int | None = None


def understand(
    manifest: object,
    option_specs: object,
    config: Config,
    tenant: str | None = None,
    workload: str | None = None,
) -> Understood:
    """What a manifest with these options means to the scheduler.

    ``option_specs`` is plain data as ``read_option_specs`` takes it (or what that has returned); empty or ``None``: one
    option is derived from what the manifest asks for. ``workload`` names the class that gives speeds to options that
    name none.

    Raises:
        ManifestError: with everything that is wrong with manifest and options, by field.
    """
    content = normalize(manifest)
    inspection = inspect(content)
    findings = inspection.findings
    known = len(findings)
    specs = _read_specs(option_specs, findings)
    derivation = Derivation(Flavors(config, tenant), findings, inspection.warnings)
    options: tuple[Option, ...] = ()
    if inspection.has_shape and len(findings) == known:
        specs = specs or derive_specs(content, derivation)
        options = charge_options(content, specs, workload, derivation)
    if findings:
        raise ManifestError(unique(findings))
    metadata = get_map(content, "metadata")
    return Understood(
        name=get_text(metadata, "name"),
        options=options,
        option_specs=specs,
        warnings=tuple(dict.fromkeys(inspection.warnings)),
        labels=dict(get_map(metadata, "labels")),
        generate_name=get_text(metadata, "generateName"),
        namespace=get_text(metadata, "namespace"),
        active_deadline_s=get_int(get_map(content, "spec"), "activeDeadlineSeconds", 0) or None,
    )


def spec_of(option_specs: object, option: Option, index: int) -> OptionSpec:
    """The spec of a job's option, from the plain data that it was submitted with; a derived one changes nothing."""
    specs = _read_specs(option_specs, [])
    return specs[index] if index < len(specs) else OptionSpec(option.flavor)


def _read_specs(data: object, findings: list[Finding]) -> tuple[OptionSpec, ...]:
    if isinstance(data, tuple) and all(isinstance(item, OptionSpec) for item in data):
        return data
    return collect_option_specs(data, "options", findings)
