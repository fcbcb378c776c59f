"""The outbox: every order to the runner is carried out at least once, in order for each attempt, then removed."""

import json
import logging
from dataclasses import dataclass
from typing import Final

from fairgate_scheduler.core.jobs import AttemptState
from fairgate_scheduler.core.lifecycle import EffectKind
from fairgate_scheduler.core.tenancy import Config
from fairgate_scheduler.ports import Launch, StoredEffect, Transaction
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.world import AttemptKey

_logger = logging.getLogger(__name__)
_BATCH: Final = 500


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
        """Carry out what waits. An order that fails is tried again later and holds up only its own attempt."""
        orders = self._orders()
        self._failures = {
            each.stored.id: self._failures[each.stored.id] for each in orders if each.stored.id in self._failures
        }
        held_up: set[AttemptKey] = set()
        for order in orders:
            effect = order.stored.effect
            key = (effect.job, effect.attempt)
            is_over = effect.kind is EffectKind.LAUNCH and order.launch is None
            if is_over or (key not in held_up and self._is_due(order, now_ms) and self._carry_out(order, now_ms)):
                with self._app.write() as writing:
                    writing.transaction.remove_effect(order.stored.id)
            else:
                held_up.add(key)

    def next_due_ms(self) -> int | None:
        """When the next failed delivery is tried again."""
        return min((failure.retry_at_ms for failure in self._failures.values()), default=None)

    def _orders(self) -> list[_Order]:
        version = self._app.config_version()
        with self._app.read() as transaction:
            effects = transaction.list_effects(_BATCH + len(self._failures))
            if not effects or version is None:
                return []
            return [_Order(each, _launch_of(transaction, each, version.config)) for each in effects]

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


def _launch_of(transaction: Transaction, stored: StoredEffect, config: Config) -> Launch | None:
    effect = stored.effect
    if effect.kind is not EffectKind.LAUNCH:
        return None
    job = transaction.get_job(effect.job)
    submission = transaction.get_submission(effect.job)
    attempt = next((each for each in transaction.get_attempts(effect.job) if each.number == effect.attempt), None)
    if job is None or submission is None or attempt is None or attempt.state is not AttemptState.LAUNCHED:
        return None
    return Launch(job, attempt, json.loads(submission.manifest), submission.spec, config)
