"""Admitted attempts are launched when what gives way for them is gone: never above quota or capacity in between."""

from fairgate_scheduler.core import lifecycle
from fairgate_scheduler.core.jobs import Attempt, AttemptState, JobState
from fairgate_scheduler.core.launching import launchable
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.guard import tolerate


def launch(app: App, now_ms: int) -> None:
    """Have every attempt started that is admitted and for which there is room now."""
    for attempt in _launchable(app):
        with tolerate(f"launching attempt {attempt.number} of {attempt.job}"), app.write() as writing:
            job = writing.transaction.get_job(attempt.job)
            stored = {each.number: each for each in writing.transaction.get_attempts(attempt.job)}.get(attempt.number)
            if job and stored and (job.state, stored.state) == (JobState.ADMITTED, AttemptState.RESERVED):
                writing.write(lifecycle.launch(job, stored, now_ms))


def _launchable(app: App) -> tuple[Attempt, ...]:
    with app.world() as world:
        if not world.reserved():
            return ()
        snapshot = world.snapshot()
        attempts = [(world.jobs[each.job].tenant, each) for each in world.attempts.values()]
    return launchable(snapshot.config, snapshot.capacity, attempts)
