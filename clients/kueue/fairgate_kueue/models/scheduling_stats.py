"""SchedulingStats of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model
from fairgate_kueue.models.eviction import Eviction


class SchedulingStats(Model):
    """SchedulingStats, as fairgate_kueue.base says."""

    evictions: List[Eviction] | None = None
