"""The RayJob of an attempt, from what was submitted and admitted: pure, the same for the same launch.

It must never talk to a cluster, and never change what the job's option was charged for.
"""

from fairgate_scheduler.adapters.kube.attempts.digest import digest_of
from fairgate_scheduler.adapters.kube.attempts.naming import attempt_names
from fairgate_scheduler.adapters.kube.attempts.render import render

__all__ = ["attempt_names", "digest_of", "render"]
