"""What in a cluster would break us: findings with a remedy, before a service is started there.

It reads, asks the server what accounts may do, and never writes anything.
"""

from fairgate_scheduler.adapters.kube.inspection.findings import Finding, Severity
from fairgate_scheduler.adapters.kube.inspection.inspect import inspect

__all__ = ["Finding", "Severity", "inspect"]
