"""What was found, how bad it is, and what to do."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """ERROR: jobs would not run, or quota could be gone round. WARNING: it works, but not as one may expect."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing. ``where`` names the object."""

    severity: Severity
    where: str
    message: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.severity.value}: {self.where}: {self.message} ({self.remedy})"


def error(where: str, message: str, remedy: str) -> Finding:
    """A finding that must be mended."""
    return Finding(Severity.ERROR, where, message, remedy)


def warning(where: str, message: str, remedy: str) -> Finding:
    """A finding that one should know of."""
    return Finding(Severity.WARNING, where, message, remedy)
