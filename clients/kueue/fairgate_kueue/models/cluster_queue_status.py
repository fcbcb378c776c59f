"""ClusterQueueStatus of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model
from fairgate_kueue.models.cluster_queue_status_fair_sharing import ClusterQueueStatusFairSharing
from fairgate_kueue.models.cluster_queue_status_flavors_reservation import ClusterQueueStatusFlavorsReservation
from fairgate_kueue.models.condition import Condition


class ClusterQueueStatus(Model):
    """ClusterQueueStatus, as fairgate_kueue.base says."""

    admitted_workloads: int | None = None
    conditions: List[Condition] | None = None
    fair_sharing: ClusterQueueStatusFairSharing | None = None
    flavors_reservation: List[ClusterQueueStatusFlavorsReservation] | None = None
    flavors_usage: List[ClusterQueueStatusFlavorsReservation] | None = None
    pending_workloads: int | None = None
    reserving_workloads: int | None = None
