"""PodSet of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model
from fairgate_kueue.models.topology_request import TopologyRequest


class PodSet(Model):
    """PodSet, as fairgate_kueue.base says."""

    count: int | None = None
    min_count: int | None = None
    name: str | None = None
    template: Dict[str, Any]
    topology_request: TopologyRequest | None = None
