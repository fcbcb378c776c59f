"""Admitted attempts are launched when what gives way for them is gone: never above quota or capacity in between.

Those for which nothing is in the way are launched where they are admitted (``apply``); here, those that had to wait.
"""

from fairgate_scheduler.core import lifecycle
from fairgate_scheduler.core.jobs import AttemptState, JobState
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.guard import tolerate


def launch(app: App, now_ms: int) -> None:
    """Have every attempt started that is admitted and for which there is room now."""
    with app.world() as world:
        attempts = world.launchable()
    for attempt in attempts:
        with tolerate(f"launching attempt {attempt.number} of {attempt.job}"), app.write() as writing:
            job = writing.transaction.get_job(attempt.job)
            stored = {each.number: each for each in writing.transaction.get_attempts(attempt.job)}.get(attempt.number)
            if job and stored and (job.state, stored.state) == (JobState.ADMITTED, AttemptState.RESERVED):
                writing.write(lifecycle.launch(job, stored, now_ms))
