"""The simulator: the real service and its real turns on virtual time, with a server that crashes and a bad runner.

``python -m fairgate_scheduler.testing.simulation SEED`` tells the story of one seed again, event by event.
"""

import argparse
import random
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from fairgate_scheduler.core.jobs import Job
from fairgate_scheduler.core.tenancy import Config
from fairgate_scheduler.documents.render import render_config
from fairgate_scheduler.ports import JobQuery, Launch, Store
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.cancel import cancel
from fairgate_scheduler.service.cycle import Scheduler, Timing
from fairgate_scheduler.service.errors import FailedPrecondition
from fairgate_scheduler.service.quota import apply_config
from fairgate_scheduler.service.submit import JobSpec, SubmitRequest, submit
from fairgate_scheduler.service.update import update
from fairgate_scheduler.service.world import World
from fairgate_scheduler.testing.builders import ray_job
from fairgate_scheduler.testing.fake_runner import FakeRunner, Script
from fairgate_scheduler.testing.faults import Broken, Crash, CrashPoints, FaultyRunner, FaultyStore, Unreliability
from fairgate_scheduler.testing.history import History, broken_laws
from fairgate_scheduler.testing.memory_store import MemoryStore
from fairgate_scheduler.testing.sim_clock import SimClock
from fairgate_scheduler.testing.stories import Story, Submit, Trouble, make_story

LONGEST_MS: Final = 12 * 3_600_000
QUIET_MS: Final = 400_000
"""From here on nothing goes wrong any more, so that every story can come to its end."""
_EVERYTHING: Final = 1_000_000
_TIMING: Final = Timing(poll_ms=20_000)

Action = Callable[[App], None]


class Simulation:
    """One story, told once. ``is_crash_due`` replaces the story's own chance: it gets the number of each call."""

    def __init__(
        self, story: Story, store: Store | None = None, is_crash_due: Callable[[int], bool] | None = None
    ) -> None:
        self.story = story
        self.store = store or MemoryStore()
        self.clock = SimClock()
        self.began_ms = self.clock.now_ms()
        self.chance = random.Random(-story.seed - 1)
        self.points = CrashPoints(is_crash_due or self._crashes_by_chance)
        self.world = FakeRunner(self.clock, self._script)
        self.disk = FaultyStore(self.store, self.points, story.unreliability, self.chance)
        self.runner = FaultyRunner(self.world, self.points, story.unreliability, self.chance)
        self.crashes = 0
        self.submitted: dict[str, Job] = {}
        self.cancelled: set[str] = set()
        self.configs: list[tuple[int, Config]] = []
        self._boot()

    def run(self) -> History:
        """Tell it to the end; the history says what came of it."""
        actions = self._actions()
        while self.clock.now_ms() < self.began_ms + LONGEST_MS:
            if self.clock.now_ms() > self.began_ms + QUIET_MS:
                self.points.is_on, self.runner.faults, self.disk.faults = False, Unreliability(), Unreliability()
            while actions and actions[0][0] <= self.clock.now_ms():
                self._until_done(actions.pop(0)[1])
            self._until_crash(self.scheduler.turn)
            self._check_mirror()
            if not actions and self._is_over():
                break
            self._advance(actions[0][0] if actions else None)
        return self._history()

    def _boot(self) -> None:
        self.app = App(self.disk, self.runner, self.clock)
        self.scheduler = Scheduler(self.app, _TIMING)

    def _until_crash(self, step: Callable[[], object]) -> bool:
        """Whether it came to its end; after a crash the server is started again, with nothing in memory."""
        try:
            step()
        except Crash:
            self.crashes += 1
            self.clock.advance(self.chance.choice((0, 100, 3_000, 30_000)))
            self._boot()
            return False
        return True

    def _until_done(self, action: Action) -> None:
        """Clients that get no answer, or hear of trouble inside the server, ask again."""
        is_done = False
        while not is_done:
            with suppress(Broken):
                is_done = self._until_crash(lambda: action(self.app))

    def _actions(self) -> list[tuple[int, Action]]:
        story = self.story
        actions = [(at_ms, self._applying(config)) for at_ms, config in story.configs]
        actions += [(each.at_ms, self._submitting(each)) for each in story.submits]
        actions += [(each.at_ms, self._troubling(each)) for each in story.troubles]
        return sorted(((self.began_ms + at_ms, action) for at_ms, action in actions), key=lambda entry: entry[0])

    def _applying(self, config: Config) -> Action:
        def apply(app: App) -> None:
            source = render_config(config)
            if not self.configs or self.configs[-1][1] != config:
                self.configs.append((self.clock.now_ms(), config))
            apply_config(app, source)

        return apply

    def _submitting(self, wanted: Submit) -> Action:
        spec = JobSpec(
            priority=wanted.priority,
            time_limit_ms=wanted.time_limit_ms,
            preemptible=wanted.preemptible,
            fallback_after_ms=wanted.fallback_after_ms,
            options=[{"flavor": flavor} for flavor in wanted.flavors],
        )
        manifest = ray_job(wanted.name, gpus=wanted.gpus, workers=wanted.workers)
        request = SubmitRequest(wanted.tenant, None, manifest, spec, request_id=f"submit {wanted.job}")

        def put(app: App) -> None:
            view = submit(app, request)
            self.submitted.setdefault(view.job.id, view.job)

        return put

    def _troubling(self, trouble: Trouble) -> Action:
        def befall(app: App) -> None:
            if trouble.kind == "cancel":
                self.cancelled.add(trouble.job)
                cancel(app, trouble.job)
            elif trouble.kind == "priority":
                update(app, trouble.job, priority=trouble.value)
            elif trouble.kind == "time_limit":
                update(app, trouble.job, time_limit_ms=trouble.value)
            else:
                end = self.world.kill if trouble.kind == "kill" else self.world.vanish
                for process in self.world.alive():
                    if process.job == trouble.job:
                        end(process.job, process.attempt)

        def befall_who_lives(app: App) -> None:
            with suppress(FailedPrecondition):  # it has ended before
                befall(app)

        return befall_who_lives

    def _advance(self, action_ms: int | None) -> None:
        due = [action_ms, self.world.next_change_ms()]
        self._until_crash(lambda: due.append(self.scheduler.next_due_ms(self.clock.now_ms())))
        now_ms = self.clock.now_ms()
        target_ms = min((at for at in due if at is not None), default=now_ms + 1_000)
        self.clock.move_to(max(target_ms, now_ms) + self.chance.choice((0, 0, 1, 250, 1_500)))

    def _is_over(self) -> bool:
        with self.store.transaction(read_only=True) as transaction:
            if transaction.live_jobs() or transaction.live_attempts() or transaction.list_effects(1):
                return False
        return not self.world.alive() and not self.world.observe()

    def _check_mirror(self) -> None:
        """The world in memory is what the store says."""
        was_on, self.points.is_on = self.points.is_on, False
        faults, self.disk.faults = self.disk.faults, Unreliability()
        with self.app.world() as world, self.store.transaction(read_only=True) as transaction:
            stored = World.load(transaction)
            assert world.jobs == stored.jobs, "the jobs in memory are not those in the store"
            assert world.attempts == stored.attempts, "the attempts in memory are not those in the store"
            assert world.version == stored.version, "the configuration in memory is not that in the store"
            mine, theirs = world.snapshot(), stored.snapshot()
            assert mine.running == theirs.running, "what runs in memory, or its order, is not that in the store"
            assert {job.id: job for job in mine.pending} == {job.id: job for job in theirs.pending}, (
                "what waits differs"
            )
            assert world.launchable() == stored.launchable(), "the books in memory are not those of the store"
            now_ms = self.clock.now_ms()
            assert world.next_due_ms(now_ms) == stored.next_due_ms(now_ms), "what is due next differs"
        self.points.is_on, self.disk.faults = was_on, faults

    def _script(self, launch: Launch) -> Script:
        return self.story.script_of(launch.job.id, launch.attempt.number)

    def _crashes_by_chance(self, _number: int) -> bool:
        return self.story.crash_every > 0 and self.chance.randrange(self.story.crash_every) == 0

    def _history(self) -> History:
        is_over = self._is_over()
        with self.store.transaction(read_only=True) as transaction:
            jobs = {job.id: job for job in transaction.list_jobs(JobQuery(limit=_EVERYTHING))}
            return History(
                submitted=self.submitted,
                cancelled=frozenset(self.cancelled),
                jobs=jobs,
                attempts={name: transaction.get_attempts(name) for name in jobs},
                events=transaction.list_events(0, _EVERYTHING),
                processes=self.world.history,
                ends=[process.end(self.world.grace_ms) for process in self.world.history],
                configs=self.configs,
                crashes=self.crashes,
                is_over=is_over,
            )


def main(arguments: list[str]) -> int:
    """Tell one story again and say which laws it breaks."""
    parser = argparse.ArgumentParser(description="Tell the story of one seed again, event by event.")
    parser.add_argument("seed", type=int)
    seed: int = parser.parse_args(arguments).seed
    story = make_story(seed)
    simulation = Simulation(story)
    history = simulation.run()
    out = sys.stdout
    out.write(f"{render_config(story.configs[0][1])}\n")
    for each in (*story.submits, *story.troubles):
        out.write(f"{each}\n")
    for stored in history.events:
        event = stored.event
        at_s = (event.at_ms - simulation.began_ms) / 1000
        out.write(f"{stored.sequence:4} {at_s:9.3f} s {event.job} {event.kind} {event.attempt or ''} {event.message}\n")
    for process, (end_ms, phase) in zip(history.processes, history.ends, strict=True):
        span = [(at_ms - simulation.began_ms) / 1000 for at_ms in (process.launched_at_ms, end_ms)]
        out.write(f"{process.job} attempt {process.attempt} was there from {span[0]:.3f} to {span[1]:.3f} s: {phase}\n")
    broken = broken_laws(history)
    out.write(
        f"{history.crashes} crashes; " + ("\n".join(["broken:", *broken]) if broken else "no law is broken") + "\n"
    )
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
