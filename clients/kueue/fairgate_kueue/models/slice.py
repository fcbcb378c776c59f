"""Slice of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model
from fairgate_kueue.models.pod_counts import PodCounts
from fairgate_kueue.models.values_per_level import ValuesPerLevel


class Slice(Model):
    """Slice, as fairgate_kueue.base says."""

    domain_count: int
    pod_counts: PodCounts
    values_per_level: List[ValuesPerLevel]
