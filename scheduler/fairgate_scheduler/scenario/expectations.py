"""Whether what a story expects holds, form by form, with what is instead."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fairgate_scheduler.core.amounts import Amount, Row, format_quantity, total
from fairgate_scheduler.core.jobs import JobState
from fairgate_scheduler.documents.scalars import format_duration
from fairgate_scheduler.scenario.engine import Engine
from fairgate_scheduler.scenario.story import Expectation

NEVER: Final = "never"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one expectation. ``detail``: of what does not hold, what was expected and what is."""

    index: int
    line: int
    ok: bool
    detail: str = ""


_Answer = tuple[bool, Any, Any]
"""Whether it holds; what was expected and what is, to be shown."""


def evaluate(
    expectation: Expectation, engine: Engine, forms: Mapping[str, Callable[[Engine, Any], _Answer]]
) -> Outcome:
    """The outcome of those of its forms that are among these."""
    details: list[str] = []
    for form, wanted in expectation.forms.items():
        if form not in forms:
            continue
        ok, expected, found = forms[form](engine, wanted)
        if not ok:
            at = f"at {format_duration(engine.now_ms)} " if form in AT else ""
            details.append(f"{at}{form}: expected {_show(expected)}, found {_show(found)}")
    return Outcome(expectation.index, expectation.line, not details, "; ".join(details))


def started_at_ms(engine: Engine, job: str) -> int | None:
    """When a job was first admitted."""
    attempts = engine.world.attempts.get(job)
    return attempts[0].admitted_at_ms if attempts else None


def state_of(engine: Engine, job: str) -> str:
    """A job's state in a word; ``REJECTED`` and ``FUTURE`` are states of the story only."""
    if job in engine.world.jobs:
        state = engine.world.jobs[job].state
        return JobState.RUNNING if state is JobState.ADMITTED else state
    return "REJECTED" if job in engine.rejected else "FUTURE"


def flavor_of(engine: Engine, job: str) -> str | None:
    """The flavor that a job runs on, or ran on last."""
    attempts = engine.world.attempts.get(job)
    return engine.world.jobs[job].options[attempts[-1].option].flavor if attempts else None


def _running_ids(engine: Engine) -> list[str]:
    return sorted(job.id for job, _ in engine.world.running())


def _running(engine: Engine, wanted: tuple[str, ...]) -> _Answer:
    found = _running_ids(engine)
    return sorted(wanted) == found, sorted(wanted), found


def _includes(engine: Engine, wanted: tuple[str, ...]) -> _Answer:
    found = _running_ids(engine)
    return set(wanted) <= set(found), list(wanted), found


def _excludes(engine: Engine, wanted: tuple[str, ...]) -> _Answer:
    found = _running_ids(engine)
    return not set(wanted) & set(found), f"none of {_show(wanted)}", found


def _counts(engine: Engine, wanted: Mapping[str, int]) -> _Answer:
    return _same(wanted, {tenant: len(engine.world.below(tenant, pending=False)) for tenant in wanted})


def _pending(engine: Engine, wanted: Mapping[str, str]) -> _Answer:
    reasons = engine.reasons()
    return _same(wanted, {job: reasons.get(job) or state_of(engine, job) for job in wanted})


def _usage(engine: Engine, wanted: Mapping[str, Mapping[Row, Amount]]) -> _Answer:
    found: dict[str, dict[Row, Amount]] = {}
    for tenant, rows in wanted.items():
        members = [pair for pair in engine.world.running() if tenant in engine.world.config.paths[pair[0].tenant]]
        used = total(attempt.demand for _, attempt in members)
        found[tenant] = {row: used.get(row, 0) for row in rows}
    return found == wanted, _amounts(wanted), _amounts(found)


def _amounts(usage: Mapping[str, Mapping[Row, Amount]]) -> Mapping[str, Mapping[str, str]]:
    return {
        tenant: {f"{flavor} {name}": format_quantity(amount, name) for (flavor, name), amount in rows.items()}
        for tenant, rows in usage.items()
    }


def _flavors(engine: Engine, wanted: Mapping[str, str]) -> _Answer:
    running = {job.id for job, _ in engine.world.running()}
    found = {job: flavor_of(engine, job) if job in running else state_of(engine, job) for job in wanted}
    return _same(wanted, found)


def _forecasts(engine: Engine, wanted: Mapping[str, tuple[int, int]]) -> _Answer:
    found = {job: engine.forecast_ms(job) for job in wanted}
    ok = all(at is not None and wanted[job][0] <= at <= wanted[job][1] for job, at in found.items())
    shown = {job: " to ".join(map(format_duration, interval)) for job, interval in wanted.items()}
    return ok, shown, _instants(found)


def _started_by(engine: Engine, wanted: Mapping[str, int]) -> _Answer:
    found = {job: started_at_ms(engine, job) for job in wanted}
    ok = all(at is not None and at <= wanted[job] for job, at in found.items())
    return ok, _instants(wanted), _instants(found)


def _finished_by(engine: Engine, wanted: Mapping[str, int]) -> _Answer:
    found: dict[str, int | None] = {}
    for name in wanted:
        job = engine.world.jobs.get(name)
        found[name] = job.finished_at_ms if job is not None and job.state is JobState.SUCCEEDED else None
    ok = all(at is not None and at <= wanted[job] for job, at in found.items())
    return ok, _instants(wanted), _instants(found)


def _not_before(engine: Engine, wanted: Mapping[str, int]) -> _Answer:
    found = {job: started_at_ms(engine, job) for job in wanted}
    ok = all(at is None or at >= wanted[job] for job, at in found.items())
    return ok, _instants(wanted), _instants(found)


def _instants(instants: Mapping[str, int | None]) -> Mapping[str, str]:
    return {job: NEVER if at is None else format_duration(at) for job, at in instants.items()}


def _evictions(engine: Engine, wanted: Mapping[str, int]) -> _Answer:
    return _same(wanted, {job: evictions_of(engine, job) for job in wanted})


def evictions_of(engine: Engine, job: str) -> int:
    """How often a job was evicted."""
    return engine.world.jobs[job].evictions if job in engine.world.jobs else 0


def evictions_total(engine: Engine) -> int:
    """How often any job was evicted."""
    return sum(job.evictions for job in engine.world.jobs.values())


def _total(engine: Engine, wanted: int) -> _Answer:
    return _same(wanted, evictions_total(engine))


def _at_most(engine: Engine, wanted: int) -> _Answer:
    return evictions_total(engine) <= wanted, f"{wanted} at most", evictions_total(engine)


def _units(engine: Engine, wanted: int) -> _Answer:
    return _same(wanted, engine.evicted_units)


def _never_running(engine: Engine, wanted: tuple[str, ...]) -> _Answer:
    found = {job: started_at_ms(engine, job) for job in wanted}
    ran = {job: at for job, at in found.items() if at is not None}
    return not ran, f"{_show(wanted)} never to run", _instants(ran)


def _rejected(engine: Engine, wanted: Mapping[str, str]) -> _Answer:
    found = {job: engine.rejected[job].code if job in engine.rejected else "taken" for job in wanted}
    return _same(wanted, found)


def _event_rejected(engine: Engine, wanted: Mapping[int, str]) -> _Answer:
    refused = engine.refused_events
    return _same(wanted, {index: refused[index].code if index in refused else "done" for index in wanted})


def _same(wanted: Any, found: Any) -> _Answer:
    return wanted == found, wanted, found


def _show(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_show(child)}" for key, child in value.items()) + "}"
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list | tuple) else str(value)


AT: Final[Mapping[str, Callable[[Engine, Any], _Answer]]] = {
    "running": _running,
    "running_includes": _includes,
    "running_excludes": _excludes,
    "running_count": _counts,
    "pending": _pending,
    "usage": _usage,
    "flavor": _flavors,
    "forecast": _forecasts,
}
"""Forms about one instant, asked when it is settled."""

WHOLE: Final[Mapping[str, Callable[[Engine, Any], _Answer]]] = {
    "started_by": _started_by,
    "finished_by": _finished_by,
    "not_started_before": _not_before,
    "evictions": _evictions,
    "evictions_total": _total,
    "evictions_max": _at_most,
    "evicted_units": _units,
    "never_running": _never_running,
    "rejected": _rejected,
    "event_rejected": _event_rejected,
}
"""Forms about the whole story, asked at its end."""
