"""What an attempt needs on disk before its Ray starts: its own copy of the code, and its own Python environment."""

import importlib.util
import shutil
import string
import sysconfig
import urllib.error
import urllib.request
import venv
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fairgate_scheduler.adapters.local_ray.runtime_env import RuntimeEnv

WORKING_DIR_VARIABLE: Final = "RAY_RUNTIME_ENV_CREATE_WORKING_DIR"
"""In pip requirements Ray puts the job's working directory in the place of this variable; so do we."""

_NOT_COPIED: Final = (".git", ".venv", "venv", "__pycache__")
_FETCH_TIMEOUT_S: Final = 60
_MODULES: Final = "py_modules"


class PreparationError(Exception):
    """The job brings something that can not be had; the message says what and why."""


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where the driver runs and what it can import. ``for_ray`` is the runtime env that Ray gives to the workers."""

    cwd: Path
    python_path: tuple[Path, ...]
    for_ray: Mapping[str, Any]


def make_workplace(env: RuntimeEnv, folder: Path) -> Workplace:
    """Copy the job's code to ``folder``, so that attempts neither change it nor see each other's changes.

    Raises:
        PreparationError: something is not there, or not what it should be.
    """
    cwd = folder / "work"
    try:
        if env.working_dir:
            _copy_working_dir(env.working_dir, cwd)
        cwd.mkdir(parents=True, exist_ok=True)
        modules = [_copy(Path(module), folder / _MODULES / Path(module).name) for module in env.py_modules]
    except (OSError, shutil.Error, zipfile.BadZipFile, urllib.error.URLError) as error:
        raise PreparationError(f"the job's code can not be brought here: {error}") from error
    for_ray = dict(env.passed_on)
    if env.working_dir:
        for_ray["working_dir"] = str(cwd)
    if modules:
        for_ray[_MODULES] = list(map(str, modules))
    if env.env_vars:
        for_ray["env_vars"] = dict(env.env_vars)
    return Workplace(cwd, (cwd, *((folder / _MODULES,) if modules else ())), for_ray)


def make_python(folder: Path) -> Path:
    """Make a virtual environment that sees everything that ours sees, and return its interpreter.

    ``system-site-packages`` would show the packages of the interpreter that ours was made from, not ours: a ``.pth``
    file adds them, behind what is installed into the new one.
    """
    venv.create(folder, with_pip=False, symlinks=True)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    ours = dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    lines = [f"import site; site.addsitedir({path!r})\n" for path in ours]
    (site / "_fairgate_parent.pth").write_text("".join(lines))
    return folder / "bin" / "python"


def pip_command(python: Path, ours: str, arguments: tuple[str, ...], cwd: Path) -> list[str]:
    """The command that installs a job's packages into its environment.

    Raises:
        PreparationError: there is no pip.
    """
    if importlib.util.find_spec("pip") is None:
        raise PreparationError("runtimeEnvYAML.pip: the server's Python environment has no pip; add it, then try again")
    packages = [string.Template(each).safe_substitute({WORKING_DIR_VARIABLE: str(cwd)}) for each in arguments]
    quiet = ("--quiet", "--disable-pip-version-check", "--no-input")
    return [ours, "-m", "pip", "--python", str(python), "install", *quiet, *packages]


def expand(env_vars: Mapping[str, str], env: Mapping[str, str]) -> dict[str, str]:
    """Put the values of ``env`` in the place of ``${NAME}``, as Ray does for workers; unknown names become nothing."""
    known = _Values(env)
    return {key: string.Template(value).safe_substitute(known) for key, value in env_vars.items()}


class _Values(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return ""


def _copy_working_dir(source: str, target: Path) -> None:
    if "://" in source:
        archive = target.with_suffix(".zip")
        target.parent.mkdir(parents=True, exist_ok=True)
        with urllib.request.urlopen(source, timeout=_FETCH_TIMEOUT_S) as reply, archive.open("wb") as file:
            shutil.copyfileobj(reply, file)
        _unzip(archive, target)
        archive.unlink()
        _drop_single_top(target)
    elif source.endswith(".zip"):
        _unzip(Path(source), target)
    else:
        _copy(Path(source), target)


def _copy(source: Path, target: Path) -> Path:
    ignore = shutil.ignore_patterns(*_NOT_COPIED)
    shutil.copytree(source, target, ignore=ignore, ignore_dangling_symlinks=True, dirs_exist_ok=True)
    return target


def _unzip(archive: Path, target: Path) -> None:
    with zipfile.ZipFile(archive) as content:
        content.extractall(target)


def _drop_single_top(folder: Path) -> None:
    """Archives from the web wrap everything into one folder, which Ray takes away; do the same."""
    entries = list(folder.iterdir())
    if len(entries) != 1 or not entries[0].is_dir():
        return
    aside = folder.with_name(f"{folder.name}.top")
    entries[0].rename(aside)
    folder.rmdir()
    aside.rename(folder)
