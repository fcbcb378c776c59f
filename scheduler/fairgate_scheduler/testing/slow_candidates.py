"""The jobs of one refill of the slow model: what each takes, and which options it may take."""

from dataclasses import dataclass

from fairgate_scheduler.core.jobs import Job, Option
from fairgate_scheduler.core.snapshot import Running
from fairgate_scheduler.testing.slow_books import Held, SlowBooks


@dataclass(frozen=True, eq=False)
class Candidate:
    """A job of one round. ``admission`` is ``None`` for a pending one; ``options`` are those that it may take."""

    job: Job
    options: tuple[int, ...]
    admission: int | None = None
    is_protected: bool = False

    @property
    def runs(self) -> bool:
        """Whether it holds something."""
        return self.admission is not None

    @property
    def place_in_line(self) -> tuple[int, int, int, str]:
        """By priority, then submit time."""
        return -self.job.priority, self.job.submitted_at_ms, self.job.sequence, self.job.id

    def held(self, option: int | None = None) -> Held:
        """What it takes on an option; of a running one, on the option that it has."""
        chosen = self.job.options[self.options[0] if option is None else option]
        return Held(self.job.tenant, chosen.demand)


def that_runs(books: SlowBooks, running: Running, now_ms: int) -> Candidate:
    """A job that runs. It stays whatever comes if it is not preemptible, has not run long enough, or is leaving."""
    job, attempt = running.job, running.attempt
    is_new = _ran_ms(attempt.ready_at_ms, now_ms) < books.config.policy.min_runtime_ms
    return Candidate(job, (attempt.option,), attempt.admission, running.leaving or not job.preemptible or is_new)


def _ran_ms(ready_at_ms: int | None, now_ms: int) -> int:
    return 0 if ready_at_ms is None else max(0, now_ms - ready_at_ms)


def that_waits(books: SlowBooks, job: Job, now_ms: int, since_ms: int) -> Candidate:
    """A pending job, with the options that it may take: a later one only when its wait for earlier ones is over."""
    usable = tuple(
        index
        for index, option in enumerate(job.options)
        if _is_allowed(books, job, option)
        and option.speed > 0
        and books.fits([], Held(job.tenant, option.demand))
        and job.backoff.get(index, 0) <= now_ms
    )
    return Candidate(job, usable if now_ms - since_ms >= job.fallback_after_ms else usable[:1])


def _is_allowed(books: SlowBooks, job: Job, option: Option) -> bool:
    flavors = {option.flavor, *(group.flavor for group in option.groups), *(row[0] for row in option.demand)}
    config = books.config
    lists = [config.tenants[node].allowed_flavors for node in config.paths[job.tenant]]
    return flavors <= set(config.flavors) and all(each is None or flavors <= each for each in lists)
