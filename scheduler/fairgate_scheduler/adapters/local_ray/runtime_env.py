"""A RayJob's ``runtimeEnvYAML`` as far as this machine can give it, and everything in it that it can not."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import yaml

_PASSED_ON: Final = ("excludes", "config", "worker_process_setup_hook")
"""Fields that Ray itself applies to the workers and that mean nothing for the driver."""

OF_THE_RUNNER: Final = frozenset(
    {
        "RAY_ADDRESS",
        "RAY_AUTH_MODE",
        "RAY_AUTH_TOKEN",
        "RAY_AUTH_TOKEN_PATH",
        "RAY_JOB_CONFIG_JSON_ENV_VAR",
        "RAY_OVERRIDE_RESOURCES",
        "RAY_START_HOOK",
        "RAY_TMPDIR",
    }
)
"""Variables that lead an attempt to its own Ray and say what that has: a job must not set them for Ray's start."""

_KNOWN: Final = frozenset({"working_dir", "py_modules", "env_vars", "pip", *_PASSED_ON})
_REMEDIES: Final[Mapping[str, str]] = {
    "uv": "list the packages under pip",
    "conda": "list the packages under pip",
    "container": "images need Kubernetes",
    "image_uri": "images need Kubernetes",
}
_PIP_FIELDS: Final = frozenset({"packages", "pip_check", "pip_version", "pip_install_options"})


@dataclass(frozen=True, slots=True)
class RuntimeEnv:
    """What a job brings along. Paths are absolute; a ``working_dir`` may also be an http(s) URL of a zip file.

    ``pip`` holds the arguments of ``pip install``. ``passed_on`` is for Ray as it is.
    """

    working_dir: str = ""
    py_modules: tuple[str, ...] = ()
    env_vars: Mapping[str, str] = field(default_factory=dict)
    pip: tuple[str, ...] = ()
    passed_on: Mapping[str, Any] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    @classmethod
    def from_plain(cls, content: Mapping[str, Any]) -> "RuntimeEnv":
        """The inverse of ``plain``."""
        lists = {key: tuple(content[key]) for key in ("py_modules", "pip")}
        return cls(**{**content, **lists})


def read_runtime_env(text: str, base_dir: Path) -> tuple[RuntimeEnv, list[str]]:
    """Understand a ``runtimeEnvYAML``; relative paths count from ``base_dir``.

    Returns the runtime env and everything that can not be run here, as sentences that begin with the field.
    """
    try:
        content = yaml.safe_load(text) if text.strip() else {}
    except yaml.YAMLError as error:
        return RuntimeEnv(), [f"runtimeEnvYAML: is not YAML ({' '.join(str(error).split())})"]
    if not isinstance(content, dict):
        return RuntimeEnv(), ["runtimeEnvYAML: must be a map, such as 'working_dir: ./code'"]
    problems = list(_unknown(content))
    working_dir = _working_dir(content.get("working_dir"), base_dir, problems)
    modules = _modules(content.get("py_modules"), base_dir, problems)
    env_vars = _env_vars(content.get("env_vars"), problems)
    pip = _pip(content.get("pip"), base_dir, problems)
    passed_on = {key: content[key] for key in _PASSED_ON if content.get(key) is not None}
    return RuntimeEnv(working_dir, modules, env_vars, pip, passed_on), problems


def _unknown(content: Mapping[Any, Any]) -> Iterator[str]:
    for key in content:
        if key not in _KNOWN:
            remedy = _REMEDIES.get(key, f"it knows {', '.join(sorted(_KNOWN))}")
            yield f"runtimeEnvYAML.{key}: the local runner does not support this; {remedy}"


def _working_dir(value: object, base_dir: Path, problems: list[str]) -> str:
    name = "runtimeEnvYAML.working_dir"
    if value is None:
        return ""
    if not isinstance(value, str) or not value:
        problems.append(f"{name}: must be a directory or a zip file")
        return ""
    if "://" in value:
        parts = urlsplit(value)
        if parts.scheme == "file":
            value = parts.path
        elif parts.scheme in ("http", "https") and parts.path.endswith(".zip"):
            return value
        else:
            problems.append(
                f"{name}: the local runner can not fetch {value!r}; use a directory or zip file of this machine, or an"
                " http(s) URL that ends in .zip"
            )
            return ""
    path = (base_dir / value).resolve()
    if not (path.is_dir() or (path.is_file() and path.suffix == ".zip")):
        problems.append(f"{name}: no directory or zip file {path}; a relative path counts from {base_dir}")
    return str(path)


def _modules(value: object, base_dir: Path, problems: list[str]) -> tuple[str, ...]:
    name = "runtimeEnvYAML.py_modules"
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        problems.append(f"{name}: must be a list of directories, each a Python package")
        return ()
    paths = [(base_dir / each).resolve() for each in value]
    for index, path in enumerate(paths):
        if "://" in value[index] or not path.is_dir():
            problems.append(
                f"{name}[{index}]: no directory {value[index]!r}, seen from {base_dir}; the local runner takes"
                " directories of this machine (wheels: list them under pip)"
            )
    return tuple(map(str, paths))


def _env_vars(value: object, problems: list[str]) -> dict[str, str]:
    name = "runtimeEnvYAML.env_vars"
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(each, str) for item in value.items() for each in item):
        problems.append(f"{name}: must be a map of texts to texts; put numbers in quotes")
        return {}
    for key in value:
        if key.startswith("FAIRGATE_") or key in OF_THE_RUNNER:
            what = "FAIRGATE_*" if key.startswith("FAIRGATE_") else key
            problems.append(f"{name}.{key}: Fairgate sets {what} itself")
        elif not key or "=" in key:
            problems.append(f"{name}: {key!r} is no variable's name")
    return value


def _pip(value: object, base_dir: Path, problems: list[str]) -> tuple[str, ...]:
    """Packages, a requirements file, or a map of packages and options: as arguments of ``pip install``."""
    name = "runtimeEnvYAML.pip"
    options: object = []
    if isinstance(value, dict):
        problems += [
            f"{name}.{key}: unknown; pip has {', '.join(sorted(_PIP_FIELDS))}" for key in value.keys() - _PIP_FIELDS
        ]
        options = value.get("pip_install_options", [])
        value = value.get("packages")
        name = f"{name}.packages"
    if value is None:
        return ()
    if isinstance(value, str):
        path = (base_dir / value).resolve()
        if not path.is_file():
            problems.append(f"{name}: no requirements file {path}; a relative path counts from {base_dir}")
        value = ["-r", str(path)]
    arguments = [*options, *value] if isinstance(options, list) and isinstance(value, list) else [None]
    if not all(isinstance(each, str) for each in arguments):
        problems.append(f"{name}: must be a list of requirements, or the path of a requirements file")
        return ()
    return tuple(map(str, arguments))
