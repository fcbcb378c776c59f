"""The page that says which way round the gate is closed by which rule, made from attack files."""

from collections.abc import Iterable, Sequence
from pathlib import PurePath

from fairgate_admission.facts.rules import RULES
from fairgate_admission.offline.checking import FileResult, Outcome, Result

_HEAD = """# Attacks and what stops them

Each attack file tries one way to an accelerator past the queue, and what must still be possible beside it. This page is
made from them: `fairgate-admission matrix admission/attacks/*.attack.yaml > docs/reference/attack-matrix.md`.
What the layers are, and what they can not stop, is told in [the gate](../explanation/gate.md).
"""


def render_matrix(files: Iterable[FileResult]) -> str:
    """The whole page, the same for the same files."""
    known = list(files)
    lines = [_HEAD, "| way | verdict | rules | layer | file |", "|---|---|---|---|---|"]
    lines += [_row(file, result) for file in known for result in file.results]
    lines += ["", "## Rules", "", "| rule | layer | what it says | cases |", "|---|---|---|---|"]
    lines += [_rule(rule, known) for rule in sorted(RULES)]
    return "\n".join(lines) + "\n"


def _row(file: FileResult, result: Result) -> str:
    got = "allow" if result.verdict.allowed else "deny"
    layer = "" if result.verdict.allowed else str(result.case.layer)
    outcome = got if result.outcome is Outcome.OK else f"{got} ({str(result.outcome).lower()})"
    name = PurePath(file.attack.file).name.removesuffix(".attack.yaml")
    way = f"{file.attack.name}: {result.case.name}".replace("|", "/")
    return f"| {way} | {outcome} | {', '.join(result.rules)} | {layer} | {name} |"


def _rule(rule: str, files: Sequence[FileResult]) -> str:
    count = sum(rule in result.rules for file in files for result in file.results)
    return f"| {rule} | {RULES[rule].layers} | {RULES[rule].says} | {count} |"
