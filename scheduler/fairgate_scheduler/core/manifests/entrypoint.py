"""What a runner starts: the command, its runtime environment and what the command itself reserves in Ray."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from fairgate_scheduler.core.manifests.charge import submission_mode
from fairgate_scheduler.core.manifests.plain import get_int, get_list, get_map, get_text, is_number
from fairgate_scheduler.core.manifests.raynodes import RayAmount, parse_custom


@dataclass(frozen=True, slots=True)
class Entrypoint:
    """The driver of a RayJob. ``runtime_env_yaml`` is the manifest's text, "" if it has none.

    ``cpus``, ``gpus`` and ``resources`` are what the driver reserves (``None``: Ray's default). ``head_env`` and
    ``worker_env`` are the plain environment variables of the Ray containers; what comes from elsewhere in the cluster
    (``valueFrom``) is not in them.
    """

    command: str
    mode: str = "K8sJobMode"
    runtime_env_yaml: str = ""
    cpus: RayAmount | None = None
    gpus: RayAmount | None = None
    resources: Mapping[str, RayAmount] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)
    submission_id: str = ""
    retries: int = 0
    active_deadline_s: int | None = None
    head_env: Mapping[str, str] = field(default_factory=dict)
    worker_env: Mapping[str, str] = field(default_factory=dict)


def read_entrypoint(manifest: Mapping[str, Any]) -> Entrypoint:
    """The driver of a manifest that ``understand`` has taken, best read from the one of ``render_for_option``."""
    spec = get_map(manifest, "spec")
    cluster = get_map(spec, "rayClusterSpec")
    custom = parse_custom(get_text(spec, "entrypointResources")) or {}
    worker_env: dict[str, str] = {}
    for group in get_list(cluster, "workerGroupSpecs"):
        worker_env.update(_env(group))
    deadline = get_int(spec, "activeDeadlineSeconds", 0)
    return Entrypoint(
        command=get_text(spec, "entrypoint").strip(),
        mode=submission_mode(manifest),
        runtime_env_yaml=get_text(spec, "runtimeEnvYAML"),
        cpus=_reserved(spec, "entrypointNumCpus"),
        gpus=_reserved(spec, "entrypointNumGpus"),
        resources={name: _simple(amount) for name, amount in custom.items()},
        metadata=dict(get_map(spec, "metadata")),
        submission_id=get_text(spec, "jobId"),
        retries=get_int(spec, "backoffLimit", 0),
        active_deadline_s=deadline or None,
        head_env=_env(get_map(cluster, "headGroupSpec")),
        worker_env=worker_env,
    )


def _env(group: Mapping[str, Any]) -> dict[str, str]:
    containers = get_list(get_map(group, "template", "spec"), "containers")
    items = get_list(containers[0], "env") if containers else []
    return {get_text(item, "name"): get_text(item, "value") for item in items if "valueFrom" not in item}


def _reserved(spec: Mapping[str, Any], key: str) -> RayAmount | None:
    value = spec.get(key)
    amount = Fraction(str(value)) if is_number(value) else Fraction(0)
    return _simple(amount) if amount > 0 else None


def _simple(amount: Fraction) -> RayAmount:
    return amount.numerator if amount.denominator == 1 else amount
