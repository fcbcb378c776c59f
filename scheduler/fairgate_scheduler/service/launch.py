"""Admitted attempts are launched when what gives way for them is gone: never above quota or capacity in between."""

from dataclasses import replace

from fairgate_scheduler.core import lifecycle
from fairgate_scheduler.core.jobs import AttemptState, JobState
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.apply import Room
from fairgate_scheduler.service.guard import tolerate
from fairgate_scheduler.service.world import AttemptKey


def launch(app: App, now_ms: int) -> None:
    """Have every attempt started that is admitted and for which there is room now."""
    for job, number in _launchable(app):
        with tolerate(f"launching attempt {number} of {job}"), app.write() as writing:
            stored = writing.transaction.get_job(job)
            attempts = {each.number: each for each in writing.transaction.get_attempts(job)}
            attempt = attempts.get(number)
            if stored and attempt and (stored.state, attempt.state) == (JobState.ADMITTED, AttemptState.RESERVED):
                writing.write(lifecycle.launch(stored, attempt, now_ms))


def _launchable(app: App) -> list[AttemptKey]:
    with app.world() as world:
        reserved, present, snapshot = world.reserved(), world.present(), world.snapshot()
        tenants = {name: job.tenant for name, job in world.jobs.items()} if reserved else {}
    if not reserved:
        return []
    room = Room(snapshot, [replace(each, holds_quota=True) for each in present.values()], tenants)
    busy = {job for job, _number in present}
    out = []
    for attempt in reserved:
        if attempt.job not in busy and room.has(tenants[attempt.job], attempt.demand):
            room.take(tenants[attempt.job], attempt.demand)
            out.append((attempt.job, attempt.number))
    return out
