"""From a launch to a plan: what an admitted option of a RayJob means on this machine, and what it can not mean here."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from fairgate_scheduler.adapters.local_ray.layout import State, split_job
from fairgate_scheduler.adapters.local_ray.plan import Plan, Settings, clean_env, temp_dir_of
from fairgate_scheduler.adapters.local_ray.processes import MARK
from fairgate_scheduler.adapters.local_ray.runtime_env import OF_THE_RUNNER, read_runtime_env
from fairgate_scheduler.core.amounts import is_accelerator
from fairgate_scheduler.core.jobs import Option
from fairgate_scheduler.core.manifests import ray_resources, read_entrypoint, render_for_option, spec_of
from fairgate_scheduler.ports import Launch

_OF_THE_IMAGE: Final = frozenset({"PATH", "HOME", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "TMPDIR"})
"""Variables that speak of a container image's file system, not of this machine's."""

_MIB: Final = 1024 * 1024
_ARGUMENT_MAX_BYTES: Final = 128_000
"""Linux takes 128 KiB for one argument or variable; the rest is for what the runner puts around it."""


def check(manifest: Mapping[str, Any], base_dir: Path) -> list[str]:
    """Everything in a RayJob that this machine can not give, as sentences that begin with the field; empty: it can run.

    It takes for granted that the manifest is a valid RayJob.
    """
    spec = _map(manifest.get("spec"))
    problems = []
    if spec.get("submissionMode") == "InteractiveMode":
        problems.append(
            "spec.submissionMode: InteractiveMode waits for somebody to submit through Ray's dashboard, which the local"
            " runner does not start; use K8sJobMode with an entrypoint"
        )
    elif not str(spec.get("entrypoint") or "").strip():
        problems.append("spec.entrypoint: there is nothing to run")
    problems += _not_an_argument("spec.entrypoint", str(spec.get("entrypoint") or ""))
    runtime_env, its_problems = read_runtime_env(str(spec.get("runtimeEnvYAML") or ""), base_dir)
    problems += [f"spec.{each}" for each in its_problems]
    for name, value in runtime_env.env_vars.items():
        problems += _not_an_argument(f"spec.runtimeEnvYAML.env_vars.{name}", f"{name}={value}")
    for path, container in _ray_containers(spec):
        problems += _container_env(container, path)[1]
    return problems


def make_plan(launch: Launch, settings: Settings, state: State) -> Plan:
    """Plan the launched attempt. What can not be had is the plan's ``problem``."""
    attempt, option = launch.attempt, launch.job.options[launch.attempt.option]
    asked = spec_of(launch.spec.get("options"), option, attempt.option)
    manifest = render_for_option(launch.manifest, asked, option, launch.config)
    spec = _map(manifest.get("spec"))
    entrypoint = read_entrypoint(manifest)
    directory = state.attempt(attempt.job, attempt.number)
    temp_dir = temp_dir_of(directory, settings)
    own = {
        "FAIRGATE_JOB": attempt.job,
        "FAIRGATE_TENANT": split_job(attempt.job)[0],
        "FAIRGATE_ATTEMPT": str(attempt.number),
        "FAIRGATE_FLAVOR": option.flavor,
        "FAIRGATE_CHECKPOINT_DIR": str(state.checkpoints(attempt.job)),
        "FAIRGATE_NOTICE": str(directory.notice),
        MARK: directory.mark,
    }
    head, groups, warnings = _pod_envs(spec)
    clean = clean_env(settings, str(temp_dir / "tmp"))
    runtime_env, _ = read_runtime_env(entrypoint.runtime_env_yaml, settings.base_dir)
    return Plan(
        job=attempt.job,
        attempt=attempt.number,
        entrypoint=entrypoint.command,
        driver_env=clean | head | own,
        ray_env=clean | head | groups | own,
        resources=resources_of(manifest, option),
        temp_dir=str(temp_dir),
        python=settings.python,
        grace_s=settings.grace_s,
        object_store_bytes=settings.object_store_mib * _MIB,
        runtime_env=runtime_env,
        metadata=entrypoint.metadata,
        warnings=(*warnings, *_not_kept(spec), *_one_node(option)),
        problem="; ".join(check(manifest, settings.base_dir)),
        admitted_at_ms=attempt.admitted_at_ms,
    )


def resources_of(manifest: Mapping[str, Any], option: Option) -> dict[str, float]:
    """The Ray resources of all pods of the admitted option together, as ``ray start`` takes them."""
    amounts = ray_resources(manifest, option).items()
    return {name: int(amount) if amount == int(amount) else float(amount) for name, amount in amounts}


def _pod_envs(spec: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """The head's environment, the worker groups' merged in their order, and what of it does not apply here."""
    head: dict[str, str] = {}
    groups: dict[str, str] = {}
    warnings: list[str] = []
    for path, container in _ray_containers(spec):
        env, _, remarks = _container_env(container, path)
        warnings += remarks
        target = head if "headGroupSpec" in path else groups
        for name, value in env.items():
            if target.setdefault(name, value) != value:
                warnings.append(f"{path}.env: {name} differs between worker groups; here the first one's value counts")
    return head, groups, warnings


def _container_env(container: Mapping[str, Any], path: str) -> tuple[dict[str, str], list[str], list[str]]:
    """The variables of a container, what makes it impossible to run here, and what is merely left out."""
    env: dict[str, str] = {}
    problems: list[str] = []
    warnings: list[str] = []
    for index, entry in enumerate(container.get("env") or ()):
        name, source = str(entry.get("name", "")), _map(entry.get("valueFrom"))
        where = f"{path}.env[{index}]"
        if name.startswith("FAIRGATE_"):
            problems.append(f"{where}: Fairgate sets FAIRGATE_* itself")
        elif name in OF_THE_RUNNER:
            warnings.append(f"{where}: {name} is the local runner's to set, and not taken from here")
        elif name in _OF_THE_IMAGE:
            warnings.append(f"{where}: {name} belongs to the container image and is not set here")
        elif not source:
            env[name] = str(entry.get("value") or "")
            problems += _not_an_argument(where, f"{name}={env[name]}")
        elif any(_is_needed(source.get(kind)) for kind in ("secretKeyRef", "configMapKeyRef")):
            problems.append(
                f"{where}: the local runner has no Secrets and ConfigMaps; write a value, or optional: true"
            )
        else:
            warnings.append(f"{where}: {name} comes from the cluster and is not set here")
    for index, entry in enumerate(container.get("envFrom") or ()):
        if any(_is_needed(entry.get(kind)) for kind in ("secretRef", "configMapRef")):
            problems.append(
                f"{path}.envFrom[{index}]: the local runner has no Secrets and ConfigMaps; write env, or optional: true"
            )
    return env, problems, warnings


def _not_an_argument(where: str, text: str) -> list[str]:
    """Why a process can not be given this text as an argument or a variable."""
    if "\0" in text:
        return [f"{where}: no process can be given the character NUL; take it out"]
    if len(text.encode(errors="surrogatepass")) > _ARGUMENT_MAX_BYTES:
        return [f"{where}: longer than the {_ARGUMENT_MAX_BYTES} bytes that a process can be given; put it into a file"]
    return []


def _is_needed(reference: object) -> bool:
    return isinstance(reference, Mapping) and not reference.get("optional")


def _not_kept(spec: Mapping[str, Any]) -> list[str]:
    """What the manifest asks for that has no meaning here and takes nothing from the job."""
    fields = ("entrypointNumCpus", "entrypointNumGpus", "entrypointResources")
    return [
        f"spec.{name}: the local runner reserves nothing for the entrypoint; on a cluster the rest has that much less"
        for name in fields
        if spec.get(name)
    ]


def _one_node(option: Option) -> list[str]:
    """Several pods with accelerators are one Ray node here, which can do more than they can."""
    pods = sum(group.count for group in option.groups if any(map(is_accelerator, group.requests)))
    if pods < 2:
        return []
    return [f"one Ray node stands for {pods} pods: what needs the accelerators of several at once waits on a cluster"]


def _ray_containers(spec: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The Ray container, which is the first one, of the head and of each worker group, with its path."""
    cluster = _map(spec.get("rayClusterSpec"))
    groups = [("headGroupSpec", cluster.get("headGroupSpec"))]
    groups += [
        (f"workerGroupSpecs[{index}]", group) for index, group in enumerate(cluster.get("workerGroupSpecs") or ())
    ]
    for name, group in groups:
        containers = _map(_map(_map(group).get("template")).get("spec")).get("containers") or [{}]
        yield f"spec.rayClusterSpec.{name}.template.spec.containers[0]", _map(containers[0])


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
