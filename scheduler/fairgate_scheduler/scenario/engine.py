"""Virtual time over the real core: the cluster, the clock and the loop of a story, and none of its decisions.

At one instant: what ends, then events and submits in file order, then cycles until nothing changes, then the
invariants. Evicting takes no time here. What the service would store is in ``World``; what it can not know
(how long a job really runs, what is out of stock) is in the engine.
"""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from math import ceil, floor
from typing import Final

from fairgate_scheduler.core import lifecycle
from fairgate_scheduler.core.admissible import RefusalCode, SubmitRefused
from fairgate_scheduler.core.amounts import Amount, Row, is_accelerator
from fairgate_scheduler.core.budgets import next_periods_ms
from fairgate_scheduler.core.foresight import forecast
from fairgate_scheduler.core.holds import reasons
from fairgate_scheduler.core.jobs import Attempt, Job
from fairgate_scheduler.core.lifecycle import Change, Observation, Phase
from fairgate_scheduler.core.plan import plan_cycle
from fairgate_scheduler.core.snapshot import HoldReason, Snapshot
from fairgate_scheduler.core.tenancy import QuotaCut
from fairgate_scheduler.documents.scalars import format_duration
from fairgate_scheduler.scenario import deeds
from fairgate_scheduler.scenario.deeds import Refused
from fairgate_scheduler.scenario.invariants import (
    BrokenPromiseError,
    Excess,
    check_evictions,
    check_excess,
    check_jobs,
    excess,
)
from fairgate_scheduler.scenario.story import (
    CancelJob,
    ChangeTenants,
    DeleteTenant,
    FailJob,
    JobSpec,
    Restart,
    SetCapacity,
    SetPriorities,
    Stockout,
    Story,
    StoryEvent,
)
from fairgate_scheduler.scenario.world import World

CYCLES_MAX: Final = 10
"""A plan, applied and planned again, changes nothing: two cycles are all that an instant needs."""
IN_VAIN_MAX: Final = 1_000
"""So many evictions in a row, in which no job ended or kept any work and nothing came from outside, while nobody has
run all the time: jobs take turns for ever. No plan should do that."""
IDLE_INSTANTS_MAX: Final = 200
"""After so many instants in which jobs only come back from a stockout without end, the story is over."""


class Engine:
    """A story being told. ``backwards``: cycles see pending jobs in another order, which must not matter."""

    def __init__(self, story: Story, *, backwards: bool = False) -> None:
        self.story = story
        self.world = World(story.config)
        self.now_ms = 0
        self.cycles = 0
        self.evicted_units = 0
        self.rejected: dict[str, SubmitRefused] = {}
        self.refused_events: dict[int, Refused] = {}
        self.log: list[tuple[int, str, str, str]] = []
        self._backwards = backwards
        self._capacity: dict[Row, Amount] = {}
        self._stockouts: dict[str, int | None] = {}
        self._excess: Excess = {}
        self._events = sorted(story.events, key=lambda event: (event.at_ms, event.index))[::-1]
        self._in_vain = 0
        self._in_vain_since_ms = 0
        self._submits = sorted(story.jobs.values(), key=lambda job: (job.at_ms, job.order))[::-1]

    def run(self, stops: Mapping[int, Callable[[], None]]) -> None:
        """Tell the story to its end, and call each of these at its instant, when that is settled.

        Raises:
            BrokenPromiseError: an invariant does not hold.
            AssertionError: the core has found that it would break one of its own laws.
        """
        waiting = sorted(stops, reverse=True)
        idle = 0
        while idle < IDLE_INSTANTS_MAX:
            to_come = [event.at_ms for event in self._events[-1:]] + [job.at_ms for job in self._submits[-1:]]
            to_come += waiting[-1:]
            timers = list(self._timers())
            if not to_come and not timers:
                return
            idle = idle + 1 if not to_come and self._is_idle() else 0
            self.now_ms = min(to_come + timers)
            self._instant()
            self._check_progress(is_last=not to_come)
            if waiting and waiting[-1] == self.now_ms:
                stops[waiting.pop()]()

    def reasons(self) -> Mapping[str, HoldReason]:
        """Why each pending job waits now."""
        return reasons(self.snapshot(), self.now_ms)

    def forecast_ms(self, job: str) -> int | None:
        """When a job is forecast to start (or was admitted, if it runs); ``None``: never."""
        attempt = self.world.current(job) if job in self.world.jobs else None
        if attempt is not None:
            return attempt.admitted_at_ms
        snapshot = self.snapshot()
        if all(each.id != job for each in snapshot.pending):
            return None
        return forecast(snapshot, job, self.now_ms).latest_ms

    def snapshot(self) -> Snapshot:
        """The world as a cycle sees it now."""
        return self.world.snapshot(self._capacity, self.now_ms, backwards=self._backwards)

    def spec(self, job: str) -> JobSpec:
        """What the file says of a job."""
        return self.story.jobs[job]

    def _instant(self) -> None:
        self.world.settle(self.now_ms)
        self._end_stockouts()
        self._end_attempts()
        changed = False
        while self._events and self._events[-1].at_ms == self.now_ms:
            self._happen(self._events.pop())
            changed = True
        if changed:
            self._excess = excess(self.world, self._capacity)
        while self._submits and self._submits[-1].at_ms == self.now_ms:
            self._submit(self._submits.pop())
        self._settle()
        now = excess(self.world, self._capacity)
        check_excess(now, self._excess)
        self._excess = now
        check_jobs(self.world, len(self.story.jobs) - len(self.rejected) - len(self._submits))

    def _check_progress(self, *, is_last: bool) -> None:
        if is_last and self._in_vain > IN_VAIN_MAX:
            running = [attempt for _, attempt in self.world.running()]
            if all(attempt.admitted_at_ms >= self._in_vain_since_ms for attempt in running):
                names = ", ".join(sorted(attempt.job for attempt in running))
                raise BrokenPromiseError(
                    f"jobs take turns for ever: {self._in_vain} evictions since "
                    f"{format_duration(self._in_vain_since_ms)}, and no job ended or kept any work; now run: {names}"
                )

    def _settle(self) -> None:
        for _ in range(CYCLES_MAX):
            self.cycles += 1
            plan = plan_cycle(self.snapshot(), self.now_ms)
            self.world.choices.update(plan.choices)
            if not plan:
                return
            check_evictions(self.world, plan)
            for each in plan.preemptions:
                self._preempt(self.world.jobs[each.job], each.reason)
            for admission in plan.admissions:
                self._admit(self.world.jobs[admission.job], admission.option)
        raise BrokenPromiseError(f"after {CYCLES_MAX} cycles at one instant the plan still changes something")

    # ---- what the scheduler does

    def _admit(self, job: Job, option: int) -> None:
        self.world.admissions += 1
        self.world.write(lifecycle.admit(job, option, self.world.admissions, self.now_ms))
        attempt = self._held(job.id)
        self.world.write(lifecycle.launch(self.world.jobs[job.id], attempt, self.now_ms))
        self._note("start", job.id, job.options[option].flavor)
        if not self._is_out_of_stock(job, option):
            self._observe(job.id, attempt.number, Phase.RUNNING)

    def _preempt(self, job: Job, reason: str) -> None:
        attempt, kept_ms = self._held(job.id), self._kept_ms(job, self._held(job.id))
        self._in_vain = self._in_vain + 1 if kept_ms == job.done_ms else 0
        if self._in_vain <= 1:
            self._in_vain_since_ms = self.now_ms
        self._evict(attempt, lifecycle.preempt(job, attempt, reason, self.now_ms, kept_ms))

    def _evict(self, attempt: Attempt, eviction: Change) -> None:
        self.world.write(eviction)
        self._observe(attempt.job, attempt.number, Phase.STOPPED)
        self.evicted_units += sum(amount for (_, name), amount in attempt.demand.items() if is_accelerator(name))
        self._note("evict", attempt.job, eviction.events[0].message)

    def _kept_ms(self, job: Job, attempt: Attempt) -> int:
        """The work, at speed 1, that the last checkpoint of this attempt keeps."""
        every_ms = self.spec(job.id).checkpoint_every_ms
        if attempt.ready_at_ms is None or every_ms is None:
            return job.done_ms
        speed = job.options[attempt.option].speed
        work_ms = job.done_ms + floor((self.now_ms - attempt.ready_at_ms) * speed)
        return work_ms // every_ms * every_ms

    # ---- what happens in the cluster

    def _end_attempts(self) -> None:
        for job, attempt in self.world.running():
            if attempt.ready_at_ms is None:
                unready_at_ms = lifecycle.unready_at_ms(attempt, self.world.config.policy)
                if unready_at_ms is not None and unready_at_ms <= self.now_ms:
                    self._give_up(job, attempt)
            elif self._ends_at_ms(job, attempt) <= self.now_ms:
                self._end(job, attempt)

    def _end(self, job: Job, attempt: Attempt) -> None:
        if self.spec(job.id).run_ms <= job.time_limit_ms:
            self._observe(job.id, attempt.number, Phase.SUCCEEDED)
        else:
            self.world.write(lifecycle.expire(job, self.world.attempts[job.id], self.now_ms))
            self._observe(job.id, attempt.number, Phase.STOPPED)
        self._in_vain = 0
        self._note("end", job.id, self.world.jobs[job.id].state)

    def _ends_at_ms(self, job: Job, attempt: Attempt) -> int:
        """When the attempt will have done its work, or run into its time limit."""
        assert attempt.ready_at_ms is not None, attempt
        left_ms = min(self.spec(job.id).run_ms, job.time_limit_ms) - job.done_ms
        return attempt.ready_at_ms + ceil(Fraction(left_ms) / job.options[attempt.option].speed)

    def _give_up(self, job: Job, attempt: Attempt) -> None:
        """Its pods were not ready in time: the option is skipped for a while."""
        policy, kept_ms = self.world.config.policy, self._kept_ms(job, attempt)
        self._evict(attempt, lifecycle.give_up(job, attempt, policy, self.now_ms, kept_ms))

    def _is_out_of_stock(self, job: Job, option: int) -> bool:
        chosen = job.options[option]
        return any(flavor in self._stockouts for flavor in (chosen.flavor, *(group.flavor for group in chosen.groups)))

    def _end_stockouts(self) -> None:
        over = [flavor for flavor, until in self._stockouts.items() if until is not None and until <= self.now_ms]
        for flavor in over:
            del self._stockouts[flavor]
        for job, attempt in self.world.running() if over else ():
            if attempt.ready_at_ms is None and not self._is_out_of_stock(job, attempt.option):
                self._observe(job.id, attempt.number, Phase.RUNNING)

    def _observe(self, job: str, attempt: int, phase: Phase) -> None:
        seen = Observation(job, attempt, phase, self.now_ms, is_gone=phase is not Phase.RUNNING)
        change = lifecycle.observe(self.world.jobs[job], self.world.attempts[job], seen)
        assert change is not None, f"{phase} of {job} changes nothing"
        self.world.write(change)

    # ---- what happens from outside

    def _submit(self, spec: JobSpec) -> None:
        try:
            deeds.submit(self.world, spec, self.now_ms)
        except SubmitRefused as refused:
            self.rejected[spec.id] = refused
            self._note("reject", spec.id, refused.code)

    def _happen(self, event: StoryEvent) -> None:
        try:
            self._do(event)
        except Refused as refused:
            self.refused_events[event.index] = refused
            self._note("refuse", str(event.index), refused.code)

    def _do(self, event: StoryEvent) -> None:
        match event.deed:
            case CancelJob(name):
                self._cancel(deeds.live_job(self.world, name))
            case FailJob(name):
                self._fail(deeds.live_job(self.world, name))
            case SetPriorities(priorities):
                deeds.set_priorities(self.world, priorities)
            case ChangeTenants():
                deeds.change_tenants(self.world, event.deed)
            case DeleteTenant(path):
                deeds.delete_tenant(self.world, path)
            case SetCapacity(amounts):
                self._capacity.update(amounts)
            case Stockout(flavor, until_ms):
                self._stockouts[flavor] = until_ms
            case Restart():
                self.world = self.world.restarted()

    def _cancel(self, job: Job) -> None:
        attempt = self.world.current(job.id)
        self.world.write(lifecycle.cancel(job, self.world.attempts[job.id], self.now_ms))
        if attempt is not None:
            self._observe(job.id, attempt.number, Phase.STOPPED)
        self._note("cancel", job.id, "")

    def _fail(self, job: Job) -> None:
        attempt = self.world.current(job.id)
        if attempt is None:
            raise Refused(RefusalCode.FAILED_PRECONDITION, f"{job.id!r} does not run")
        self._observe(job.id, attempt.number, Phase.FAILED)
        self._note("fail", job.id, "")

    # ---- time

    def _timers(self) -> Iterator[int]:
        """The later instants at which something may change by itself."""
        policy = self.world.config.policy
        pending = list(self.world.pending())
        found = [until for until in self._stockouts.values() if until is not None]
        for job, attempt in self.world.running():
            unready_at_ms = lifecycle.unready_at_ms(attempt, policy)
            if unready_at_ms is not None:
                found.append(unready_at_ms)
            if attempt.ready_at_ms is None:
                continue
            found.append(self._ends_at_ms(job, attempt))
            if pending or policy.quota_cut is QuotaCut.RECLAIM:
                found.append(attempt.ready_at_ms + policy.min_runtime_ms)
        for job in pending:
            found += [job.pending_since_ms + job.fallback_after_ms, *job.backoff.values()]
            if policy.backfill_after_ms is not None:
                found.append(job.pending_since_ms + policy.backfill_after_ms)
        if pending:
            found += next_periods_ms(self.world.config, self.world.spent(self.now_ms), self.now_ms)
        return (instant for instant in found if instant > self.now_ms)

    def _is_idle(self) -> bool:
        """Whether nothing runs and no stockout will end."""
        waits = any(until is not None for until in self._stockouts.values())
        return not waits and all(attempt.ready_at_ms is None for _, attempt in self.world.running())

    def _held(self, job: str) -> Attempt:
        attempt = self.world.current(job)
        assert attempt is not None, f"{job} holds nothing"
        return attempt

    def _note(self, what: str, name: str, detail: str) -> None:
        self.log.append((self.now_ms, what, name, str(detail)))
