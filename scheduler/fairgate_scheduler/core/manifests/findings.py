"""What is wrong with a manifest, where, and what to do; and how a field path is written."""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Final

MISSING: Final = "is missing"
"""The message about a field that must be there."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong. ``field`` is a path such as ``spec.rayClusterSpec.workerGroupSpecs[0].replicas``.

    ``meant``: of a field that is not known, the path of the absent one that was probably meant; "": none.
    """

    field: str
    message: str
    remedy: str = ""
    meant: str = dataclass_field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.field}: {self.message}{'; ' if self.remedy else ''}{self.remedy}"


class ManifestError(ValueError):
    """A manifest or its options can not be run. ``findings`` holds everything that is wrong, in document order."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(map(str, self.findings)))


def child(path: str, key: str) -> str:
    """The path of a field below another. Keys that are not plain words are put in brackets, as Kubernetes does."""
    if not path:
        return key
    return f"{path}.{key}" if key.replace("_", "").isalnum() else f"{path}[{key}]"


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that this one is most like, "" if it is like none."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1)
    return by_lower[close[0]] if close else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``did you mean …?`` for the nearest known name, else the names themselves if they are few, else nothing."""
    names = list(known)
    close = nearest(name, names)
    if close:
        return f"did you mean {close}?"
    return f"known: {', '.join(sorted(names))}" if 0 < len(names) <= 12 else ""


def describe(value: object) -> str:
    """A value in a few words, for a message about it."""
    if isinstance(value, dict):
        return "a map"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "nothing"
    return repr(value) if len(repr(value)) <= 60 else f"{repr(value)[:57]}…"
