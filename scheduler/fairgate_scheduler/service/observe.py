"""What the runner sees becomes what the store says: progress, ends, losses, and what is unknown or does not start."""

import logging
from collections.abc import Mapping, Sequence
from typing import Final

from fairgate_scheduler.core import lifecycle
from fairgate_scheduler.core.jobs import Attempt, AttemptState, Job, JobState
from fairgate_scheduler.core.lifecycle import Observation, Phase
from fairgate_scheduler.service.app import App, Writing
from fairgate_scheduler.service.guard import tolerate, write_each
from fairgate_scheduler.service.world import AttemptKey

_logger = logging.getLogger(__name__)
_ALL: Final = 1_000_000


class Observer:
    """Remembers only since when an attempt has been without a trace; a restart may forget that.

    An attempt that should be there and has had no trace for ``missing_after_ms`` is lost: the LAUNCH of it was carried
    out, so a trace of it was left, and now there is none.
    """

    def __init__(self, app: App, missing_after_ms: int) -> None:
        self._app = app
        self._missing_after_ms = missing_after_ms
        self._missing_since: dict[AttemptKey, int] = {}
        self._strays: set[AttemptKey] = set()

    def observe(self, now_ms: int) -> None:
        """Look once, and write down what is new. Raises what the runner raises."""
        traces = self._app.runner.observe()
        strangers = self._strangers(traces)
        seen = {(each.job, each.attempt): each for each in traces if each not in strangers}
        with self._app.world() as world:
            present = world.present()
        news = [each for key, each in seen.items() if key in present and _may_be_new(present[key], each)]
        self._record(news)
        self._clean_up([each for key, each in seen.items() if key not in present], strangers)
        self._record(self._lost(seen, present, now_ms))
        self._give_up(now_ms)

    def next_due_ms(self) -> int | None:
        """When the next attempt without a trace counts as lost."""
        return min((at + self._missing_after_ms for at in self._missing_since.values()), default=None)

    def _record(self, observations: Sequence[Observation]) -> None:
        def write(writing: Writing, job: Job, seen: Observation) -> None:
            change = lifecycle.observe(job, _attempts(writing, job), seen)
            if change:
                writing.write(change)

        write_each(self._app, observations, lambda seen: seen.job, write, "writing down what was seen")

    def _give_up(self, now_ms: int) -> None:
        """Evict what should be ready by now. Only right after a look: what is ready has been written down."""
        with self._app.world() as world:
            policy, due = world.config.policy, world.unready(now_ms)

        def write(writing: Writing, job: Job, name: str) -> None:
            for attempt in _attempts(writing, job):
                at_ms = lifecycle.unready_at_ms(attempt, policy)
                if job.state is JobState.ADMITTED and at_ms is not None and at_ms <= now_ms:
                    _logger.warning("attempt %s of %s did not get ready in time", attempt.number, name)
                    writing.write(lifecycle.give_up(job, attempt, policy, now_ms))

        write_each(self._app, due, str, write, "giving up what is not ready")

    def _strangers(self, traces: Sequence[Observation]) -> list[Observation]:
        """What is seen of earlier jobs whose ids other jobs have now: the state was restored from a backup."""
        with self._app.world() as world:
            return [each for each in traces if each.job in world.jobs and not each.is_of(world.jobs[each.job])]

    def _clean_up(self, unknown: Sequence[Observation], strangers: Sequence[Observation]) -> None:
        """Forget what has ended and is written down; stop what runs without being admitted."""
        with self._app.world() as world:
            reserved = world.books().reserved
        traces = [each for each in unknown if (each.job, each.attempt) not in reserved]
        for trace in (*traces, *strangers):
            key = (trace.job, trace.attempt)
            with tolerate(f"cleaning up after {key}"):
                if trace.is_gone:
                    self._app.runner.forget(*key)
                    self._strays.discard(key)
                else:
                    if key not in self._strays:
                        _logger.warning("attempt %s of %s runs without being admitted: stopping it", key[1], key[0])
                        self._strays.add(key)
                    self._app.runner.stop(*key, "it is not admitted")

    def _lost(
        self, seen: Mapping[AttemptKey, Observation], present: Mapping[AttemptKey, Attempt], now_ms: int
    ) -> list[Observation]:
        missing = present.keys() - seen.keys()
        if missing:
            with self._app.read() as transaction:
                missing -= {(each.effect.job, each.effect.attempt) for each in transaction.list_effects(_ALL)}
        self._missing_since = {key: self._missing_since.get(key, now_ms) for key in missing}
        return [
            Observation(*key, Phase.LOST, now_ms, is_gone=True, message="the runner has no trace of it")
            for key, since_ms in sorted(self._missing_since.items())
            if now_ms - since_ms >= self._missing_after_ms
        ]


def expire(app: App, now_ms: int) -> None:
    """End every job whose attempt has run for its time limit."""
    with app.world() as world:
        due = world.expired(now_ms)

    def write(writing: Writing, job: Job, _: str) -> None:
        attempts = _attempts(writing, job)
        if job.state is JobState.RUNNING and _is_over(job, attempts, now_ms):
            writing.write(lifecycle.expire(job, attempts, now_ms))

    write_each(app, due, str, write, "ending what has reached its time limit")


def _attempts(writing: Writing, job: Job) -> Sequence[Attempt]:
    """All attempts of a job. Of the first one the world in memory knows, as long as nothing is written here yet."""
    first = writing.world.attempts.get((job.id, 1))
    known = writing.world.jobs.get(job.id)
    if job.attempts == 1 and first is not None and known is not None and known.version == job.version:
        return (first,)
    return writing.transaction.get_attempts(job.id)


def _is_over(job: Job, attempts: Sequence[Attempt], now_ms: int) -> bool:
    instants = (lifecycle.expires_at_ms(job, each) for each in attempts if each.holds_quota)
    return any(at is not None and at <= now_ms for at in instants)


def _may_be_new(attempt: Attempt, seen: Observation) -> bool:
    return seen.is_gone or (seen.phase is Phase.RUNNING and attempt.state is AttemptState.LAUNCHED)
