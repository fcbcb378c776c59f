"""What callers are told of the time to come: from frozen snapshots, outside of every lock, in bounded work.

One forecast is made at a time, so that many callers can not keep the machine from deciding; who waits too long for
their turn is told that it is not known.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, TypeVar

from fairgate_scheduler.core.advice import Help, advise
from fairgate_scheduler.core.budgets import HOUR_MS, reserved_by
from fairgate_scheduler.core.holds import Waiting
from fairgate_scheduler.core.jobs import Job
from fairgate_scheduler.core.outlook import GoOn, Outlook, Typical, outlook, outlooks, sample
from fairgate_scheduler.core.snapshot import HoldReason, Snapshot
from fairgate_scheduler.core.tenancy import Config
from fairgate_scheduler.ports import Store
from fairgate_scheduler.service.typical import TypicalRuns
from fairgate_scheduler.service.views import OptionCost, Prospect

WORK_S: Final = 1.0
"""Processor time that a forecast may take; what was begun is ended, so it can be a plan or two more."""
PATIENCE_S: Final = 3.0
"""How long a caller waits for others' forecasts to be made."""
FRESH_S: Final = 2.0
"""So long a forecast of all jobs is given to everybody who asks for one."""

Value = TypeVar("Value")

_logger = logging.getLogger(__name__)
_LAST: Final = 2**62
"""A job that is not submitted yet comes after all that are."""


class Prospects:
    """The forecasts of one service. All of its methods may be called from any thread, outside of transactions."""

    def __init__(self, store: Store, work_s: float = WORK_S, fresh_s: float = FRESH_S) -> None:
        self._typical = TypicalRuns(store)
        self._work_s = work_s
        self._fresh_s = fresh_s
        self._turn = threading.Lock()
        self._all: tuple[float, Mapping[str, Outlook]] | None = None

    def of(self, snapshot: Snapshot, name: str, now_ms: int) -> Prospect | None:
        """What becomes of a job, what would help it, and what it costs; ``None`` if it is not pending there."""
        job = next((each for each in snapshot.pending if each.id == name), None)
        if job is None or job.tenant not in snapshot.config.tenants:
            return None
        costs = costs_of(snapshot.config, job)
        with self._working() as go_on:
            if not go_on():
                return Prospect(Outlook(name, is_cut=True), costs=costs)
            typical = self._runs(snapshot, now_ms, job.tenant)
            found = _or_unknown(lambda: outlook(snapshot, name, now_ms, typical, go_on), Outlook(name, is_cut=True))
        part = sample(snapshot, name)
        if part is None or found.latest_start_ms == now_ms:
            return Prospect(found, costs=costs)
        with self._working() as go_on:
            helps: Sequence[Help] = _or_unknown(lambda: advise(part.snapshot, name, now_ms, go_on), ())
        return Prospect(found, tuple(helps), costs)

    def of_new(self, snapshot: Snapshot, job: Job, now_ms: int) -> tuple[Prospect | None, HoldReason | None]:
        """The same of a job that is not submitted yet, and why it would wait, unless it would start at once."""
        job = replace(job, sequence=_LAST)
        with_it = replace(snapshot, pending=(*(each for each in snapshot.pending if each.id != job.id), job))
        found = self.of(with_it, job.id, now_ms)
        if found is None or found.outlook.latest_start_ms == now_ms:
            return found, None
        return found, Waiting(with_it, now_ms).reason(job)

    def of_these_new(
        self, snapshot: Snapshot, jobs: Sequence[Job], now_ms: int
    ) -> Sequence[tuple[Prospect, HoldReason | None]]:
        """What becomes of jobs that are not submitted yet, if they all are, in this order; without what would help."""
        new = [replace(job, id=f"{job.id}#{place}", sequence=_LAST + place) for place, job in enumerate(jobs)]
        known = [job for job in new if job.tenant in snapshot.config.tenants]
        with_them = replace(snapshot, pending=(*snapshot.pending, *known))
        names = {job.id for job in known}
        with self._working() as go_on:
            typical = self._runs(with_them, now_ms, *sorted({job.tenant for job in known}))
            found: Mapping[str, Outlook] = {}
            if go_on():
                found = _or_unknown(lambda: outlooks(with_them, now_ms, typical, go_on, names), found)
        waiting = Waiting(with_them, now_ms)
        out: list[tuple[Prospect, HoldReason | None]] = []
        for job, asked in zip(new, jobs, strict=True):
            outlook = replace(found.get(job.id, Outlook(job.id, is_cut=True)), job=asked.id)
            starts = outlook.latest_start_ms == now_ms or job.id not in names
            prospect = Prospect(outlook, costs=costs_of(snapshot.config, job))
            out.append((prospect, None if starts else waiting.reason(job)))
        return out

    def of_all(self, snapshot: Snapshot, now_ms: int) -> Mapping[str, Outlook]:
        """What becomes of the pending jobs, a moment ago at most; those that were not looked at are left out."""
        with self._working() as go_on:
            if self._all is not None and time.monotonic() - self._all[0] < self._fresh_s:
                return self._all[1]
            if not go_on():
                return {}
            found = self._all_of(snapshot, now_ms, go_on)
            self._all = (time.monotonic(), found)
            return found

    def of_these(self, snapshot: Snapshot, now_ms: int) -> Mapping[str, Outlook]:
        """What becomes of the pending jobs of this very snapshot; those that were not looked at are left out."""
        with self._working() as go_on:
            return self._all_of(snapshot, now_ms, go_on) if go_on() else {}

    def _all_of(self, snapshot: Snapshot, now_ms: int, go_on: GoOn) -> Mapping[str, Outlook]:
        typical = self._runs(snapshot, now_ms)
        return _or_unknown(lambda: outlooks(snapshot, now_ms, typical, go_on), {})

    def _runs(self, snapshot: Snapshot, now_ms: int, *first: str) -> Typical:
        running = (each.job.tenant for each in snapshot.running)
        return self._typical.of((*first, *running, *(job.tenant for job in snapshot.pending)), now_ms)

    @contextmanager
    def _working(self) -> Iterator[GoOn]:
        """One at a time; says for how long. To those who have waited too long for their turn: not at all."""
        if not self._turn.acquire(timeout=PATIENCE_S):
            yield lambda: False
            return
        try:
            until_s = time.thread_time() + self._work_s
            yield lambda: time.thread_time() < until_s
        finally:
            self._turn.release()


def costs_of(config: Config, job: Job) -> tuple[OptionCost, ...]:
    """What each option of a job would reserve: the rest of its time limit, in priced accelerator-hours."""
    return tuple(
        OptionCost(index, option.flavor, reserved_by(config, job, option.speed, option.demand) / HOUR_MS)
        for index, option in enumerate(job.options)
    )


def _or_unknown(find: Callable[[], Value], unknown: Value) -> Value:
    """A defect in what was only looked at must not keep a caller from what is known."""
    try:
        return find()
    except AssertionError:
        _logger.exception("a forecast broke a law of the scheduler; the answer leaves it out")
        return unknown
