"""What came of attack files, for people and for programs."""

import json
from collections.abc import Sequence
from typing import Any

from fairgate_scheduler.documents.problems import DocumentError

from fairgate_admission.offline.cases import Case
from fairgate_admission.offline.checking import FileResult, Outcome, Result

Checked = tuple[str, FileResult | DocumentError]
"""A file's name, and what came of it or what is wrong with it."""


def exit_code(checked: Sequence[Checked]) -> int:
    """0: every case got what it wanted; 1: one did not; 2: a file is not valid."""
    if any(isinstance(result, DocumentError) for _, result in checked):
        return 2
    return 0 if all(isinstance(result, FileResult) and result.ok for _, result in checked) else 1


def render_text(checked: Sequence[Checked]) -> str:
    """A line for each case, below it what it got where that is not what it wanted, and a summary."""
    lines: list[str] = []
    for file, result in checked:
        if isinstance(result, DocumentError):
            lines += [f"INVALID {file}", *(f"  {problem}" for problem in result.problems)]
            continue
        lines.append(f"{file}: {result.attack.name}" if result.attack.name != file else file)
        for each in result.results:
            lines += _told(each, file)
    return "\n".join([*lines, _summary(checked)])


def render_json(checked: Sequence[Checked]) -> str:
    """One object for all files. A file that is not valid has ``errors`` and no cases."""
    files = []
    for file, result in checked:
        if isinstance(result, DocumentError):
            files.append({"file": file, "ok": False, "errors": list(map(str, result.problems)), "cases": []})
        else:
            cases = [_case(each) for each in result.results]
            files.append({"file": file, "ok": result.ok, "errors": [], "cases": cases})
    return json.dumps({"ok": exit_code(checked) == 0, "files": files}, indent=2)


def _told(result: Result, file: str) -> list[str]:
    case, got = result.case, _word(result.verdict.allowed)
    line = f"  {result.outcome:7}{got:6} {result.verdict.rule:15} {case.name}"
    if result.outcome is Outcome.OK:
        return [line.rstrip()]
    if result.outcome is Outcome.LEFT:
        return [line.rstrip(), "         only the cluster's roles can refuse it: try it there"]
    told = [f"         {part}" for part in result.verdict.message.splitlines()]
    return [line.rstrip(), f"         {file}:{case.line}: wanted {_wanted(case)}, got {got}", *told]


def _wanted(case: Case) -> str:
    return f"{_word(case.want_allow)}{f' by {case.rule}' if case.rule else ''} ({case.layer})"


def _word(is_allowed: bool) -> str:
    return "allow" if is_allowed else "deny"


def _summary(checked: Sequence[Checked]) -> str:
    outcomes = [each.outcome for _, result in checked if isinstance(result, FileResult) for each in result.results]
    invalid = sum(isinstance(result, DocumentError) for _, result in checked)
    parts = [f"{len(outcomes)} cases", f"{outcomes.count(Outcome.OK)} as wanted"]
    parts += [f"{outcomes.count(Outcome.FAILED)} not"] if Outcome.FAILED in outcomes else []
    parts += [f"{outcomes.count(Outcome.LEFT)} left to the cluster"] if Outcome.LEFT in outcomes else []
    return ", ".join([*parts, *([f"{invalid} files invalid"] if invalid else [])])


def _case(result: Result) -> dict[str, Any]:
    case = result.case
    return {
        "name": case.name,
        "line": case.line,
        "outcome": str(result.outcome).lower(),
        "wanted": _word(case.want_allow),
        "got": _word(result.verdict.allowed),
        "layer": str(case.layer),
        "rule": result.verdict.rule,
        "rules": list(result.rules),
        "message": result.verdict.message,
    }
