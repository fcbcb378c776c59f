"""ClusterQueueStatusFairSharing of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model


class ClusterQueueStatusFairSharing(Model):
    """ClusterQueueStatusFairSharing, as fairgate_kueue.base says."""

    weighted_share: int
