"""What callers get to see of a job: the job, what was submitted, its attempts, and why it does not run."""

from dataclasses import dataclass
from fractions import Fraction

from fairgate_scheduler.core.advice import Help
from fairgate_scheduler.core.jobs import Attempt, Job
from fairgate_scheduler.core.outlook import Outlook
from fairgate_scheduler.core.snapshot import Hold, HoldReason
from fairgate_scheduler.ports import Submission


@dataclass(frozen=True, slots=True)
class OptionCost:
    """What one option would reserve of budgets until the job's time limit, in priced accelerator-hours."""

    option: int
    flavor: str
    accelerator_hours: Fraction


@dataclass(frozen=True, slots=True)
class Prospect:
    """What becomes of a job that waits, what would help it, and what each of its options costs.

    ``unnamed_evictions``: how many more jobs than ``outlook.evicts`` names give way to it.
    """

    outlook: Outlook
    helps: tuple[Help, ...] = ()
    costs: tuple[OptionCost, ...] = ()
    unnamed_evictions: int = 0


@dataclass(frozen=True, slots=True)
class JobView:
    """One job as it was at one moment. ``attempt`` is the one that holds its reservation, ``None`` if none does.

    ``hold`` is why it does not run although it waits; ``None`` when it runs, stops or has ended. ``prospect`` is only
    there where it was asked for.
    """

    job: Job
    submission: Submission
    attempt: Attempt | None = None
    attempts: tuple[Attempt, ...] = ()
    hold: HoldReason | None = None
    prospect: Prospect | None = None

    @property
    def etag(self) -> str:
        """Names this version of the job; an update that carries an older one is refused."""
        return str(self.job.version)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a job stands where it stands; ``hold`` has the numbers when it waits.

    ``leaving``: the jobs for which an admitted one still waits, because they are on their way out; ``unnamed_leaving``:
    how many more these are.
    """

    view: JobView
    hold: Hold | None = None
    leaving: tuple[str, ...] = ()
    unnamed_leaving: int = 0


def current_attempt(attempts: tuple[Attempt, ...]) -> Attempt | None:
    """The attempt that holds the job's reservation; of a job that has ended or waits there is none."""
    return next((attempt for attempt in reversed(attempts) if attempt.holds_quota), None)
