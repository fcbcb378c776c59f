"""The names that a scenario file declares, and readers that take no other."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from fairgate_scheduler.documents.nodes import Node
from fairgate_scheduler.documents.problems import Problem, suggest
from fairgate_scheduler.documents.scalars import read_text, wrong

NOTHING: Final[tuple[str, ...]] = ()


@dataclass(frozen=True, slots=True)
class Names:
    """What is declared anywhere in the file; ``tenants`` also holds those that an event adds."""

    flavors: Sequence[str]
    tenants: Sequence[str]
    jobs: Sequence[str] = NOTHING
    events: int = 0

    def with_jobs(self, jobs: Iterable[str]) -> "Names":
        """The same with these jobs."""
        return replace(self, jobs=tuple(jobs))

    def with_events(self, count: int) -> "Names":
        """The same with so many events."""
        return replace(self, events=count)

    def flavor(self, node: Node) -> str:
        """The name of a flavor."""
        return _known("flavor", self.flavors)(node)

    def tenant(self, node: Node) -> str:
        """The path of a tenant."""
        return _known("tenant", self.tenants)(node)

    def job(self, node: Node) -> str:
        """The id of a job, with the number that a repeat gives it."""
        return _known("job", self.jobs)(node)


def check_keys(node: Node, what: str, known: Sequence[str], problems: list[Problem]) -> None:
    """Problems for the keys of a mapping that are not names of these."""
    names = set(known)
    problems.extend(
        node.key_problem(key, f"there is no {what} {key!r}", suggest(key, known))
        for key in node.entries
        if key not in names
    )


def _known(what: str, known: Sequence[str]) -> Callable[[Node], str]:
    def read(node: Node) -> str:
        text = read_text(node)
        if text not in known:
            raise wrong(node, f"there is no {what} {text!r}", suggest(text, known))
        return text

    return read
