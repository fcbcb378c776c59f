"""Labels, annotations and their prefixes that mean something to Kueue, KubeRay or us."""

from typing import Final

from fairgate_scheduler.core.manifests.marks import FAIRGATE, KUEUE, RAY, RAY_OPTIONS, RESERVED

QUEUE: Final = f"{KUEUE}queue-name"
TENANT: Final = f"{FAIRGATE}tenant-id"
"""Label of a tenant's namespace, and of all that we make for it."""
ATTEMPT: Final = f"{FAIRGATE}attempt"
DIGEST: Final = f"{FAIRGATE}digest"

__all__ = ["ATTEMPT", "DIGEST", "FAIRGATE", "KUEUE", "QUEUE", "RAY", "RAY_OPTIONS", "RESERVED", "TENANT"]
