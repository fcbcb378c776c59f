"""PodSetAssignment of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model
from fairgate_kueue.models.topology_assignment import TopologyAssignment


class PodSetAssignment(Model):
    """PodSetAssignment, as fairgate_kueue.base says."""

    count: int | None = None
    delayed_topology_request: Literal['Pending', 'Ready'] | None = None
    flavors: Dict[str, str] | None = None
    name: str | None = None
    resource_usage: Dict[str, str] | None = None
    topology_assignment: TopologyAssignment | None = None
