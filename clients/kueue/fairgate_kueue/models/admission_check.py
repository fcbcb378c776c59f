"""AdmissionCheck of Kueue. Generated from kueue.openapi.json: do not edit it, run `make gen-kueue`."""

from __future__ import annotations

from typing import Any, Dict, List, Literal

from fairgate_kueue.base import Model
from fairgate_kueue.models.admission_check_spec import AdmissionCheckSpec
from fairgate_kueue.models.admission_check_status import AdmissionCheckStatus


class AdmissionCheck(Model):
    """AdmissionCheck, as fairgate_kueue.base says."""

    api_version: Literal['kueue.x-k8s.io/v1beta2'] = 'kueue.x-k8s.io/v1beta2'
    kind: Literal['AdmissionCheck'] = 'AdmissionCheck'
    metadata: Dict[str, Any] | None = None
    spec: AdmissionCheckSpec | None = None
    status: AdmissionCheckStatus | None = None
