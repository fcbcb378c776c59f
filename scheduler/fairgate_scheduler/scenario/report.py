"""What came of scenario files, for people and for programs."""

import json
from collections.abc import Sequence
from typing import Any

from fairgate_scheduler.documents.problems import DocumentError
from fairgate_scheduler.scenario.simulation import JobResult, ScenarioResult

Result = ScenarioResult | DocumentError

FileResult = tuple[str, Result]
"""A file's name, and what came of it or what is wrong with it."""


def render_json(results: Sequence[FileResult]) -> str:
    """One object for all files; times in seconds. A file that is not valid has ``errors`` and no jobs."""
    return json.dumps({"scenarios": [_scenario(file, result) for file, result in results]}, indent=2)


def render_text(results: Sequence[FileResult]) -> str:
    """A line for each file, below it what does not hold, and a summary if there are several."""
    lines: list[str] = []
    for file, result in results:
        lines += _invalid(file, result) if isinstance(result, DocumentError) else _told(result)
    if len(results) > 1:
        lines.append(_summary(results))
    return "\n".join(lines)


def exit_code(results: Sequence[FileResult]) -> int:
    """0: everything holds; 1: an expectation or an invariant does not; 2: a file is not valid."""
    if any(isinstance(result, DocumentError) for _, result in results):
        return 2
    return 0 if all(isinstance(result, ScenarioResult) and result.ok for _, result in results) else 1


def _told(result: ScenarioResult) -> list[str]:
    holding = sum(outcome.ok for outcome in result.outcomes)
    counted = f"{holding} of {len(result.outcomes)} expectations hold, {result.evictions_total} evictions"
    lines = [f"{'ok' if result.ok else 'FAILED':8}{result.file}: {result.name} ({counted})"]
    lines += [f"        {result.file}:{each.line}: {each.detail}" for each in result.outcomes if not each.ok]
    if result.broken:
        lines.append(f"        a promise of the scheduler is broken, please report it with this file: {result.broken}")
    if not result.ok:
        lines += [f"        note: {refused}" for refused in result.refused_events]
        lines += [f"        note: {job.id} ended as {_fate(job)}" for job in result.jobs if job.state != "SUCCEEDED"]
    return lines


def _fate(job: JobResult) -> str:
    return f"{job.state} ({job.reason})" if job.reason else job.state


def _invalid(file: str, error: DocumentError) -> list[str]:
    return [f"INVALID {file}", *(f"        {problem}" for problem in error.problems)]


def _summary(results: Sequence[FileResult]) -> str:
    ok = sum(isinstance(result, ScenarioResult) and result.ok for _, result in results)
    invalid = sum(isinstance(result, DocumentError) for _, result in results)
    return f"{len(results)} scenarios: {ok} ok, {len(results) - ok - invalid} failed, {invalid} invalid"


def _scenario(file: str, result: ScenarioResult | DocumentError) -> dict[str, Any]:
    if isinstance(result, DocumentError):
        return {"name": None, "file": file, "ok": False, "errors": [str(problem) for problem in result.problems]}
    scenario: dict[str, Any] = {
        "name": result.name,
        "file": result.file,
        "ok": result.ok,
        "expectations": [{"index": each.index, "ok": each.ok, "detail": each.detail} for each in result.outcomes],
        "jobs": [_job(job) for job in result.jobs],
        "evictions_total": result.evictions_total,
        "cycles": result.cycles,
    }
    return scenario | ({"broken": result.broken} if result.broken else {})


def _job(job: JobResult) -> dict[str, Any]:
    return {
        "id": job.id,
        "tenant": job.tenant,
        "state": job.state,
        "flavor": job.flavor,
        "submitted_at": _seconds(job.submitted_at_ms),
        "started_at": _seconds(job.started_at_ms),
        "finished_at": _seconds(job.finished_at_ms),
        "evictions": job.evictions,
        "reason": job.reason,
    }


def _seconds(instant_ms: int | None) -> int | float | None:
    if instant_ms is None:
        return None
    return instant_ms // 1000 if instant_ms % 1000 == 0 else instant_ms / 1000
