"""What of the vocabulary the scheduling core does not decide by yet, refused by name instead of ignored."""

from fairgate_scheduler.core.jobs import Fallback, Job
from fairgate_scheduler.core.tenancy import Config


class UnsupportedPolicyError(ValueError):
    """Something is set that the scheduler does not know how to follow. ``key`` names it as it is written."""

    def __init__(self, key: str) -> None:
        super().__init__(f"{key} is not supported by this version; remove it")
        self.key = key


def check_supported(config: Config) -> None:
    """Refuse a config that asks for more than the scheduler does.

    Raises:
        UnsupportedPolicyError: ``backfill_after`` is set.
    """
    if config.policy.backfill_after_ms is not None:
        raise UnsupportedPolicyError("policy.backfill_after")


def check_supported_job(job: Job) -> None:
    """Refuse a job that asks for more than the scheduler does.

    Raises:
        UnsupportedPolicyError: the job's fallback is ``soonest``.
    """
    if job.fallback is not Fallback.ORDERED:
        raise UnsupportedPolicyError(f"fallback: {job.fallback.value} (of {job.id})")
