"""What every call works on: store, runner, clock, the world in memory, and the signal that something was committed."""

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from fairgate_scheduler.core.jobs import Attempt, Job
from fairgate_scheduler.core.lifecycle import Change
from fairgate_scheduler.core.snapshot import History, Snapshot
from fairgate_scheduler.core.tenancy import Config
from fairgate_scheduler.ports import (
    Clock,
    ConfigVersion,
    Runner,
    StaleVersionError,
    Store,
    Submission,
    Transaction,
)
from fairgate_scheduler.service.errors import FairgateError
from fairgate_scheduler.service.past import ended_attempts
from fairgate_scheduler.service.prospects import Prospects
from fairgate_scheduler.service.reading import SubmitRequest
from fairgate_scheduler.service.templates import Templates
from fairgate_scheduler.service.together import Together
from fairgate_scheduler.service.views import JobView
from fairgate_scheduler.service.world import World

MOST_TOGETHER: Final = 200
"""Single submits that share a transaction."""


class Signal:
    """Tells any number of waiting threads that something happened."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._count = 0

    @property
    def count(self) -> int:
        """How often it was raised."""
        return self._count

    def notify(self) -> None:
        """Wake everybody who waits."""
        with self._condition:
            self._count += 1
            self._condition.notify_all()

    def wait(self, seen: int, timeout_s: float) -> int:
        """Wait until it was raised more often than ``seen`` times, or the time is over; return how often it was."""
        with self._condition:
            self._condition.wait_for(lambda: self._count > seen, timeout_s)
            return self._count


class Writing:
    """The writes of one transaction, remembered so that the world in memory follows when they are committed.

    ``world`` is as it was before them.
    """

    def __init__(self, transaction: Transaction, world: World) -> None:
        self.transaction = transaction
        self.world = world
        self.changes: list[Change] = []
        self.version: ConfigVersion | None = None
        self.history: Mapping[str, History] | None = None
        self.ended: Iterable[tuple[str, Attempt]] = ()

    def look_at(self, jobs: Iterable[str]) -> None:
        """Look once at all the jobs of these resource names that will be asked for one by one."""
        self.transaction.get_jobs(jobs, self.world.jobs)

    def insert(self, change: Change, submission: Submission) -> None:
        """Write a new job with what was submitted. Raises StaleVersionError if the name is taken."""
        self.transaction.insert_job(change.job, submission)
        self._put_rest(change)

    def write(self, change: Change) -> None:
        """Write a change of a job; one that changes nothing is skipped. Raises StaleVersionError."""
        if change.attempts or change.events or change.effects:
            self.transaction.update_job(change.job)
            self._put_rest(change)

    def put_config(self, version: ConfigVersion) -> None:
        """Make this the configuration in force."""
        self.transaction.put_config(version)
        self.version = version

    def settle(self, now_ms: int) -> None:
        """Before the commit: what was used until now is written with a change of who holds quota, or of quota."""
        if self.version is not None:
            self.ended = ended_attempts(self.transaction, self.version.config, now_ms)
        if self.world.past.has_history and (self.version or any(change.attempts for change in self.changes)):
            self.history = self.world.history(now_ms)
            self.transaction.put_history(self.history)

    def _put_rest(self, change: Change) -> None:
        for attempt in change.attempts:
            self.transaction.put_attempt(attempt)
        for event in change.events:
            self.transaction.add_event(change.job.tenant, event)
        for effect in change.effects:
            self.transaction.add_effect(effect)
        self.changes.append(change)


class App:
    """One running service. All of its methods may be called from any thread.

    Writers take turns in this process, so that the world in memory sees commits in their order. ``changes`` is raised
    after each commit.
    """

    def __init__(self, store: Store, runner: Runner, clock: Clock) -> None:
        self.store = store
        self.runner = runner
        self.clock = clock
        self.changes = Signal()
        self.templates = Templates()
        self.prospects = Prospects(store)
        self.submits: Together[SubmitRequest, JobView | FairgateError] = Together(MOST_TOGETHER)
        self._lock = threading.RLock()
        self._world: World | None = None
        self._is_writing = False

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """A transaction for reading only. Never ask for the world inside one: a writer would wait for both."""
        with self.store.transaction(read_only=True) as transaction:
            yield transaction

    @contextmanager
    def write(self) -> Iterator[Writing]:
        """One unit of work: committed as a whole when the block ends, no trace when it raises."""
        with self._lock:
            assert not self._is_writing, "a transaction inside a transaction"
            world = self._current()
            self._is_writing = True
            try:
                with self.store.transaction() as transaction:
                    writing = Writing(transaction, world)
                    yield writing
                    writing.settle(self.clock.now_ms())
            except (FairgateError, StaleVersionError):
                raise  # refused before the commit: the world in memory is still right
            except BaseException:
                self._world = None  # whether it was committed is not known: ask the store
                raise
            finally:
                self._is_writing = False
            if writing.history is not None:
                world.past.keep_history(writing.history)
            for change in writing.changes:
                world.apply(change)
            if writing.version:
                world.apply_config(writing.version, writing.ended)
        if writing.changes or writing.version:
            self.changes.notify()

    @contextmanager
    def world(self) -> Iterator[World]:
        """The world in memory, for as long as the block lasts; writers wait meanwhile."""
        with self._lock:
            yield self._current()

    def snapshot(self) -> Snapshot:
        """The world as a cycle would see it now."""
        with self.world() as world:
            return world.snapshot(self.clock.now_ms())

    def config(self) -> Config:
        """The configuration in force; before the first one is applied, an empty one."""
        with self.world() as world:
            return world.config

    def config_version(self) -> ConfigVersion | None:
        """The configuration in force, ``None`` before the first one is applied."""
        with self.world() as world:
            return world.version

    def live_job(self, name: str) -> Job | None:
        """A job that has not ended."""
        with self.world() as world:
            return world.jobs.get(name)

    def _current(self) -> World:
        if self._world is None:
            with self.store.transaction(read_only=True) as transaction:
                self._world = World.load(transaction, self.clock.now_ms())
        return self._world
