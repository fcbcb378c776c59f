"""ClusterQueueStatusFlavorsReservationResource of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model


class ClusterQueueStatusFlavorsReservationResource(Model):
    """ClusterQueueStatusFlavorsReservationResource, as fairgate_kueue.base says."""

    borrowed: str | None = None
    name: str
    total: str | None = None
