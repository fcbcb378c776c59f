"""Admission of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model
from fairgate_kueue.models.pod_set_assignment import PodSetAssignment


class Admission(Model):
    """Admission, as fairgate_kueue.base says."""

    cluster_queue: str | None = None
    pod_set_assignments: List[PodSetAssignment] | None = None
