"""LocalQueueStatusFairSharing of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model
from fairgate_kueue.models.admission_fair_sharing_status import AdmissionFairSharingStatus


class LocalQueueStatusFairSharing(Model):
    """LocalQueueStatusFairSharing, as fairgate_kueue.base says."""

    admission_fair_sharing_status: AdmissionFairSharingStatus | None = None
    weighted_share: int
