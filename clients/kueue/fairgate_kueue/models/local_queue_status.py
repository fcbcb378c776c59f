"""LocalQueueStatus of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model
from fairgate_kueue.models.condition import Condition
from fairgate_kueue.models.local_queue_status_fair_sharing import LocalQueueStatusFairSharing
from fairgate_kueue.models.local_queue_status_flavors_reservation import LocalQueueStatusFlavorsReservation


class LocalQueueStatus(Model):
    """LocalQueueStatus, as fairgate_kueue.base says."""

    admitted_workloads: int | None = None
    conditions: List[Condition] | None = None
    fair_sharing: LocalQueueStatusFairSharing | None = None
    flavors_reservation: List[LocalQueueStatusFlavorsReservation] | None = None
    flavors_usage: List[LocalQueueStatusFlavorsReservation] | None = None
    pending_workloads: int | None = None
    reserving_workloads: int | None = None
