"""What is wrong with a document: where, what, and what to do about it. All of it, not just the first."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong. ``path`` is the field (``tenants[2].quota.h100``), ``line`` counts from 1."""

    path: str
    line: int
    message: str
    remedy: str = ""
    file: str = ""

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}: " if self.file else f"line {self.line}: "
        field = f"{self.path}: " if self.path else ""
        remedy = f" ({self.remedy})" if self.remedy else ""
        return f"{where}{field}{self.message}{remedy}"


class DocumentError(ValueError):
    """A document is not what it should be. ``problems`` holds everything that was found, once, by line."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(
            sorted(dict.fromkeys(problems), key=lambda each: (each.file, each.line))
        )
        super().__init__("\n".join(map(str, self.problems)))


def suggest(word: str, known: Iterable[str], what: str = "one of") -> str:
    """``did you mean …?`` if a known word is near, else the known words."""
    words: Sequence[str] = list(known)
    near = get_close_matches(word, words, n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]!r}?"
    if not words:
        return "there are none"
    shown = ", ".join(words[:20]) + (", …" if len(words) > 20 else "")
    return f"expected {what} {shown}"
