"""Cohort of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model
from fairgate_kueue.models.cohort_spec import CohortSpec
from fairgate_kueue.models.cohort_status import CohortStatus


class Cohort(Model):
    """Cohort, as fairgate_kueue.base says."""

    api_version: Literal['kueue.x-k8s.io/v1beta2'] = 'kueue.x-k8s.io/v1beta2'
    kind: Literal['Cohort'] = 'Cohort'
    metadata: Dict[str, Any] | None = None
    spec: CohortSpec | None = None
    status: CohortStatus | None = None
