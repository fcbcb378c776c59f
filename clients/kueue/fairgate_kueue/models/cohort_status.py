"""CohortStatus of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model
from fairgate_kueue.models.cluster_queue_status_fair_sharing import ClusterQueueStatusFairSharing


class CohortStatus(Model):
    """CohortStatus, as fairgate_kueue.base says."""

    fair_sharing: ClusterQueueStatusFairSharing | None = None
