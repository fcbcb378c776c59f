"""Who waits and who runs, and a register of them that is brought up to date: job by job, and as time passes."""

import heapq
from collections.abc import Iterable, Mapping
from fractions import Fraction

from fairgate_scheduler.core.contenders import Contender, Field
from fairgate_scheduler.core.jobs import Job
from fairgate_scheduler.core.kinds import Kind, Kinds
from fairgate_scheduler.core.register import Register
from fairgate_scheduler.core.snapshot import History, Running


class Roster:
    """The jobs of one configuration. ``field`` is its own: it goes from instant to instant.

    What is true of a job at one instant only (who has waited or run long enough) is found out again by timers.
    """

    def __init__(self, field: Field, running: Iterable[Running] = (), pending: Iterable[Job] = ()) -> None:
        self.field = field
        self.running = {each.job.id: each for each in running}
        self.pending = {job.id: job for job in pending}
        self._register, self._kinds = Register(field), Kinds(field)
        self._filed: dict[str, Kind | Contender] = {}
        self._unfiled = dict.fromkeys((*self.running, *self.pending))
        self._timers: list[tuple[int, str]] = []

    def put_pending(self, job: Job) -> None:
        """A job is pending, as it is told here. It may have been known otherwise."""
        self.remove(job.id)
        self.pending[job.id] = job
        self._unfiled[job.id] = None

    def put_running(self, running: Running) -> None:
        """A job holds quota by this attempt. It may have been known otherwise."""
        self.remove(running.job.id)
        self.running[running.job.id] = running
        self._unfiled[running.job.id] = None

    def remove(self, job: str) -> None:
        """A job neither waits nor holds quota any more; it may not be known."""
        running, pending = self.running.pop(job, None), self.pending.pop(job, None)
        if job in self._unfiled:
            del self._unfiled[job]
        elif running is not None:
            self._register.stop(self._register.names[job])
        elif pending is not None:
            filed = self._filed.pop(job)
            if isinstance(filed, Kind):
                self._register.drop_job(pending, filed)
            else:
                self._register.drop(filed)

    def at(self, now_ms: int, spent: Mapping[str, Fraction], history: Mapping[str, History]) -> Register:
        """The register of all of them at an instant, which is not before the last one that was asked for."""
        self._register.move(now_ms, spent, history)
        while self._timers and self._timers[0][0] <= now_ms:
            _, job = heapq.heappop(self._timers)
            if job in self.pending:
                self.put_pending(self.pending[job])
            elif job in self.running:
                self.put_running(self.running[job])
        for job in self._unfiled:
            if job in self.pending:
                self._wait(self.pending[job])
            else:
                self._run(self.running[job])
        self._unfiled.clear()
        return self._register

    def next_ms(self) -> int | None:
        """The next instant at which time alone changes something for somebody, or would have; ``None``: there is none.

        Told of who was there when the register was asked for last.
        """
        while self._timers and self._timers[0][1] not in self.pending and self._timers[0][1] not in self.running:
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def _wait(self, job: Job) -> None:
        kind = self._kinds.of(job)
        if kind is None:
            single = self._filed[job.id] = self._kinds.contender(job)
            self._register.put(single)
        else:
            self._filed[job.id] = kind
            self._register.put_job(job, kind)
        since_ms, after_ms = job.pending_since_ms, self.field.policy.backfill_after_ms
        due_ms = since_ms + job.fallback_after_ms
        if job.backoff or after_ms is not None or due_ms > self.field.now_ms:
            claim = () if after_ms is None else (since_ms + after_ms,)
            self._set_timer(job.id, (due_ms, *claim, *job.backoff.values()))

    def _run(self, running: Running) -> None:
        self._register.start(self.field.running(running))
        if running.job.preemptible and running.attempt.ready_at_ms is not None:
            due_ms = running.attempt.ready_at_ms + self.field.policy.min_runtime_ms
            self._set_timer(running.job.id, (due_ms,))

    def _set_timer(self, job: str, instants_ms: tuple[int, ...]) -> None:
        """To come back to a job at the next instant that changes something for it."""
        due_ms = min((each for each in instants_ms if each > self.field.now_ms), default=None)
        if due_ms is not None:
            heapq.heappush(self._timers, (due_ms, job))
