"""StatusAdmissionCheck of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model
from fairgate_kueue.models.pod_set_update import PodSetUpdate


class StatusAdmissionCheck(Model):
    """StatusAdmissionCheck, as fairgate_kueue.base says."""

    last_transition_time: str
    message: str
    name: str
    pod_set_updates: List[PodSetUpdate] | None = None
    requeue_after_seconds: int | None = None
    retry_count: int | None = None
    state: Literal['Pending', 'Ready', 'Retry', 'Rejected']
