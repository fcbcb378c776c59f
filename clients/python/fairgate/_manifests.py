"""Manifests on their way to the service: reading them, and the tenant that one names. The service does the checking."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from fairgate._errors import InvalidArgument, Violation

TENANT: Final = "fairgate.internal/tenant"
_FIELD: Final = "job.manifest"
_Loader: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def manifest_text(manifest: str | Mapping[str, Any] | Path) -> str:
    """A manifest as text: as it is, as JSON, or the content of its file.

    Raises:
        InvalidArgument: the file can not be read, or the mapping holds what JSON has no word for.
    """
    if isinstance(manifest, str):
        if "\n" not in manifest and manifest.endswith((".yaml", ".yml", ".json")):
            raise _refuse(f"{manifest!r} is text, not a manifest", "pass pathlib.Path(...) to name a file")
        return manifest
    try:
        if isinstance(manifest, Path):
            return manifest.read_text(encoding="utf-8")
        return json.dumps(manifest, allow_nan=False, ensure_ascii=False)
    except OSError as error:
        raise _refuse(f"{manifest} can not be read: {error.strerror}", "name a file that exists") from None
    except UnicodeDecodeError:
        raise _refuse(f"{manifest} is not text", "name a YAML or JSON file in UTF-8") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise _refuse(f"the mapping can not be written as JSON: {error}", "use plain values") from None


def tenant_of(manifest: str | Mapping[str, Any]) -> str | None:
    """The tenant that a manifest names in its annotations, ``None`` if it names none.

    Raises:
        InvalidArgument: the manifest is no YAML.
    """
    found = manifest if isinstance(manifest, Mapping) else _load(manifest)
    for key in ("metadata", "annotations", TENANT):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, str) and found else None


def _load(text: str) -> Any:
    try:
        return yaml.load(text.removeprefix("\ufeff"), Loader=_Loader)  # noqa: S506 - a safe loader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f" on line {mark.line + 1}" if mark else ""
        what = " ".join(filter(None, (error.context, error.problem)))
        raise _refuse(f"not YAML{place}: {what}", "check indentation, colons and quotes") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _refuse(f"not YAML: {error}", "check indentation, colons and quotes") from None


def _refuse(message: str, remedy: str) -> InvalidArgument:
    return InvalidArgument([Violation(_FIELD, message, remedy)])
