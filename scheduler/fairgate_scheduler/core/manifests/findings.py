"""What is wrong with a manifest, where, and what to do; and how a field path is written."""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong. ``field`` is a path such as ``spec.rayClusterSpec.workerGroupSpecs[0].replicas``."""

    field: str
    message: str
    remedy: str = ""

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


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``did you mean …?`` for the nearest known name, else the names themselves if they are few, else nothing."""
    names = list(known)
    by_lower = {candidate.lower(): candidate for candidate in names}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1)
    if close:
        return f"did you mean {by_lower[close[0]]}?"
    return f"known: {', '.join(sorted(names))}" if 0 < len(names) <= 12 else ""
