"""WorkloadPriorityClass of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model


class WorkloadPriorityClass(Model):
    """WorkloadPriorityClass, as fairgate_kueue.base says."""

    api_version: Literal['kueue.x-k8s.io/v1beta2'] = 'kueue.x-k8s.io/v1beta2'
    description: str | None = None
    kind: Literal['WorkloadPriorityClass'] = 'WorkloadPriorityClass'
    metadata: Dict[str, Any] | None = None
    value: int
