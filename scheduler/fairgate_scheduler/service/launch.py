"""Admitted attempts are launched when what gives way for them is gone: never above quota or capacity in between.

Those for which nothing is in the way are launched where they are admitted (``apply``); here, those that had to wait.
"""

from fairgate_scheduler.core import lifecycle
from fairgate_scheduler.core.jobs import Attempt, AttemptState, Job, JobState
from fairgate_scheduler.service.app import App, Writing
from fairgate_scheduler.service.guard import write_each


def launch(app: App, now_ms: int) -> None:
    """Have every attempt started that is admitted and for which there is room now."""
    with app.world() as world:
        attempts = world.launchable()

    def write(writing: Writing, job: Job, attempt: Attempt) -> None:
        stored = writing.world.attempts.get((attempt.job, attempt.number))
        if stored and (job.state, stored.state) == (JobState.ADMITTED, AttemptState.RESERVED):
            writing.write(lifecycle.launch(job, stored, now_ms))

    write_each(app, attempts, lambda attempt: attempt.job, write, "the launch")
