"""The outbox: every order to the runner is carried out at least once, in order for each attempt, then removed.

All that one turn carried out is removed together; after a crash in between it is carried out again.
"""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from fairgate_scheduler.core.jobs import AttemptState
from fairgate_scheduler.core.lifecycle import EffectKind
from fairgate_scheduler.ports import Launch, StoredEffect, Submission
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.world import AttemptKey, World

_logger = logging.getLogger(__name__)
_BATCH: Final = 500
LONGEST_MS: Final = 500
"""How long one turn goes on with what waits: others of its steps are due too."""


@dataclass(frozen=True, slots=True)
class Retry:
    """How long to wait after the first failed delivery, doubled with each further one, and at most."""

    first_ms: int = 500
    most_ms: int = 30_000

    def wait_ms(self, failures: int) -> int:
        """How long to wait after so many failures in a row."""
        return min(self.first_ms << min(failures - 1, 30), self.most_ms)


@dataclass(frozen=True, slots=True)
class _Order:
    """One effect with what is needed to carry it out. ``launch`` is ``None`` for a STOP, and for a LAUNCH that is over:
    its attempt was stopped or has ended since, so that starting it would be wrong."""

    stored: StoredEffect
    launch: Launch | None


@dataclass(frozen=True, slots=True)
class _Failure:
    count: int
    retry_at_ms: int


class Courier:
    """Remembers only which deliveries failed and when to try again; a restart may forget that."""

    def __init__(self, app: App, retry: Retry) -> None:
        self._app = app
        self._retry = retry
        self._failures: dict[int, _Failure] = {}

    def deliver(self, now_ms: int) -> None:
        """Carry out what waits, as much as there is time for. An order that fails is tried again later and holds up
        only its own attempt.
        """
        until_ms = now_ms + LONGEST_MS
        while self._deliver_some(now_ms) and self._app.clock.now_ms() < until_ms:
            pass

    def _deliver_some(self, now_ms: int) -> bool:
        """Carry out the oldest orders. Whether there may be more that can be carried out."""
        orders = self._orders()
        self._failures = {
            each.stored.id: self._failures[each.stored.id] for each in orders if each.stored.id in self._failures
        }
        held_up: set[AttemptKey] = set()
        done: list[int] = []
        for order in orders:
            effect = order.stored.effect
            key = (effect.job, effect.attempt)
            is_over = effect.kind is EffectKind.LAUNCH and order.launch is None
            if is_over or (key not in held_up and self._is_due(order, now_ms) and self._carry_out(order, now_ms)):
                done.append(order.stored.id)
            else:
                held_up.add(key)
        if done:
            with self._app.write() as writing:
                for each in done:
                    writing.transaction.remove_effect(each)
        return len(orders) >= _BATCH and bool(done)

    def next_due_ms(self) -> int | None:
        """When the next failed delivery is tried again."""
        return min((failure.retry_at_ms for failure in self._failures.values()), default=None)

    def _orders(self) -> list[_Order]:
        with self._app.read() as transaction:
            effects = transaction.list_effects(_BATCH + len(self._failures))
            launched = [each.effect.job for each in effects if each.effect.kind is EffectKind.LAUNCH]
            submissions = transaction.get_submissions(launched)
        if not effects:
            return []
        with self._app.world() as world:  # only now, so that it has all that the effects came of
            return [_Order(each, _launch_of(world, each, submissions)) for each in effects]

    def _is_due(self, order: _Order, now_ms: int) -> bool:
        failure = self._failures.get(order.stored.id)
        return failure is None or failure.retry_at_ms <= now_ms

    def _carry_out(self, order: _Order, now_ms: int) -> bool:
        effect = order.stored.effect
        try:
            if order.launch:
                self._app.runner.launch(order.launch)
            else:
                self._app.runner.stop(effect.job, effect.attempt, effect.reason)
        except Exception:
            before = self._failures.get(order.stored.id)
            count = before.count + 1 if before else 1
            wait_ms = self._retry.wait_ms(count)
            self._failures[order.stored.id] = _Failure(count, now_ms + wait_ms)
            _logger.exception(
                "%s of attempt %s of %s failed; again in %s ms", effect.kind, effect.attempt, effect.job, wait_ms
            )
            return False
        self._failures.pop(order.stored.id, None)
        return True


def _launch_of(world: World, stored: StoredEffect, submissions: Mapping[str, Submission]) -> Launch | None:
    effect = stored.effect
    if effect.kind is not EffectKind.LAUNCH:
        return None
    job, attempt = world.jobs.get(effect.job), world.attempts.get((effect.job, effect.attempt))
    if job is None or attempt is None or attempt.state is not AttemptState.LAUNCHED:
        return None
    submission = submissions[job.id]
    return Launch(job, attempt, json.loads(submission.manifest), submission.spec, world.config)
