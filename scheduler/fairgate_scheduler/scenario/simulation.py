"""One file replayed: read, told twice, and what came of it."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from fairgate_scheduler.core.jobs import JobState
from fairgate_scheduler.documents.scalars import format_duration
from fairgate_scheduler.scenario.engine import Engine
from fairgate_scheduler.scenario.expectations import (
    AT,
    WHOLE,
    Outcome,
    evaluate,
    evictions_of,
    evictions_total,
    flavor_of,
    started_at_ms,
    state_of,
)
from fairgate_scheduler.scenario.invariants import BrokenPromiseError
from fairgate_scheduler.scenario.reader import read_story
from fairgate_scheduler.scenario.story import Expectation, JobSpec, Story


@dataclass(frozen=True, slots=True)
class JobResult:
    """What became of one job. Instants in milliseconds; ``reason``: why it waits, was rejected or has failed."""

    id: str
    tenant: str
    state: str
    flavor: str | None
    submitted_at_ms: int
    started_at_ms: int | None
    finished_at_ms: int | None
    evictions: int
    reason: str | None


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """What came of one file. ``broken``: the promise of the scheduler that did not hold, if any."""

    name: str
    file: str
    outcomes: tuple[Outcome, ...]
    jobs: tuple[JobResult, ...]
    refused_events: tuple[str, ...]
    evictions_total: int
    cycles: int
    broken: str = ""

    @property
    def ok(self) -> bool:
        """Whether every expectation and every invariant holds."""
        return not self.broken and all(outcome.ok for outcome in self.outcomes)


def simulate(text: str, name: str) -> ScenarioResult:
    """Replay a scenario file. It is told twice, with jobs in another order the second time: the same must come of it.

    Raises:
        DocumentError: the file is not a valid scenario.
    """
    story = read_story(text, name)
    result, log = _tell(story, backwards=False)
    if result.broken:
        return result
    again, other_log = _tell(story, backwards=True)
    if again != result or log != other_log:
        at = next((one for one, other in zip(log, other_log, strict=False) if one != other), None)
        where = f" from {format_duration(at[0])} on" if at else ""
        return replace(result, broken=again.broken or f"told twice, the story ends differently{where}")
    return result


def _tell(story: Story, *, backwards: bool) -> tuple[ScenarioResult, list[tuple[int, str, str, str]]]:
    engine = Engine(story, backwards=backwards)
    outcomes: dict[int, Outcome] = {}
    broken = ""
    try:
        engine.run(_stops(story, engine, outcomes))
    except (BrokenPromiseError, AssertionError) as error:
        broken = f"at {format_duration(engine.now_ms)}: {str(error) or 'the core contradicts itself'}"
    for expectation in story.expectations:
        whole = evaluate(expectation, engine, WHOLE)
        outcomes[expectation.index] = _both(outcomes.get(expectation.index, whole), whole)
    result = ScenarioResult(
        story.name,
        story.file,
        tuple(outcomes[index] for index in sorted(outcomes)),
        _jobs(story, engine, is_settled=not broken),
        tuple(f"event {index}: {refused.code}: {refused}" for index, refused in engine.refused_events.items()),
        evictions_total(engine),
        engine.cycles,
        broken,
    )
    return result, engine.log


def _stops(story: Story, engine: Engine, outcomes: dict[int, Outcome]) -> dict[int, Callable[[], None]]:
    """What to ask at which instant."""
    by_instant: dict[int, list[Expectation]] = {}
    for expectation in story.expectations:
        if expectation.at_ms is not None:
            by_instant.setdefault(expectation.at_ms, []).append(expectation)

    def ask(expectations: list[Expectation]) -> Callable[[], None]:
        def evaluate_all() -> None:
            outcomes.update({each.index: evaluate(each, engine, AT) for each in expectations})

        return evaluate_all

    return {at_ms: ask(expectations) for at_ms, expectations in by_instant.items()}


def _both(one: Outcome, other: Outcome) -> Outcome:
    details = "; ".join(dict.fromkeys(filter(None, (one.detail, other.detail))))
    return Outcome(one.index, one.line, one.ok and other.ok, details)


def _jobs(story: Story, engine: Engine, *, is_settled: bool) -> tuple[JobResult, ...]:
    reasons = engine.reasons() if is_settled else {}
    return tuple(_job(spec, engine, reasons.get(spec.id)) for spec in story.jobs.values())


def _job(spec: JobSpec, engine: Engine, hold: str | None) -> JobResult:
    job = engine.world.jobs.get(spec.id)
    reason = str(engine.rejected[spec.id].code) if spec.id in engine.rejected else hold
    if job is not None and job.state in (JobState.FAILED, JobState.CANCELLED):
        reason = job.message or None
    return JobResult(
        spec.id,
        spec.tenant,
        str(state_of(engine, spec.id)),
        flavor_of(engine, spec.id),
        spec.at_ms,
        started_at_ms(engine, spec.id),
        None if job is None else job.finished_at_ms,
        evictions_of(engine, spec.id),
        None if reason is None else str(reason),
    )
