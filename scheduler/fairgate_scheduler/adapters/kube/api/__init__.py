"""One seam to a Kubernetes API server: manifests in, manifests out, as plain data.

It must never know what the objects mean, or retry what is not safe to do twice.
"""

from fairgate_scheduler.adapters.kube.api.errors import (
    ApiError,
    ConflictError,
    ForbiddenError,
    GoneError,
    InvalidError,
    NotFoundError,
    UnavailableError,
)
from fairgate_scheduler.adapters.kube.api.kinds import Kind
from fairgate_scheduler.adapters.kube.api.port import Api, Listing, Manifest, Watch, Watched

__all__ = [
    "Api",
    "ApiError",
    "ConflictError",
    "ForbiddenError",
    "GoneError",
    "InvalidError",
    "Kind",
    "Listing",
    "Manifest",
    "NotFoundError",
    "UnavailableError",
    "Watch",
    "Watched",
]
