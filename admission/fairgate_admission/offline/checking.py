"""What comes of the cases of attack files, case by case."""

from dataclasses import dataclass
from enum import StrEnum

from fairgate_admission.facts.verdict import Verdict
from fairgate_admission.offline.cases import AttackFile, Case, Layer
from fairgate_admission.offline.document_world import DocumentWorld
from fairgate_admission.offline.reading import read_attack_file
from fairgate_admission.review.reviewing import backstop, review


class Outcome(StrEnum):
    """What came of a case. LEFT: only a cluster's roles could refuse it, so nothing can be said here."""

    OK = "ok"
    FAILED = "FAILED"
    LEFT = "left"


@dataclass(frozen=True)
class Result:
    """One case, what it got, and whether that is what it wanted."""

    case: Case
    verdict: Verdict
    outcome: Outcome

    @property
    def rules(self) -> tuple[str, ...]:
        """Every rule that was broken, once, in order."""
        return tuple(dict.fromkeys(denial.rule for denial in self.verdict.denials))


@dataclass(frozen=True)
class FileResult:
    """What came of one file."""

    attack: AttackFile
    results: tuple[Result, ...]

    @property
    def ok(self) -> bool:
        """Whether no case got another verdict than it wanted."""
        return all(result.outcome is not Outcome.FAILED for result in self.results)


def check(text: str, file: str) -> FileResult:
    """Read a file and try its cases.

    Raises:
        DocumentError: the file is not valid.
    """
    attack = read_attack_file(text, file)
    world = DocumentWorld(attack.setting)
    return FileResult(attack, tuple(_try(case, world) for case in attack.cases))


def _try(case: Case, world: DocumentWorld) -> Result:
    by_policy = case.layer is Layer.POLICY and not case.want_allow
    verdict = backstop(case.request, world) if by_policy else review(case.request, world)
    result = Result(case, verdict, Outcome.OK)
    if verdict.allowed and case.layer is Layer.RBAC and not case.want_allow:
        return Result(case, verdict, Outcome.LEFT)
    if verdict.allowed is not case.want_allow or (not case.want_allow and case.rule not in ("", *result.rules)):
        return Result(case, verdict, Outcome.FAILED)
    return result
