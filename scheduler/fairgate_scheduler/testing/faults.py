"""Faults for simulations: a server that crashes between any two calls, and a runner that fails and answers late."""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from fairgate_scheduler.core.amounts import Amount, Row
from fairgate_scheduler.core.config_checks import Fault
from fairgate_scheduler.core.lifecycle import Observation
from fairgate_scheduler.core.tenancy import Config, Tenant
from fairgate_scheduler.ports import Launch, LogChunk, Runner, Store, Transaction

Value = TypeVar("Value")


class Crash(BaseException):
    """The server is gone, with all that it had in memory. No ``except Exception`` sees it, as none sees a SIGKILL."""


class Broken(RuntimeError):  # noqa: N818 - reads better in a log than …Error
    """The store or the runner could not do, or could not tell that it did, what it was asked for."""


class CrashPoints:
    """Numbers the places at which the server may crash and crashes where it was told to.

    ``is_due`` gets the number of the place, from 1, and says whether the server crashes there.
    """

    def __init__(self, is_due: Callable[[int], bool]) -> None:
        self.passed = 0
        self.is_on = True
        self._is_due = is_due

    def __call__(self) -> None:
        """Pass one place, or not."""
        if self.is_on:
            self.passed += 1
            if self._is_due(self.passed):
                raise Crash(self.passed)


@dataclass(frozen=True, slots=True)
class Unreliability:
    """How often, in a hundred calls, something goes wrong."""

    error: int = 0
    """A call of the runner fails, half of the times after it has done what it should."""
    disk: int = 0
    """A commit fails, half of the times after it was made."""
    late: int = 0
    """An attempt is seen as it was at the last look."""
    unseen: int = 0
    """An attempt is not seen in one look, though it is there."""
    twice: int = 0
    """An attempt is in the answer twice."""


class FaultyStore:
    """A store on a bad disk, whose user may crash before a transaction, before its commit, and after it."""

    def __init__(self, store: Store, point: CrashPoints, faults: Unreliability, chance: random.Random) -> None:
        self.faults = faults
        self._store = store
        self._point = point
        self._chance = chance

    @contextmanager
    def transaction(self, *, read_only: bool = False) -> Iterator[Transaction]:
        """As the store's own."""
        self._point()
        fails = self._chance.randrange(100) < self.faults.disk
        is_done = self._chance.random() < 0.5
        with self._store.transaction(read_only=read_only) as transaction:
            yield transaction
            self._point()
            if fails and not is_done:
                raise Broken("the disk is full")
        self._point()
        if fails:
            raise Broken("nobody knows whether it was written")

    def close(self) -> None:
        """Nothing: the store outlives its user."""


class FaultyRunner:
    """A runner behind a bad connection, whose user may crash before and after every call."""

    def __init__(self, runner: Runner, point: CrashPoints, faults: Unreliability, chance: random.Random) -> None:
        self.faults = faults
        self._runner = runner
        self._point = point
        self._chance = chance
        self._last: dict[tuple[str, int], Observation] = {}
        self._was_unseen = False

    def check(self, manifest: Mapping[str, Any], tenant: Tenant) -> Sequence[str]:
        """What can not run."""
        return self._runner.check(manifest, tenant)

    def objections(self, config: Config) -> Iterable[Fault]:
        """What can not be kept."""
        return self._runner.objections(config)

    def remarks(self, config: Config) -> Sequence[str]:
        """What has no effect."""
        return self._runner.remarks(config)

    def capacity(self, config: Config) -> Mapping[Row, Amount]:
        """What is there."""
        return self._runner.capacity(config)

    def launch(self, launch: Launch) -> None:
        """Start an attempt, perhaps."""
        self._call(lambda: self._runner.launch(launch))

    def stop(self, job: str, attempt: int, reason: str) -> None:
        """Stop an attempt, perhaps."""
        self._call(lambda: self._runner.stop(job, attempt, reason))

    def observe(self) -> Sequence[Observation]:
        """What is true now, or was a moment ago. What is left out of one look is in the next one."""
        now = {(each.job, each.attempt): each for each in self._call(self._runner.observe)}
        out: list[Observation] = []
        unseen = not self._was_unseen and self._is_due(self.faults.unseen)
        for key, observation in now.items():
            seen = self._last.get(key, observation) if self._is_due(self.faults.late) else observation
            out += [seen, seen] if self._is_due(self.faults.twice) else [seen]
        if unseen and out:
            out.remove(self._chance.choice(out))
        self._was_unseen = unseen
        self._last = now
        return out

    def forget(self, job: str, attempt: int) -> None:
        """Forget an attempt, perhaps."""
        self._call(lambda: self._runner.forget(job, attempt))

    def read_log(self, job: str, attempt: int, offset: int, limit: int, uid: str = "") -> LogChunk:
        """Its log."""
        return self._runner.read_log(job, attempt, offset, limit, uid)

    def _call(self, call: Callable[[], Value]) -> Value:
        self._point()
        fails = self._is_due(self.faults.error)
        if fails and self._chance.random() < 0.5:
            raise Broken("no answer")
        answer = call()
        self._point()
        if fails:
            raise Broken("the answer was lost")
        return answer

    def _is_due(self, of_a_hundred: int) -> bool:
        return of_a_hundred > 0 and self._chance.randrange(100) < of_a_hundred
