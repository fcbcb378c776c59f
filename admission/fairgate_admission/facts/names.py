"""Labels, annotations and their prefixes that mean something to Kueue, KubeRay or us."""

from typing import Final

from fairgate_scheduler.core.manifests.rewrite import KUEUE
from fairgate_scheduler.documents.annotations import PREFIX as FAIRGATE

RAY: Final = "ray.io/"
RESERVED: Final = (KUEUE, RAY, FAIRGATE)
"""Only Kueue, KubeRay and our scheduler may write labels and annotations that begin so."""
QUEUE: Final = f"{KUEUE}queue-name"
TENANT: Final = f"{FAIRGATE}tenant-id"
"""Label of a tenant's namespace, and of all that we make for it."""
ATTEMPT: Final = f"{FAIRGATE}attempt"
DIGEST: Final = f"{FAIRGATE}digest"

RAY_OPTIONS: Final = (f"{RAY}ft-enabled", f"{RAY}external-storage-namespace", f"{RAY}overwrite-container-cmd")
"""Annotations by which people tell KubeRay how to run a RayJob; they change no amount that is not counted."""

__all__ = ["ATTEMPT", "DIGEST", "FAIRGATE", "KUEUE", "QUEUE", "RAY", "RAY_OPTIONS", "RESERVED", "TENANT"]
