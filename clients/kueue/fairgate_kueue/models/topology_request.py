"""TopologyRequest of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model
from fairgate_kueue.models.podset_slice_required_topology_constraint import PodsetSliceRequiredTopologyConstraint


class TopologyRequest(Model):
    """TopologyRequest, as fairgate_kueue.base says."""

    pod_index_label: str | None = None
    pod_set_group_name: str | None = None
    pod_set_slice_required_topology: str | None = None
    pod_set_slice_size: int | None = None
    podset_slice_required_topology_constraints: List[PodsetSliceRequiredTopologyConstraint] | None = None
    preferred: str | None = None
    required: str | None = None
    sub_group_count: int | None = None
    sub_group_index_label: str | None = None
    unconstrained: bool | None = None
