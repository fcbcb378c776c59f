"""WorkloadStatus of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model
from fairgate_kueue.models.admission import Admission
from fairgate_kueue.models.condition import Condition
from fairgate_kueue.models.reclaimable_pod import ReclaimablePod
from fairgate_kueue.models.requeue_state import RequeueState
from fairgate_kueue.models.resource_request import ResourceRequest
from fairgate_kueue.models.scheduling_stats import SchedulingStats
from fairgate_kueue.models.spec_preemption_gate import SpecPreemptionGate
from fairgate_kueue.models.status_admission_check import StatusAdmissionCheck
from fairgate_kueue.models.status_preemption_gate import StatusPreemptionGate


class WorkloadStatus(Model):
    """WorkloadStatus, as fairgate_kueue.base says."""

    accumulated_past_execution_time_seconds: int | None = None
    admission: Admission | None = None
    admission_checks: List[StatusAdmissionCheck] | None = None
    cluster_name: str | None = None
    conditions: List[Condition] | None = None
    nominated_cluster_names: List[str] | None = None
    preemption_gates: List[StatusPreemptionGate] | None = None
    reclaimable_pods: List[ReclaimablePod] | None = None
    requeue_state: RequeueState | None = None
    resource_requests: List[ResourceRequest] | None = None
    scheduling_stats: SchedulingStats | None = None
    unhealthy_nodes: List[SpecPreemptionGate] | None = None
