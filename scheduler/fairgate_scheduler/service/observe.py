"""What the runner sees becomes what the store says: progress, ends, losses, and what is unknown or does not start."""

import logging
from collections.abc import Mapping, Sequence
from typing import Final

from fairgate_scheduler.core import lifecycle
from fairgate_scheduler.core.jobs import Attempt, AttemptState, Job, JobState
from fairgate_scheduler.core.lifecycle import Observation, Phase
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.guard import tolerate
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
        seen = {(each.job, each.attempt): each for each in self._app.runner.observe()}
        present = self._app.present()
        for key, observation in seen.items():
            attempt = present.get(key)
            if attempt and _may_be_new(attempt, observation):
                with tolerate(f"writing down {observation.phase} of {key}"):
                    self._record(observation)
        self._clean_up([each for key, each in seen.items() if key not in present])
        for lost in self._lost(seen, present, now_ms):
            with tolerate(f"writing down the loss of {lost.job}"):
                self._record(lost)
        self._give_up(now_ms)

    def next_due_ms(self) -> int | None:
        """When the next attempt without a trace counts as lost."""
        return min((at + self._missing_after_ms for at in self._missing_since.values()), default=None)

    def _record(self, seen: Observation) -> None:
        with self._app.write() as writing:
            job = writing.transaction.get_job(seen.job)
            if job:
                change = lifecycle.observe(job, writing.transaction.get_attempts(seen.job), seen)
                if change:
                    writing.write(change)

    def _give_up(self, now_ms: int) -> None:
        """Evict what should be ready by now. Only right after a look: what is ready has been written down."""
        with self._app.world() as world:
            policy = world.config.policy
            due = [job for job, at_ms in world.unready().items() if at_ms <= now_ms]
        for name in due:
            with tolerate(f"giving up {name}, which is not ready"), self._app.write() as writing:
                job = writing.transaction.get_job(name)
                for attempt in writing.transaction.get_attempts(name):
                    at_ms = lifecycle.unready_at_ms(attempt, policy)
                    if job and job.state is JobState.ADMITTED and at_ms is not None and at_ms <= now_ms:
                        _logger.warning("attempt %s of %s did not get ready in time", attempt.number, name)
                        writing.write(lifecycle.give_up(job, attempt, policy, now_ms))

    def _clean_up(self, traces: Sequence[Observation]) -> None:
        """Forget what has ended and is written down; stop what runs without being admitted."""
        with self._app.world() as world:
            reserved = world.reserved()
        for trace in traces:
            key = (trace.job, trace.attempt)
            if key in reserved:
                continue
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
        due = [job for job, deadline in world.deadlines().items() if deadline <= now_ms]
    for name in due:
        with tolerate(f"ending {name} at its time limit"), app.write() as writing:
            job = writing.transaction.get_job(name)
            attempts = writing.transaction.get_attempts(name)
            if job and job.state is JobState.RUNNING and _is_over(job, attempts, now_ms):
                writing.write(lifecycle.expire(job, attempts, now_ms))


def _is_over(job: Job, attempts: Sequence[Attempt], now_ms: int) -> bool:
    instants = (lifecycle.expires_at_ms(job, each) for each in attempts if each.holds_quota)
    return any(at is not None and at <= now_ms for at in instants)


def _may_be_new(attempt: Attempt, seen: Observation) -> bool:
    return seen.is_gone or (seen.phase is Phase.RUNNING and attempt.state is AttemptState.LAUNCHED)
