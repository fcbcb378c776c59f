"""The Ray instance of one attempt: a head node on loopback with the admitted resources, and how the driver finds it."""

import json
import math
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from fairgate_scheduler.adapters.local_ray import prepare
from fairgate_scheduler.adapters.local_ray.children import Children, Command, CommandError
from fairgate_scheduler.adapters.local_ray.layout import AttemptDir
from fairgate_scheduler.adapters.local_ray.plan import Plan
from fairgate_scheduler.adapters.local_ray.prepare import PreparationError, Workplace
from fairgate_scheduler.adapters.local_ray.results import last_line

_ACCELERATORS: Final = ("GPU", "TPU", "neuron_cores", "HPU", "NPU")
"""What Ray calls the accelerators that it knows."""

_START_TIMEOUT_S: Final = 180
_PIP_TIMEOUT_S: Final = 600

_QUIET: Final[Mapping[str, str]] = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_enable_metrics_collection": "0",
    # Workers start when they are needed: one per admitted CPU at once is too much for a laptop.
    "RAY_prestart_worker_first_driver": "0",
    # Bind to 127.0.0.1, not to the machine's address: nobody else can connect, a change of network breaks nothing.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_START_HOOK": "fairgate_scheduler.adapters.local_ray.head_hook.trim",
    # Tasks that ask for no accelerator keep what they see; Ray's announcement of this change would fill every log.
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


class RayStartError(Exception):
    """Ray did not come up. Not the job's doing: it can be tried again."""


def prepare_python(plan: Plan, directory: AttemptDir, place: Workplace, children: Children) -> Path:
    """The interpreter of the attempt: the server's, or one of its own where the job's pip packages are installed.

    Raises:
        PreparationError: pip failed.
        StopRequested: meanwhile the attempt is to end.
    """
    if not plan.runtime_env.pip:
        return Path(plan.python)
    python = prepare.make_python(directory.scratch / "venv")
    arguments = prepare.pip_command(python, plan.python, plan.runtime_env.pip, place.cwd)
    try:
        children.run(Command(arguments, plan.driver_env, place.cwd), _PIP_TIMEOUT_S)
    except CommandError as error:
        detail = last_line(directory.log)
        raise PreparationError(f"runtimeEnvYAML.pip: the packages can not be installed: {error}; {detail}") from error
    return python


def start_ray(plan: Plan, directory: AttemptDir, python: Path, place: Workplace, children: Children) -> dict[str, str]:
    """Start the attempt's head node and return what the driver needs in its environment to use it, and only it.

    Raises:
        RayStartError: it did not come up.
        StopRequested: meanwhile the attempt is to end.
    """
    temp_dir, output = Path(plan.temp_dir), directory.path / "ray-start.log"
    token = directory.scratch / "ray-token"
    token.touch(mode=0o600)
    token.write_text(secrets.token_hex(32))
    common = {**_QUIET, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}
    ray_env = {**plan.ray_env, **common, **python_env(python, place, plan.ray_env)}
    command = Command([str(python), "-m", "ray.scripts.scripts", *_start_arguments(plan)], ray_env, place.cwd, output)
    try:
        children.run(command, _START_TIMEOUT_S)
        address = (temp_dir / "ray_current_cluster").read_text().strip()
    except (CommandError, OSError) as error:
        raise RayStartError(f"Ray did not start: {error}; {last_line(output)}") from error
    return {
        **common,
        "RAY_ADDRESS": address,
        "RAY_TMPDIR": str(temp_dir),
        "RAY_JOB_CONFIG_JSON_ENV_VAR": json.dumps({"runtime_env": place.for_ray, "metadata": dict(plan.metadata)}),
        "RAY_OVERRIDE_RESOURCES": json.dumps(limits_of_others(plan)),
    }


def limits_of_others(plan: Plan) -> dict[str, int]:
    """What an instance has that the job starts besides the attempt's own one: no accelerators, admitted or not."""
    return {name: 0 for name in (*_ACCELERATORS, *(plan.resources or {})) if name != "CPU"}


def python_env(python: Path, place: Workplace, env: Mapping[str, str]) -> dict[str, str]:
    """What makes programs find the job's interpreter first, and the interpreter the job's code."""
    return {
        "PATH": os.pathsep.join((str(python.parent), env["PATH"])),
        "PYTHONPATH": os.pathsep.join(map(str, place.python_path)),
        "PYTHONUNBUFFERED": "1",
    }


def _start_arguments(plan: Plan) -> list[str]:
    resources: dict[str, Any] = dict(plan.resources or {})
    cpus, gpus = math.floor(resources.pop("CPU", 0)), math.floor(resources.pop("GPU", 0))
    return [
        "start",
        "--head",
        "--port=0",
        "--node-ip-address=127.0.0.1",
        f"--temp-dir={plan.temp_dir}",
        f"--num-cpus={cpus}",
        f"--num-gpus={gpus}",
        f"--resources={json.dumps(resources)}",
        f"--object-store-memory={plan.object_store_bytes}",
        "--include-dashboard=false",
        "--dashboard-agent-listen-port=0",
        "--disable-usage-stats",
    ]
