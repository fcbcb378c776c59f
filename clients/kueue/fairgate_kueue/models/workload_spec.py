"""WorkloadSpec of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model
from fairgate_kueue.models.pod_set import PodSet
from fairgate_kueue.models.priority_class_ref import PriorityClassRef
from fairgate_kueue.models.spec_preemption_gate import SpecPreemptionGate


class WorkloadSpec(Model):
    """WorkloadSpec, as fairgate_kueue.base says."""

    active: bool | None = None
    maximum_execution_time_seconds: int | None = None
    pod_sets: List[PodSet] | None = None
    preemption_gates: List[SpecPreemptionGate] | None = None
    priority: int | None = None
    priority_class_ref: PriorityClassRef | None = None
    queue_name: str | None = None
