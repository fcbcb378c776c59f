"""Where configurations, manifests and clusters come from, and how it is said that they can not be read."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from fairgate_scheduler.adapters.kube.api import ApiError, UnavailableError
from fairgate_scheduler.adapters.kube.api.http import HttpApi
from fairgate_scheduler.adapters.kube.mapping import check_mapping
from fairgate_scheduler.core.config_checks import Fault, check_config
from fairgate_scheduler.core.tenancy import Config
from fairgate_scheduler.documents.config_file import read_configs
from fairgate_scheduler.documents.problems import DocumentError, Problem
from fairgate_scheduler.entrypoints.settings import ClusterSettings

OK: Final = 0
DIFFERENT: Final = 1
WRONG_INPUT: Final = 2
REFUSED: Final = 4
UNAVAILABLE: Final = 5
_ENDINGS: Final = (".yaml", ".yml")


def read_config(path: Path) -> Config:
    """The configuration of a file, or of all YAML files of a folder. Raises DocumentError."""
    files = sorted(each for each in path.iterdir() if each.suffix in _ENDINGS) if path.is_dir() else [path]
    if not files:
        raise _problem(path, "no configuration in this folder", "its files must end in .yaml")
    return read_configs([(str(file), _text(file)) for file in files], (_checked,))


def read_manifests(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file, also those of a List. Raises DocumentError."""
    try:
        documents = list(yaml.load_all(_text(path), yaml.CSafeLoader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = 1 if mark is None else mark.line + 1
        raise DocumentError([Problem("", line, "it is not YAML", "write manifests as YAML", str(path))]) from error
    for document in documents:
        if isinstance(document, dict):
            items = document.get("items")
            yield from (items if isinstance(items, list) else [document])


def with_cluster(settings: ClusterSettings, act: Callable[[HttpApi], int]) -> int:
    """Do something with a cluster, and say what went wrong."""
    try:
        api = HttpApi.load(settings.kubeconfig, settings.context)
        try:
            return act(api)
        finally:
            api.close()
    except ApiError as error:
        sys.stderr.write(f"error: {error}\n")
        return UNAVAILABLE if isinstance(error, UnavailableError) else REFUSED


def guarded(act: Callable[[], int]) -> int:
    """Do something, and say what is wrong with a document."""
    try:
        return act()
    except DocumentError as error:
        for problem in error.problems:
            sys.stderr.write(f"error: {problem}\n")
        return WRONG_INPUT


def _checked(config: Config) -> tuple[Fault, ...]:
    return check_config(config) or check_mapping(config)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise _problem(path, f"it can not be read: {error.strerror}", "check the path") from error
    except UnicodeDecodeError as error:
        raise _problem(path, "it is not text", "write YAML as UTF-8") from error


def _problem(path: Path, message: str, remedy: str) -> DocumentError:
    return DocumentError([Problem("", 1, message, remedy, str(path))])
