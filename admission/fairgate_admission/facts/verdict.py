"""What the gate answers: allowed, or every reason why not, each with the rule that it breaks."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

SUBMIT: Final = (
    "run it as a RayJob: `fairgate submit -f FILE`, or apply it with the label kueue.x-k8s.io/queue-name: inbox"
)
"""What to do instead of most things that are refused."""


@dataclass(frozen=True, slots=True)
class Denial:
    """One reason. ``rule`` is an id of ``rules.RULES``; ``field`` a path in the object, "" for the request itself."""

    rule: str
    field: str
    found: str
    remedy: str

    def __str__(self) -> str:
        where = f" (field {self.field})" if self.field else ""
        return f"[{self.rule}] {self.found}{where}; {self.remedy}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to one request. ``subject`` names what it was about: kind and name."""

    subject: str
    denials: tuple[Denial, ...] = ()

    @property
    def allowed(self) -> bool:
        """Whether the request may go on."""
        return not self.denials

    @property
    def rule(self) -> str:
        """The first rule that was broken; "" if none was."""
        return self.denials[0].rule if self.denials else ""

    @property
    def message(self) -> str:
        """What the caller reads: every reason on a line of its own; "" if it is allowed."""
        if not self.denials:
            return ""
        return "\n".join([f"{self.subject} is refused by Fairgate:", *map(str, self.denials)])


def verdict(subject: str, denials: Iterable[Denial]) -> Verdict:
    """The verdict of these reasons, each once, in order."""
    return Verdict(subject, tuple(dict.fromkeys(denials)))
