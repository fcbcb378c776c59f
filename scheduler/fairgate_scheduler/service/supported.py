"""What a configuration may ask for and the service does not do yet: refused by name and place instead of ignored.

The core may know how to follow a policy before the service keeps what it needs for that over restarts.
"""

from collections.abc import Iterator

from fairgate_scheduler.core.config_checks import Fault
from fairgate_scheduler.core.tenancy import Config


def unsupported(config: Config) -> Iterator[Fault]:
    """Everything in a configuration that can not be followed yet, in its order."""
    for tenant in config.tenants.values():
        if tenant.budget is not None:
            yield _fault("tenants", tenant.id, "budget")
    if config.policy.backfill_after_ms is not None:
        yield _fault("policy", "backfill_after")
    if config.policy.history_half_life_ms is not None:
        yield _fault("policy", "history_half_life")


def _fault(*where: str) -> Fault:
    return Fault(where, f"{where[-1]} is not supported yet", "remove it")
